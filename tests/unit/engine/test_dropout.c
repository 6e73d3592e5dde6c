/* SPDX-License-Identifier: Apache-2.0 */
/* The formula of dropout that all engines share. */
#include "engine/dropout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

/* Whole numbers decide as the comparison of floats does, also beside the border. */
static void thresholds_are_exact(void **state)
{
    (void)state;
    static const double drops[] = {0, 0x1p-25, 0x1p-24, 0.1, 0.25, 0.3, 0.5, 0.9, 1 - 0x1p-24, 1 - 0x1p-25};
    for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++) {
        const stk__dropout dropout = stk__dropout_make(drops[i], 1, 2, 3);
        for (int64_t near = -2; near <= 2; near++) {
            const int64_t high = (int64_t)(drops[i] * 0x1p24) + near;
            if (high < 0 || high >= 1 << 24) continue;
            const uint32_t word = (uint32_t)high << 8 | 0xff;
            const bool kept = stk__random_unit(word) >= drops[i];
            assert_true(stk__dropout_factor(&dropout, word) == (kept ? (float)(1 / (1 - drops[i])) : 0));
        }
    }
}

/* Frozen: a run that is repeated drops the same values. */
static void draws_are_those_of_the_layer(void **state)
{
    (void)state;
    const stk__dropout dropout = stk__dropout_make(0.5, 11, 7, 3);
    const stk__random_at at = {.seed = 11, .epoch = 7, .sample = 123456, .operation = 65536 + 3, .draw = 9};
    const stk__random draw = stk__dropout_draw(&dropout, 123456, 9), right = stk__random_draw(at);
    for (int i = 0; i < 4; i++)
        assert_int_equal(draw.word[i], right.word[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_are_exact),
        cmocka_unit_test(draws_are_those_of_the_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
