/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a command, from a made-up /proc and /sys. */
#include "doctor/machine_watch.h"

#include "core/clock.h"
#include "monitor/host/host_proc.h"
#include "support/fail_alloc.h"
#include "support/made_up_proc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static workspace space;
static char text[STK_HOST_TEXT_BYTES];
static stk__machine_watch *watch;
static stk__evidence evidence;

static int set_up(void **state)
{
    (void)state;
    space = workspace_make();
    stk__evidence_init(&evidence);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stk__machine_watch_close(&watch);
    assert_null(watch);
    workspace_remove(&space);
    return 0;
}

static void look(int second, int32_t pid)
{
    stk__machine_watch_look(watch, pid, text, (uint64_t)second * STK_SECOND_NS);
    stk__machine_watch_report(watch, &evidence.machine);
}

static void open_watch(void)
{
    stk_error error;
    assert_int_equal(stk__machine_watch_open(&watch, space.path, &error), STK_OK);
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-6)) fail_msg("%g, not %g", value, expected);
}

static void put_group(const char *folder, int periods, int throttled)
{
    char stat[200];
    snprintf(stat, sizeof stat, "usage_usec 1\nnr_periods %d\nnr_throttled %d\nthrottled_usec 9\n", periods,
             throttled);
    proc_put(&space, stat, "sys/fs/cgroup/%s/cpu.stat", folder);
}

static void groups_of_the_second_version(void **state)
{
    (void)state;
    proc_put(&space, "0::/box/job\n", "proc/77/cgroup");
    proc_put(&space, "50000 100000\n", "sys/fs/cgroup/box/cpu.max");
    put_group("box", 100, 10);
    put_group("box/job", 0, 0);
    proc_put(&space, "some avg10=0 total=1000000\n", "proc/pressure/cpu");
    proc_put(&space, "some avg10=0 total=7\n", "proc/pressure/io");
    proc_put(&space, "some avg10=0 total=2000000\nfull avg10=0 total=1\n",
             "sys/fs/cgroup/box/job/cpu.pressure");
    proc_put(&space, "some avg10=0 total=0\n", "sys/fs/cgroup/box/job/io.pressure");
    proc_put(&space, "some avg10=0 total=0\n", "sys/fs/cgroup/box/job/memory.pressure");
    proc_put(&space, "MemTotal: 1000 kB\nMemAvailable: 750 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n",
             "proc/meminfo");
    proc_put(&space, "nr_free_pages 5\npswpin 100\npswpout 7\n", "proc/vmstat");
    open_watch();
    look(1, 77);
    near(evidence.machine.quota_cpus, 0.5);
    near(evidence.machine.cpus, 0.5);
    near(evidence.machine.memory_used_share, 0.25);
    near(evidence.machine.swap_used_bytes, 40 * 1024);
    assert_true(isnan(evidence.machine.throttled_share)); /* nothing to compare with */
    assert_true(isnan(evidence.machine.cpu_pressure));
    put_group("box", 120, 25);
    proc_put(&space, "some avg10=0 total=3500000\n", "sys/fs/cgroup/box/job/cpu.pressure");
    proc_put(&space, "some avg10=0 total=90000000\n", "sys/fs/cgroup/box/job/io.pressure");
    proc_put(&space, "nr_free_pages 5\npswpin 110\npswpout 7\n", "proc/vmstat");
    proc_put(&space, "MemTotal: 1000 kB\nMemAvailable: 950 kB\n", "proc/meminfo");
    look(3, 77);
    near(evidence.machine.throttled_share, 0.75);
    near(evidence.machine.cpu_pressure, 0.75); /* of the group, not of the machine */
    near(evidence.machine.io_pressure, 1);     /* never more */
    near(evidence.machine.memory_pressure, 0);
    near(evidence.machine.swap_in_bytes_per_s, 5 * (double)sysconf(_SC_PAGESIZE));
    near(evidence.machine.memory_used_share, 0.25); /* the most */
}

static void groups_of_the_first_version(void **state)
{
    (void)state;
    proc_put(&space, "4:cpu,cpuacct:/box\n1:name=systemd:/x\n", "proc/77/cgroup");
    proc_put(&space, "150000\n", "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us");
    proc_put(&space, "100000\n", "sys/fs/cgroup/cpu/box/cpu.cfs_period_us");
    proc_put(&space, "nr_periods 5\nnr_throttled 1\nthrottled_time 3\n", "sys/fs/cgroup/cpu/box/cpu.stat");
    proc_put(&space, "some avg10=0 total=0\n", "proc/pressure/cpu");
    open_watch();
    look(1, 77);
    proc_put(&space, "nr_periods 15\nnr_throttled 2\nthrottled_time 3\n", "sys/fs/cgroup/cpu/box/cpu.stat");
    proc_put(&space, "some avg10=0 total=500000\n", "proc/pressure/cpu");
    look(2, 77);
    near(evidence.machine.quota_cpus, 1.5);
    near(evidence.machine.throttled_share, 0.1);
    near(evidence.machine.cpu_pressure, 0.5);
}

static void without_a_quota_nothing_is_throttled(void **state)
{
    (void)state;
    proc_put(&space, "0::/\n", "proc/77/cgroup");
    put_group("", 0, 0);
    open_watch();
    look(1, 77);
    look(2, 77);
    near(evidence.machine.throttled_share, 0);
    assert_true(isnan(evidence.machine.quota_cpus));
    assert_true(evidence.machine.cpus >= 1);
}

static void put_pressures(const char *folder, const char *ending, const char *all)
{
    static const char *const names[] = {"cpu", "io", "memory"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        proc_put(&space, all, "%s/%s%s", folder, names[i], ending);
}

/* The trainer may be in another group than what has started it. */
static void groups_of_another_process(void **state)
{
    (void)state;
    proc_put(&space, "0::/outer\n", "proc/77/cgroup");
    proc_put(&space, "0::/inner\n", "proc/78/cgroup");
    put_group("outer", 0, 0);
    put_group("inner", 10, 0);
    proc_put(&space, "200000 100000\n", "sys/fs/cgroup/inner/cpu.max");
    put_pressures("proc/pressure", "", "some total=0\n");
    put_pressures("sys/fs/cgroup/inner", ".pressure", "some total=9000000\n");
    open_watch();
    look(1, 77);
    look(2, 78);
    put_group("inner", 20, 10);
    look(3, 78);
    near(evidence.machine.throttled_share, 1);
    near(evidence.machine.cpu_pressure, 0);
    near(evidence.machine.quota_cpus, 2);
    look(4, 0); /* it has ended: what was known stays */
    near(evidence.machine.quota_cpus, 2);
}

static void disks_and_cpus_are_the_monitors(void **state)
{
    (void)state;
    proc_put(&space, " 8 0 sda 10 0 100 5 20 0 200 6 0 1 1\n", "proc/diskstats");
    proc_put(&space, "", "sys/block/sda/device/x");
    proc_put(&space, "cpu0 100 0 0 100 0 0 0 0\ncpu1 0 0 0 200 0 0 0 0\n", "proc/stat");
    open_watch();
    look(1, 77);
    proc_put(&space, " 8 0 sda 10 0 2148 5 20 0 200 6 0 1 1\n", "proc/diskstats");
    proc_put(&space, "cpu0 200 0 0 100 0 0 0 0\ncpu1 50 0 0 250 0 0 0 0\n", "proc/stat");
    look(3, 77);
    near(evidence.machine.disk_read_bytes_per_s, 512 * 1024);
    near(evidence.machine.cpu_share, 0.75);
}

static void nothing_there_is_nothing_known(void **state)
{
    (void)state;
    open_watch();
    look(1, 77);
    look(2, 77);
    const stk__machine_evidence *m = &evidence.machine;
    const double unknown[] = {m->quota_cpus,           m->throttled_share,   m->cpu_pressure,
                              m->io_pressure,          m->memory_pressure,   m->cpu_share,
                              m->swap_used_bytes,      m->memory_used_share, m->swap_in_bytes_per_s,
                              m->disk_read_bytes_per_s};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (!isnan(unknown[i])) fail_msg("number %zu is %g", i, unknown[i]);
}

static stk_status open_once(void *context, stk_error *error)
{
    (void)context;
    const stk_status status = stk__machine_watch_open(&watch, space.path, error);
    stk__machine_watch_close(&watch);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(fail_alloc_each(open_once, NULL), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_of_the_second_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_the_first_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_quota_nothing_is_throttled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_another_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disks_and_cpus_are_the_monitors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_there_is_nothing_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("machine_watch", tests, NULL, NULL);
}
