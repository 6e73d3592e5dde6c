/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that can still be had, from made-up machines and groups. */
#include "core/ram.h"
#include "support/workspace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MACHINE "MemTotal:       24000000 kB\nMemFree:         1000000 kB\nMemAvailable:    2000000 kB\n"

static const uint64_t machine_bytes = UINT64_C(2000000) * 1024;

static void without_groups_it_is_what_the_machine_has(void **state)
{
    (void)state;
    workspace root = workspace_make();
    workspace_put(&root, "proc/meminfo", MACHINE);
    const stk__ram ram = stk__ram_read(root.path);
    assert_true(ram.known);
    assert_int_equal(ram.available_bytes, machine_bytes);
    assert_string_equal(ram.whose, "the machine");
    workspace_remove(&root);
}

static void unknown_is_not_zero(void **state)
{
    (void)state;
    workspace root = workspace_make();
    assert_false(stk__ram_read(root.path).known);
    workspace_put(&root, "proc/meminfo", "MemTotal: 24000000 kB\n"); /* a kernel that is too old */
    assert_false(stk__ram_read(root.path).known);
    workspace_remove(&root);
}

/* What is used counts without the files in the page cache, which are given back. */
static void the_tightest_group_counts(void **state)
{
    (void)state;
    workspace root = workspace_make();
    workspace_put(&root, "proc/meminfo", MACHINE);
    workspace_put(&root, "proc/self/cgroup", "0::/outer/inner\n");
    workspace_put(&root, "sys/fs/cgroup/outer/inner/memory.max", "max\n");
    workspace_put(&root, "sys/fs/cgroup/outer/inner/memory.high", "max\n");
    workspace_put(&root, "sys/fs/cgroup/outer/inner/memory.current", "900\n");
    workspace_put(&root, "sys/fs/cgroup/outer/memory.max", "1000000\n");
    workspace_put(&root, "sys/fs/cgroup/outer/memory.current", "700000\n");
    workspace_put(&root, "sys/fs/cgroup/outer/memory.stat",
                  "anon 100\nfile 5\nactive_file 100000\ninactive_file 50000\nunevictable 7\n");
    stk__ram ram = stk__ram_read(root.path);
    assert_int_equal(ram.available_bytes, 1000000 - 700000 + 150000);
    assert_string_equal(ram.whose, "the cgroup");
    workspace_put(&root, "sys/fs/cgroup/outer/memory.high", "800000\n");
    ram = stk__ram_read(root.path);
    assert_int_equal(ram.available_bytes, 800000 - 700000 + 150000);
    workspace_remove(&root);
}

static void a_group_that_is_full_has_nothing_left(void **state)
{
    (void)state;
    workspace root = workspace_make();
    workspace_put(&root, "proc/meminfo", MACHINE);
    workspace_put(&root, "proc/self/cgroup", "0::/\n");
    workspace_put(&root, "sys/fs/cgroup/memory.max", "1000\n");
    workspace_put(&root, "sys/fs/cgroup/memory.current", "2000\n");
    const stk__ram ram = stk__ram_read(root.path);
    assert_true(ram.known);
    assert_int_equal(ram.available_bytes, 0);
    workspace_remove(&root);
}

static void version_one_is_understood(void **state)
{
    (void)state;
    workspace root = workspace_make();
    workspace_put(&root, "proc/meminfo", MACHINE);
    workspace_put(&root, "proc/self/cgroup", "5:cpuset:/x\n4:memory:/job\n3:cpu,cpuacct:/\n");
    workspace_put(&root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    workspace_put(&root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "5000000\n");
    assert_string_equal(stk__ram_read(root.path).whose, "the machine");
    workspace_put(&root, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000000\n");
    workspace_put(&root, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2000000\n");
    workspace_put(&root, "sys/fs/cgroup/memory/job/memory.stat",
                  "inactive_file 1\ntotal_inactive_file 40\ntotal_active_file 2\n");
    const stk__ram ram = stk__ram_read(root.path);
    assert_int_equal(ram.available_bytes, 1000042);
    assert_string_equal(ram.whose, "the cgroup");
    workspace_remove(&root);
}

/* By whoever has the least left of its own, of another process. */
static void the_share_in_use_is_that_of_the_tightest(void **state)
{
    (void)state;
    workspace root = workspace_make();
    assert_true(isnan(stk__ram_used_share(root.path, 77)));
    workspace_put(&root, "proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
    assert_float_equal(stk__ram_used_share(root.path, 77), 0.4, 1e-6);
    workspace_put(&root, "proc/self/cgroup", "0::/\n");
    workspace_put(&root, "proc/77/cgroup", "0::/job\n");
    workspace_put(&root, "sys/fs/cgroup/job/memory.max", "1000000\n");
    workspace_put(&root, "sys/fs/cgroup/job/memory.current", "900000\n");
    workspace_put(&root, "sys/fs/cgroup/job/memory.stat", "active_file 100000\n");
    assert_float_equal(stk__ram_used_share(root.path, 77), 0.8, 1e-6);
    assert_float_equal(stk__ram_used_share(root.path, 0), 0.4, 1e-6);
    workspace_put(&root, "proc/77/cgroup", "4:memory:/box\n");
    workspace_put(&root, "sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2000\n");
    workspace_put(&root, "sys/fs/cgroup/memory/box/memory.usage_in_bytes", "9000\n");
    assert_float_equal(stk__ram_used_share(root.path, 77), 1, 1e-6);
    workspace_remove(&root);
}

static void this_machine_has_some(void **state)
{
    (void)state;
    const stk__ram ram = stk__ram_read(NULL);
    assert_true(ram.known && ram.available_bytes > 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_groups_it_is_what_the_machine_has),
        cmocka_unit_test(unknown_is_not_zero),
        cmocka_unit_test(the_tightest_group_counts),
        cmocka_unit_test(a_group_that_is_full_has_nothing_left),
        cmocka_unit_test(version_one_is_understood),
        cmocka_unit_test(the_share_in_use_is_that_of_the_tightest),
        cmocka_unit_test(this_machine_has_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
