/* SPDX-License-Identifier: Apache-2.0 */
/* The loss scale: growth, back-off, floor, and when enough is enough. */
#include "train/loss_scale.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static stk__loss_scale begin(void)
{
    return (stk__loss_scale){
        .scale = STK_LOSS_SCALE_START, .floor = 1024, .growth_good = 4, .skips_most = 10};
}

static void good_steps_double_it(void **state)
{
    (void)state;
    stk__loss_scale s = begin();
    for (int i = 1; i <= 12; i++) {
        assert_true(stk__loss_scale_step(&s, false));
        assert_true(s.scale == (i < 4 ? 65536 : i < 8 ? 131072 : i < 12 ? 262144 : 524288));
    }
    assert_true(s.skipped == 0);
}

static void a_skip_halves_it_and_counting_begins_anew(void **state)
{
    (void)state;
    stk__loss_scale s = begin();
    for (int i = 0; i < 3; i++)
        stk__loss_scale_step(&s, false);
    assert_true(stk__loss_scale_step(&s, true) && s.scale == 32768 && s.skip_count == 1);
    for (int i = 0; i < 3; i++)
        assert_true(stk__loss_scale_step(&s, false) && s.scale == 32768 && s.skip_count == 0);
    assert_true(stk__loss_scale_step(&s, false) && s.scale == 65536 && s.skipped == 1);
}

static void it_never_leaves_its_limits(void **state)
{
    (void)state;
    stk__loss_scale s = begin();
    s.skips_most = 1000;
    s.floor = 3; /* no power of two: still never below */
    for (int i = 0; i < 100; i++)
        assert_true(stk__loss_scale_step(&s, true) && s.scale >= 3);
    assert_true(s.scale == 3 && s.skipped == 100);
    s.growth_good = 1;
    for (int i = 0; i < 100; i++)
        assert_true(stk__loss_scale_step(&s, false) && s.scale <= STK_LOSS_SCALE_MOST);
    assert_true(s.scale == STK_LOSS_SCALE_MOST);
}

static void only_skips_in_a_row_end_it(void **state)
{
    (void)state;
    stk__loss_scale s = begin();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 9; i++) {
            assert_false(stk__loss_scale_is_last(&s));
            assert_true(stk__loss_scale_step(&s, true));
        }
        assert_true(stk__loss_scale_is_last(&s));
        assert_true(stk__loss_scale_step(&s, false));
    }
    for (int i = 0; i < 9; i++)
        assert_true(stk__loss_scale_step(&s, true));
    assert_false(stk__loss_scale_step(&s, true));
    assert_true(s.scale == 1024 && s.skip_count == 10 && s.skipped == 37);
    s = (stk__loss_scale){0}; /* float32 and bf16: nothing is ever the last */
    assert_false(stk__loss_scale_is_last(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_steps_double_it),
        cmocka_unit_test(a_skip_halves_it_and_counting_begins_anew),
        cmocka_unit_test(it_never_leaves_its_limits),
        cmocka_unit_test(only_skips_in_a_row_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
