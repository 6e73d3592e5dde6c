/* SPDX-License-Identifier: Apache-2.0 */
/* The score of one sample against numbers worked out by hand; what does not count is not a number. */
#include "session/sample_score.h"

#include "session/sheet/eval_sheet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static stk_tensor dense(void *data, stk_dtype dtype, int ndim, const int64_t *shape)
{
    stk_tensor tensor = {.data = data, .dtype = dtype, .ndim = ndim};
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        tensor.shape[d] = shape[d];
        tensor.strides[d] = stride;
        stride *= shape[d];
    }
    return tensor;
}

#define DENSE(data, dtype, ...)                                                                              \
    dense(data, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static void masks(void **state)
{
    (void)state;
    uint8_t truth[8] = {0, 1, 1, 255, 2, 2, 2, 2}, ids[4];
    float logits[2][4][3] = {{{3, 0, 0}, {0, 3, 0}, {3, 0, 0}, {0, 0, 3}}, /* 0 1 0 and what is ignored */
                             {{0, 0, 3}, {0, 0, 3}, {0, 0, 3}, {0, 0, 3}}};
    float weights[2] = {1, 1};
    stk_batch batch = {.count = 2,
                       .masks = DENSE(truth, STK_DTYPE_U8, 2, 2, 2),
                       .weights = DENSE(weights, STK_DTYPE_F32, 2)};
    const stk_tensor prediction = DENSE(logits, STK_DTYPE_F32, 2, 2, 2, 3);
    /* class 0: 1 of 2, class 1: 1 of 2; class 2 came up only where it is ignored */
    assert_float_equal(stk__sample_score(STK_TASK_SEGMENTATION, &batch, &prediction, 0, ids), 0.5, 1e-12);
    assert_int_equal(ids[3], 2);
    assert_float_equal(stk__sample_score(STK_TASK_SEGMENTATION, &batch, &prediction, 1, ids), 1, 1e-12);
    weights[1] = 0;
    assert_true(isnan(stk__sample_score(STK_TASK_SEGMENTATION, &batch, &prediction, 1, ids)));
    truth[0] = truth[1] = truth[2] = 255;
    assert_true(isnan(stk__sample_score(STK_TASK_SEGMENTATION, &batch, &prediction, 0, ids)));
}

static void classes(void **state)
{
    (void)state;
    int64_t labels[3] = {1, -1, 0};
    float logits[3][2] = {{1, 3}, {0, 0}, {1000, -1000}};
    const stk_batch batch = {.count = 3, .labels = DENSE(labels, STK_DTYPE_I64, 3)};
    const stk_tensor prediction = DENSE(logits, STK_DTYPE_F32, 3, 2);
    double probability;
    assert_float_equal(stk__sample_score(STK_TASK_CLASSIFICATION, &batch, &prediction, 0, NULL),
                       log(1 + exp(-2)), 1e-12);
    assert_true(isnan(stk__sample_score(STK_TASK_CLASSIFICATION, &batch, &prediction, 1, NULL)));
    assert_float_equal(stk__sample_score(STK_TASK_CLASSIFICATION, &batch, &prediction, 2, NULL), 0, 1e-12);
    labels[2] = 1;
    assert_float_equal(stk__sample_score(STK_TASK_CLASSIFICATION, &batch, &prediction, 2, NULL), 2000, 1e-9);
    assert_int_equal(stk__answer_class(&prediction, 0, &probability), 1);
    assert_true(fabs(probability - 1 / (1 + exp(-2))) < 1e-12);
}

/* Maps of 2 x 2 cells on a picture of 8 x 8; one point. */
static void points(void **state)
{
    (void)state;
    float truth[2][1][3] = {{{6, 6, 1}}, {{0, 0, 0}}};
    float maps[2][4][3] = {{{0, 0, 0}, {1, 0, 0}, {0, 0, 0}, {0, 0, 0}}, {{0}}};
    const stk_batch batch = {.count = 2,
                             .images = DENSE(NULL, STK_DTYPE_F32, 2, 8, 8, 3),
                             .points = DENSE(truth, STK_DTYPE_F32, 2, 1, 3)};
    const stk_tensor prediction = DENSE(maps, STK_DTYPE_F32, 2, 2, 2, 3);
    /* the middle of the upper right cell is (6, 2) */
    assert_float_equal(stk__sample_score(STK_TASK_POINTS, &batch, &prediction, 0, NULL), 4, 1e-6);
    assert_true(isnan(stk__sample_score(STK_TASK_POINTS, &batch, &prediction, 1, NULL))); /* not visible */
}

static void values(void **state)
{
    (void)state;
    float truth[2] = {1, -2}, said[2] = {1.5f, -4};
    const stk_batch batch = {.count = 2, .labels = DENSE(truth, STK_DTYPE_F32, 2)};
    const stk_tensor prediction = DENSE(said, STK_DTYPE_F32, 2, 1);
    assert_float_equal(stk__sample_score(STK_TASK_REGRESSION, &batch, &prediction, 0, NULL), 0.5, 1e-6);
    assert_float_equal(stk__sample_score(STK_TASK_REGRESSION, &batch, &prediction, 1, NULL), 2, 1e-6);
}

/* The mean of -log p of what is true and -log(1 - p) of what is not; large logits do not overflow. */
static void labels(void **state)
{
    (void)state;
    float truth[2][2] = {{1, 0}, {0, 1}}, said[2][2] = {{1, -2}, {1000, 1000}};
    const stk_batch batch = {.count = 2, .labels = DENSE(truth, STK_DTYPE_F32, 2, 2)};
    const stk_tensor prediction = DENSE(said, STK_DTYPE_F32, 2, 2);
    const double expected = (log(1 + exp(-1)) + log(1 + exp(-2))) / 2;
    assert_float_equal(stk__sample_score(STK_TASK_MULTILABEL, &batch, &prediction, 0, NULL), expected, 1e-6);
    assert_float_equal(stk__sample_score(STK_TASK_MULTILABEL, &batch, &prediction, 1, NULL), 500, 1e-9);
}

/* As many as there is room for, whatever the numbers; and the same distance between them. */
static void samples_on_a_sheet(void **state)
{
    (void)state;
    for (uint64_t all = 1; all < 200; all += 7)
        for (uint64_t room = 1; room < 30; room++) {
            uint64_t picked = 0, last = 0;
            for (uint64_t i = 0; i < all; i++) {
                if (!stk__eval_sheet_picks(i, room, all)) continue;
                if (picked++) assert_true(i - last >= all / room && i - last <= all / room + 1);
                last = i;
            }
            assert_int_equal(picked, all < room ? all : room);
        }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(masks),  TEST(classes), TEST(points),
                                       TEST(values), TEST(labels),  TEST(samples_on_a_sheet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
