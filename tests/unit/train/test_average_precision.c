/* SPDX-License-Identifier: Apache-2.0 */
/* Average precision against another formula and values of scikit-learn's documentation. */
#include "train/average_precision.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { COUNT = 60, CLASSES = 4 };

static stk_tensor tensor(const float *data, int64_t n, int64_t classes)
{
    return (stk_tensor){.data = (void *)(uintptr_t)data,
                        .dtype = STK_DTYPE_F32,
                        .ndim = 2,
                        .shape = {n, classes},
                        .strides = {classes, 1}};
}

static double score(const float *logits, const float *truth, const float *weights, int64_t n, int64_t classes,
                    double *per_class)
{
    stk__label_scores s = {0};
    double mean;
    const stk_tensor x = tensor(logits, n, classes), t = tensor(truth, n, classes), w = tensor(weights, n, 1);
    stk__label_scores_begin(&s);
    assert_int_equal(stk__label_scores_add(&s, &x, &t, &w, NULL), STK_OK);
    stk__label_scores_begin(&s);      /* what was there before does not count */
    for (int64_t i = 0; i < n; i++) { /* in batches of one */
        const stk_tensor one = tensor(logits + i * classes, 1, classes),
                         is = tensor(truth + i * classes, 1, classes),
                         weight = tensor(weights ? weights + i : NULL, 1, 1);
        assert_int_equal(stk__label_scores_add(&s, &one, &is, &weight, NULL), STK_OK);
    }
    assert_int_equal(stk__label_scores_end(&s, per_class, &mean, NULL), STK_OK);
    stk__label_scores_fini(&s);
    return mean;
}

static void values_of_scikit_learn(void **state)
{
    (void)state;
    double ap;
    score((float[]){0.1F, 0.4F, 0.35F, 0.8F}, (float[]){0, 0, 1, 1}, NULL, 4, 1, &ap);
    assert_true(fabs(ap - 0.8333333333333333) < 1e-12);
    score((float[]){1, 1, 1, 1}, (float[]){0, 0, 1, 0}, NULL, 4, 1, &ap); /* ties: one threshold */
    assert_true(fabs(ap - 0.25) < 1e-12);
    score((float[]){0.5F, 0.5F, 0.3F, 0.1F}, (float[]){1, 0, 1, 0}, NULL, 4, 1, &ap);
    assert_true(fabs(ap - (0.5 * 0.5 + 0.5 * 2 / 3)) < 1e-12);
}

/* The mean over all true samples of the precision among those with a score as high. */
static double by_hand(const float *logits, const float *truth, const float *weights, int c)
{
    double sum = 0, positives = 0;
    for (int i = 0; i < COUNT; i++) {
        if (weights[i] == 0 || truth[i * CLASSES + c] <= 0.5F) continue;
        double above = 0, hits = 0;
        for (int k = 0; k < COUNT; k++) {
            if (weights[k] == 0 || logits[k * CLASSES + c] < logits[i * CLASSES + c]) continue;
            above++;
            hits += truth[k * CLASSES + c] > 0.5F;
        }
        sum += hits / above;
        positives++;
    }
    return sum / positives;
}

static void any_scores_with_ties(void **state)
{
    (void)state;
    float logits[COUNT * CLASSES], truth[COUNT * CLASSES], weights[COUNT];
    double per_class[CLASSES];
    srand(7);
    for (int i = 0; i < COUNT * CLASSES; i++) {
        logits[i] = (float)(rand() % 12 - 6);
        truth[i] = i % CLASSES == 2 ? 0 : (float)(rand() % 3 == 0); /* nobody has class 2 */
    }
    for (int i = 0; i < COUNT; i++)
        weights[i] = (float)(rand() % 5 > 0);
    const double mean = score(logits, truth, weights, COUNT, CLASSES, per_class);
    double sum = 0;
    for (int c = 0; c < CLASSES; c++) {
        if (c == 2) continue;
        assert_true(fabs(per_class[c] - by_hand(logits, truth, weights, c)) < 1e-12);
        sum += per_class[c];
    }
    assert_true(isnan(per_class[2]));
    assert_true(fabs(mean - sum / 3) < 1e-12);
}

static void without_a_mistake_it_is_one(void **state)
{
    (void)state;
    float logits[COUNT], truth[COUNT];
    double ap;
    for (int n = 1; n < COUNT; n++) {
        for (int i = 0; i < COUNT; i++) {
            logits[i] = (float)(i * 7 % COUNT);
            truth[i] = (float)(i * 7 % COUNT >= n);
        }
        assert_true(score(logits, truth, NULL, COUNT, 1, &ap) == 1 && ap == 1);
    }
}

static void nothing_is_not_a_number(void **state)
{
    (void)state;
    double ap;
    assert_true(isnan(score((float[]){1, 2}, (float[]){0, 0}, NULL, 2, 1, &ap)) && isnan(ap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_scikit_learn),
        cmocka_unit_test(any_scores_with_ties),
        cmocka_unit_test(without_a_mistake_it_is_one),
        cmocka_unit_test(nothing_is_not_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
