/* SPDX-License-Identifier: Apache-2.0 */
/* docs/doctor.md lists every rule as the tables have it, and no other. Run with the path of the document. */
#include "core/memory.h"

#include "core/file.h"
#include "doctor/run_rules.h"
#include "doctor/settings_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *docs_path;

static void check_row(const char *text, const stk__doctor_rule *rule)
{
    char row[512];
    snprintf(row, sizeof row, "| `%s` | %s | %s |\n", rule->id, rule->title, rule->measured);
    if (!strstr(text, row)) fail_msg("missing in the document: %s", row);
}

static void rules_are_listed(void **state)
{
    stk__buffer text = {0};
    int rows = 0, rules = stk__doctor_rule_count();
    (void)state;
    assert_int_equal(stk__file_read(docs_path, 1 << 20, &text, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&text, "", 1, NULL), STK_OK);
    for (int i = 0; i < stk__doctor_rule_count(); i++)
        check_row((const char *)text.data, stk__doctor_rule_at(i));
    for (const stk__doctor_rule *rule = stk__rules_run; rule->id; rule++, rules++)
        check_row((const char *)text.data, rule);
    for (const stk__doctor_rule *rule = stk__rules_settings; rule->id; rule++, rules++)
        check_row((const char *)text.data, rule);
    for (const char *at = (const char *)text.data; (at = strstr(at, "\n| `")); at++)
        rows += at[4] != '-'; /* that is an option */
    assert_int_equal(rows, rules);
    stk__buffer_fini(&text);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_are_listed)};
    if (count < 2) return 2;
    docs_path = arguments[1];
    return cmocka_run_group_tests_name("doctor_docs", tests, NULL, NULL);
}
