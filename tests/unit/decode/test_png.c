/* SPDX-License-Identifier: Apache-2.0 */
/* The PNG decoder: every colour type, depth and interlacing against values worked out here and against
 * libspng, classes of damage, limits, and flipped bytes. */
#include "decode/decode.h"
#include "decode/png.h"
#include "support/pictures.h"
#include "png_ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

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

static uint16_t *draw_samples(size_t count, int depth, uint32_t seed)
{
    uint16_t *samples = malloc(count * sizeof *samples);
    assert_non_null(samples);
    for (size_t i = 0; i < count; i++)
        samples[i] = (uint16_t)(pictures_random(&seed) & ((1u << depth) - 1));
    return samples;
}

static int samples_of(int colour)
{
    static const int samples[] = {1, 0, 3, 1, 2, 0, 4};
    return samples[colour];
}

static const int every_kind[][2] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                                    {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};
enum { KINDS = sizeof every_kind / sizeof every_kind[0] };

/* What a PNG of these samples looks like, pixel by pixel. */
static void expect_pixel(const uint16_t *sample, const pictures_png_options *options, uint8_t rgb[3])
{
    for (int c = 0; c < 3; c++) {
        unsigned value = sample[options->colour == 2 || options->colour == 6 ? c : 0];
        if (options->colour == 3)
            value = options->palette[value * 3 + (unsigned)c];
        else if (options->depth == 16)
            value >>= 8;
        else
            value = value * 255 / ((1u << options->depth) - 1);
        rgb[c] = (uint8_t)value;
    }
}

static void compare_image(stk__pixels got, const uint16_t *samples, const pictures_png_options *options)
{
    for (int32_t i = 0; i < got.w * got.h; i++) {
        uint8_t rgb[3];
        expect_pixel(samples + i * samples_of(options->colour), options, rgb);
        if (got.channels == 3) {
            assert_memory_equal(got.data + i * 3, rgb, 3);
        } else if (options->colour == 0 || options->colour == 4) {
            assert_int_equal(got.data[i], rgb[0]);
        } else {
            const double luma = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
            assert_true(got.data[i] - luma <= 0.51 && got.data[i] - luma >= -0.51);
        }
    }
}

static stk_status decode(stk__decoder *decoder, const stk__buffer *bytes, bool mask, stk__pixels target,
                         stk_error *error)
{
    stk__picture picture;
    const stk__mask_options options = {.orientation = 1, .ignore = 255};
    STK__TRY(stk__decode_header(decoder, as_encoded(bytes), "png", &picture, error));
    if (mask) return stk__decode_mask(decoder, as_encoded(bytes), &picture, &options, target, error);
    return stk__decode_image(decoder, as_encoded(bytes), &picture, target, error);
}

static void check_kind(stk__decoder *decoder, const pictures_png_options *options, int32_t w, int32_t h)
{
    stk__buffer bytes = {0};
    uint16_t *samples = draw_samples((size_t)w * (size_t)h * (size_t)samples_of(options->colour),
                                     options->depth, (uint32_t)(w * 31 + h));
    uint8_t *data = stk__alloc((size_t)w * (size_t)h * 3);
    assert_non_null(data);
    pictures_png(&bytes, samples, w, h, options);
    for (int channels = 1; channels <= 3; channels += 2) {
        const stk__pixels target = stk__pixels_dense(data, w, h, channels);
        assert_int_equal(decode(decoder, &bytes, false, target, NULL), STK_OK);
        compare_image(target, samples, options);
    }
    stk_error error = {0};
    const stk_status status = decode(decoder, &bytes, true, stk__pixels_dense(data, w, h, 1), &error);
    if (options->colour == 2 || options->colour == 6) {
        assert_int_equal(error.damage, STK_DAMAGE_MASK_FORMAT);
    } else if (options->depth == 16) {
        assert_int_equal(error.damage, STK_DAMAGE_MASK_IDS);
    } else {
        assert_int_equal(status, STK_OK);
        for (int32_t i = 0; i < w * h; i++)
            assert_int_equal(data[i], samples[i * samples_of(options->colour)]);
    }
    free(samples);
    stk__free(data);
    stk__buffer_fini(&bytes);
}

static void every_kind_and_depth(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{1, 1}, {2, 3}, {7, 5}, {8, 8}, {13, 17}, {64, 9}};
    uint8_t palette[768];
    for (int i = 0; i < 768; i++)
        palette[i] = (uint8_t)(i * 37 + 11);
    stk__decoder *decoder = make_decoder(NULL);
    for (size_t k = 0; k < KINDS; k++)
        for (int filter = 0; filter <= PICTURES_FILTER_MIX; filter++)
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                pictures_png_options options = {
                    .colour = every_kind[k][0], .depth = every_kind[k][1], .filter = filter};
                options.interlaced = (filter + (int)s) % 2;
                options.idat_bytes = s % 3 == 1 ? 5 : 0;
                options.extra = s % 2;
                if (options.colour == 3) {
                    options.palette = palette;
                    options.palette_count = 1 << options.depth;
                }
                check_kind(decoder, &options, sizes[s][0], sizes[s][1]);
                options.interlaced = !options.interlaced;
                check_kind(decoder, &options, sizes[s][0], sizes[s][1]);
            }
    stk__decoder_destroy(&decoder);
}

/* By ours and by libspng. */
static void check_both_ways(const stk__buffer *bytes, bool ids, int channels)
{
    stk__png_state state = {.limits = &stk__limits_default, .inflater = libdeflate_alloc_decompressor()};
    stk__png png;
    stk_error error = {0};
    stk_status theirs;
    assert_non_null(state.inflater);
    assert_int_equal(stk__png_read_chunks(as_encoded(bytes), &png, NULL), STK_OK);
    const size_t size = (size_t)png.w * (size_t)png.h * (size_t)channels;
    uint8_t *one = calloc(1, size), *two = calloc(1, size);
    assert_true(one && two);
    stk__png_sink sink = {.png = &png, .target = stk__pixels_dense(one, png.w, png.h, channels), .ids = ids};
    const stk_status ours = stk__png_decode(&state, &sink, &error);
    sink.target.data = two;
    const int code = png_decode_spng(as_encoded(bytes), &png, &sink, &theirs);
    if (!png_spng_is_lax(code, &error)) {
        if (ours != theirs) print_message("%s | %s\n", error.message, spng_strerror(code));
        assert_int_equal(ours, theirs);
    }
    if (ours == STK_OK) assert_memory_equal(one, two, size);
    libdeflate_free_decompressor(state.inflater);
    stk__buffer_fini(&state.joined);
    stk__buffer_fini(&state.raw);
    stk__buffer_fini(&state.row);
    free(one);
    free(two);
}

static void flip_data(stk__buffer *bytes, uint32_t *seed)
{
    const size_t data = pictures_png_find(bytes, "IDAT", 0);
    const size_t size = (size_t)bytes->data[data + 2] << 8 | bytes->data[data + 3];
    bytes->data[data + 8 + pictures_random(seed) % size] ^= (uint8_t)(1u << pictures_random(seed) % 8);
    pictures_png_fix_crc(bytes, data);
}

/* Whole, damaged inside with a right checksum, with a wrong check value, too short. */
static void libspng_agrees(void **state)
{
    (void)state;
    uint8_t palette[600];
    memset(palette, 77, sizeof palette);
    stk__buffer bytes = {0};
    uint32_t seed = 5;
    for (int round = 0; round < 3000; round++) {
        const int *kind = every_kind[round % KINDS];
        pictures_png_options options = {.colour = kind[0], .depth = kind[1], .filter = PICTURES_FILTER_MIX};
        const int32_t w = 1 + (int32_t)(pictures_random(&seed) % 67),
                      h = 1 + (int32_t)(pictures_random(&seed) % 43);
        options.interlaced = round / KINDS % 2;
        options.palette = options.colour == 3 ? palette : NULL; /* of 200: some pixels may be outside */
        options.palette_count = options.depth < 8 ? 1 << options.depth : 200;
        options.idat_bytes = round % 4 ? 0 : 500;
        options.bad_adler = round % 50 == 7;
        options.short_bytes = round % 50 == 11 ? 1 : 0;
        uint16_t *samples = draw_samples((size_t)(w * h * samples_of(kind[0])),
                                         kind[1] - (kind[1] > 4 && round % 5), (uint32_t)round);
        pictures_png(&bytes, samples, w, h, &options);
        if (round % 8 == 3) flip_data(&bytes, &seed);
        const bool ids = options.colour % 4 != 2 && round % 7 < 3;
        check_both_ways(&bytes, ids, ids || round % 7 == 3 ? 1 : 3);
        free(samples);
    }
    stk__buffer_fini(&bytes);
}

static stk_damage find_damage(stk__decoder *decoder, const stk__buffer *bytes, bool mask)
{
    static uint8_t data[64 * 64 * 3];
    stk_error error = {0};
    stk__picture picture;
    const stk__mask_options options = {.orientation = 1, .ignore = 255};
    stk_status status = stk__decode_header(decoder, as_encoded(bytes), "png", &picture, &error);
    const stk__pixels target = stk__pixels_dense(data, 40, 30, mask ? 1 : 3);
    if (status == STK_OK && mask)
        status = stk__decode_mask(decoder, as_encoded(bytes), &picture, &options, target, &error);
    else if (status == STK_OK)
        status = stk__decode_image(decoder, as_encoded(bytes), &picture, target, &error);
    assert_int_equal(status, error.damage == STK_DAMAGE_NONE ? STK_OK : STK_ERROR_SAMPLE);
    return error.damage;
}

/* The check value is in a chunk of its own, or behind more rows than there are. */
static void every_kind_is_checked(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    const uint8_t palette[768] = {0};
    for (int i = 0; i < 2 * KINDS; i++) {
        const int *kind = every_kind[i / 2];
        uint16_t *samples = draw_samples((size_t)(40 * 30 * samples_of(kind[0])), kind[1], 1);
        pictures_png_options options = {.colour = kind[0], .depth = kind[1], .interlaced = i % 2};
        options.palette = kind[0] == 3 ? palette : NULL;
        options.palette_count = 1 << (kind[1] & 15);
        pictures_png(&bytes, samples, 40, 30, &options);
        const size_t data = pictures_png_find(&bytes, "IDAT", 0);
        options.idat_bytes = (bytes.data[data + 2] << 8 | bytes.data[data + 3]) - 4;
        pictures_png(&bytes, samples, 40, 30, &options);
        assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_NONE);
        options.bad_adler = true;
        pictures_png(&bytes, samples, 40, 30, &options);
        assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_BAD_CHECKSUM);
        options.bad_adler = false;
        options.short_bytes = -1;
        pictures_png(&bytes, samples, 40, 30, &options);
        assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_CORRUPT);
        free(samples);
    }
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static stk_damage damage_of_header(stk__decoder *decoder, const stk__buffer *whole, size_t at, uint8_t value)
{
    stk__buffer bytes = {0};
    pictures_cut(&bytes, whole, whole->size_bytes);
    bytes.data[8 + 8 + at] = value;
    pictures_png_fix_crc(&bytes, 8);
    const stk_damage damage = find_damage(decoder, &bytes, false);
    stk__buffer_fini(&bytes);
    return damage;
}

static void damages_have_their_class(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    for (int channels = 1; channels <= 3; channels += 2) {
        stk__buffer whole = {0}, bytes = {0};
        stk__pixels drawn = pictures_draw(40, 30, channels, 1);
        pictures_png_plain(&whole, drawn, PICTURES_FILTER_MIX);
        assert_int_equal(find_damage(decoder, &whole, false), STK_DAMAGE_NONE);
        for (size_t cut = 1; cut < whole.size_bytes; cut++) {
            pictures_cut(&bytes, &whole, cut);
            assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_TRUNCATED);
        }
        for (int i = 0; i < 3; i++) {
            static const char *const types[] = {"IHDR", "IDAT", "IEND"};
            pictures_cut(&bytes, &whole, whole.size_bytes);
            const size_t chunk = pictures_png_find(&bytes, types[i], 0);
            bytes.data[chunk + 8 + ((size_t)bytes.data[chunk + 2] << 8 | bytes.data[chunk + 3])] ^= 1;
            assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_BAD_CHECKSUM);
        }
        pictures_cut(&bytes, &whole, whole.size_bytes);
        const size_t data = pictures_png_find(&bytes, "IDAT", 0);
        memset(bytes.data + data + 8 + 40, 0xFF, 30);
        pictures_png_fix_crc(&bytes, data);
        assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_CORRUPT);
        bytes.data[data + 8] = 0x79; /* not zlib */
        pictures_png_fix_crc(&bytes, data);
        assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_CORRUPT);
        bytes.data[data + 4] = '1'; /* not a name */
        assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_CORRUPT);

        assert_int_equal(damage_of_header(decoder, &whole, 3, 0), STK_DAMAGE_ZERO_SIZE);
        assert_int_equal(damage_of_header(decoder, &whole, 7, 0), STK_DAMAGE_ZERO_SIZE);
        assert_int_equal(damage_of_header(decoder, &whole, 0, 0x7F), STK_DAMAGE_TOO_MANY_PIXELS);
        assert_int_equal(damage_of_header(decoder, &whole, 0, 0xFF), STK_DAMAGE_BAD_HEADER);
        assert_int_equal(damage_of_header(decoder, &whole, 8, 3), STK_DAMAGE_BAD_HEADER);
        assert_int_equal(damage_of_header(decoder, &whole, 9, 5), STK_DAMAGE_BAD_HEADER);
        assert_int_equal(damage_of_header(decoder, &whole, 9, 3), STK_DAMAGE_BAD_HEADER); /* no palette */
        assert_int_equal(damage_of_header(decoder, &whole, 10, 1), STK_DAMAGE_BAD_HEADER);
        assert_int_equal(damage_of_header(decoder, &whole, 11, 1), STK_DAMAGE_BAD_HEADER);
        assert_int_equal(damage_of_header(decoder, &whole, 12, 2), STK_DAMAGE_BAD_HEADER);
        assert_int_equal(damage_of_header(decoder, &whole, 6, 0x10),
                         STK_DAMAGE_CORRUPT); /* higher than data */
        stk__free(drawn.data);
        stk__buffer_fini(&whole);
        stk__buffer_fini(&bytes);
    }
    stk__decoder_destroy(&decoder);
}

static void chunks_must_make_sense(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    uint16_t *samples = draw_samples(40 * 30, 2, 1);
    const uint8_t palette[12] = {1, 2, 3};
    pictures_png_options options = {.colour = 3, .depth = 8, .palette = palette, .palette_count = 4};
    options.idat_bytes = 100;
    const struct {
        const char *before, *type;
        int nth;
        size_t size;
        stk_damage damage;
    } cases[] = {
        {"IDAT", "tIME", 0, 0, STK_DAMAGE_NONE},        {"IDAT", "tEXt", 1, 9, STK_DAMAGE_CORRUPT},
        {"IDAT", "CRIT", 0, 3, STK_DAMAGE_UNSUPPORTED}, {"IDAT", "PLTE", 0, 12, STK_DAMAGE_BAD_HEADER},
        {"IDAT", "IHDR", 0, 13, STK_DAMAGE_BAD_HEADER}, {"PLTE", "PLTE", 0, 7, STK_DAMAGE_BAD_HEADER},
        {"IEND", "acTL", 0, 8, STK_DAMAGE_NONE},        {"IDAT", "IEND", 0, 0, STK_DAMAGE_CORRUPT},
        {"IHDR", "tEXt", 0, 5, STK_DAMAGE_BAD_HEADER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pictures_png(&bytes, samples, 40, 30, &options);
        const size_t at = pictures_png_find(&bytes, cases[i].before, cases[i].nth);
        pictures_png_insert(&bytes, at, cases[i].type, "0123456789abcdef", cases[i].size);
        assert_int_equal(find_damage(decoder, &bytes, false), cases[i].damage);
    }
    options.palette_count = 3; /* sample 3 has no colour; as an id it is fine */
    pictures_png(&bytes, samples, 40, 30, &options);
    assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_CORRUPT);
    assert_int_equal(find_damage(decoder, &bytes, true), STK_DAMAGE_NONE);
    options.depth = 2;
    for (options.palette_count = 4; options.palette_count <= 5; options.palette_count++) {
        static const uint8_t colours[5 * 3];
        options.palette = colours;
        pictures_png(&bytes, samples, 40, 30, &options);
        assert_int_equal(find_damage(decoder, &bytes, true),
                         options.palette_count == 4 ? STK_DAMAGE_NONE : STK_DAMAGE_BAD_HEADER);
    }
    options = (pictures_png_options){.depth = 8, .filter = 6};
    pictures_png(&bytes, samples, 40, 30, &options);
    assert_int_equal(find_damage(decoder, &bytes, true), STK_DAMAGE_CORRUPT);
    options.filter = 0;
    options.bad_adler = true;
    pictures_png(&bytes, samples, 40, 30, &options);
    assert_int_equal(find_damage(decoder, &bytes, true), STK_DAMAGE_BAD_CHECKSUM);
    options.bad_adler = false;
    options.short_bytes = 1;
    pictures_png(&bytes, samples, 40, 30, &options);
    assert_int_equal(find_damage(decoder, &bytes, true), STK_DAMAGE_CORRUPT);
    options.short_bytes = -1;
    pictures_png(&bytes, samples, 40, 30, &options);
    assert_int_equal(find_damage(decoder, &bytes, true), STK_DAMAGE_CORRUPT);
    free(samples);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static void chunks_may_be_empty(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    uint16_t *samples = draw_samples(40 * 30, 8, 1);
    for (int data = 0; data < 2; data++)
        for (int empty = 1; empty <= 3; empty++) {
            pictures_png(&bytes, samples, 40, data ? 30 : 1, &(pictures_png_options){.depth = 8});
            const size_t at = pictures_png_find(&bytes, "IDAT", 0);
            const size_t end = pictures_png_find(&bytes, "IEND", 0);
            if (!data) memmove(bytes.data + at, bytes.data + end, 12);
            if (!data) bytes.size_bytes = at + 12;
            for (int i = 0; i < empty; i++)
                pictures_png_insert(&bytes, at, "IDAT", "", 0);
            assert_int_equal(find_damage(decoder, &bytes, true), data ? STK_DAMAGE_NONE : STK_DAMAGE_CORRUPT);
        }
    free(samples);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static void time_is_limited(void **state)
{
    (void)state;
    stk__limits limits = stk__limits_default;
    limits.time_s = 0;
    stk__decoder *decoder = make_decoder(&limits);
    stk__buffer bytes = {0};
    uint16_t *samples = draw_samples(40 * 30 * 3, 8, 1);
    for (int i = 0; i < 4; i++) {
        pictures_png(&bytes, samples, 40, 30,
                     &(pictures_png_options){.colour = i / 2 * 2, .interlaced = i % 2});
        assert_int_equal(find_damage(decoder, &bytes, false), STK_DAMAGE_TOO_SLOW);
    }
    free(samples);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static void one_chunk_may_be_large(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    pictures_png_options options = {.colour = 6, .depth = 16};
    check_kind(decoder, &options, 500, 400); /* 1.6 MB that cannot be compressed */
    stk__decoder_destroy(&decoder);
}

static void survives_flipped_bytes(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer whole = {0}, bytes = {0};
    uint32_t seed = 3;
    static const pictures_png_options kinds[] = {
        {.colour = 0, .depth = 8}, {.colour = 2, .depth = 16, .interlaced = true}, {.colour = 0, .depth = 2}};
    for (size_t kind = 0; kind < 3; kind++) {
        uint16_t *samples = draw_samples(40 * 30 * 3, kinds[kind].depth == 2 ? 2 : 8, 1);
        pictures_png(&whole, samples, 40, 30, &kinds[kind]);
        for (int round = 0; round < 1000; round++) {
            pictures_cut(&bytes, &whole, whole.size_bytes);
            for (uint32_t flips = 1 + pictures_random(&seed) % 3; flips > 0; flips--)
                bytes.data[pictures_random(&seed) % bytes.size_bytes] = (uint8_t)pictures_random(&seed);
            const size_t data = 8 + 25; /* every other time the checksums are right again */
            if (round % 2) pictures_png_fix_crc(&bytes, 8);
            if (round % 2) pictures_png_fix_crc(&bytes, data);
            find_damage(decoder, &bytes, kind != 1 && round % 4 < 2);
        }
        free(samples);
    }
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_and_depth),   cmocka_unit_test(libspng_agrees),
        cmocka_unit_test(every_kind_is_checked),  cmocka_unit_test(damages_have_their_class),
        cmocka_unit_test(chunks_must_make_sense), cmocka_unit_test(chunks_may_be_empty),
        cmocka_unit_test(time_is_limited),        cmocka_unit_test(one_chunk_may_be_large),
        cmocka_unit_test(survives_flipped_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
