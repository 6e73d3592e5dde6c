/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in network files: values, overflow, unknown names, and depth. */
#include "train/network/network_expression.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const stk__scope absent = {.name = "window", .unknown = true};
static const stk__scope wide = {.outer = &absent, .name = "width", .value = 32};
static const stk__scope large = {.outer = &wide, .name = "large", .value = INT64_MAX};
static const stk__scope small = {.outer = &large, .name = "small", .value = INT64_MIN};
static const stk__scope outer_i = {.outer = &small, .name = "i", .value = 99};
static const stk__scope scope = {.outer = &outer_i, .name = "i", .value = 3};

static bool evaluate(const char *text, bool check, int64_t *value, stk__mistake *mistake)
{
    const stk__expression expression = {text, strlen(text), &scope, check};
    return stk__expression_value(&expression, value, mistake);
}

typedef struct value_row {
    const char *text;
    int64_t value;
} value_row;

static const value_row rows[] = {
    {"0", 0},
    {"  12 ", 12},
    {"9223372036854775807", INT64_MAX},
    {"-9223372036854775807 - 1", INT64_MIN},
    {"1 + 2 * 3", 7},
    {"(1 + 2) * 3", 9},
    {"10 - 4 - 3", 3},
    {"2 ^ 3 ^ 2", 512},
    {"-2 ^ 2", -4},
    {"(-2) ^ 3", -8},
    {"2 ^ 62", INT64_C(1) << 62},
    {"(-2) ^ 63", INT64_MIN},
    {"1 ^ 9223372036854775807", 1},
    {"0 ^ 0", 1},
    {"--5", 5},
    {"12 / 4 / 3", 1},
    {"-12 / 4", -3},
    {"7 % 4", 3},
    {"large / -1", -INT64_MAX},
    {"small % -1", 0},
    {"width * 2 ^ (i - 1)", 128},
    {"width*i", 96},
    {"min(3, width)", 3},
    {"max(3, width)", 32},
    {"min ( 5 , 4 )", 4},
    {"max(1, min(2, 3)) + 1", 3},
    {"1 == 1", 1},
    {"1 != 1", 0},
    {"1 < 2", 1},
    {"2 < 2", 0},
    {"2 <= 2", 1},
    {"3 <= 2", 0},
    {"3 > 2", 1},
    {"2 > 2", 0},
    {"2 >= 2", 1},
    {"1 >= 2", 0},
    {"1 + (i > 1) * (i == 3)", 2},
    {"true", 1},
    {"false", 0},
    {"true + true", 2},
};

static void values(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        int64_t value = -77;
        stk__mistake mistake = {0};
        if (!evaluate(rows[k].text, false, &value, &mistake))
            fail_msg("'%s': %s", rows[k].text, mistake.message);
        if (value != rows[k].value) fail_msg("'%s' is %lld", rows[k].text, (long long)value);
        assert_true(evaluate(rows[k].text, true, &value, &mistake));
    }
}

typedef struct mistake_row {
    const char *text;
    size_t at;
    const char *message, *hint;
    bool late; /* only computing finds it */
} mistake_row;

static const mistake_row mistakes[] = {
    {"", 0, "the expression ends where a number or name should follow", "", false},
    {"1 +", 3, "the expression ends where a number or name should follow", "", false},
    {"* 2", 0, "'*' where a number or name should follow", "", false},
    {"1 2", 2, "'2' where the end should follow", "", false},
    {"1 < 2 < 3", 6, "'<' where the end should follow", "", false},
    {"(1", 2, "the expression ends where ')' should follow", "", false},
    {"1)", 1, "')' where the end should follow", "", false},
    {"1 = 2", 2, "'=' where '==' is meant", "", false},
    {"!1", 0, "'!' where a number or name should follow", "", false},
    {"2 ! 1", 2, "'!' where '!=' is meant", "", false},
    {"min 3", 4, "'3' where '(' should follow", "", false},
    {"min(3)", 5, "')' where ',' should follow", "", false},
    {"max(3, 4", 8, "the expression ends where ')' should follow", "", false},
    {"max(3 +, 4)", 7, "',' where a number or name should follow", "", false},
    {"max(3, *)", 7, "'*' where a number or name should follow", "", false},
    {"1.5", 0, "only integers are possible here", "", false},
    {"2 * 1e3", 4, "only integers are possible here", "", false},
    {"\xc3\xa9", 0, "an unexpected character where a number or name should follow", "", false},
    {"widht", 0, "there is no option, fact or loop variable 'widht'", "did you mean 'width'?", false},
    {"1 + fales", 4, "there is no option, fact or loop variable 'fales'", "did you mean 'false'?", false},
    {"qqqqqq", 0, "there is no option, fact or loop variable 'qqqqqq'", "", false},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, "a name of more than 40 letters", "", false},
    {"9223372036854775808", 0, "the value is too large", "", false},
    {"99999999999999999999", 0, "the value is too large", "", false},
    {"window + 1", 0, "the data has no 'window'", "", true},
    {"large + 1", 6, "the value is too large", "", true},
    {"small - 1", 6, "the value is too large", "", true},
    {"large * 2", 6, "the value is too large", "", true},
    {"small / -1", 6, "the value is too large", "", true},
    {"10 ^ 19", 7, "the value is too large", "", true},
    {"3 ^ 99999999999", 15, "the value is too large", "", true},
    {"2 ^ -1", 6, "the exponent -1 is negative", "", true},
    {"7 / 2", 2, "7 / 2 is not an integer", "", true},
    {"7 / (i - 3)", 2, "7 / 0 has no value", "", true},
    {"7 % 0", 2, "7 % 0 has no value", "", true},
};

static void mistakes_are_told(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
        const mistake_row *row = &mistakes[k];
        int64_t value = -77;
        stk__mistake mistake = {0};
        if (evaluate(row->text, false, &value, &mistake))
            fail_msg("'%s' is %lld", row->text, (long long)value);
        assert_int_equal(value, -77);
        if (strcmp(mistake.message, row->message) || mistake.at != row->at)
            fail_msg("'%s': %s at %zu", row->text, mistake.message, mistake.at);
        assert_string_equal(mistake.hint, row->hint);
        assert_int_equal(evaluate(row->text, true, &value, &mistake), row->late);
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    static const char *const parts[] = {"(", "-", "2^", "max(1,", "min("};
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        char text[900] = "";
        while (strlen(text) < sizeof text - 10)
            strcat(text, parts[k]);
        int64_t value = 0;
        stk__mistake mistake = {0};
        assert_false(evaluate(text, false, &value, &mistake));
        assert_string_equal(mistake.message, "the expression is nested too deep");
    }
}

static void smallest_number_has_no_opposite(void **state)
{
    (void)state;
    int64_t value = 0;
    stk__mistake mistake = {0};
    assert_false(evaluate("-small", false, &value, &mistake));
    assert_string_equal(mistake.message, "the value is too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(smallest_number_has_no_opposite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
