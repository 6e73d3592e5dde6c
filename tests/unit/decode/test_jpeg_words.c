/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG scans of nothing but random words, by tables of random codes: our Huffman decoder takes them all, and
 * the pixels are libjpeg's. */
#include "jpeg_ways.h"

typedef struct made_table {
    uint8_t bits[17], symbols[256], lengths[256];
    uint16_t codes[256];
    uint32_t count;
} made_table;

/* Codes of any lengths, or only of those beyond a look, or only of 16 bits; all symbols, often 16 zeros, ends
 * and small values. */
static void make_made_table(made_table *table, uint32_t *seed, bool dc)
{
    static const unsigned firsts[] = {1, 1, STK__JPEG_LOOK_BITS + 1, 16};
    const uint32_t most = 1 + pictures_random(seed) % 200, first = firsts[pictures_random(seed) % 4];
    uint32_t code = 0;
    *table = (made_table){0};
    for (unsigned length = 1; length <= 16; length++, code <<= 1) {
        uint32_t room = length < first ? 0 : (1u << length) - 1 - code;
        if (length < 16 && room > 0) room = pictures_random(seed) % (room < 4 ? room + 1 : 4);
        for (; room > 0 && table->count < most; room--, code++) {
            const uint32_t r = pictures_random(seed), symbol = r >> 8;
            table->bits[length]++;
            table->codes[table->count] = (uint16_t)code;
            table->lengths[table->count] = (uint8_t)length;
            table->symbols[table->count++] =
                (uint8_t)(dc ? symbol % 16 : (uint32_t[]){0xF0, symbol & 0xF0, symbol & 0xF3, symbol}[r % 4]);
        }
    }
}

typedef struct made_scan {
    stk__buffer *out;
    uint32_t pending, seed;
    int count;
} made_scan;

static void put_some(made_scan *scan, uint32_t bits, int more)
{
    put_bits(scan->out, &scan->pending, &scan->count, bits, more);
    scan->pending &= 0xFF;
}

static unsigned put_word(made_scan *scan, const made_table *table)
{
    const uint32_t i = pictures_random(&scan->seed) % table->count, raw = pictures_random(&scan->seed);
    const uint32_t size = table->symbols[i] & 15, ones = (1u << size) - 1;
    put_some(scan, table->codes[i], table->lengths[i]);
    put_some(scan, raw >> 30 ? raw & ones : ones, (int)size); /* often 0xFF */
    return table->symbols[i];
}

static void put_block(made_scan *scan, const made_table *dc, const made_table *ac)
{
    put_word(scan, dc);
    for (unsigned k = 1; k < DCTSIZE2; k++) {
        const unsigned symbol = put_word(scan, ac);
        if ((symbol & 15) == 0 && symbol != 0xF0) return;
        k += symbol >> 4;
    }
}

typedef struct made_shape {
    unsigned count, h[4], v[4]; /* of components, their sampling factors; the first has the largest */
} made_shape;

/* Tables 0 to 3, component i uses number i. */
static void put_head(stk__buffer *out, made_table tables[2][4], const made_shape *shape, unsigned w,
                     unsigned h)
{
    stk__buffer_fini(out);
    append(out, "\xFF\xD8", 2);
    append_divisors(out);
    append(out, (uint8_t[]){0xFF, 0xC1, 0, (uint8_t)(8 + 3 * shape->count), 8, 0, (uint8_t)h, 0, (uint8_t)w},
           9);
    append(out, &(uint8_t){(uint8_t)shape->count}, 1);
    for (unsigned i = 0; i < shape->count; i++)
        append(out, (uint8_t[]){(uint8_t)(i + 1), (uint8_t)(shape->h[i] << 4 | shape->v[i]), 0}, 3);
    for (unsigned i = 0; i < 8; i++) {
        const made_table *table = &tables[i / 4][i % 4];
        const unsigned size = 19 + table->count, place = i / 4 << 4 | i % 4;
        append(out, (uint8_t[]){0xFF, 0xC4, (uint8_t)(size >> 8), (uint8_t)size, (uint8_t)place}, 5);
        append(out, table->bits + 1, 16);
        append(out, table->symbols, table->count);
    }
}

static void put_made(stk__buffer *out, uint32_t seed, const made_shape *shape, unsigned w, unsigned h)
{
    static made_table tables[2][4];
    made_scan scan = {.out = out, .seed = seed};
    const unsigned interval = (unsigned[]){0, 1, 2, 7, 65535}[seed / 10 % 5], one = shape->count == 1;
    const unsigned mcu_w = one ? 8 : 8 * shape->h[0], mcu_h = one ? 8 : 8 * shape->v[0];
    const unsigned mcu_count = (w + mcu_w - 1) / mcu_w * ((h + mcu_h - 1) / mcu_h);
    for (int i = 0; i < 8; i++)
        make_made_table(&tables[i / 4][i % 4], &scan.seed, i < 4);
    put_head(out, tables, shape, w, h);
    append(out, (uint8_t[]){0xFF, 0xDD, 0, 4, (uint8_t)(interval >> 8), (uint8_t)interval}, 6);
    append(out, (uint8_t[]){0xFF, 0xDA, 0, (uint8_t)(6 + 2 * shape->count), (uint8_t)shape->count}, 5);
    for (unsigned i = 0; i < shape->count; i++)
        append(out, (uint8_t[]){(uint8_t)(i + 1), (uint8_t)(i << 4 | i)}, 2);
    append(out, (uint8_t[]){0, 63, 0}, 3);
    for (unsigned mcu = 1; mcu <= mcu_count; mcu++) {
        for (unsigned i = 0; i < shape->count; i++)
            for (unsigned block = 0; block < (one ? 1 : shape->h[i] * shape->v[i]); block++)
                put_block(&scan, &tables[0][i], &tables[1][i]);
        const bool last = mcu == mcu_count, restarts = !last && interval > 0 && mcu % interval == 0;
        if ((last || restarts) && scan.count > 0) put_some(&scan, 0x7F >> (scan.count - 1), 8 - scan.count);
        if (restarts) append(out, (uint8_t[]){0xFF, (uint8_t)(0xD0 + (mcu / interval - 1) % 8)}, 2);
    }
    append(out, "\xFF\xD9", 2);
}

/* Every kind of word at every place of a block, up to 10 blocks an MCU, 1 to 4 components; also shrunken and
 * coarse, where libjpeg itself leaves coefficients out. */
static void random_words_are_taken_and_equal(void **unused)
{
    (void)unused;
    static const made_shape shapes[] = {{1, {1}, {1}},
                                        {1, {2}, {2}},
                                        {1, {4}, {3}},
                                        {3, {1, 1, 1}, {1, 1, 1}},
                                        {3, {2, 1, 1}, {2, 1, 1}},
                                        {3, {4, 1, 1}, {2, 1, 1}},
                                        {3, {2, 1, 2}, {2, 2, 1}},
                                        {3, {3, 1, 1}, {1, 1, 1}},
                                        {4, {1, 1, 1, 1}, {1, 1, 1, 1}},
                                        {4, {2, 1, 1, 2}, {2, 1, 1, 2}}};
    const pair p = make_pair();
    stk__buffer bytes = {0};
    for (uint32_t i = 0; i < 1200; i++) {
        uint32_t seed = i;
        unsigned w = 1 + pictures_random(&seed) % 50, h = 1 + pictures_random(&seed) % 50;
        shrink = 1 << i / 10 % 4;
        coarse = i % 3 == 0;
        if (shrink > 1) w = (w + 7) & ~7u, h = (h + 7) & ~7u;
        put_made(&bytes, i, &shapes[i % 10], w, h);
        assert_true(compare(p.ours, p.alone, &bytes, i / 200 % 2 ? 3 : 1));
    }
    shrink = 1;
    coarse = false;
    stk__buffer_fini(&bytes);
    free_pair(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_words_are_taken_and_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
