/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged JPEGs: the class and message of each damage, limits, tables that must not be inherited from the
 * image before, and every cut and many flipped bytes. */
#include "core/clock.h"
#include "support/pictures.h"
#include "decoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t find_behind(const stk__buffer *bytes, size_t start, uint8_t marker)
{
    for (size_t at = start; at + 1 < bytes->size_bytes; at++)
        if (bytes->data[at] == 0xFF && bytes->data[at + 1] == marker) return at;
    fail_msg("no marker %02x", marker);
    return 0;
}

static size_t find_marker(const stk__buffer *bytes, uint8_t marker)
{
    return find_behind(bytes, 0, marker);
}

static void damages_have_their_class(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(80, 60, 3, 1);
    pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){0});
    const size_t size = whole.size_bytes, scan = find_marker(&whole, 0xDA), frame = find_marker(&whole, 0xC0);

    pictures_cut(&bytes, &whole, 0);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_EMPTY);
    for (size_t cut = 1; cut < size; cut++) { /* in the header, in the data, without EOI */
        pictures_cut(&bytes, &whole, cut);
        assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TRUNCATED);
    }
    pictures_cut(&bytes, &whole, size);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);

    bytes.data[frame + 7] = bytes.data[frame + 8] = 0; /* width */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_ZERO_SIZE);
    pictures_cut(&bytes, &whole, size);
    bytes.data[frame + 4] = 12; /* bits */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_UNSUPPORTED);
    pictures_cut(&bytes, &whole, size);
    bytes.data[frame + 1] = 0xC3; /* lossless */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_UNSUPPORTED);
    pictures_cut(&bytes, &whole, size);
    bytes.data[frame + 3] += 1; /* length of the frame header */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_BAD_HEADER);
    pictures_cut(&bytes, &whole, size);
    memset(bytes.data + scan + 200, 0xFE, 40); /* codes that do not exist */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
    pictures_cut(&bytes, &whole, size);
    memmove(bytes.data + size - 12, bytes.data + size - 2, 2); /* data ends early, EOI is there */
    bytes.size_bytes = size - 10;
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);

    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.restart_rows = 1});
    bytes.data[find_marker(&bytes, 0xD1) + 1] = 0xD4;
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.arithmetic = true});
    for (bytes.size_bytes -= 2; bytes.size_bytes > 0; bytes.size_bytes--)
        assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TRUNCATED);
    pictures_cut(&bytes, &whole, size); /* and the decoder is still good */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    stk__free(drawn.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* The row in a message is of this image, not where the one before had ended. */
static void rows_are_not_inherited(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    stk__picture picture;
    stk_error error = {0};
    stk__pixels drawn = pictures_draw(80, 60, 3, 1);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){0});
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    bytes.data[find_marker(&bytes, 0xC0) + 3] += 1; /* length of the frame header */
    assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "jpg", &picture, &error),
                     STK_ERROR_SAMPLE);
    assert_non_null(strstr(error.message, "at row 0:"));
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static void limits_are_kept(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(640, 480, 3, 1);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.progressive = true});
    stk__limits limits = stk__limits_default;
    limits.scans = 3;
    stk__decoder *decoder = make_decoder(&limits);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TOO_MANY_SCANS);
    stk__decoder_destroy(&decoder);
    limits = stk__limits_default;
    limits.time_s = 0;
    decoder = make_decoder(&limits);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TOO_SLOW);
    stk__decoder_destroy(&decoder);
    limits = stk__limits_default;
    limits.pixels = 640 * 480 - 1;
    decoder = make_decoder(&limits);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TOO_MANY_PIXELS);
    stk__decoder_destroy(&decoder);
    limits = stk__limits_default;
    limits.bytes = bytes.size_bytes - 1;
    decoder = make_decoder(&limits);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TOO_MANY_BYTES);
    stk__decoder_destroy(&decoder);

    decoder = make_decoder(NULL);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.scan_repeats = 150});
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.scan_repeats = 300});
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TOO_MANY_SCANS);
    stk__decoder_destroy(&decoder);

    limits = stk__limits_default; /* forgiven warnings: a file without EOI has one */
    limits.warnings = 1;
    decoder = make_decoder(&limits);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){0});
    bytes.size_bytes -= 2;
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    stk__decoder_destroy(&decoder);
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
}

/* An image that lacks tables gets the same verdict from a fresh decoder and from one that saw others. */
static void tables_are_not_inherited(void **state)
{
    (void)state;
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(80, 60, 3, 1);
    for (int i = 0; i < 4; i++) {
        const bool warm = i % 2, progressive = i / 2; /* sequential: the usual tables do not fit these data */
        stk__decoder *decoder = make_decoder(NULL);
        pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){.optimised = true, .progressive = progressive});
        if (warm) assert_int_equal(find_damage(decoder, &whole), STK_DAMAGE_NONE);
        pictures_cut(&bytes, &whole, whole.size_bytes);
        remove_segments(&bytes, 0xC4);
        assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
        pictures_cut(&bytes, &whole, whole.size_bytes);
        remove_segments(&bytes, 0xDB);
        assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
        stk__decoder_destroy(&decoder);
    }
    stk__free(drawn.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
}

static void check_message(stk__decoder *decoder, const stk__buffer *bytes, const char *wanted)
{
    static uint8_t pixels[80 * 60 * 3];
    const stk__pixels target = stk__pixels_dense(pixels, 80, 60, 3);
    stk__picture picture;
    stk_error error = {0};
    stk_status status = stk__decode_header(decoder, as_encoded(bytes), "jpg", &picture, &error);
    if (status == STK_OK) status = stk__decode_image(decoder, as_encoded(bytes), &picture, target, &error);
    assert_int_equal(status, STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_CORRUPT);
    assert_non_null(strstr(error.message, wanted));
}

static void tables_are_named(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(80, 60, 3, 1);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){0});
    bytes.data[find_marker(&bytes, 0xDB) + 5] = 0;
    check_message(decoder, &bytes, "a quantization table is missing or has a 0");
    remove_segments(&bytes, 0xDB);
    check_message(decoder, &bytes, "a quantization table is missing or has a 0");
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.progressive = true});
    remove_segments(&bytes, 0xC4);
    check_message(decoder, &bytes, "a Huffman table is missing or invalid");
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.scan_repeats = 1});
    const size_t second = find_behind(&bytes, find_marker(&bytes, 0xDA) + 2, 0xDA);
    bytes.data[second + 1] = 0xD9;
    check_message(decoder, &bytes, "a component has no scan");
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* Many warnings may be forgiven; a scan without its tables is none of them. */
static void missing_tables_are_not_forgiven(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    stk__limits limits = stk__limits_default;
    limits.warnings = 100000;
    stk__pixels drawn = pictures_draw(80, 60, 3, 1);
    stk__decoder *decoder = make_decoder(&limits);
    for (int warm = 0; warm < 2; warm++) {
        pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.progressive = true});
        if (warm) assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
        remove_segments(&bytes, 0xC4);
        assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
        pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){0});
        bytes.data[find_marker(&bytes, 0xDA) + 6] = 0x22; /* tables 0 and 1 have usual values, 2 has none */
        assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
    }
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* Header and image calls in any order, also with a buffer that was refilled in between. */
static void survives_flipped_bytes(void **state)
{
    (void)state;
    static const pictures_jpeg_options kinds[] = {{.orientation = 6},
                                                  {.progressive = true},
                                                  {.space = PICTURES_CMYK, .restart_rows = 1},
                                                  {.scan_repeats = 2}};
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer whole = {0}, bytes = {0};
    uint32_t seed = 99;
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        stk__pixels drawn = pictures_draw(33, 27, kinds[kind].space == PICTURES_CMYK ? 4 : 3, 1);
        pictures_jpeg(&whole, drawn, &kinds[kind]);
        for (int round = 0; round < 1500; round++) {
            pictures_cut(&bytes, &whole, whole.size_bytes);
            const uint32_t flips = 1 + pictures_random(&seed) % 3;
            for (uint32_t i = 0; i < flips; i++)
                bytes.data[pictures_random(&seed) % bytes.size_bytes] = (uint8_t)pictures_random(&seed);
            stk_status status;
            try_decode(decoder, &bytes, round % 2 ? 1 : 3, &status);
            assert_true(status == STK_OK || status == STK_ERROR_SAMPLE);
        }
        stk__free(drawn.data);
    }
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static void survives_every_cut(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(33, 27, 3, 1), got = make_target(33, 27, 3);
    for (int progressive = 0; progressive < 2; progressive++) {
        pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){.progressive = progressive, .orientation = 1});
        stk__pixels wanted = decode_bare(&whole, 3, 1);
        for (size_t cut = 0; cut < whole.size_bytes; cut++) {
            pictures_cut(&bytes, &whole, cut);
            stk__picture picture;
            stk_status status = stk__decode_header(decoder, as_encoded(&bytes), NULL, &picture, NULL);
            if (status == STK_OK)
                status = stk__decode_image(decoder, as_encoded(&bytes), &picture, got, NULL);
            if (status == STK_OK)
                assert_memory_equal(got.data, wanted.data, size_of(got));
            else
                assert_int_equal(status, STK_ERROR_SAMPLE);
        }
        stk__free(wanted.data);
    }
    stk__free(drawn.data);
    stk__free(got.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damages_have_their_class), cmocka_unit_test(rows_are_not_inherited),
        cmocka_unit_test(limits_are_kept),          cmocka_unit_test(tables_are_not_inherited),
        cmocka_unit_test(tables_are_named),         cmocka_unit_test(missing_tables_are_not_forgiven),
        cmocka_unit_test(survives_flipped_bytes),   cmocka_unit_test(survives_every_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
