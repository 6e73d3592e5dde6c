/* SPDX-License-Identifier: Apache-2.0 */
/* What watching eight GPUs costs: CPU time and memory. */
#include "fake_driver.h"

#include "core/clock.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* Of one core, in percent, after the first two frames. */
static double watch(double interval_s, double duration_s)
{
    stk_monitor *monitor;
    stk_monitor_frame *frame;
    const stk_monitor_options options = {.interval_s = interval_s, .duration_s = duration_s, .pid = getpid()};
    char script[4096] = DRIVER_GPU "gpus 8\n";
    for (int i = 0; i < 16; i++)
        sprintf(script + strlen(script), "process %d %d 3e9 50\n", i % 8, i + 1);
    driver_play(script);
    assert_int_equal(stk_monitor_open(&monitor, &options, NULL), STK_OK);
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    assert_true(frame->gpu_count >= 8); /* those of other vendors that are here, too */
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    const double before_s = cpu_s();
    const uint64_t before_ns = stk__clock_ns();
    while (stk_monitor_next(monitor, &frame, NULL) == STK_OK)
        assert_int_equal(frame->gpu_frames[7].state, STK_GPU_GOOD);
    const double share = 100 * (cpu_s() - before_s) / ((double)(stk__clock_ns() - before_ns) / 1e9);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    return share;
}

static void once_a_second(void **state)
{
    (void)state;
    const double share = watch(1, 8);
    print_message("1 Hz, 8 GPUs: %.3f %% of a core\n", share);
    assert_true(share <= 0.2);
}

static void ten_times_a_second(void **state)
{
    (void)state;
    const double share = watch(0.1, 4);
    print_message("10 Hz, 8 GPUs: %.3f %% of a core\n", share);
    assert_true(share <= 1);
}

/* Not ru_maxrss: that is also of the program that started us. */
static void memory(void **state)
{
    (void)state;
    char line[256];
    long most_kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmHWM: %ld kB", &most_kb);
    fclose(file);
    print_message("at most %.1f MB\n", (double)most_kb / 1024);
    assert_true(most_kb > 0 && most_kb <= 8 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_times_a_second),
        cmocka_unit_test(once_a_second),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests_name("monitor_cost", tests, NULL, NULL);
}
