/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of predictions and targets: classes, values and points; samples that do not count are left
 * out. */
#include "session/predict/prediction_stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { N = 4, CLASSES = 3, SIDE = 2, CHANNELS = 3 };

static stk_tensor dense(void *data, stk_dtype dtype, int ndim, const int64_t *shape)
{
    stk_tensor t = {.data = data, .dtype = dtype, .ndim = ndim};
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; stride *= shape[i--]) {
        t.shape[i] = shape[i];
        t.strides[i] = stride;
    }
    return t;
}

static void classes(void **state)
{
    (void)state;
    int64_t labels[N] = {2, 1, -1, 2}; /* the third is ignored */
    float weights[N] = {1, 1, 1, 0}, logits[N][CLASSES] = {{0, 1, 0}, {0, 2, 1}, {9, 0, 0}, {9, 0, 0}};
    stk_batch batch = {.count = N,
                       .labels = dense(labels, STK_DTYPE_I64, 1, (int64_t[]){N}),
                       .weights = dense(weights, STK_DTYPE_F32, 1, (int64_t[]){N})};
    const stk_tensor prediction = dense(logits, STK_DTYPE_F32, 2, (int64_t[]){N, CLASSES});
    stk__prediction_stats s = {0};
    double share;
    stk__prediction_stats_add(&s, STK_TASK_CLASSIFICATION, &batch, &prediction);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.said_class, 1);
    assert_false(s.said_varies);
    assert_int_equal(stk__prediction_stats_common(&s, &share), 1);
    assert_true(share == 0.5);
    weights[3] = 1;
    stk__prediction_stats_add(&s, STK_TASK_CLASSIFICATION, &batch, &prediction);
    assert_int_equal(s.count, 5);
    assert_true(s.said_varies);
    assert_int_equal(stk__prediction_stats_common(&s, &share), 2);
    assert_true(share == 0.6);
}

static void values(void **state)
{
    (void)state;
    float labels[N] = {-1, 4, 2, 900}, weights[N] = {1, 1, 1, 0}, said[N] = {0.5F, 0.25F, 0.5F, -900};
    const stk_batch batch = {.count = N,
                             .labels = dense(labels, STK_DTYPE_F32, 1, (int64_t[]){N}),
                             .weights = dense(weights, STK_DTYPE_F32, 1, (int64_t[]){N})};
    const stk_tensor prediction = dense(said, STK_DTYPE_F32, 2, (int64_t[]){N, 1});
    stk__prediction_stats s = {0};
    stk__prediction_stats_add(&s, STK_TASK_REGRESSION, &batch, &prediction);
    assert_int_equal(s.count, 3);
    assert_true(s.truth[0].least == -1 && s.truth[0].most == 4);
    assert_true(s.said[0].least == 0.25 && s.said[0].most == 0.5);
}

/* One point: a map of scores and two of offsets, 2 x 2 cells of images of 8 x 8. */
static void points(void **state)
{
    (void)state;
    static float maps[2][SIDE][SIDE][CHANNELS];
    float at[2][3] = {{1, 7, 1}, {5, 5, 0}}; /* the second is not visible */
    maps[0][1][0][0] = 1;
    maps[0][1][0][1] = 0.25F;
    const stk_batch batch = {.count = 2,
                             .images = {.shape = {2, 8, 8, 3}},
                             .points = dense(at, STK_DTYPE_F32, 3, (int64_t[]){2, 1, 3})};
    const stk_tensor prediction = dense(maps, STK_DTYPE_F32, 4, (int64_t[]){2, SIDE, SIDE, CHANNELS});
    stk__prediction_stats s = {0};
    stk__prediction_stats_add(&s, STK_TASK_POINTS, &batch, &prediction);
    assert_int_equal(s.count, 1);
    assert_true(s.truth[0].least == 1 && s.truth[1].most == 7);
    assert_true(s.said[0].least == 3 && s.said[1].least == 6); /* (0 + 0.5 + 0.25) * 4, (1 + 0.5) * 4 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(classes), cmocka_unit_test(values),
                                       cmocka_unit_test(points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
