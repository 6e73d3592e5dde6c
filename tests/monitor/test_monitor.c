/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of the demo: at their moments, without drift, with an end. */
#include "core/clock.h"
#include "core/thread.h"
#include "stoker/monitor.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static void pause_ms(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static stk_monitor *open_with(stk_monitor_options options)
{
    stk_monitor *monitor;
    stk_error error = {0};
    options.demo = true;
    if (stk_monitor_open(&monitor, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return monitor;
}

static void frames_come_in_time(void **state)
{
    (void)state;
    const uint64_t start_ns = stk__clock_ns();
    stk_monitor *monitor = open_with((stk_monitor_options){.interval_s = 0.1, .count = 6});
    stk_monitor_frame *frame;
    uint64_t end_ns = 0, first_ns = 0, told_ns[4] = {0};
    for (uint64_t i = 0; i < 6; i++) {
        assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
        const uint64_t now_ns = stk__clock_ns();
        if (i == 0) {
            first_ns = frame->to_ns;
            assert_true(frame->from_ns == frame->to_ns && frame->from_ns >= start_ns);
        } else {
            /* whole intervals: more than one where the machine was too busy to wake us */
            assert_true(frame->from_ns == end_ns && frame->to_ns >= end_ns + 100000000);
            assert_int_equal((frame->to_ns - first_ns) % 100000000, 0);
        }
        assert_true(now_ns >= frame->to_ns && now_ns - frame->to_ns < STK_SECOND_NS);
        assert_int_equal(frame->number, i);
        assert_int_equal(frame->gpu_count, 4);
        assert_true(fabs(frame->clock_s - (double)time(NULL)) < 3);
        for (int g = 0; g < 4; g++) {
            const stk_gpu_frame *gpu = &frame->gpu_frames[g];
            assert_int_equal(gpu->state, STK_GPU_GOOD);
            assert_string_equal(gpu->note, "");
            const stk_reading *power = &gpu->readings[STK_METRIC_POWER];
            assert_true(power->known == STK_KNOWN && power->when_ns + STK_SECOND_NS >= frame->to_ns);
            assert_int_equal(gpu->readings[STK_METRIC_UTIL].known, STK_KNOWN);
            for (int l = 0; l < gpu->load_count; l++) { /* each once, one after the other */
                assert_true(gpu->loads[l].from_ns + 2 >= told_ns[g] && gpu->loads[l].to_ns <= now_ns);
                told_ns[g] = gpu->loads[l].to_ns;
            }
        }
        end_ns = frame->to_ns;
    }
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_END);
    assert_null(frame);
    assert_string_equal(stk_monitor_missing_reason(monitor), "");
    assert_int_equal(stk_monitor_close(&monitor), 0);
    assert_null(monitor);
    assert_int_equal(stk_monitor_close(&monitor), 0);
}

static void one_who_comes_late_gets_all_in_one(void **state)
{
    (void)state;
    stk_monitor *monitor = open_with((stk_monitor_options){.interval_s = 0.1});
    stk_monitor_frame *frame;
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    const uint64_t first_ns = frame->to_ns;
    pause_ms(730);
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    assert_true(frame->from_ns == first_ns && frame->number == 1);
    const uint64_t passed_ns = frame->to_ns - first_ns;
    assert_true(passed_ns >= 700000000 && passed_ns % 100000000 == 0);
    const stk_gpu_frame *gpu = &frame->gpu_frames[1];
    assert_in_range(gpu->load_count, 3, 20);
    double sum = 0, span = 0;
    for (int i = 0; i < gpu->load_count; i++) {
        const double part = (double)(gpu->loads[i].to_ns - gpu->loads[i].from_ns);
        sum += part * gpu->loads[i].percent;
        span += part;
    }
    assert_true(fabs(sum / span - gpu->readings[STK_METRIC_UTIL].value) < 1e-9);
    assert_int_equal(stk_monitor_close(&monitor), 0);
}

static void duration_ends_it(void **state)
{
    (void)state;
    stk_monitor *monitor =
        open_with((stk_monitor_options){.interval_s = 0.1, .duration_s = 0.25, .gpus = "0,2"});
    stk_monitor_frame *frame;
    uint64_t first_ns = 0, last_ns = 0;
    int count = 0;
    for (; stk_monitor_next(monitor, &frame, NULL) == STK_OK; count++) {
        if (!count) first_ns = frame->to_ns;
        last_ns = frame->to_ns;
        assert_int_equal(frame->gpu_count, 2);
        assert_int_equal(frame->gpus[1].index, 2);
    }
    assert_int_equal(count, 4); /* at 0, 0.1, 0.2 and 0.25 */
    assert_int_equal(last_ns - first_ns, 250000000);
    assert_int_equal(stk_monitor_close(&monitor), 0);
}

/* Opens as told, goes to the end: the CPUs of the judgement. */
static int count_cpus(const stk_monitor_options *options)
{
    stk_monitor *monitor;
    stk_monitor_frame *frame;
    stk_monitor_summary summary;
    assert_int_equal(stk_monitor_open(&monitor, options, NULL), STK_OK);
    while (stk_monitor_next(monitor, &frame, NULL) == STK_OK)
        continue;
    stk_monitor_summarize(monitor, &summary);
    const int count = summary.cpu_count;
    assert_int_equal(stk_monitor_close(&monitor), 0);
    return count;
}

static void cpus_are_those_we_may_run_on(void **state)
{
    (void)state;
    cpu_set_t all, one;
    char path[600];
    size_t last = 0;
    workspace space = workspace_make();
    snprintf(path, sizeof path, "%s/run.jsonl", space.path);
    const stk_monitor_options watch = {
        .demo = true, .interval_s = 0.05, .count = 2, .record = path, .pid = (int32_t)getpid()};
    const stk_monitor_options made_up = {.demo = true, .interval_s = 0.05, .count = 2};
    assert_int_equal(count_cpus(&made_up), 16); /* without a job the host is made up, too */
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(count_cpus(&watch), CPU_COUNT(&all));
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) last = i;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(count_cpus(&watch), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(count_cpus(&(stk_monitor_options){.replay = path}), 1);
    workspace_remove(&space);
}

static void interrupt_later(void *context)
{
    pause_ms(120);
    stk_monitor_interrupt(context);
    stk_monitor_interrupt(context);
}

static void an_interrupt_gives_what_there_is(void **state)
{
    (void)state;
    stk_monitor *monitor = open_with((stk_monitor_options){.interval_s = 60});
    stk_monitor_frame *frame;
    stk__thread *thread;
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    const uint64_t first_ns = frame->to_ns;
    const stk__thread_options options = {.name = "later", .run = interrupt_later, .context = monitor};
    assert_int_equal(stk__thread_start(&thread, &options, NULL), STK_OK);
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    assert_true(frame->from_ns == first_ns);
    assert_true(frame->to_ns - first_ns >= 100000000 && frame->to_ns - first_ns < 2 * STK_SECOND_NS);
    const stk_reading *power = &frame->gpu_frames[0].readings[STK_METRIC_POWER];
    assert_true(power->when_ns >= frame->to_ns); /* asked again, not from the start */
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_END);
    assert_true(stk__thread_join(&thread, stk__clock_ns() + STK_SECOND_NS));
    assert_int_equal(stk_monitor_close(&monitor), 0);
    stk_monitor_interrupt(NULL);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        stk_monitor_options options;
        const char *message;
    } rows[] = {
        {{.interval_s = 0.001}, "interval 0.001 s is out of range"},
        {{.interval_s = -1}, "interval -1 s is out of range"},
        {{.interval_s = NAN}, "interval nan s"},
        {{.duration_s = -1}, "duration -1 s is out of range"},
        {{.deadline_s = -1}, "deadline -1 s is out of range"},
        {{.pid = -3}, "-3 is not a process id"},
        {{.demo = true, .gpus = "0,7"}, "no such GPU '7'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_monitor *monitor;
        stk_error error = {0};
        assert_int_equal(stk_monitor_open(&monitor, &rows[i].options, &error), STK_ERROR_ARGUMENT);
        assert_null(monitor);
        if (!strstr(error.message, rows[i].message)) fail_msg("%s", error.message);
    }
    assert_int_equal(stk_monitor_open(NULL, NULL, NULL), STK_ERROR_ARGUMENT);
    stk_monitor_frame *frame;
    assert_int_equal(stk_monitor_next(NULL, &frame, NULL), STK_ERROR_ARGUMENT);
    assert_string_equal(stk_monitor_missing_reason(NULL), "");
}

static atomic_long allocations;
static atomic_bool refusing;

static void *count_alloc(void *context, size_t size_bytes)
{
    (void)context;
    atomic_fetch_add(&allocations, 1);
    return atomic_load(&refusing) ? NULL : aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

static void nothing_is_allocated_per_frame(void **state)
{
    (void)state;
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release};
    stk_allocator_set(&hook);
    stk_monitor *monitor = open_with((stk_monitor_options){.interval_s = 0.02});
    stk_monitor_frame *frame;
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    atomic_store(&refusing, true);
    const long before = atomic_load(&allocations);
    for (int i = 0; i < 20; i++)
        assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    assert_int_equal(atomic_load(&allocations), before);
    atomic_store(&refusing, false);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    stk_allocator_set(NULL);
}

static stk_status live_once(void *context, stk_error *error)
{
    (void)context;
    stk_monitor *monitor;
    stk_monitor_frame *frame;
    const stk_monitor_options options = {.demo = true, .interval_s = 0.01, .count = 2};
    const stk_status status = stk_monitor_open(&monitor, &options, error);
    if (status != STK_OK) return status;
    assert_int_equal(stk_monitor_next(monitor, &frame, error), STK_OK);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    return STK_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(live_once, NULL) > 15);
}

static long starts, fail_at;

static bool fault_start(void)
{
    return starts++ == fail_at;
}

static void every_thread_may_fail(void **state)
{
    (void)state;
    stk_status status = STK_ERROR_THREAD;
    for (fail_at = 0; status != STK_OK && fail_at < 100; fail_at++) {
        stk_error error = {0};
        starts = 0;
        stk__thread_fault_set(fault_start);
        status = live_once(NULL, &error);
        stk__thread_fault_set(NULL);
        if (status != STK_OK) assert_int_equal(status, STK_ERROR_THREAD);
    }
    assert_int_equal(fail_at, 6); /* one for the driver, one per GPU; closing does without */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_in_time),
        cmocka_unit_test(one_who_comes_late_gets_all_in_one),
        cmocka_unit_test(duration_ends_it),
        cmocka_unit_test(an_interrupt_gives_what_there_is),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(nothing_is_allocated_per_frame),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_thread_may_fail),
        cmocka_unit_test(cpus_are_those_we_may_run_on),
    };
    return cmocka_run_group_tests_name("monitor", tests, NULL, NULL);
}
