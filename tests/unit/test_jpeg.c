#include "core/clock.h"
#include "decode/decode.h"
#include "image/resize.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <jpeglib.h>

static stk__decoder *make_decoder(const stk__limits *limits)
{
    stk__decoder *decoder = NULL;
    assert_int_equal(stk__decoder_create(&decoder, limits, NULL), STK_OK);
    return decoder;
}

static stk__encoded as_encoded(const stk__buffer *buffer)
{
    return (stk__encoded){buffer->data, buffer->size_bytes};
}

static stk__pixels make_target(int32_t w, int32_t h, int32_t channels)
{
    uint8_t *data = stk__alloc((size_t)w * (size_t)h * (size_t)channels);
    assert_non_null(data);
    return stk__pixels_dense(data, w, h, channels);
}

static size_t size_of(stk__pixels pixels)
{
    return (size_t)pixels.w * (size_t)pixels.h * (size_t)pixels.channels;
}

/* libjpeg as its manual shows it: what our decoder must agree with bit by bit. */
static stk__pixels decode_bare(const stk__buffer *bytes, int channels, unsigned shrink)
{
    struct jpeg_decompress_struct codec = {0};
    struct jpeg_error_mgr errors;
    codec.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&codec);
    jpeg_mem_src(&codec, bytes->data, bytes->size_bytes);
    jpeg_read_header(&codec, TRUE);
    codec.scale_denom = shrink;
    codec.out_color_space = channels == 4 ? JCS_CMYK : channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_start_decompress(&codec);
    stk__pixels target = make_target((int32_t)codec.output_width, (int32_t)codec.output_height, channels);
    while (codec.output_scanline < codec.output_height) {
        JSAMPROW row = stk__pixels_row(target, (int32_t)codec.output_scanline);
        jpeg_read_scanlines(&codec, &row, 1);
    }
    jpeg_destroy_decompress(&codec);
    return target;
}

static stk_damage try_decode(stk__decoder *decoder, const stk__buffer *bytes, int channels,
                             stk_status *status)
{
    stk_error error = {0};
    stk__picture picture;
    *status = stk__decode_header(decoder, as_encoded(bytes), "jpg", &picture, &error);
    if (*status != STK_OK) return error.damage;
    stk__pixels target = make_target(picture.w, picture.h, channels);
    *status = stk__decode_image(decoder, as_encoded(bytes), &picture, target, &error);
    stk__free(target.data);
    return error.damage;
}

static stk_damage find_damage(stk__decoder *decoder, const stk__buffer *bytes)
{
    stk_status status;
    const stk_damage damage = try_decode(decoder, bytes, 3, &status);
    assert_int_equal(status, damage == STK_DAMAGE_NONE ? STK_OK : STK_ERROR_SAMPLE);
    return damage;
}

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

static size_t find_marker(const stk__buffer *bytes, uint8_t marker)
{
    for (size_t at = 0; at + 1 < bytes->size_bytes; at++)
        if (bytes->data[at] == 0xFF && bytes->data[at + 1] == marker) return at;
    fail_msg("no marker %02x", marker);
    return 0;
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
    pictures_cut(&bytes, &whole, size - 2);
    assert_int_equal(stk__buffer_append(&bytes, "abcdef\xFF\xD9", 8, NULL), STK_OK); /* bytes too many */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);

    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.restart_rows = 1});
    bytes.data[find_marker(&bytes, 0xD1) + 1] = 0xD4;
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.arithmetic = true});
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_UNSUPPORTED);
    pictures_cut(&bytes, &whole, size); /* and the decoder is still good */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    stk__free(drawn.data);
    stk__buffer_fini(&whole);
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

static void remove_segments(stk__buffer *bytes, uint8_t marker)
{
    size_t at = 2;
    while (bytes->data[at + 1] != 0xDA) {
        const size_t length = 2 + ((size_t)bytes->data[at + 2] << 8 | bytes->data[at + 3]);
        if (bytes->data[at + 1] != marker) {
            at += length;
            continue;
        }
        memmove(bytes->data + at, bytes->data + at + length, bytes->size_bytes - at - length);
        bytes->size_bytes -= length;
    }
}

/* An image that lacks tables gets the same verdict from a fresh decoder and from one that saw others. */
static void tables_are_not_inherited(void **state)
{
    (void)state;
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(80, 60, 3, 1);
    pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){0});
    for (int warm = 0; warm < 2; warm++) {
        stk__decoder *decoder = make_decoder(NULL);
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

/* Header and image calls in any order, also with a buffer that was refilled in between. */
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
        cmocka_unit_test(pixels_equal_a_bare_decoder),
        cmocka_unit_test(inks_become_colours),
        cmocka_unit_test(exif_turns_the_image),
        cmocka_unit_test(shrinks_only_by_whole_pixels),
        cmocka_unit_test(damages_have_their_class),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(tables_are_not_inherited),
        cmocka_unit_test(calls_come_in_any_order),
        cmocka_unit_test(cannot_be_a_mask),
        cmocka_unit_test(survives_flipped_bytes),
        cmocka_unit_test(survives_every_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
