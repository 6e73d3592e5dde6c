/* SPDX-License-Identifier: Apache-2.0 */
/* The user's cache folder: which variable counts, and that a path that does not fit or is relative does not.
 */
#include "core/cache_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static char found[512];

static void the_first_variable_counts(void **state)
{
    (void)state;
    setenv("STOKER_CACHE_DIR", "own", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/somebody", 1);
    assert_true(stk__cache_folder(found, sizeof found));
    assert_string_equal(found, "own");
    setenv("STOKER_CACHE_DIR", "", 1);
    assert_true(stk__cache_folder(found, sizeof found));
    assert_string_equal(found, "/xdg/stoker");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_true(stk__cache_folder(found, sizeof found));
    assert_string_equal(found, "/home/somebody/.cache/stoker");
}

static void there_may_be_none(void **state)
{
    (void)state;
    unsetenv("STOKER_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/home/somebody", 1);
    assert_false(stk__cache_folder(found, 10));
    unsetenv("HOME");
    assert_false(stk__cache_folder(found, sizeof found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_variable_counts),
        cmocka_unit_test(there_may_be_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
