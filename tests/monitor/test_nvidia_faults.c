/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of faults of the driver: function x error x call x GPU. Whatever is told must be true, the other
 * GPU must not notice, and what passes must heal. */
#include "fake_driver.h"

#include "core/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { GPUS = 2, READS = 4 };

/* Asked in every read. */
static const char *const functions[] = {
    "nvmlDeviceGetSamples",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetTemperatureThreshold",
    "nvmlDeviceGetFanSpeed",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetViolationStatus",
    "nvmlDeviceGetPcieThroughput",
    "nvmlDeviceGetCurrPcieLinkGeneration",
    "nvmlDeviceGetMaxPcieLinkGeneration",
    "nvmlDeviceGetCurrPcieLinkWidth",
    "nvmlDeviceGetMaxPcieLinkWidth",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetProcessUtilization",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleAlloc",
    "nvmlGpmSampleGet",
    "*",
};
/* Asked once, when GPUs are found. */
static const char *const openers[] = {
    "nvmlInit_v2",       "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",  "nvmlDeviceGetName",
    "nvmlDeviceGetUUID", "nvmlDeviceGetMigMode",  "nvmlDeviceGetMaxMigDeviceCount",
};
static const int errors[] = {1, 2, 3, 4, 6, 7, 9, 10, 13, 15, 16, 18, 19, 20, 21, 25, 28, 999, 12345, -1};
static const char *const calls[] = {"at 0", "at 1", "at 2", "from 0", "from 2"};
static const char *const bytes[] = {"FF", "7F", "80", "EE"};

#define COUNT(array) (sizeof array / sizeof array[0])

static stk_gpu_frame frame;
static long cases;
static bool listed; /* both GPUs, in the last case */
static char script[4096];

typedef struct bench {
    stk__gpu_reader *reader;
    stk__poller_context contexts[GPUS];
    double totals[GPUS][STK_METRIC_COUNT];
    uint64_t when_ns[GPUS];
    int count;
} bench;

static void set_script(const char *function, int gpu, const char *when, const char *what)
{
    snprintf(script, sizeof script,
             DRIVER_GPU "gpus 2\nprocess 0 1 3e9 50\nprocess 1 1 3e9 50\nfault %s gpu %d %s %s\n", function,
             gpu, when, what);
    if (gpu < 0) snprintf(script, sizeof script, DRIVER_GPU "gpus 2\nfault %s %s %s\n", function, when, what);
    cases++;
}

/* Names the case: the last line of the script. */
#define wrong(...)                                                                                           \
    do {                                                                                                     \
        print_error("%s", strstr(script, "fault "));                                                         \
        fail_msg(__VA_ARGS__);                                                                               \
    } while (0)

static bool start(bench *b)
{
    *b = (bench){0};
    stk_error error = {0};
    driver_play(script);
    if (stk__reader_nvidia.open(&b->reader, &error) != STK_OK) {
        assert_true(error.message[0] && !b->reader);
        return false;
    }
    b->count = stk__reader_nvidia.count(b->reader);
    if (b->count > GPUS) wrong("%d GPUs", b->count);
    for (int i = 0; i < b->count; i++) {
        b->contexts[i] = (stk__poller_context){.reader = b->reader, .number = i};
        b->contexts[i].state = stk__alloc(stk__reader_nvidia.state_bytes);
    }
    return true;
}

static void finish(bench *b)
{
    for (int i = 0; i < b->count; i++) {
        stk__reader_nvidia.leave(&b->contexts[i]);
        stk__free(b->contexts[i].state);
    }
    stk__reader_nvidia.close(&b->reader);
}

static bool is_activity(int metric)
{
    return metric >= STK_METRIC_SM_ACTIVE && metric <= STK_METRIC_DRAM_ACTIVE;
}

/* What is told must be true; of a healthy GPU all must be told. */
static void check_value(bench *b, int gpu, int metric, bool healthy)
{
    const stk_reading *reading = &frame.readings[metric];
    const char *key = stk_metric_key((stk_metric)metric);
    if (healthy && reading->known != STK_KNOWN && !is_activity(metric))
        wrong("%s of GPU %d is not told: %s", key, gpu, frame.note);
    if (reading->known != STK_KNOWN) return;
    if (driver_values[metric] >= 0) {
        if (fabs(reading->value - driver_values[metric]) > 1e-6) wrong("%s is %g", key, reading->value);
        return;
    }
    double *last = &b->totals[gpu][metric];
    /* estimated or counted, it cannot have been faster than the curve; a busy machine makes it seem so */
    const double most = driver_rate(metric) * ((double)(reading->when_ns - b->when_ns[gpu]) / 1e9 + 0.5);
    if (reading->value < *last || (*last > 0 && reading->value - *last > most + 1e-3))
        wrong("%s from %g to %g", key, *last, reading->value);
    *last = reading->value;
}

static void read_one(bench *b, int gpu, bool healthy)
{
    stk__gpu_frame_clear(&frame);
    stk__reader_nvidia.read(&b->contexts[gpu], &frame);
    if (healthy && frame.state != STK_GPU_GOOD) wrong("GPU %d: %s", gpu, frame.note);
    for (int m = 0; m < STK_METRIC_COUNT; m++)
        check_value(b, gpu, m, healthy);
    for (int i = 0; i < frame.load_count; i++)
        if (frame.loads[i].percent != 73) wrong("a load of %g", frame.loads[i].percent);
    for (int i = 0; i < frame.process_count; i++) {
        const stk_gpu_process *process = &frame.processes[i];
        if (process->pid != 1 ||
            (process->memory_bytes.known == STK_KNOWN && process->memory_bytes.value != 3e9) ||
            (process->util_percent.known == STK_KNOWN && process->util_percent.value != 50))
            wrong("process %d", (int)process->pid);
    }
    b->when_ns[gpu] = stk__clock_ns();
}

static stk_gpu_state state_of(int error)
{
    switch (error) {
    case 1:
    case 9:
    case 15:
    case 18:
    case 28:
        return STK_GPU_LOST;
    case 16:
        return STK_GPU_RESET;
    default:
        return STK_GPU_GOOD;
    }
}

/* One case: reads of both GPUs; what is down is revived as the poller would. */
static stk_gpu_state run_case(int faulty, bool *was_down)
{
    bench b;
    *was_down = false;
    if (!start(&b)) return STK_GPU_GOOD;
    listed = b.count == GPUS;
    if (!listed) { /* the driver says that there is no such GPU */
        finish(&b);
        return STK_GPU_GOOD;
    }
    for (int i = 0; i < READS; i++)
        for (int gpu = 0; gpu < b.count; gpu++) {
            if (gpu != faulty) {
                read_one(&b, gpu, true);
                continue;
            }
            if (*was_down && frame.state != STK_GPU_GOOD && !stk__reader_nvidia.revive(&b.contexts[gpu]))
                continue;
            read_one(&b, gpu, false);
            *was_down = *was_down || frame.state != STK_GPU_GOOD;
        }
    stk_gpu_state last = STK_GPU_LOST;
    for (int i = 0; last != STK_GPU_GOOD && i < 60; i++) { /* where all fail once, they do so one by one */
        stk__gpu_frame_clear(&frame);
        stk__reader_nvidia.revive(&b.contexts[faulty]);
        stk__reader_nvidia.read(&b.contexts[faulty], &frame);
        last = frame.state;
    }
    finish(&b);
    return last;
}

static void check_error(size_t f, size_t e, size_t c, int gpu)
{
    char what[32];
    bool was_down;
    snprintf(what, sizeof what, "fail %d", errors[e]);
    set_script(functions[f], gpu, calls[c], what);
    const stk_gpu_state last = run_case(gpu, &was_down);
    const bool all = functions[f][0] == '*', passing = calls[c][0] == 'a';
    if (passing && last != STK_GPU_GOOD) wrong("did not heal: %s", frame.note);
    if (!all && state_of(errors[e]) == STK_GPU_GOOD && was_down) wrong("was down");
    if (all && strcmp(calls[c], "from 0") == 0 && listed && last == STK_GPU_GOOD && errors[e] != 6 &&
        errors[e] != 21)
        wrong("good without an answer: %s", frame.note);
}

static void every_error_of_every_function(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++)
        for (size_t e = 0; e < COUNT(errors); e++)
            for (size_t c = 0; c < COUNT(calls); c++)
                for (int gpu = 0; gpu < GPUS; gpu++)
                    check_error(f, e, c, gpu);
    print_message("%ld cases\n", cases);
    assert_true(cases >= 5000);
}

static void garbage_of_every_function(void **state)
{
    (void)state;
    cases = 0;
    for (size_t f = 0; f < COUNT(functions); f++)
        for (size_t v = 0; v < COUNT(bytes); v++)
            for (size_t c = 1; c < COUNT(calls); c++)
                for (int gpu = 0; gpu < GPUS; gpu++) {
                    char what[32];
                    bool was_down;
                    if (strcmp(calls[c], "from 0") == 0) continue; /* the first of a counter is believed */
                    snprintf(what, sizeof what, "garbage %s", bytes[v]);
                    set_script(functions[f], gpu, calls[c], what);
                    if (run_case(gpu, &was_down) != STK_GPU_GOOD || was_down) wrong("down: %s", frame.note);
                }
    print_message("%ld cases\n", cases);
    assert_true(cases >= 600);
}

static void errors_while_gpus_are_found(void **state)
{
    (void)state;
    cases = 0;
    for (size_t f = 0; f < COUNT(openers); f++)
        for (size_t e = 0; e < COUNT(errors) + COUNT(bytes); e++)
            for (int gpu = -1; gpu < GPUS; gpu++) {
                char what[32];
                bench b;
                if (e < COUNT(errors))
                    snprintf(what, sizeof what, "fail %d", errors[e]);
                else
                    snprintf(what, sizeof what, "garbage %s", bytes[e - COUNT(errors)]);
                set_script(openers[f], gpu, "from 0", what);
                if (!start(&b)) continue;
                for (int i = 0; i < b.count; i++) {
                    stk_gpu facts;
                    stk__reader_nvidia.describe(b.reader, i, &facts);
                    for (const char *letter = facts.name; *letter; letter++)
                        assert_true(*letter >= ' ' && *letter <= '~');
                    read_one(&b, i, false);
                }
                finish(&b);
            }
    print_message("%ld cases\n", cases);
    assert_true(cases >= 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_of_every_function),
        cmocka_unit_test(garbage_of_every_function),
        cmocka_unit_test(errors_while_gpus_are_found),
    };
    return cmocka_run_group_tests_name("nvidia_faults", tests, NULL, NULL);
}
