/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about text, and rounding of sizes: core/text.h and core/align.h. */
#include "core/align.h"
#include "core/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static void blanks_and_spaces(void **state)
{
    (void)state;
    for (int byte = -128; byte < 128; byte++) {
        const char letter = (char)byte;
        assert_int_equal(stk__is_blank(letter), byte == ' ' || byte == '\t');
        assert_int_equal(stk__is_space(letter), byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n');
    }
}

static void ends(void **state)
{
    (void)state;
    assert_true(stk__text_ends_with("a.tar", 5, ".tar"));
    assert_true(stk__text_ends_with("a.TaR", 5, ".tar"));
    assert_true(stk__text_ends_with("a.tar.gz", 5, ".tar")); /* the first five bytes */
    assert_false(stk__text_ends_with("a.tar.gz", 8, ".tar"));
    assert_false(stk__text_ends_with(".tar", 4, ".tar")); /* nothing before it */
    assert_false(stk__text_ends_with("tar", 3, ".tar"));
    assert_false(stk__text_ends_with("", 0, ".tar"));
    assert_true(stk__text_ends_with("a", 1, ""));
    assert_false(stk__text_ends_with("", 0, ""));
}

static void sizes_are_rounded_up(void **state)
{
    (void)state;
    for (size_t block = 1; block < 70; block++)
        for (size_t bytes = 0; bytes < 200; bytes++) {
            const size_t rounded = stk__align_up(bytes, block);
            assert_true(rounded >= bytes && rounded < bytes + block && rounded % block == 0);
        }
    assert_true(stk__align_up(SIZE_MAX - 511, 512) == SIZE_MAX - 511);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_and_spaces),
        cmocka_unit_test(ends),
        cmocka_unit_test(sizes_are_rounded_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
