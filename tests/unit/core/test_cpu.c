/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU budget under made-up cgroup trees of version 1 and 2. */
#include "core/cpu.h"
#include "core/file.h"
#include "support/workspace.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int usable(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static void without_a_quota_it_is_the_affinity(void **state)
{
    (void)state;
    workspace root = workspace_make();
    const stk__cpu_budget budget = stk__cpu_budget_read(root.path);
    assert_int_equal(budget.cpus, usable());
    assert_true(budget.quota == 0);
    workspace_remove(&root);
}

static void the_tightest_quota_above_counts(void **state)
{
    (void)state;
    workspace root = workspace_make();
    workspace_put(&root, "proc/self/cgroup", "0::/outer/inner\n");
    workspace_put(&root, "sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    workspace_put(&root, "sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
    const stk__cpu_budget budget = stk__cpu_budget_read(root.path);
    assert_true(budget.quota > 1.49 && budget.quota < 1.51);
    assert_int_equal(budget.cpus, 1);
    if (usable() > 1) assert_non_null(strstr(budget.why, "quota"));
    workspace_remove(&root);
}

static void a_quota_below_one_is_one(void **state)
{
    (void)state;
    workspace root = workspace_make();
    workspace_put(&root, "proc/self/cgroup", "0::/\n");
    workspace_put(&root, "sys/fs/cgroup/cpu.max", "20000 100000\n");
    assert_int_equal(stk__cpu_budget_read(root.path).cpus, 1);
    workspace_remove(&root);
}

static void version_one_is_understood(void **state)
{
    (void)state;
    workspace root = workspace_make();
    workspace_put(&root, "proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/job\n");
    workspace_put(&root, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "100000\n");
    workspace_put(&root, "sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    const stk__cpu_budget budget = stk__cpu_budget_read(root.path);
    assert_true(budget.quota == 1);
    assert_int_equal(budget.cpus, 1);
    workspace_put(&root, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    assert_true(stk__cpu_budget_read(root.path).quota == 0);
    workspace_remove(&root);
}

static void another_process_has_its_own(void **state)
{
    (void)state;
    workspace root = workspace_make();
    workspace_put(&root, "proc/self/cgroup", "0::/\n");
    workspace_put(&root, "proc/77/cgroup", "0::/box\n");
    workspace_put(&root, "sys/fs/cgroup/box/cpu.max", "50000 100000\n");
    assert_true(stk__cpu_budget_of(root.path, 77).quota == 0.5);
    assert_true(stk__cpu_budget_of(root.path, 0).quota == 0);
    workspace_remove(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_quota_it_is_the_affinity),
        cmocka_unit_test(the_tightest_quota_above_counts),
        cmocka_unit_test(a_quota_below_one_is_one),
        cmocka_unit_test(version_one_is_understood),
        cmocka_unit_test(another_process_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
