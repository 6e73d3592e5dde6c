/* SPDX-License-Identifier: Apache-2.0 */
/* The machine and the job, from a made-up /proc and /sys. */
#include "monitor/host/host_frame.h"

#include "core/file.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static workspace space;

static int set_up(void **state)
{
    (void)state;
    space = workspace_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workspace_remove(&space);
    return 0;
}

/* Into the same file, so that one who has it open sees it. */
static void put(const char *name, const char *format, ...)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", space.path, name);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stk__folder_make(path, NULL), STK_OK);
    path[strlen(path)] = '/';
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
}

static void drop(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", space.path, name);
    assert_int_equal(unlink(path), 0);
}

static void put_process(int pid, int parent, const char *name, int ticks)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d/stat", pid);
    put(path, "%d (%s) S %d 1 1 0 -1 4194304 100 0 0 0 %d %d %d %d 20 0 1 0 1 1 1\n", pid, name, parent,
        ticks, 1, 0, 0);
    snprintf(path, sizeof path, "proc/%d/statm", pid);
    put(path, "5000 300 100 1 0 1 0\n");
}

static stk__host *open_host(int32_t pid)
{
    stk__host *host;
    assert_int_equal(stk__host_open(&host, pid, space.path, NULL), STK_OK);
    return host;
}

static void near(stk_reading reading, double expected)
{
    assert_int_equal(reading.known, STK_KNOWN);
    if (fabs(reading.value - expected) > 1e-6 * fmax(1, fabs(expected)))
        fail_msg("%.12g, not %.12g", reading.value, expected);
}

static void cpus_are_counted_by_ticks(void **state)
{
    (void)state;
    put("proc/stat",
        "cpu  7 0 0 13 0 0 0 0 0 0\ncpu0 100 10 40 800 50 0 0 0 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\n"
        "cpu3 5 5 5 5 5 5 5 5 0 0\nintr 1 2 3\nctxt 9\n");
    stk__host *host = open_host(0);
    stk_host_frame frame;
    stk__host_read(host, &frame);
    assert_int_equal(frame.cpu_percent.known, STK_UNKNOWN); /* nothing to compare with */
    assert_int_equal(frame.core_count, 4);
    assert_int_equal(frame.cpu_count, 3); /* the third of them is not there */
    put("proc/stat",
        "cpu  7 0 0 13 0 0 0 0 0 0\ncpu0 130 20 60 820 70 0 0 0 0 0\ncpu1 0 0 0 1100 0 0 0 0 0 0\n"
        "cpu3 5 5 5 5 5 5 5 5 0 0\n");
    stk__host_read(host, &frame);
    assert_true(fabsf(frame.core_percent[0] - 60) <
                1e-4f); /* 60 of 100 ticks; waiting for a disk is no work */
    assert_true(frame.core_percent[1] == 0);
    assert_true(frame.core_percent[2] < 0 && frame.core_percent[3] < 0); /* not there, not counted on */
    near(frame.cpu_percent, 30);
    near(frame.cpu_max_percent, 60);
    put("proc/stat", "nonsense\ncpu0 1\ncpu99999 1 2 3 4 5\n");
    stk__host_read(host, &frame);
    assert_int_equal(frame.cpu_percent.known, STK_UNKNOWN);
    stk__host_close(&host);
    assert_null(host);
    stk__host_close(&host);
}

static void memory_disks_pressure_and_quota(void **state)
{
    (void)state;
    put("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n");
    put("proc/diskstats",
        " 8 0 sda 10 0 100 5 20 0 200 6 0 1 1\n 8 1 sda1 9 0 90 5 20 0 200 6 0 1 1\n"
        " 253 0 dm-0 9 0 90 5 20 0 200 6 0 1 1\n 259 0 nvme0n1 1 0 10 5 2 0 20 6 0 1 1 0 0 0 0\n bad\n");
    put("sys/block/sda/device/x", "");
    put("sys/block/nvme0n1/device/x", "");
    put("sys/block/dm-0/x", "");
    put("proc/pressure/cpu",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 total=5\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nnr_throttled 2\nthrottled_usec 1500000\n");
    put("sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nthrottled_usec 2500000\n");
    put("sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
    stk__host *host = open_host(0);
    stk_host_frame frame;
    stk__host_read(host, &frame);
    near(frame.memory_total_bytes, 1024000);
    near(frame.memory_used_bytes, 600 * 1024);
    near(frame.disk_read_bytes_total, 110 * 512);
    near(frame.disk_written_bytes_total, 220 * 512);
    near(frame.quota_throttled_s, 2.5); /* the tighter of the two */
    assert_int_equal(frame.cpu_pressure_percent.known, STK_UNKNOWN);
    assert_int_equal(frame.io_pressure_percent.known, STK_UNSUPPORTED);
    const uint64_t before_ns = frame.memory_total_bytes.when_ns;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1020000\n");
    stk__host_read(host, &frame);
    const double passed_s = (double)(frame.memory_total_bytes.when_ns - before_ns) / 1e9;
    near(frame.cpu_pressure_percent, 100 * 0.02 / passed_s);
    put("proc/meminfo", "MemTotal: none\n");
    put("proc/pressure/cpu", "some avg10=0.00 total=99999999999\n");
    stk__host_read(host, &frame);
    assert_int_equal(frame.memory_total_bytes.known, STK_UNKNOWN);
    near(frame.cpu_pressure_percent, 100); /* never more */
    stk__host_close(&host);
}

/* As in a sandbox that shows /proc but not /sys: nobody knows which of the names are disks. */
static void disks_that_cannot_be_told_apart_are_unknown(void **state)
{
    (void)state;
    put("proc/diskstats", " 8 0 sda 10 0 100 5 20 0 200 6 0 1 1\n 8 1 sda1 9 0 90 5 20 0 200 6 0 1 1\n");
    stk__host *host = open_host(0);
    stk_host_frame frame;
    stk__host_read(host, &frame);
    assert_int_equal(frame.disk_read_bytes_total.known, STK_UNKNOWN);
    assert_int_equal(frame.disk_written_bytes_total.known, STK_UNKNOWN);
    stk__host_close(&host);
}

static void control_groups_of_the_first_version(void **state)
{
    (void)state;
    put("proc/77/cgroup", "12:cpuset:/wrong\n4:cpu,cpuacct:/box\n1:name=systemd:/x\n");
    put("sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 3000000000\n");
    put_process(77, 1, "job", 10);
    stk__host *host = open_host(77);
    stk_host_frame frame;
    stk__host_read(host, &frame);
    near(frame.quota_throttled_s, 3);
    stk__host_close(&host);
}

static void nothing_there_is_nothing_known(void **state)
{
    (void)state;
    stk__host *host = open_host(5);
    stk_host_frame frame;
    for (int i = 0; i < 2; i++) {
        stk__host_read(host, &frame);
        assert_int_equal(frame.cpu_percent.known, STK_UNKNOWN);
        assert_int_equal(frame.job_cpu_percent.known, STK_UNKNOWN);
        assert_int_equal(frame.job_memory_bytes.known, STK_UNKNOWN);
        assert_int_equal(frame.memory_total_bytes.known, STK_UNKNOWN);
        assert_int_equal(frame.disk_read_bytes_total.known, STK_UNKNOWN);
        assert_int_equal(frame.cpu_pressure_percent.known, STK_UNSUPPORTED);
        assert_int_equal(frame.quota_throttled_s.known, STK_UNSUPPORTED);
        assert_int_equal(frame.core_count, 0);
    }
    stk__host_close(&host);
}

/* Until the job was read anew. */
static void await_change(stk__host *host, stk_host_frame *frame)
{
    const uint64_t before_ns = frame->job_memory_bytes.when_ns;
    while (frame->job_memory_bytes.when_ns == before_ns) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        stk__host_read(host, frame);
    }
}

static void a_job_is_all_that_came_of_it(void **state)
{
    (void)state;
    const double tick_s = 1 / (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);
    put_process(50, 1, "python3", 1000);
    put_process(51, 50, "odd ) name", 500); /* by a look at all */
    put_process(52, 51, "worker", 100);
    put_process(60, 1, "stranger", 9999);
    stk__host *host = open_host(50);
    stk_host_frame frame;
    stk__host_read(host, &frame);
    assert_int_equal(frame.job_cpu_percent.known, STK_UNKNOWN);
    near(frame.job_memory_bytes, (3 * 200 + 100) * page); /* what they share counts once */
    const uint64_t before_ns = frame.job_memory_bytes.when_ns;
    stk__host_read(host, &frame);
    assert_true(frame.job_memory_bytes.when_ns == before_ns); /* too soon: as it was */
    put_process(50, 1, "python3", 1004);
    put_process(52, 51, "worker", 106);
    put("proc/50/task/50/children", "51 53 ");
    put_process(53, 50, "new", 2); /* by its parent's list */
    await_change(host, &frame);
    const double passed_s = (double)(frame.job_memory_bytes.when_ns - before_ns) / 1e9;
    near(frame.job_cpu_percent, 100 * (4 + 6 + 3) * tick_s / passed_s);
    near(frame.job_memory_bytes, (4 * 200 + 100) * page);
    drop("proc/52/stat"); /* gone, with what it had used: less than before is not told */
    await_change(host, &frame);
    assert_int_equal(frame.job_cpu_percent.known, STK_UNKNOWN);
    near(frame.job_memory_bytes, (3 * 200 + 100) * page);
    await_change(host, &frame);
    near(frame.job_cpu_percent, 0);
    drop("proc/50/stat");
    drop("proc/51/stat");
    drop("proc/53/stat");
    await_change(host, &frame);
    assert_int_equal(frame.job_memory_bytes.known, STK_UNKNOWN);
    stk__host_close(&host);
}

/* The real machine: this process works for a while. */
static void here_and_now(void **state)
{
    (void)state;
    stk__host *host;
    stk_host_frame frame;
    assert_int_equal(stk__host_open(&host, getpid(), NULL, NULL), STK_OK);
    stk__host_read(host, &frame);
    const clock_t until = clock() + CLOCKS_PER_SEC / 3;
    while (clock() < until)
        continue;
    stk__host_read(host, &frame);
    assert_true(frame.cpu_percent.known == STK_KNOWN && frame.cpu_percent.value > 0 &&
                frame.cpu_percent.value <= 100);
    assert_true(frame.job_cpu_percent.known == STK_KNOWN && frame.job_cpu_percent.value > 0);
    assert_true(frame.job_memory_bytes.value > 1e5 &&
                frame.job_memory_bytes.value < frame.memory_total_bytes.value);
    assert_true(frame.core_count >= 1);
    stk__host_close(&host);
}

static stk_status open_once(void *context, stk_error *error)
{
    (void)context;
    stk__host *host;
    const stk_status status = stk__host_open(&host, 0, space.path, error);
    stk__host_close(&host);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(fail_alloc_each(open_once, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cpus_are_counted_by_ticks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_disks_pressure_and_quota, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disks_that_cannot_be_told_apart_are_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_groups_of_the_first_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_there_is_nothing_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_is_all_that_came_of_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
        cmocka_unit_test(here_and_now),
    };
    return cmocka_run_group_tests_name("host_frame", tests, NULL, NULL);
}
