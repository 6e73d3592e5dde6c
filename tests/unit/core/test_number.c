/* SPDX-License-Identifier: Apache-2.0 */
/* Strict parsing of whole and real numbers, also under a locale with a decimal comma. */
#include "core/number.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static bool whole(const char *text, int64_t *value)
{
    return stk__number_whole(text, strlen(text), value);
}

static bool real(const char *text, double *value)
{
    return stk__number_real(text, strlen(text), value);
}

static void whole_numbers_are_read(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"0", 0},
                 {"-0", 0},
                 {"+7", 7},
                 {"007", 7},
                 {"-123", -123},
                 {"9223372036854775807", INT64_MAX},
                 {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 99;
        assert_true(whole(cases[i].text, &value));
        assert_true(value == cases[i].value);
    }
}

static void other_texts_are_not_whole_numbers(void **state)
{
    (void)state;
    const char *const texts[] = {"",
                                 "+",
                                 "-",
                                 " 1",
                                 "1 ",
                                 "1.0",
                                 "1e3",
                                 "0x10",
                                 "--1",
                                 "1,0",
                                 "five",
                                 "9223372036854775808",
                                 "-9223372036854775809",
                                 "99999999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t value = 99;
        assert_false(whole(texts[i], &value));
        assert_true(value == 99);
    }
}

static void reals_are_read_and_rounded_correctly(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0},
                 {"-1.5", -1.5},
                 {".5", .5},
                 {"5.", 5},
                 {"1e3", 1000},
                 {"+2.5E-1", .25},
                 {"0.1", 0.1},
                 {"123456789.123456789", 123456789.123456789},
                 {"1e400", HUGE_VAL},
                 {"-1e400", -HUGE_VAL},
                 {"1e-400", 0},
                 {"9007199254740993", 9007199254740992.0},
                 {"inf", HUGE_VAL},
                 {"-Infinity", -HUGE_VAL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 99;
        assert_true(real(cases[i].text, &value));
        assert_true(value == cases[i].value);
    }
    double value = 0;
    assert_true(real("NaN", &value) && isnan(value));
    assert_true(real("-nan", &value) && isnan(value));
}

static void other_texts_are_not_reals(void **state)
{
    (void)state;
    const char *const texts[] = {"",    ".",     "-",     "+.",     "e5",      "1e", "1e+", " 1",    "1 ",
                                 "1,5", "0x1p3", "1.2.3", "nan(1)", "infinit", "1f", "--1", "1e5.0", "a"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double value = 99;
        assert_false(real(texts[i], &value));
        assert_true(value == 99);
    }
    char digits[1000];
    memset(digits, '1', sizeof digits);
    double value;
    assert_false(stk__number_real(digits, sizeof digits, &value));
    assert_true(stk__number_real(digits, 300, &value) && value > 1e299);
    assert_true(stk__number_real("12345", 2, &value) && value == 12); /* only the length counts */
}

static void locale_does_not_matter(void **state)
{
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++)
        found = setlocale(LC_ALL, names[i]);
    if (!found) skip();
    double value = 0;
    assert_true(strtod("1,5", NULL) > 1.2); /* the locale is in effect */
    assert_true(real("1.5", &value) && value == 1.5);
    assert_false(real("1,5", &value));
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_read),
        cmocka_unit_test(other_texts_are_not_whole_numbers),
        cmocka_unit_test(reals_are_read_and_rounded_correctly),
        cmocka_unit_test(other_texts_are_not_reals),
        cmocka_unit_test(locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
