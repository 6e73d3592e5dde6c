/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10 against its authors' known answers. */
#include "core/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* The known answers of Philox4x32-10 that its authors published. */
static void known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t expected[4];
    } answers[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         UINT64_C(0x299f31d0a4093822),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        const uint32_t *c = answers[i].counter;
        const stk__random r = stk__random_draw((stk__random_at){
            .seed = answers[i].key, .epoch = c[0], .sample = c[1], .operation = c[2], .draw = c[3]});
        assert_memory_equal(r.word, answers[i].expected, sizeof r.word);
    }
}

static void unit_and_below_stay_in_range(void **state)
{
    (void)state;
    assert_true(stk__random_unit(0) == 0);
    assert_true(stk__random_unit(UINT32_MAX) < 1);
    assert_true(stk__random_below(0, 0, 7) == 0);
    assert_true(stk__random_below(UINT32_MAX, UINT32_MAX, 7) == 6);
    assert_true(stk__random_below(0x80000000u, 0, 10) == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(unit_and_below_stay_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
