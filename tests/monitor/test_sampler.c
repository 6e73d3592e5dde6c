/* SPDX-License-Identifier: Apache-2.0 */
/* The whole monitor on the fake driver: calls that hang, GPUs that come and go, waves that polling misses,
 * and nothing allocated. */
#include "fake_driver.h"
#include "left_behind.h"

#include "core/clock.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define MS 1000000ull

static stk_monitor *open_with(const char *script, stk_monitor_options options)
{
    stk_monitor *monitor;
    stk_error error = {0};
    driver_play(script);
    if (stk_monitor_open(&monitor, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return monitor;
}

static stk_monitor_frame *next(stk_monitor *monitor)
{
    stk_monitor_frame *frame;
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    return frame;
}

static const char *const functions[] = {
    "nvmlDeviceGetSamples",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetTemperatureThreshold",
    "nvmlDeviceGetFanSpeed",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrPcieLinkGeneration",
    "nvmlDeviceGetMaxPcieLinkGeneration",
    "nvmlDeviceGetCurrPcieLinkWidth",
    "nvmlDeviceGetMaxPcieLinkWidth",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetProcessUtilization",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleGet",
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0], FAULTY = 7, GPUS = 8 };

/* On a busy machine the thread of a healthy GPU may get no CPU for a while, which its note says; but then
 * most of the frames are in time. */
static void check_healthy(const stk_gpu_frame *gpu)
{
    static int frames, late;
    frames++;
    if (gpu->state != STK_GPU_GOOD) fail_msg("a healthy GPU: %s", gpu->note);
    if (!strncmp(gpu->note, "no response for ", 16)) {
        if (++late > 50 && late > frames / 2) fail_msg("%d of %d frames: %s", late, frames, gpu->note);
        return;
    }
    for (int m = 0; m < STK_METRIC_COUNT; m++) {
        if (m >= STK_METRIC_SM_ACTIVE && m <= STK_METRIC_DRAM_ACTIVE) continue; /* after 0.1 s only */
        const stk_reading *reading = &gpu->readings[m];
        if (reading->known != STK_KNOWN ||
            (driver_values[m] >= 0 && fabs(reading->value - driver_values[m]) > 1e-6))
            fail_msg("%s: %g (%s)", stk_metric_key((stk_metric)m), reading->value, gpu->note);
    }
}

/* Frames until every faulty GPU is in this state. seen: those that were. */
static void await_all(stk_monitor *monitor, stk_gpu_state wanted, int faulty)
{
    bool seen[FAULTY] = {false};
    const uint64_t until_ns = stk__clock_ns() + 20 * STK_SECOND_NS;
    for (int left = faulty; left > 0;) {
        const uint64_t begun_ns = stk__clock_ns();
        const stk_monitor_frame *frame = next(monitor);
        const uint64_t now_ns = stk__clock_ns();
        /* 20 ms, 5 ms of grace, and what a busy machine adds */
        if (frame->number > 0) assert_true(now_ns - begun_ns < 2 * STK_SECOND_NS);
        check_healthy(&frame->gpu_frames[FAULTY]);
        for (int g = 0; g < faulty; g++) {
            const stk_gpu_frame *gpu = &frame->gpu_frames[g];
            const bool is =
                gpu->state == wanted && (wanted != STK_GPU_GOOD || gpu->readings[STK_METRIC_POWER].known);
            if (is && !seen[g]) left--;
            seen[g] = seen[g] || is;
        }
        if (now_ns > until_ns) fail_msg("%d GPUs did not become %s", left, stk_gpu_state_name(wanted));
    }
}

/* Seven functions at a time hang, one on each GPU; the eighth GPU goes on. */
static void any_call_may_hang(void **state)
{
    (void)state;
    for (int first = 0; first < FUNCTIONS; first += FAULTY) {
        char script[4096] = DRIVER_GPU "gpus 8\n";
        int faulty = 0;
        for (; faulty < FAULTY && first + faulty < FUNCTIONS; faulty++) {
            const size_t used = strlen(script);
            snprintf(script + used, sizeof script - used,
                     "process %d 1 3e9 50\nfault %s gpu %d at %d hang 60\n", faulty,
                     functions[first + faulty], faulty, faulty % 2);
        }
        strcat(script, "process 7 1 3e9 50\n");
        stk_monitor *monitor =
            open_with(script, (stk_monitor_options){.interval_s = 0.02, .deadline_s = 0.5});
        bool hangs[FAULTY] = {false};
        const uint64_t until_ns = stk__clock_ns() + 2 * STK_SECOND_NS;
        while (stk__clock_ns() < until_ns) {
            const stk_monitor_frame *frame = next(monitor);
            check_healthy(&frame->gpu_frames[FAULTY]);
            for (int g = 0; g < faulty; g++)
                if (frame->gpu_frames[g].state == STK_GPU_HUNG) {
                    assert_int_equal(frame->gpu_frames[g].readings[STK_METRIC_POWER].known, STK_UNKNOWN);
                    hangs[g] = true;
                }
        }
        for (int g = 0; g < faulty; g++)
            if (!hangs[g] && driver_calls(functions[first + g], g) > g % 2)
                fail_msg("%s hung and nobody saw it", functions[first + g]);
        await_all(monitor, STK_GPU_GOOD, faulty); /* though the first thread still hangs there */
        driver_release();
        assert_int_equal(stk_monitor_close(&monitor), 0);
    }
}

static void watch_some_come_and_go(void)
{
    static const struct {
        int number;
        stk_gpu_state state;
        const char *note;
    } rows[] = {{0, STK_GPU_HUNG, "driver call timed out after 0.5 s"},
                {1, STK_GPU_LOST, "GPU is lost"},
                {2, STK_GPU_RESET, "GPU requires reset"},
                {3, STK_GPU_BARRED, "Insufficient Permissions"}};
    stk_monitor *monitor =
        open_with(DRIVER_GPU "gpus 8\n0 state steps 0:0 0.8:1 1000:0\n1 state steps 0:0 0.8:2 2:0 1000:0\n"
                             "2 state steps 0:0 0.8:3 2:0 1000:0\n3 state steps 0:0 0.8:4 2:0 1000:0\n",
                  (stk_monitor_options){.interval_s = 0.02, .deadline_s = 0.5});
    await_all(monitor, STK_GPU_GOOD, 4);
    bool seen[4] = {false};
    for (int left = 4; left;) {
        const stk_monitor_frame *frame = next(monitor);
        check_healthy(&frame->gpu_frames[7]);
        for (int i = 0; i < 4; i++) {
            const stk_gpu_frame *gpu = &frame->gpu_frames[rows[i].number];
            if (gpu->state != rows[i].state || seen[i]) continue;
            if (!strstr(gpu->note, rows[i].note)) fail_msg("%s", gpu->note);
            seen[i] = true;
            left--;
        }
    }
    bool good[4] = {false};
    while (!good[1] || !good[2] || !good[3]) {
        const stk_monitor_frame *frame = next(monitor);
        for (int i = 1; i < 4; i++)
            good[i] = good[i] || frame->gpu_frames[i].state == STK_GPU_GOOD;
        assert_int_equal(frame->gpu_frames[0].state, STK_GPU_HUNG);
    }
    assert_in_range(stk_monitor_close(&monitor), 1, 3); /* the first one never came back */
    driver_release();                                   /* and it still finds all it needs */
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static void gpus_come_and_go(void **state)
{
    (void)state;
    run_in_child(watch_some_come_and_go);
}

/* Period 0.4 s, duty 70 %: a poll a second sees 100 or 0. */
static void short_waves_are_seen(void **state)
{
    (void)state;
    stk_monitor *monitor =
        open_with("0 util_percent square 0.4 0.7 100 0\n1 util_percent square 0.4 0.7 100 0\n"
                  "fault nvmlDeviceGetSamples gpu 1 fail 3\n",
                  (stk_monitor_options){.interval_s = 1, .duration_s = 8});
    double sum = 0, span = 0, worst = 0;
    stk_monitor_frame *frame;
    while (stk_monitor_next(monitor, &frame, NULL) == STK_OK) {
        const stk_gpu_frame *gpu = &frame->gpu_frames[0];
        for (int i = 0; i < gpu->load_count; i++) {
            const double part = (double)(gpu->loads[i].to_ns - gpu->loads[i].from_ns);
            sum += gpu->loads[i].percent * part;
            span += part;
        }
        if (frame->number == 0) continue;
        worst = fmax(worst, fabs(frame->gpu_frames[1].readings[STK_METRIC_UTIL].value - 70));
    }
    print_message("sampled %.2f %%, polls are off by up to %.0f\n", sum / span, worst);
    assert_true(fabs(sum / span - 70) <= 1 && span > 7e9);
    assert_true(worst > 10);
    assert_int_equal(stk_monitor_close(&monitor), 0);
}

/* The driver's buffer holds 2 s, the interval is a minute. */
static void long_intervals_lose_nothing(void **state)
{
    (void)state;
    stk_monitor *monitor = open_with("0 util_percent square 0.4 0.7 100 0\nsamples 100 200\n",
                                     (stk_monitor_options){.interval_s = 60});
    next(monitor);
    const uint64_t begun_ns = stk__clock_ns();
    nanosleep(&(struct timespec){.tv_sec = 4}, NULL);
    stk_monitor_interrupt(monitor);
    const stk_gpu_frame *gpu = &next(monitor)->gpu_frames[0];
    const double passed = (double)(stk__clock_ns() - begun_ns);
    double sum = 0, span = 0;
    for (int i = 0; i < gpu->load_count; i++) {
        const double part = (double)(gpu->loads[i].to_ns - gpu->loads[i].from_ns);
        sum += gpu->loads[i].percent * part;
        span += part;
    }
    if (span < 0.95 * passed || fabs(sum / span - 70) > 3)
        fail_msg("%d loads of %g s in %g s, mean %g", (int)gpu->load_count, span / 1e9, passed / 1e9,
                 sum / span);
    assert_int_equal(stk_monitor_close(&monitor), 0);
}

static void open_in_vain(void)
{
    const uint64_t begun_ns = stk__clock_ns();
    stk_monitor *monitor = open_with("fault nvmlInit_v2 hang 60\n",
                                     (stk_monitor_options){.interval_s = 0.02, .deadline_s = 0.02});
    assert_true(stk__clock_ns() - begun_ns < 5 * STK_SECOND_NS);
    assert_non_null(strstr(stk_monitor_missing_reason(monitor), "nvidia: the driver does not respond"));
    assert_int_equal(next(monitor)->gpu_count, 0);
    driver_release();
    assert_int_equal(stk_monitor_close(&monitor), 1);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static void opening_may_hang(void **state)
{
    (void)state;
    run_in_child(open_in_vain);
}

static void close_in_vain(void)
{
    stk_monitor *monitor = open_with(DRIVER_GPU "fault nvmlShutdown hang 60\n",
                                     (stk_monitor_options){.interval_s = 0.02, .deadline_s = 0.1});
    next(monitor);
    const uint64_t begun_ns = stk__clock_ns();
    assert_int_equal(stk_monitor_close(&monitor), 1);
    assert_true(stk__clock_ns() - begun_ns < 5 * STK_SECOND_NS);
}

static void closing_may_hang(void **state)
{
    (void)state;
    run_in_child(close_in_vain);
}

/* Activity lies between two samples 0.1 s apart, so its errors take time: seven GPUs at once. */
static void activity_may_fail(void **state)
{
    (void)state;
    static const char *const faults[] = {"fail 1",  "fail 2",     "fail 3",     "fail 4",    "fail 10",
                                         "fail 15", "fail 16",    "fail 20",    "fail 27",   "fail 999",
                                         "fail -1", "garbage FF", "garbage 7F", "garbage C0"};
    static const char *const asked[] = {"nvmlGpmMetricsGet", "nvmlGpmSampleGet"};
    for (int round = 0; round < 4; round++) {
        char script[4096] = DRIVER_GPU "gpus 8\n";
        for (int g = 0; g < FAULTY; g++)
            sprintf(script + strlen(script), "fault %s gpu %d at %d %s\n", asked[round / 2], g, 1 + g % 2,
                    faults[round % 2 * FAULTY + g]);
        stk_monitor *monitor = open_with(script, (stk_monitor_options){.interval_s = 0.1, .count = 8});
        stk_monitor_frame *frame;
        bool seen = false;
        while (stk_monitor_next(monitor, &frame, NULL) == STK_OK) {
            check_healthy(&frame->gpu_frames[FAULTY]);
            for (int g = 0; g < GPUS; g++)
                for (int m = STK_METRIC_SM_ACTIVE; m <= STK_METRIC_DRAM_ACTIVE; m++) {
                    const stk_reading *reading = &frame->gpu_frames[g].readings[m];
                    if (reading->known == STK_KNOWN && fabs(reading->value - driver_values[m]) > 1e-6)
                        fail_msg("GPU %d, %s: %g", g, stk_metric_key((stk_metric)m), reading->value);
                    seen = seen || (g == FAULTY && reading->known == STK_KNOWN);
                }
        }
        assert_true(seen);
        assert_int_equal(stk_monitor_close(&monitor), 0);
    }
}

static void cuda_visible_devices_counts(void **state)
{
    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "GPU-00000002,0", 1);
    stk_monitor *monitor = open_with(DRIVER_GPU "gpus 4\n", (stk_monitor_options){0});
    const stk_monitor_frame *frame = next(monitor);
    assert_int_equal(frame->gpu_count, 2);
    assert_true(frame->gpus[0].index == 0 && frame->gpus[1].index == 2);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    monitor =
        open_with(DRIVER_GPU "gpus 4\n", (stk_monitor_options){.gpus = "3"}); /* asked for: all the same */
    assert_int_equal(next(monitor)->gpus[0].index, 3);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    monitor = open_with(DRIVER_GPU "gpus 4\n", (stk_monitor_options){0});
    assert_int_equal(next(monitor)->gpu_count, 0);
    assert_string_equal(stk_monitor_missing_reason(monitor), "CUDA_VISIBLE_DEVICES='' hides all 4 GPUs");
    assert_int_equal(stk_monitor_close(&monitor), 0);
    unsetenv("CUDA_VISIBLE_DEVICES");
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

static void nothing_is_allocated_per_sample(void **state)
{
    (void)state;
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release};
    stk_allocator_set(&hook);
    stk_monitor *monitor =
        open_with(DRIVER_GPU "gpus 8\nprocess 0 1 3e9 50\n", (stk_monitor_options){.interval_s = 0.02});
    next(monitor);
    atomic_store(&refusing, true);
    const long before = atomic_load(&allocations);
    for (int i = 0; i < 20; i++)
        check_healthy(&next(monitor)->gpu_frames[0]);
    assert_int_equal(atomic_load(&allocations), before);
    atomic_store(&refusing, false);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    stk_allocator_set(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_may_hang),
        cmocka_unit_test(gpus_come_and_go),
        cmocka_unit_test(short_waves_are_seen),
        cmocka_unit_test(long_intervals_lose_nothing),
        cmocka_unit_test(opening_may_hang),
        cmocka_unit_test(closing_may_hang),
        cmocka_unit_test(activity_may_fail),
        cmocka_unit_test(cuda_visible_devices_counts),
        cmocka_unit_test(nothing_is_allocated_per_sample),
    };
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
