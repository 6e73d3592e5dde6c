/* SPDX-License-Identifier: Apache-2.0 */
/* Colors of RGB masks: the table, masks through it, and what has no id. */
#include "decode/mask_colors.h"

#include "decode/decode.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void test_table(void **state)
{
    (void)state;
    static stk__mask_colors table;
    for (uint32_t i = 0; i < STK_MASK_COLORS_MOST; i++)
        assert_int_equal(stk__mask_colors_add(&table, i * 65793 / 3, (uint8_t)i), (int)i);
    assert_int_equal(stk__mask_colors_add(&table, 0xffffff, 0), -1); /* full */
    for (uint32_t i = 0; i < STK_MASK_COLORS_MOST; i++)
        assert_int_equal(stk__mask_colors_find(&table, i * 65793 / 3), (int)i);
    assert_int_equal(stk__mask_colors_find(&table, 0xffffff), -1);
    stk__mask_colors two = {0};
    assert_int_equal(stk__mask_colors_add(&two, 0xff0000, 1), 0);
    assert_int_equal(stk__mask_colors_add(&two, 0xff0000, 2), -1); /* there already */
}

/* An RGB PNG of these colors, decoded as a mask. */
static stk_status decode(const uint8_t *rgb, int32_t w, const stk__mask_colors *colors, uint8_t *ids,
                         stk_error *error)
{
    stk__buffer file = {0};
    stk__picture picture;
    stk__pixels pixels = stk__pixels_dense((uint8_t *)(uintptr_t)rgb, w, 1, 3);
    const stk__mask_options options = {.orientation = 1, .ignore = 255, .colors = colors};
    pictures_png_plain(&file, pixels, 0);
    stk__decoder *decoder;
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    const stk__encoded bytes = {file.data, file.size_bytes};
    assert_int_equal(stk__decode_header(decoder, bytes, "png", &picture, NULL), STK_OK);
    assert_false(picture.indexed);
    const stk_status status =
        stk__decode_mask(decoder, bytes, &picture, &options, stk__pixels_dense(ids, w, 1, 1), error);
    stk__decoder_destroy(&decoder);
    stk__buffer_fini(&file);
    return status;
}

static void test_gray(void **state)
{
    (void)state;
    const uint8_t rgb[] = {0, 0, 0, 7, 7, 7, 255, 255, 255};
    uint8_t ids[3];
    assert_int_equal(decode(rgb, 3, NULL, ids, NULL), STK_OK);
    assert_memory_equal(ids, ((const uint8_t[]){0, 7, 255}), 3);
}

static void test_colors(void **state)
{
    (void)state;
    const uint8_t rgb[] = {0, 0, 0, 128, 0, 0, 128, 0, 0, 224, 224, 192};
    uint8_t ids[4];
    stk_error error;
    stk__mask_colors table = {0};
    stk__mask_colors_add(&table, 0x000000, 0);
    stk__mask_colors_add(&table, 0x800000, 1);
    stk__mask_colors_add(&table, 0xe0e0c0, 255);
    assert_int_equal(decode(rgb, 4, &table, ids, NULL), STK_OK);
    assert_memory_equal(ids, ((const uint8_t[]){0, 1, 1, 255}), 4);

    assert_int_equal(decode(rgb, 4, NULL, ids, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_MASK_FORMAT);
    assert_non_null(strstr(error.message, "#800000 at x 1, y 0"));
    assert_non_null(strstr(error.hint, "data.mask_colors"));

    const uint8_t strange[] = {0, 0, 0, 1, 2, 3};
    assert_int_equal(decode(strange, 2, &table, ids, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_MASK_IDS);
    assert_non_null(strstr(error.message, "#010203 at x 1, y 0, which is not in data.mask_colors"));
}

static void test_threshold(void **state)
{
    (void)state;
    stk__buffer file = {0};
    stk__picture picture;
    stk_error error;
    uint8_t white[16 * 8], ids[16 * 8], map[256];
    for (int i = 0; i < 16 * 8; i++)
        white[i] = i % 16 < 8 ? 0 : 255;
    for (int i = 0; i < 256; i++)
        map[i] = i >= 128;
    pictures_jpeg(&file, stk__pixels_dense(white, 16, 8, 1),
                  &(pictures_jpeg_options){.space = PICTURES_GREY});
    stk__decoder *decoder;
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    const stk__encoded bytes = {file.data, file.size_bytes};
    const stk__pixels target = stk__pixels_dense(ids, 16, 8, 1);
    stk__mask_options options = {.orientation = 1, .ignore = 255, .map = map, .class_count = 2};
    assert_int_equal(stk__decode_header(decoder, bytes, "jpg", &picture, NULL), STK_OK);
    assert_int_equal(stk__decode_mask(decoder, bytes, &picture, &options, target, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_MASK_FORMAT);
    assert_non_null(strstr(error.hint, "data.mask_map=threshold"));
    options.lossy = true;
    assert_int_equal(stk__decode_mask(decoder, bytes, &picture, &options, target, &error), STK_OK);
    for (int i = 0; i < 16 * 8; i++)
        assert_int_equal(ids[i], i % 16 >= 8);
    stk__decoder_destroy(&decoder);
    stk__buffer_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_gray),
                                       cmocka_unit_test(test_colors), cmocka_unit_test(test_threshold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
