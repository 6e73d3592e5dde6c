/* SPDX-License-Identifier: Apache-2.0 */
/* Our Huffman decoder beside libjpeg's own: the same pixels where the scan is in order, and where it is odd
 * the same verdict, word for word, because libjpeg decodes it then. */
#include "decode/jpeg_inside.h"
#include "stoker/runtime.h"
#include "jpeg_ways.h"

#include <stdio.h>
#include <string.h>
#include <jerror.h>

static void fill_noise(stk__pixels pixels, uint32_t seed, unsigned mask)
{
    for (size_t i = 0; i < size_of(pixels); i++)
        pixels.data[i] = (uint8_t)(pictures_random(&seed) & mask);
}

/* Noise at quality 100 has blocks without an end, long codes and wide values; quality 1 has blocks of nothing
 * but their end. Tables change from image to image and come back. */
static void scans_in_order_are_taken_and_equal(void **unused)
{
    (void)unused;
    static const pictures_jpeg_options kinds[] = {
        {0},
        {.sampling = 1},
        {.luma = {2, 1}},
        {.luma = {1, 2}},
        {.luma = {4, 1}},
        {.optimised = true},
        {.restart_rows = 1},
        {.restart_rows = 3, .optimised = true},
        {.space = PICTURES_GREY},
        {.space = PICTURES_GREY, .restart_rows = 1},
        {.space = PICTURES_RGB, .sampling = 1},
    };
    static const int qualities[] = {1, 30, 75, 95, 100};
    const pair p = make_pair();
    stk__buffer bytes = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] * 10; i++) {
        pictures_jpeg_options options = kinds[i / 10];
        options.quality = qualities[i % 5];
        const int32_t w = 150 + (int32_t)i % 23, h = 90 + (int32_t)i % 19;
        stk__pixels drawn = pictures_draw(w, h, options.space == PICTURES_GREY ? 1 : 3, (uint32_t)i);
        if (i % 10 >= 5) fill_noise(drawn, (uint32_t)i, 255);
        pictures_jpeg(&bytes, drawn, &options);
        assert_true(compare(p.ours, p.alone, &bytes, 3));
        assert_true(compare(p.ours, p.alone, &bytes, 1));
        stk__free(drawn.data);
    }
    stk__buffer_fini(&bytes);
    free_pair(p);
}

/* Several windows of a scan, with 0xFF on every seam sooner or later. */
static void long_scans_are_taken(void **unused)
{
    (void)unused;
    const pair p = make_pair();
    stk__buffer bytes = {0};
    for (int32_t i = 0; i < 8; i++) {
        stk__pixels drawn = pictures_draw(400 + i, 300, 3, 5);
        fill_noise(drawn, (uint32_t)i, i % 2 ? 255 : 128);
        pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.quality = 98, .sampling = 1});
        assert_true(bytes.size_bytes > 4 * STK__JPEG_WINDOW_BYTES);
        assert_true(compare(p.ours, p.alone, &bytes, 3));
        stk__free(drawn.data);
    }
    stk__buffer_fini(&bytes);
    free_pair(p);
}

/* Frames of Motion JPEG have no Huffman tables: the usual ones are meant. Before and behind images that have
 * others. */
static void usual_tables_need_not_be_there(void **unused)
{
    (void)unused;
    const pair p = make_pair();
    stk__buffer whole = {0}, bytes = {0}, other = {0};
    stk__pixels drawn = pictures_draw(90, 70, 3, 5);
    pictures_jpeg(&other, drawn, &(pictures_jpeg_options){.optimised = true});
    for (int i = 0; i < 8; i++) {
        pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){.restart_rows = i % 2, .quality = 20 + 10 * i});
        pictures_cut(&bytes, &whole, whole.size_bytes);
        remove_segments(&bytes, 0xC4);
        assert_true(bytes.size_bytes < whole.size_bytes - 400);
        assert_true(compare(p.ours, p.alone, &bytes, 3));
        stk__pixels wanted = decode_bare(&whole, 3, 1);
        verdict got = judge(p.ours, &bytes, 3);
        assert_int_equal(got.status, STK_OK);
        assert_memory_equal(got.pixels.data, wanted.data, size_of(wanted));
        if (i >= 4) assert_true(compare(p.ours, p.alone, &other, 3));
        stk__free(got.pixels.data);
        stk__free(wanted.data);
    }
    stk__free(drawn.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&other);
    free_pair(p);
}

static void other_scans_are_left_to_libjpeg(void **unused)
{
    (void)unused;
    static const pictures_jpeg_options kinds[] = {{.progressive = true}, {.scan_repeats = 1}};
    const pair p = make_pair();
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(90, 70, 3, 5);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pictures_jpeg(&bytes, drawn, &kinds[i]);
        assert_false(compare(p.ours, p.alone, &bytes, 3));
    }
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    free_pair(p);
}

/* Whatever ours makes of damaged bytes, the verdict is libjpeg's; strict and with warnings forgiven. */
static void odd_scans_end_as_libjpeg_says(void **unused)
{
    (void)unused;
    stk__limits lenient = stk__limits_default;
    lenient.warnings = 1000;
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(70, 50, 3, 9);
    int taken = 0, refused = 0;
    uint32_t seed = 1;
    for (int turn = 0; turn < 4; turn++) {
        limits = turn % 2 ? &lenient : &stk__limits_default;
        const pair p = make_pair();
        pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){.restart_rows = turn / 2});
        for (size_t cut = whole.size_bytes; cut > 0; cut--) {
            pictures_cut(&bytes, &whole, cut);
            taken += compare(p.ours, p.alone, &bytes, 3);
        }
        for (int i = 0; i < 3000; i++) {
            pictures_cut(&bytes, &whole, whole.size_bytes);
            const size_t at = pictures_random(&seed) % whole.size_bytes;
            bytes.data[at] ^= (uint8_t)(1u << pictures_random(&seed) % 8);
            const bool went = compare(p.ours, p.alone, &bytes, 3);
            taken += went;
            refused += !went;
        }
        free_pair(p);
    }
    limits = &stk__limits_default;
    assert_true(taken > 100 && refused > 100);
    stk__free(drawn.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
}

/* Bytes between the last block and the marker behind it: none is missing, some may be too many. */
static void ends_of_scans(void **unused)
{
    (void)unused;
    const pair p = make_pair();
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(70, 50, 3, 9);
    pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){0});
    for (size_t more = 0; more < 40; more++)
        for (int fill = 0; fill < 3; fill++) {
            static const uint8_t fills[] = {0x00, 0x55, 0xFF};
            pictures_cut(&bytes, &whole, whole.size_bytes - 2);
            for (size_t i = 0; i < more; i++)
                assert_int_equal(stk__buffer_append(&bytes, &fills[fill], 1, NULL), STK_OK);
            assert_int_equal(stk__buffer_append(&bytes, "\xFF\xD9", 2, NULL), STK_OK);
            assert_int_equal(stk__buffer_reserve(&bytes, bytes.size_bytes + 64, NULL), STK_OK);
            const bool taken = compare(p.ours, p.alone, &bytes, 3);
            assert_int_equal(taken, more == 0);
        }
    stk__free(drawn.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    free_pair(p);
}

/* Zeros are codes as well, as far as the image goes: it must end where the window does. */
static void scans_that_end_early(void **unused)
{
    (void)unused;
    const pair p = make_pair();
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(1000, 1000, 3, 9);
    pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){0});
    for (size_t size = 700; size < 60000; size += 19777) {
        pictures_cut(&bytes, &whole, size);
        memcpy(bytes.data + size - 2, "\xFF\xD9", 2);
        assert_false(compare(p.ours, p.alone, &bytes, 3));
    }
    stk__free(drawn.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    free_pair(p);
}

/* Grey, 2048 x 2304: every block is brighter than the one before by 32767, beyond what 31 bits hold. */
static void sums_of_dc_do_not_overflow(void **unused)
{
    (void)unused;
    static const uint8_t head[] =
        "\xFF\xD8\xFF\xC1\x00\x0B\x08\x09\x00\x08\x00\x01\x01\x11\x00"
        "\xFF\xC4\x00\x14\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0F"
        "\xFF\xC4\x00\x14\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
        "\xFF\xDB\x00\x43\x00";
    const pair p = make_pair();
    stk__buffer bytes = {0};
    uint32_t pending = 0;
    int count = 0;
    assert_int_equal(stk__buffer_append(&bytes, head, sizeof head - 1, NULL), STK_OK);
    for (int i = 0; i < DCTSIZE2; i++)
        assert_int_equal(stk__buffer_append(&bytes, "\x01", 1, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&bytes, "\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00", 10, NULL),
                     STK_OK);
    for (int i = 0; i < 256 * 288; i++)
        put_bits(&bytes, &pending, &count, 0x7FFF << 1, 17); /* code 0, 15 ones, code 0: end of block */
    put_bits(&bytes, &pending, &count, 0x7F, 7);
    assert_int_equal(stk__buffer_append(&bytes, "\xFF\xD9", 2, NULL), STK_OK);
    assert_int_equal(stk__buffer_reserve(&bytes, bytes.size_bytes + 64, NULL), STK_OK);
    assert_false(compare(p.ours, p.alone, &bytes, 1));
    stk__buffer_fini(&bytes);
    free_pair(p);
}

/* Several scans are read before the first row is asked for, and a table behind the last of them is checked by
 * nobody: 255 codes of one bit. */
static void tables_behind_the_last_scan_are_not_used(void **unused)
{
    (void)unused;
    static const uint8_t head[] = {
        0xFF, 0xD8, 0xFF, 0xC1, 0,    17, 8, 0, 8, 0, 8, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, /* 8 x 8 */
        0xFF, 0xC4, 0,    20,   0x00, 1,  0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0,    0, 0, 0,    0, 0,
        0xFF, 0xC4, 0,    20,   0x10, 1,  0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0,    0, 0, 0,    0, 0};
    static const uint8_t scans[] = {0xFF, 0xDA, 0, 8,  1, 1, 0, 0, 63, 0, 0x3F, /* one component, then all */
                                    0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0,  3, 0,    0, 63, 0, 0x03};
    static const uint8_t table[4 + 17 + 255] = {0xFF, 0xC4, 1, 18, 0x10, 255};
    const pair p = make_pair();
    stk__buffer bytes = {0};
    append(&bytes, head, sizeof head);
    append_divisors(&bytes);
    append(&bytes, scans, sizeof scans);
    append(&bytes, table, sizeof table);
    append(&bytes, "\xFF\xD9", 2);
    assert_false(compare(p.ours, p.alone, &bytes, 3));
    stk__buffer_fini(&bytes);
    free_pair(p);
}

/* While it fetches bits, libjpeg takes several 0xFF before a 0 for one of data, and reads over the end of a
 * file behind several of them: at other rows, and with other warnings, than between markers. */
static void runs_of_ff_behind_the_last_block(void **unused)
{
    (void)unused;
    static const struct {
        const char *bytes;
        size_t size;
    } ends[] = {{"\xFF\xFF", 2},
                {"\xFF\xFF\xFF", 3},
                {"\xFF\xFF\x00", 3},
                {"\xFF\xFF\x00\xFF\xD9", 5},
                {"\xFF\xFF\xFF\x00\xFF\xD9", 6},
                {"\xFF\xFF\x00\xFF\x00\xFF\xD9", 7},
                {"\xFF\xFF\xD0\xFF\xD9", 5},
                {"\xFF\x01\xFF\xD9", 4},
                {"\xFF\xDA", 2}};
    stk__buffer whole = {0}, bytes = {0};
    const pair p = make_pair();
    for (int32_t w = 10; w < 40; w++) { /* libjpeg has fetched more bits, or less */
        stk__pixels drawn = pictures_draw(w, 50, 3, (uint32_t)w);
        pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){.restart_rows = w % 2});
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
            pictures_cut(&bytes, &whole, whole.size_bytes - 2);
            append(&bytes, ends[i].bytes, ends[i].size);
            compare(p.ours, p.alone, &bytes, 3);
        }
        stk__free(drawn.data);
    }
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    free_pair(p);
}

static int log_count;
static char logged[512];

static void keep_log(void *context, stk_log_level level, const char *line)
{
    (void)context;
    assert_int_equal(level, STK_LOG_WARNING);
    snprintf(logged, sizeof logged, "%s", line);
    log_count++;
}

/* As if Stoker had been built for another libjpeg, by each thing that it looks at: libjpeg decodes, the
 * pixels are the same, and it is told once. */
static void another_libjpeg_decodes_by_itself(void **unused)
{
    (void)unused;
    const int bytes_now = (int)sizeof(struct jpeg_decompress_struct), messages = JMSG_LASTMSGCODE;
    const stk__jpeg_inside others[] = {{JPEG_LIB_VERSION + 10, bytes_now, messages, true},
                                       {JPEG_LIB_VERSION, bytes_now + 8, messages, true},
                                       {JPEG_LIB_VERSION, bytes_now, messages + 1, true},
                                       {JPEG_LIB_VERSION, bytes_now, messages, false}};
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(150, 90, 3, 1);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){0});
    stk_log_set(keep_log, NULL, STK_LOG_WARNING);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        stk__jpeg_inside_fake(&others[i]);
        log_count = 0;
        const pair p = make_pair(), q = make_pair();
        assert_false(compare(p.ours, p.alone, &bytes, 3));
        assert_false(compare(p.ours, p.alone, &bytes, 1));
        assert_false(compare(q.ours, q.alone, &bytes, 3));
        assert_int_equal(log_count, 1);
        assert_non_null(strstr(logged, "differs from the one Stoker was built for"));
        assert_non_null(strstr(logged, "its own Huffman decoder is used"));
        free_pair(p);
        free_pair(q);
    }
    stk__jpeg_inside_fake(NULL);
    log_count = 0;
    const pair p = make_pair();
    assert_true(compare(p.ours, p.alone, &bytes, 3));
    assert_int_equal(log_count, 0);
    free_pair(p);
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    stk__buffer_fini(&bytes);
    stk__free(drawn.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_libjpeg_decodes_by_itself),
        cmocka_unit_test(scans_in_order_are_taken_and_equal),
        cmocka_unit_test(long_scans_are_taken),
        cmocka_unit_test(usual_tables_need_not_be_there),
        cmocka_unit_test(other_scans_are_left_to_libjpeg),
        cmocka_unit_test(odd_scans_end_as_libjpeg_says),
        cmocka_unit_test(ends_of_scans),
        cmocka_unit_test(scans_that_end_early),
        cmocka_unit_test(sums_of_dc_do_not_overflow),
        cmocka_unit_test(tables_behind_the_last_scan_are_not_used),
        cmocka_unit_test(runs_of_ff_behind_the_last_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
