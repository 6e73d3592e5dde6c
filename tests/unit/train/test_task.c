/* SPDX-License-Identifier: Apache-2.0 */
/* From counts to the numbers people quote. */
#include "train/task.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void near(double found, double expected)
{
    assert_true(fabs(found - expected) <= 1e-12);
}

/* Class 2 never comes up, class 3 only in predictions. */
static void segmentation_counts_classes_that_came_up(void **state)
{
    (void)state;
    const int64_t counts[16] = {6, 2, 0, 0, 1, 9, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0};
    double values[STK_TASK_VALUES], per_class[4];
    stk__task_score(STK_TASK_SEGMENTATION, counts, 4, values, per_class);
    near(values[0], (6.0 / 9 + 9.0 / 14 + 0) / 3);
    near(values[1], (12.0 / 15 + 18.0 / 23 + 0) / 3);
    near(values[2], 15.0 / 20);
    near(per_class[0], 12.0 / 15);
    near(per_class[1], 18.0 / 23);
    assert_true(isnan(per_class[2]));
    near(per_class[3], 0);
    stk__task_score(STK_TASK_SEGMENTATION, counts, 4, values, NULL);
}

static void points_and_classes_are_quotients(void **state)
{
    (void)state;
    double values[STK_TASK_VALUES];
    stk__task_score(STK_TASK_POINTS, (double[]){4, 10, 3}, 0, values, NULL);
    near(values[0], 2.5);
    near(values[1], 0.75);
    stk__task_score(STK_TASK_CLASSIFICATION, (int64_t[]){8, 4, 6}, 10, values, NULL);
    near(values[0], 0.5);
    near(values[1], 0.75);
    stk__task_score(STK_TASK_CLASSIFICATION, (int64_t[]){8, 4, 8}, 6, values, NULL);
    near(values[1], 1);
    stk__task_score(STK_TASK_CLASSIFICATION, (int64_t[]){8, 4, 8}, 5, values, NULL);
    near(values[0], 0.5);
    assert_true(isnan(values[1])); /* top5 of five classes says nothing */
}

/* Targets 1, 2, 3, 6 and predictions 1, 3, 3, 4. */
static void values_have_r2_mae_and_rmse(void **state)
{
    (void)state;
    double values[STK_TASK_VALUES];
    stk__task_score(STK_TASK_REGRESSION, (double[]){4, 3, 5, 12, 50}, 0, values, NULL);
    near(values[0], 1 - 5.0 / 14);
    near(values[1], 0.75);
    near(values[2], sqrt(1.25));
}

/* 6 hits among 8 predicted and 10 true labels; the mean average precision is not in the counts. */
static void labels_have_an_f_score(void **state)
{
    (void)state;
    double values[STK_TASK_VALUES];
    stk__task_score(STK_TASK_MULTILABEL, (int64_t[]){6, 8, 10}, 3, values, NULL);
    assert_true(isnan(values[0]));
    near(values[1], 12.0 / 18);
}

static void data_has_a_task(void **state)
{
    (void)state;
    const stk__feed_facts values = {.image_w = 8, .values = true}, sets = {.image_w = 8, .label_sets = true},
                          series = {.window = 8, .values = true}, bare = {.image_w = 8};
    assert_int_equal(stk__task_of_data(&values), STK_TASK_IMAGE_REGRESSION);
    assert_int_equal(stk__task_of_data(&sets), STK_TASK_MULTILABEL);
    assert_int_equal(stk__task_of_data(&series), STK_TASK_REGRESSION);
    assert_true(stk__task_fits(STK_TASK_IMAGE_REGRESSION, &values));
    assert_false(stk__task_fits(STK_TASK_IMAGE_REGRESSION, &series));
    assert_true(stk__task_fits(STK_TASK_MULTILABEL, &sets));
    for (int task = 0; task < STK_TASK_COUNT; task++)
        assert_false(stk__task_fits((stk__task)task, &bare));
}

static void nothing_counted_is_unknown_not_zero(void **state)
{
    (void)state;
    static const double nothing[16];
    static const int64_t none[16];
    double values[STK_TASK_VALUES];
    for (int task = 0; task < STK_TASK_COUNT; task++) {
        const bool whole = stk__task_has_classes((stk__task)task);
        stk__task_score((stk__task)task, whole ? (const void *)none : nothing, 4, values, NULL);
        for (int i = 0; i < stk__task_describe((stk__task)task)->value_count; i++)
            assert_true(isnan(values[i]));
    }
}

static void values_are_found_by_name(void **state)
{
    (void)state;
    assert_int_equal(stk__task_value(STK_TASK_SEGMENTATION, "pixel_accuracy"), 2);
    assert_int_equal(stk__task_value(STK_TASK_REGRESSION, "miou"), -1);
    assert_true(stk__task_describe(STK_TASK_POINTS)->low[0]);
    assert_false(stk__task_describe(STK_TASK_POINTS)->low[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segmentation_counts_classes_that_came_up),
        cmocka_unit_test(points_and_classes_are_quotients),
        cmocka_unit_test(values_have_r2_mae_and_rmse),
        cmocka_unit_test(labels_have_an_f_score),
        cmocka_unit_test(data_has_a_task),
        cmocka_unit_test(nothing_counted_is_unknown_not_zero),
        cmocka_unit_test(values_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
