/* Our Huffman decoder beside libjpeg's own: the same pixels where the scan is in order, and where it is odd
 * the same verdict, word for word, because libjpeg decodes it then. */
#include "decode/jpeg.h"
#include "support/pictures.h"
#include "unit/decoding.h"

#include <string.h>

typedef struct verdict {
    stk_status status;
    stk_error error;
    stk__pixels pixels; /* data NULL: the header is bad */
    bool taken;         /* ours went through the whole scan */
} verdict;

static const stk__limits *limits = &stk__limits_default;

static stk__jpeg_state *make_state(bool alone)
{
    void *state = NULL;
    assert_int_equal(stk__format_jpeg.create(&state, limits, NULL), STK_OK);
    ((stk__jpeg_state *)state)->alone = alone;
    return state;
}

static verdict judge(stk__jpeg_state *state, const stk__buffer *bytes, int channels)
{
    verdict v = {0};
    stk__picture picture = {0};
    v.status = stk__format_jpeg.header(state, as_encoded(bytes), &picture, &v.error);
    if (v.status != STK_OK) return v;
    v.pixels = make_target(picture.w, picture.h, channels);
    state->huffman.mcu_left = 1;
    v.status = stk__format_jpeg.image(state, as_encoded(bytes), &picture, v.pixels, &v.error);
    v.taken = v.status == STK_OK && state->huffman.mcu_left == 0;
    return v;
}

/* Both on the same bytes; returns whether ours went through. */
static bool compare(stk__jpeg_state *ours, stk__jpeg_state *alone, const stk__buffer *bytes, int channels)
{
    verdict a = judge(ours, bytes, channels), b = judge(alone, bytes, channels);
    assert_int_equal(a.status, b.status);
    assert_int_equal(a.error.damage, b.error.damage);
    assert_string_equal(a.error.message, b.error.message);
    assert_false(b.taken);
    if (a.status == STK_OK) assert_memory_equal(a.pixels.data, b.pixels.data, size_of(a.pixels));
    stk__free(a.pixels.data);
    stk__free(b.pixels.data);
    return a.taken;
}

static void fill_noise(stk__pixels pixels, uint32_t seed, unsigned mask)
{
    for (size_t i = 0; i < size_of(pixels); i++)
        pixels.data[i] = (uint8_t)(pictures_random(&seed) & mask);
}

typedef struct pair {
    stk__jpeg_state *ours, *alone;
} pair;

static pair make_pair(void)
{
    return (pair){make_state(false), make_state(true)};
}

static void free_pair(pair p)
{
    stk__format_jpeg.destroy(p.ours);
    stk__format_jpeg.destroy(p.alone);
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
            assert_int_equal(taken, more == 0 || fill == 2); /* 0xFF before a marker means nothing */
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

static void put_bits(stk__buffer *out, uint32_t *pending, int *count, uint32_t bits, int more)
{
    *pending = *pending << more | bits;
    for (*count += more; *count >= 8; *count -= 8) {
        const uint8_t byte[] = {(uint8_t)(*pending >> (*count - 8)), 0};
        assert_int_equal(stk__buffer_append(out, byte, byte[0] == 0xFF ? 2 : 1, NULL), STK_OK);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_in_order_are_taken_and_equal),
        cmocka_unit_test(long_scans_are_taken),
        cmocka_unit_test(other_scans_are_left_to_libjpeg),
        cmocka_unit_test(odd_scans_end_as_libjpeg_says),
        cmocka_unit_test(ends_of_scans),
        cmocka_unit_test(scans_that_end_early),
        cmocka_unit_test(sums_of_dc_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
