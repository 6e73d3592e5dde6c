/* SPDX-License-Identifier: Apache-2.0 */
/* Learning-rate schedules against values written out: warm-up, cosine, steps, and PyTorch's OneCycleLR. */
#include "train/lr_schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void near(double found, double expected)
{
    assert_true(fabs(found - expected) <= 1e-12 + 1e-9 * fabs(expected));
}

static void constant_after_a_linear_rise(void **state)
{
    (void)state;
    const stk__lr_schedule s = {.lr = 0.4, .warmup = 4, .total_steps = 10};
    const double expected[] = {0.1, 0.2, 0.3, 0.4, 0.4, 0.4};
    for (int i = 0; i < 6; i++)
        near(stk__lr_at(&s, i), expected[i]);
    near(stk__lr_at(&s, 1000), 0.4);
}

static void cosine_falls_from_the_rate_towards_nothing(void **state)
{
    (void)state;
    const stk__lr_schedule s = {.kind = STK_SCHEDULE_COSINE, .lr = 2, .warmup = 2, .total_steps = 12};
    near(stk__lr_at(&s, 2), 2);
    near(stk__lr_at(&s, 7), 1);
    near(stk__lr_at(&s, 11), 1 + cos(acos(-1) * 0.9));
    near(stk__lr_at(&s, 50), stk__lr_at(&s, 11));
    const stk__lr_schedule only_warmup = {
        .kind = STK_SCHEDULE_COSINE, .lr = 2, .warmup = 12, .total_steps = 12};
    near(stk__lr_at(&only_warmup, 11), 2);
}

static void steps_fall_by_epochs(void **state)
{
    (void)state;
    const stk__lr_schedule s = {.kind = STK_SCHEDULE_STEP,
                                .lr = 1,
                                .total_steps = 100,
                                .steps_per_epoch = 10,
                                .step_size = 2,
                                .gamma = 0.5};
    near(stk__lr_at(&s, 19), 1);
    near(stk__lr_at(&s, 20), 0.5);
    near(stk__lr_at(&s, 40), 0.25);
    near(stk__lr_at(&s, 99), 0.0625);
}

/* The two halves of OneCycleLR(max_lr=1, total_steps=11), written out. */
static void one_cycle_is_pytorchs(void **state)
{
    (void)state;
    const stk__lr_schedule s = {.kind = STK_SCHEDULE_ONE_CYCLE, .lr = 1, .warmup = 5, .total_steps = 11};
    near(stk__lr_at(&s, 0), 0.04);
    const double peak = 0.3 * 11 - 1, last = 10, low = 0.04, end = 0.04 / 1e4;
    for (int i = 0; i < 11; i++) {
        const double pi = acos(-1);
        const double rise = low + (1 - low) * 0.5 * (1 - cos(pi * i / peak));
        const double fall = end + (1 - end) * 0.5 * (1 + cos(pi * (i - peak) / (last - peak)));
        near(stk__lr_at(&s, i), i <= peak ? rise : fall);
    }
    near(stk__lr_at(&s, 10), 4e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_after_a_linear_rise),
        cmocka_unit_test(cosine_falls_from_the_rate_towards_nothing),
        cmocka_unit_test(steps_fall_by_epochs),
        cmocka_unit_test(one_cycle_is_pytorchs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
