/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps of files: the same while nothing changed, others after every change, and what counts as settled. */
#include "core/file_stamp.h"
#include "support/workspace.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static char path[512], other[512];

static stk__digest stamp_of(const char *first, const char *second)
{
    stk__file_stamp stamp = {0};
    assert_true(stk__file_stamp_add(&stamp, first));
    if (second) assert_true(stk__file_stamp_add(&stamp, second));
    return stamp.digest;
}

static bool equal(stk__digest a, stk__digest b)
{
    return a.high == b.high && a.low == b.low;
}

static void test_changes(void **state)
{
    (void)state;
    workspace folder = workspace_make();
    snprintf(path, sizeof path, "%s/a", folder.path);
    snprintf(other, sizeof other, "%s/b", folder.path);
    workspace_put(&folder, "a", "text");
    workspace_put(&folder, "b", "text");
    const stk__digest first = stamp_of(path, NULL), both = stamp_of(path, other);
    assert_true(equal(first, stamp_of(path, NULL)));
    assert_true(equal(both, stamp_of(path, other)));
    assert_false(equal(first, both));
    assert_false(equal(both, stamp_of(other, path)));
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    const struct timespec later[2] = {facts.st_atim, {.tv_sec = facts.st_mtim.tv_sec + 1}};
    assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
    assert_false(equal(first, stamp_of(path, NULL)));
    const stk__digest dated = stamp_of(path, NULL);
    assert_int_equal(truncate(path, 3), 0);
    assert_false(equal(dated, stamp_of(path, NULL)));
    workspace_remove(&folder);
}

static void test_no_file(void **state)
{
    (void)state;
    stk__file_stamp stamp = {0};
    assert_false(stk__file_stamp_add(&stamp, "/nowhere/at/all"));
    assert_false(stk__file_stamp_add(&stamp, "/"));
    assert_false(stk__file_stamp_add(&stamp, "/dev/null"));
    assert_true(equal(stamp.digest, (stk__digest){0}));
}

static void test_settled(void **state)
{
    (void)state;
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    assert_true(stk__file_stamp_is_settled(&(stk__file_stamp){.newest_s = now.tv_sec - 10}));
    assert_true(stk__file_stamp_is_settled(&(stk__file_stamp){.newest_s = now.tv_sec - 10, .newest_ns = 5}));
    assert_false(stk__file_stamp_is_settled(&(stk__file_stamp){.newest_s = now.tv_sec + 1000}));
    assert_false(stk__file_stamp_is_settled(&(stk__file_stamp){.newest_s = INT64_MAX, .newest_ns = 5}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes), cmocka_unit_test(test_no_file),
                                       cmocka_unit_test(test_settled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
