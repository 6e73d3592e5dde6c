/* SPDX-License-Identifier: Apache-2.0 */
/* CPU levels and the cap by STOKER_CPU; every level up to what the CPU has comes with its kernels. */
#include "core/cpu_level.h"
#include "device/cpu/augment_pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int forget_cap(void **state)
{
    (void)state;
    return unsetenv("STOKER_CPU");
}

static void without_a_cap_all_that_is_there_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(stk__cpu_level_allowed(), stk__cpu_level_found());
}

static void a_cap_lowers_and_never_raises(void **state)
{
    (void)state;
    static const char *const caps[] = {"c", "AVX2", "avx512"};
    const int found = (int)stk__cpu_level_found();
    for (int level = 0; level < STK_CPU_LEVELS; level++) {
        setenv("STOKER_CPU", caps[level], 1);
        assert_int_equal(stk__cpu_level_allowed(), level < found ? level : found);
    }
}

static void other_words_are_no_cap(void **state)
{
    (void)state;
    setenv("STOKER_CPU", "fast", 1);
    assert_int_equal(stk__cpu_level_allowed(), stk__cpu_level_found());
}

static void every_level_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(stk__cpu_level_name(STK_CPU_C), "c");
    assert_string_equal(stk__cpu_level_name(STK_CPU_AVX2), "avx2");
    assert_string_equal(stk__cpu_level_name(STK_CPU_AVX512), "avx512");
}

/* Plain C is always there; what the CPU lacks never is, and what it has is not forgotten on x86-64. */
static void kernels_are_there_up_to_what_the_cpu_has(void **state)
{
    (void)state;
    const stk__cpu_level found = stk__cpu_level_found();
    assert_true(stk__augment_at(STK_CPU_C) == stk__augment_c);
    for (int level = 1; level < STK_CPU_LEVELS; level++)
        assert_int_equal(stk__augment_at((stk__cpu_level)level) != NULL, level <= (int)found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_cap_all_that_is_there_is_allowed, forget_cap),
        cmocka_unit_test_setup(a_cap_lowers_and_never_raises, forget_cap),
        cmocka_unit_test_setup(other_words_are_no_cap, forget_cap),
        cmocka_unit_test(every_level_has_a_name),
        cmocka_unit_test(kernels_are_there_up_to_what_the_cpu_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
