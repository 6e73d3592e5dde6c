/* SPDX-License-Identifier: Apache-2.0 */
/* The JPEG decoder against bare libjpeg: pixels, colour spaces, EXIF orientation, reduced sizes, and calls
 * in any order. */
#include "decode/exif.h"
#include "image/resize.h"
#include "support/pictures.h"
#include "decoding.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static void pixels_equal_a_bare_decoder(void **state)
{
    (void)state;
    static const pictures_jpeg_options kinds[] = {
        {0},
        {.sampling = 1},
        {.progressive = true},
        {.space = PICTURES_GREY},
        {.space = PICTURES_GREY, .progressive = true},
        {.space = PICTURES_RGB, .sampling = 1},
        {.restart_rows = 1},
        {.scan_repeats = 2},
    };
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int channels = 1; channels <= 3; channels += 2) {
            const int32_t w = 67 + (int32_t)i * 5, h = 41 + (int32_t)i * 3;
            stk__pixels drawn = pictures_draw(w, h, kinds[i].space == PICTURES_GREY ? 1 : 3, 7);
            pictures_jpeg(&bytes, drawn, &kinds[i]);
            stk__pixels wanted = decode_bare(&bytes, channels, 1), got = make_target(w, h, channels);
            stk__picture picture;
            assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "JPG", &picture, NULL), STK_OK);
            assert_int_equal(picture.channels, drawn.channels);
            assert_int_equal(picture.orientation, 1);
            assert_int_equal(picture.depth_bits, 8);
            assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture, got, NULL), STK_OK);
            assert_memory_equal(got.data, wanted.data, size_of(got));
            stk__free(drawn.data);
            stk__free(wanted.data);
            stk__free(got.data);
        }
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
    assert_null(decoder);
}

/* Mean and largest difference of all values. */
static double differ(stk__pixels a, stk__pixels b, int *most)
{
    double sum = 0;
    *most = 0;
    for (size_t i = 0; i < size_of(a); i++) {
        const int off = abs(a.data[i] - b.data[i]);
        sum += off;
        if (off > *most) *most = off;
    }
    return sum / (double)size_of(a);
}

static void coarse_is_near_and_only_on_request(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    stk__picture picture;
    int most;
    stk__pixels drawn = pictures_draw(96, 80, 3, 7), fine = make_target(96, 80, 3),
                coarse = make_target(96, 80, 3);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.quality = 95});
    stk__pixels wanted = decode_bare(&bytes, 3, 1);
    for (int turn = 0; turn < 2; turn++) { /* nothing of one stays for the next */
        assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "jpg", &picture, NULL), STK_OK);
        assert_false(picture.coarse);
        assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture, fine, NULL), STK_OK);
        assert_memory_equal(fine.data, wanted.data, size_of(fine));
        picture.coarse = true;
        assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture, coarse, NULL), STK_OK);
        const double mean = differ(fine, coarse, &most);
        assert_true(mean > 0 && mean < 12 && most < 128);
    }
    stk__free(drawn.data);
    stk__free(wanted.data);
    stk__free(fine.data);
    stk__free(coarse.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static void inks_become_colours(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    for (int kind = 0; kind < 4; kind++) {
        const pictures_jpeg_options options = {.space = kind & 1 ? PICTURES_YCCK : PICTURES_CMYK,
                                               .sampling = 1,
                                               .quality = 100,
                                               .no_adobe = (kind & 2) != 0};
        /* Without Adobe's marker four components are CMYK: there is no YCCK. */
        if (kind == 3) continue;
        stk__pixels inks = pictures_draw(16, 16, 4, 3);
        for (size_t i = 0; i < 16 * 16; i++) { /* C 25 %, M 50 %, Y 0, K 20 % */
            const uint8_t ink[4] = {64, 128, 0, 51};
            for (int c = 0; c < 4; c++)
                inks.data[i * 4 + (size_t)c] = options.no_adobe ? ink[c] : (uint8_t)(255 - ink[c]);
        }
        pictures_jpeg(&bytes, inks, &options);
        stk__picture picture;
        assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), NULL, &picture, NULL), STK_OK);
        assert_int_equal(picture.channels, 3);
        stk__pixels rgb = make_target(16, 16, 3), grey = make_target(16, 16, 1);
        assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture, rgb, NULL), STK_OK);
        assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture, grey, NULL), STK_OK);
        for (size_t i = 0; i < 16 * 16; i++) {
            assert_in_range(rgb.data[i * 3], 153 - 3, 153 + 3);     /* (255-64)*(255-51)/255 */
            assert_in_range(rgb.data[i * 3 + 1], 102 - 3, 102 + 3); /* (255-128)*204/255 */
            assert_in_range(rgb.data[i * 3 + 2], 204 - 3, 204 + 3);
            const double luma =
                0.299 * rgb.data[i * 3] + 0.587 * rgb.data[i * 3 + 1] + 0.114 * rgb.data[i * 3 + 2];
            assert_in_range(grey.data[i], (int)luma - 1, (int)luma + 1);
        }
        stk__free(inks.data);
        stk__free(rgb.data);
        stk__free(grey.data);
    }
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* A file's beginning with that before EXIF, and 6 as a number of 2 or 4 bytes. */
static stk__orientation find_orientation(const char *before, bool big, bool is_long)
{
    static const uint8_t exif[] = {0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f', 0, 0};
    static const uint8_t tags[2][26] = {{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6},
                                        {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6}};
    uint8_t bytes[64] = {0xFF, 0xD8}, *to = bytes + 2;
    memcpy(to, before, strlen(before));
    to += strlen(before);
    memcpy(to, exif, sizeof exif);
    to += sizeof exif;
    memcpy(to, tags[big], sizeof tags[big]);
    if (is_long) to[12 + big] = 4;
    if (is_long && big) to[19] = 0, to[21] = 6;
    return stk__exif_orientation((stk__encoded){bytes, (size_t)(to - bytes) + sizeof tags[big]});
}

/* Markers without a length, and fill bytes, may stand before it. */
static void orientation_is_found(void **state)
{
    (void)state;
    static const char *const before[] = {"",
                                         "\xFF\xFF",
                                         "\xFF\x01",
                                         "\xFF\xD0",
                                         "\xFF\xD7\xFF\x01\xFF",
                                         "\xFF\xFE\x01\x02"}; /* the last one: a comment that never ends */
    for (size_t i = 0; i < 6; i++)
        for (int kind = 0; kind < 4; kind++)
            assert_int_equal(find_orientation(before[i], kind % 2, kind / 2), i == 5 ? 1 : 6);
}

static void exif_turns_the_image(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(37, 22, 3, 5);
    for (int orientation = 1; orientation <= 9; orientation++)
        for (int big = 0; big < 2; big++) {
            const pictures_jpeg_options options = {.orientation = orientation, .exif_big = big};
            pictures_jpeg(&bytes, drawn, &options);
            stk__picture picture;
            assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "jpeg", &picture, NULL), STK_OK);
            assert_int_equal(picture.orientation, orientation == 9 ? 1 : orientation); /* 9 is nonsense */
            const bool swaps = stk__orientation_swaps(picture.orientation);
            stk__pixels stored = decode_bare(&bytes, 3, 1);
            stk__pixels wanted = make_target(swaps ? 22 : 37, swaps ? 37 : 22, 3);
            stk__pixels got = make_target(wanted.w, wanted.h, 3);
            stk__orientation_apply(stored, wanted, picture.orientation);
            assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture, got, NULL), STK_OK);
            assert_memory_equal(got.data, wanted.data, size_of(got));
            picture.orientation = 1; /* switched off: as stored */
            stk__pixels plain = make_target(37, 22, 3);
            assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture, plain, NULL), STK_OK);
            assert_memory_equal(plain.data, stored.data, size_of(plain));
            stk__free(stored.data);
            stk__free(wanted.data);
            stk__free(got.data);
            stk__free(plain.data);
        }
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* Which reduction the decoder used shows in the pixels. */
static void shrinks_only_by_whole_pixels(void **state)
{
    (void)state;
    static const struct {
        int32_t w, h, target_w, target_h;
        unsigned shrink;
    } cases[] = {
        {64, 48, 64, 48, 1}, {64, 48, 33, 24, 1}, {64, 48, 32, 24, 2}, {64, 48, 30, 20, 2},
        {64, 48, 16, 12, 4}, {64, 48, 9, 2, 4},   {64, 48, 8, 6, 8},   {64, 48, 3, 3, 8},
        {66, 48, 8, 6, 2},   {65, 48, 8, 6, 1},
    };
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0}, scratch = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stk__pixels drawn = pictures_draw(cases[i].w, cases[i].h, 3, 11);
        const pictures_jpeg_options options = {.orientation = i % 2 ? 6 : 1};
        pictures_jpeg(&bytes, drawn, &options);
        stk__pixels stored = decode_bare(&bytes, 3, cases[i].shrink), upright = stored;
        stk__pixels target = make_target(cases[i].target_w, cases[i].target_h, 3);
        if (i % 2) {
            upright = make_target(stored.h, stored.w, 3);
            stk__orientation_apply(stored, upright, 6);
            const int32_t w = target.w;
            target = stk__pixels_dense(target.data, target.h, w, 3);
        }
        stk__pixels wanted = make_target(target.w, target.h, 3);
        assert_int_equal(stk__resize_image(upright, wanted, &scratch, NULL), STK_OK);
        stk__picture picture;
        assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), NULL, &picture, NULL), STK_OK);
        assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture, target, NULL), STK_OK);
        assert_memory_equal(target.data, wanted.data, size_of(target));
        if (i % 2) stk__free(upright.data);
        stk__free(stored.data);
        stk__free(target.data);
        stk__free(wanted.data);
        stk__free(drawn.data);
    }
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&scratch);
    stk__decoder_destroy(&decoder);
}

static void calls_come_in_any_order(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer first = {0}, second = {0};
    stk__pixels a = pictures_draw(48, 32, 3, 1), b = pictures_draw(48, 32, 3, 2);
    pictures_jpeg(&first, a, &(pictures_jpeg_options){.quality = 90});
    pictures_jpeg(&second, b, &(pictures_jpeg_options){.quality = 60});
    stk__pixels wanted_a = decode_bare(&first, 3, 1), wanted_b = decode_bare(&second, 3, 1);
    stk__pixels got = make_target(48, 32, 3);
    stk__picture picture, other;
    assert_int_equal(stk__decode_header(decoder, as_encoded(&first), "jpg", &picture, NULL), STK_OK);
    assert_int_equal(stk__decode_header(decoder, as_encoded(&second), "jpg", &other, NULL), STK_OK);
    for (int i = 0; i < 2; i++) { /* twice without a new header */
        assert_int_equal(stk__decode_image(decoder, as_encoded(&first), &picture, got, NULL), STK_OK);
        assert_memory_equal(got.data, wanted_a.data, size_of(got));
    }
    assert_int_equal(stk__decode_header(decoder, as_encoded(&first), "jpg", &picture, NULL), STK_OK);
    const size_t size = second.size_bytes < first.size_bytes ? second.size_bytes : first.size_bytes;
    memcpy(first.data, second.data, size); /* same address and size, other content */
    assert_int_equal(stk__decode_image(decoder, as_encoded(&first), &picture, got, NULL), STK_OK);
    assert_memory_equal(got.data, wanted_b.data, size_of(got));

    stk_error error = {0};
    picture.w = 47;
    assert_int_equal(stk__decode_image(decoder, as_encoded(&first), &picture, got, &error),
                     STK_ERROR_ARGUMENT);
    stk__free(a.data);
    stk__free(b.data);
    stk__free(wanted_a.data);
    stk__free(wanted_b.data);
    stk__free(got.data);
    stk__buffer_fini(&first);
    stk__buffer_fini(&second);
    stk__decoder_destroy(&decoder);
}

static void cannot_be_a_mask(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(8, 8, 1, 1), got = make_target(8, 8, 1);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.space = PICTURES_GREY});
    stk__picture picture;
    stk_error error = {0};
    const stk__mask_options options = {.orientation = 1, .ignore = 255};
    assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "jpg", &picture, NULL), STK_OK);
    assert_int_equal(stk__decode_mask(decoder, as_encoded(&bytes), &picture, &options, got, &error),
                     STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_MASK_FORMAT);
    stk__free(drawn.data);
    stk__free(got.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* Random damage: a verdict, never a crash. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_equal_a_bare_decoder),  cmocka_unit_test(inks_become_colours),
        cmocka_unit_test(orientation_is_found),         cmocka_unit_test(exif_turns_the_image),
        cmocka_unit_test(shrinks_only_by_whole_pixels), cmocka_unit_test(coarse_is_near_and_only_on_request),
        cmocka_unit_test(calls_come_in_any_order),      cmocka_unit_test(cannot_be_a_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
