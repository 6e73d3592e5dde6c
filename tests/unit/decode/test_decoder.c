/* SPDX-License-Identifier: Apache-2.0 */
/* What all formats share: masks, memory, and whether a damage can be read. */
#include "decode/decode.h"
#include "decode/limit_options.h"
#include "image/resize.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static stk__encoded as_encoded(const stk__buffer *buffer)
{
    return (stk__encoded){buffer->data, buffer->size_bytes};
}

static stk_damage decode_mask(const stk__buffer *bytes, const stk__mask_options *options, stk__pixels target)
{
    stk__decoder *decoder = NULL;
    stk__picture picture;
    stk_error error = {0};
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    assert_int_equal(stk__decode_header(decoder, as_encoded(bytes), "png", &picture, &error), STK_OK);
    stk__decode_mask(decoder, as_encoded(bytes), &picture, options, target, &error);
    stk__decoder_destroy(&decoder);
    return error.damage;
}

static void ids_are_checked(void **state)
{
    (void)state;
    uint8_t ids[33 * 3] = {0}, got[33 * 3];
    const stk__pixels target = stk__pixels_dense(got, 33, 3, 1);
    stk__buffer bytes = {0};
    for (int id = 0; id < 256; id += 5)
        for (int ignore = 0; ignore < 256; ignore += 51) {
            ids[97] = (uint8_t)id;
            pictures_png_plain(&bytes, stk__pixels_dense(ids, 33, 3, 1), 0);
            const stk__mask_options options = {
                .class_count = 19, .ignore = (uint8_t)ignore, .orientation = 1};
            const bool fine = id < 19 || id == ignore;
            assert_int_equal(decode_mask(&bytes, &options, target),
                             fine ? STK_DAMAGE_NONE : STK_DAMAGE_MASK_IDS);
            if (fine) assert_memory_equal(got, ids, sizeof ids);
        }
    stk__buffer_fini(&bytes);
}

static void ids_are_mapped(void **state)
{
    (void)state;
    uint8_t ids[20] = {0, 255, 255, 0}, got[20], map[256] = {0};
    bool mapped[256] = {false};
    const stk__pixels target = stk__pixels_dense(got, 5, 4, 1);
    stk__buffer bytes = {0};
    map[255] = 1;
    map[7] = 200;
    mapped[0] = mapped[255] = mapped[7] = true;
    stk__mask_options options = {
        .map = map, .mapped = mapped, .class_count = 2, .ignore = 255, .orientation = 1};
    pictures_png_plain(&bytes, stk__pixels_dense(ids, 5, 4, 1), 0);
    assert_int_equal(decode_mask(&bytes, &options, target), STK_DAMAGE_NONE);
    for (int i = 0; i < 20; i++)
        assert_int_equal(got[i], ids[i] == 255);
    ids[19] = 8; /* unknown to the map */
    pictures_png_plain(&bytes, stk__pixels_dense(ids, 5, 4, 1), 0);
    assert_int_equal(decode_mask(&bytes, &options, target), STK_DAMAGE_MASK_IDS);
    options.mapped = NULL; /* 8 -> 0 */
    assert_int_equal(decode_mask(&bytes, &options, target), STK_DAMAGE_NONE);
    ids[19] = 7; /* mapped to what is no class */
    pictures_png_plain(&bytes, stk__pixels_dense(ids, 5, 4, 1), 0);
    assert_int_equal(decode_mask(&bytes, &options, target), STK_DAMAGE_MASK_IDS);
    options.class_count = 0;
    assert_int_equal(decode_mask(&bytes, &options, target), STK_DAMAGE_NONE);
    assert_int_equal(got[19], 200);
    stk__buffer_fini(&bytes);
}

static void masks_are_turned_then_resized(void **state)
{
    (void)state;
    stk__pixels mask = pictures_draw_mask(40, 30, 19, 3);
    stk__buffer bytes = {0};
    uint8_t upright[30 * 40], wanted[17 * 23], got[17 * 23];
    pictures_png_plain(&bytes, mask, PICTURES_FILTER_MIX);
    for (stk__orientation o = 1; o <= 8; o++) {
        const bool swaps = stk__orientation_swaps(o);
        const stk__pixels turned = stk__pixels_dense(upright, swaps ? 30 : 40, swaps ? 40 : 30, 1);
        const stk__mask_options options = {.orientation = o, .class_count = 19, .ignore = 255};
        stk__orientation_apply(mask, turned, o);
        stk__resize_mask(turned, stk__pixels_dense(wanted, 17, 23, 1));
        assert_int_equal(decode_mask(&bytes, &options, stk__pixels_dense(got, 17, 23, 1)), STK_DAMAGE_NONE);
        assert_memory_equal(got, wanted, sizeof wanted);
    }
    stk__free(mask.data);
    stk__buffer_fini(&bytes);
}

/* Rows may lie apart: nothing is written between them. */
static void gaps_between_rows_stay(void **state)
{
    (void)state;
    enum { W = 41, H = 29, PITCH = W * 3 + 7 };
    static uint8_t dense[W * H * 3], apart[PITCH * H];
    stk__pixels photo = pictures_draw(W, H, 3, 1), grey = pictures_draw(W, H, 1, 1);
    stk__buffer bytes = {0};
    for (int kind = 0; kind < 6; kind++) {
        if (kind % 3 == 0)
            pictures_jpeg(&bytes, photo, &(pictures_jpeg_options){.orientation = kind ? 3 : 1});
        if (kind % 3 == 1) pictures_png_plain(&bytes, photo, PICTURES_FILTER_MIX);
        if (kind % 3 == 2) pictures_png_plain(&bytes, grey, PICTURES_FILTER_MIX);
        const int32_t channels = kind < 3 ? 3 : 1;
        stk__decoder *decoder = NULL;
        stk__picture picture;
        memset(apart, 201, sizeof apart);
        assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
        assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), NULL, &picture, NULL), STK_OK);
        assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture,
                                           stk__pixels_dense(dense, W, H, channels), NULL),
                         STK_OK);
        assert_int_equal(stk__decode_image(decoder, as_encoded(&bytes), &picture,
                                           (stk__pixels){apart, PITCH, W, H, channels}, NULL),
                         STK_OK);
        for (int i = 0; i < PITCH * H; i++) {
            const int x = i % PITCH, row = W * channels;
            assert_int_equal(apart[i], x < row ? dense[i / PITCH * row + x] : 201);
        }
        stk__decoder_destroy(&decoder);
    }
    stk__free(photo.data);
    stk__free(grey.data);
    stk__buffer_fini(&bytes);
}

static long calls, fail_at; /* of the allocator below */

static void *counting_alloc(void *context, size_t size_bytes)
{
    (void)context;
    if (++calls == fail_at) return NULL;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void counting_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

/* A turned and resized CMYK JPEG, a palette PNG in two chunks as image, an interlaced one as mask. */
typedef struct album {
    stk__buffer jpeg, palette, interlaced;
} album;

static void make_album(album *made)
{
    static const uint8_t palette[768];
    stk__pixels inks = pictures_draw(64, 48, 4, 1);
    uint16_t samples[32 * 32];
    for (int i = 0; i < 32 * 32; i++)
        samples[i] = (uint16_t)(i % 4);
    pictures_jpeg(&made->jpeg, inks, &(pictures_jpeg_options){.space = PICTURES_CMYK, .orientation = 6});
    pictures_png(
        &made->palette, samples, 32, 32,
        &(pictures_png_options){.colour = 3, .palette = palette, .palette_count = 256, .idat_bytes = 20});
    pictures_png(&made->interlaced, samples, 32, 32, &(pictures_png_options){.depth = 2, .interlaced = true});
    stk__free(inks.data);
}

static stk_status view_album(stk__decoder *decoder, const album *from, stk_error *error)
{
    uint8_t data[30 * 30 * 3];
    const stk__pixels image = stk__pixels_dense(data, 30, 30, 3), mask = stk__pixels_dense(data, 30, 30, 1);
    const stk__mask_options options = {.orientation = 5, .ignore = 255, .class_count = 4};
    stk__picture picture;
    STK__TRY(stk__decode_header(decoder, as_encoded(&from->jpeg), "jpg", &picture, error));
    STK__TRY(stk__decode_image(decoder, as_encoded(&from->jpeg), &picture, image, error));
    STK__TRY(stk__decode_header(decoder, as_encoded(&from->palette), "png", &picture, error));
    STK__TRY(stk__decode_image(decoder, as_encoded(&from->palette), &picture, image, error));
    STK__TRY(stk__decode_header(decoder, as_encoded(&from->interlaced), "png", &picture, error));
    return stk__decode_mask(decoder, as_encoded(&from->interlaced), &picture, &options, mask, error);
}

static void nothing_is_allocated_after_warm_up(void **state)
{
    (void)state;
    album made = {0};
    stk__decoder *decoder = NULL;
    make_album(&made);
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    assert_int_equal(view_album(decoder, &made, NULL), STK_OK);
    stk_allocator_set(&(stk_allocator){.alloc = counting_alloc, .release = counting_release});
    calls = fail_at = 0;
    for (int i = 0; i < 50; i++)
        assert_int_equal(view_album(decoder, &made, NULL), STK_OK);
    stk_allocator_set(NULL);
    assert_int_equal(calls, 0);
    stk__decoder_destroy(&decoder);
    stk__buffer_fini(&made.jpeg);
    stk__buffer_fini(&made.palette);
    stk__buffer_fini(&made.interlaced);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    album made = {0};
    make_album(&made);
    long failures = 0;
    for (long n = 1;; n++) {
        stk__decoder *decoder = NULL;
        stk_error error = {0};
        stk_allocator_set(&(stk_allocator){.alloc = counting_alloc, .release = counting_release});
        calls = 0;
        fail_at = n;
        stk_status status = stk__decoder_create(&decoder, NULL, &error);
        if (status != STK_OK) assert_null(decoder);
        if (status == STK_OK) status = view_album(decoder, &made, &error);
        if (calls < n)
            assert_int_equal(status, STK_OK);
        else
            assert_int_equal(status, STK_ERROR_MEMORY);
        if (decoder) assert_int_equal(view_album(decoder, &made, NULL), STK_OK); /* and then it works */
        stk__decoder_destroy(&decoder);
        stk_allocator_set(NULL);
        if (calls < n) break;
        failures++;
    }
    assert_true(failures >= 8);
    stk__buffer_fini(&made.jpeg);
    stk__buffer_fini(&made.palette);
    stk__buffer_fini(&made.interlaced);
}

static void damages_say_what_and_help(void **state)
{
    (void)state;
    stk__decoder *decoder = NULL;
    stk__picture picture;
    stk_error error = {0};
    stk__limits limits = stk__limits_default;
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(20, 10, 3, 1);
    limits.pixels = 100;
    assert_int_equal(stk__decoder_create(&decoder, &limits, &error), STK_OK);
    pictures_png_plain(&bytes, drawn, 0);
    assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "png", &picture, &error),
                     STK_ERROR_SAMPLE);
    assert_string_equal(error.message, "20 x 10 pixels, more than limits.pixels '100'");
    assert_string_equal(error.hint, "raise limits.pixels if such images are expected");
    bytes.size_bytes = 5;
    assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "JPG", &picture, &error),
                     STK_ERROR_SAMPLE);
    assert_string_equal(error.message, "truncated PNG file of 5 bytes");
    assert_string_equal(stk__format_name(NULL), "unknown");
    stk__decoder_destroy(&decoder);
    stk__decoder_destroy(&decoder); /* accepts NULL inside */
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
}

typedef struct limit_settings {
    uint64_t limit_bytes, limit_pixels;
    int64_t limit_scans, limit_warnings;
    double limit_time_s;
} limit_settings;

/* The rows of every section have the decoder's own defaults. */
static void options_have_the_decoders_defaults(void **state)
{
    (void)state;
#define FIELD(name) offsetof(limit_settings, name)
    static const stk__option rows[] = {STK_LIMIT_OPTIONS(FIELD, 1e12, 4e9)};
    const stk__option_table table = {.section = "test",
                                     .options = rows,
                                     .count = sizeof rows / sizeof rows[0],
                                     .struct_bytes = sizeof(limit_settings)};
    limit_settings filled = {0};
    assert_int_equal(stk__option_table_check(&table, NULL), STK_OK);
    assert_int_equal(stk__options_fill(&table, &filled, NULL), STK_OK);
    assert_int_equal(filled.limit_bytes, stk__limits_default.bytes);
    assert_int_equal(filled.limit_pixels, stk__limits_default.pixels);
    assert_int_equal(filled.limit_scans, stk__limits_default.scans);
    assert_int_equal(filled.limit_warnings, stk__limits_default.warnings);
    assert_true(filled.limit_time_s == stk__limits_default.time_s);
}

static void content_decides_not_the_extension(void **state)
{
    (void)state;
    stk__decoder *decoder = NULL;
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(9, 9, 1, 1);
    stk__picture picture;
    stk_error error = {0};
    pictures_png_plain(&bytes, drawn, 0);
    assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "PNG", &picture, &error), STK_OK);
    assert_false(picture.misnamed);
    assert_string_equal(stk__format_name(picture.format), "PNG");
    assert_ptr_equal(picture.format, stk__format_by_extension("pNg"));
    assert_null(stk__format_by_extension("txt"));
    assert_null(stk__format_by_extension(NULL));
    assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "dat", &picture, &error), STK_OK);
    assert_false(picture.misnamed);
    assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "jpeg", &picture, &error), STK_OK);
    assert_true(picture.misnamed);
    assert_string_equal(stk__format_name(picture.format), "PNG");
    bytes.size_bytes = 3; /* shorter than what it begins with */
    assert_int_equal(stk__decode_header(decoder, as_encoded(&bytes), "jpeg", &picture, &error),
                     STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_TRUNCATED);
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static void foreign_formats_are_named(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"RIFF....WEBPVP8 ", "WebP"}, {"GIF89a..........", "GIF"},
                                           {"....ftypavif....", "AVIF"}, {"....ftypheic....", "HEIC"},
                                           {"%PDF-1.4........", "PDF"},  {"BM..............", "BMP"}};
    stk__decoder *decoder = NULL;
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    stk__picture picture;
    stk_error error = {0};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const stk__encoded bytes = {(const uint8_t *)files[i][0], strlen(files[i][0])};
        char message[64];
        snprintf(message, sizeof message, "not a JPEG, PNG or npy file but %s", files[i][1]);
        assert_int_equal(stk__decode_header(decoder, bytes, "jpg", &picture, &error), STK_ERROR_SAMPLE);
        assert_int_equal(error.damage, STK_DAMAGE_NOT_AN_IMAGE);
        assert_string_equal(error.message, message);
        assert_string_equal(error.hint, "convert it to JPEG or PNG");
    }
    const stk__encoded text = {(const uint8_t *)"file,label\n1,2\n", 15};
    assert_int_equal(stk__decode_header(decoder, text, "jpg", &picture, &error), STK_ERROR_SAMPLE);
    assert_string_equal(error.message, "not a JPEG, PNG or npy file");
    stk__decoder_destroy(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_decides_not_the_extension),
        cmocka_unit_test(foreign_formats_are_named),
        cmocka_unit_test(ids_are_checked),
        cmocka_unit_test(ids_are_mapped),
        cmocka_unit_test(masks_are_turned_then_resized),
        cmocka_unit_test(gaps_between_rows_stay),
        cmocka_unit_test(nothing_is_allocated_after_warm_up),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(damages_say_what_and_help),
        cmocka_unit_test(options_have_the_decoders_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
