/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing against its definition in double precision; constants stay constant, masks take the nearest
 * pixel. */
#include "image/resize.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const int32_t sizes[][4] = {
    {1, 1, 1, 1},      {1, 1, 7, 5},    {7, 5, 1, 1},     {2, 2, 3, 3},
    {13, 17, 13, 17},  {13, 17, 7, 29}, {97, 31, 31, 97}, {64, 64, 32, 32},
    {100, 50, 33, 49}, {5, 400, 11, 3}, {255, 3, 254, 2}, {300, 211, 9, 8},
};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

/* The definition, in double precision: weight of a source pixel for a target pixel along one axis. */
static double weight(int32_t source, int32_t target, int32_t i, int32_t j)
{
    const double scale = (double)source / target, reach = scale > 1 ? scale : 1;
    const double apart = fabs((j + 0.5) - (i + 0.5) * scale) / reach;
    return apart < 1 ? 1 - apart : 0;
}

static double plain_resize(stk__pixels source, stk__pixels target, int32_t x, int32_t y, int32_t c)
{
    double sum = 0, total = 0;
    for (int32_t j = 0; j < source.h; j++) {
        const double wy = weight(source.h, target.h, y, j);
        if (wy == 0) continue;
        for (int32_t i = 0; i < source.w; i++) {
            const double w = wy * weight(source.w, target.w, x, i);
            sum += w * stk__pixels_row(source, j)[i * source.channels + c];
            total += w;
        }
    }
    return sum / total;
}

static void close_to_the_definition(void **state)
{
    (void)state;
    stk__buffer scratch = {0};
    uint32_t seed = 1;
    for (int s = 0; s < SIZE_COUNT; s++)
        for (int32_t channels = 1; channels <= 3; channels += 2) {
            uint8_t *from = malloc((size_t)(sizes[s][0] * sizes[s][1] * channels));
            uint8_t *to = malloc((size_t)(sizes[s][2] * sizes[s][3] * channels));
            assert_true(from && to);
            for (int32_t i = 0; i < sizes[s][0] * sizes[s][1] * channels; i++) /* noise of black and white */
                from[i] = pictures_random(&seed) & 1 ? 255 : (uint8_t)pictures_random(&seed);
            const stk__pixels source = stk__pixels_dense(from, sizes[s][0], sizes[s][1], channels);
            const stk__pixels target = stk__pixels_dense(to, sizes[s][2], sizes[s][3], channels);
            assert_int_equal(stk__resize_image(source, target, &scratch, NULL), STK_OK);
            for (int32_t y = 0; y < target.h; y++)
                for (int32_t x = 0; x < target.w; x++)
                    for (int32_t c = 0; c < channels; c++) {
                        const double exact = plain_resize(source, target, x, y, c);
                        assert_true(fabs(stk__pixels_row(target, y)[x * channels + c] - exact) <= 1);
                    }
            free(from);
            free(to);
        }
    stk__buffer_fini(&scratch);
}

static void constants_stay_and_margins_too(void **state)
{
    (void)state;
    stk__buffer scratch = {0};
    for (int s = 0; s < SIZE_COUNT; s++)
        for (int value = 0; value <= 255; value += 51) {
            const size_t pitch = (size_t)sizes[s][2] * 3 + 5, size = pitch * (size_t)sizes[s][3];
            uint8_t *from = malloc((size_t)(sizes[s][0] * sizes[s][1] * 3)), *to = malloc(size);
            assert_true(from && to);
            memset(from, value, (size_t)(sizes[s][0] * sizes[s][1] * 3));
            memset(to, 99, size);
            const stk__pixels target = {to, pitch, sizes[s][2], sizes[s][3], 3};
            assert_int_equal(stk__resize_image(stk__pixels_dense(from, sizes[s][0], sizes[s][1], 3), target,
                                               &scratch, NULL),
                             STK_OK);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(to[i], i % pitch < pitch - 5 ? value : 99);
            free(from);
            free(to);
        }
    stk__buffer_fini(&scratch);
}

static void same_size_is_the_same(void **state)
{
    (void)state;
    stk__buffer scratch = {0};
    stk__pixels drawn = pictures_draw(31, 23, 3, 9), copy = pictures_draw(31, 23, 3, 1);
    assert_int_equal(stk__resize_image(drawn, copy, &scratch, NULL), STK_OK);
    assert_memory_equal(drawn.data, copy.data, 31 * 23 * 3);
    stk__free(drawn.data);
    stk__free(copy.data);
    stk__buffer_fini(&scratch);
}

static void masks_take_the_nearest(void **state)
{
    (void)state;
    for (int s = 0; s < SIZE_COUNT; s++) {
        stk__pixels mask = pictures_draw_mask(sizes[s][0], sizes[s][1], 19, 4);
        uint8_t *to = malloc((size_t)(sizes[s][2] * sizes[s][3]));
        assert_non_null(to);
        stk__resize_mask(mask, stk__pixels_dense(to, sizes[s][2], sizes[s][3], 1));
        for (int32_t y = 0; y < sizes[s][3]; y++)
            for (int32_t x = 0; x < sizes[s][2]; x++) {
                const int32_t from_x = (int32_t)floor((x + 0.5) * sizes[s][0] / sizes[s][2]);
                const int32_t from_y = (int32_t)floor((y + 0.5) * sizes[s][1] / sizes[s][3]);
                assert_int_equal(to[y * sizes[s][2] + x], stk__pixels_row(mask, from_y)[from_x]);
            }
        stk__free(mask.data);
        free(to);
    }
}

static void *refuse(void *context, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    return NULL;
}

static void release_nothing(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    assert_null(memory);
}

static void no_memory_is_a_status(void **state)
{
    (void)state;
    stk__pixels drawn = pictures_draw(9, 9, 1, 1), target = pictures_draw(3, 3, 1, 1);
    stk__buffer scratch = {0};
    stk_error error = {0};
    stk_allocator_set(&(stk_allocator){.alloc = refuse, .release = release_nothing});
    const stk_status status = stk__resize_image(drawn, target, &scratch, &error);
    stk_allocator_set(NULL);
    assert_int_equal(status, STK_ERROR_MEMORY);
    stk__free(drawn.data);
    stk__free(target.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_to_the_definition), cmocka_unit_test(constants_stay_and_margins_too),
        cmocka_unit_test(same_size_is_the_same),   cmocka_unit_test(masks_take_the_nearest),
        cmocka_unit_test(no_memory_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
