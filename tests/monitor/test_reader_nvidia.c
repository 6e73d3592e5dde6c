/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's GPUs through the fake driver: every number, drivers that lack things, clocks, processes, MIG. */
#include "fake_driver.h"

#include "core/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static stk_gpu_frame frame;

typedef struct rig {
    stk__gpu_reader *reader;
    stk__poller_context contexts[4];
    int count;
} rig;

static void pause_ms(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static rig start(const char *script)
{
    rig r = {0};
    stk_error error = {0};
    driver_play(script);
    if (stk__reader_nvidia.open(&r.reader, &error) != STK_OK) fail_msg("%s", error.message);
    r.count = stk__reader_nvidia.count(r.reader);
    for (int i = 0; i < r.count && i < 4; i++) {
        r.contexts[i] = (stk__poller_context){.reader = r.reader, .number = i};
        r.contexts[i].state = stk__alloc(stk__reader_nvidia.state_bytes);
    }
    return r;
}

static void finish(rig *r)
{
    for (int i = 0; i < r->count && i < 4; i++) {
        stk__reader_nvidia.leave(&r->contexts[i]);
        stk__free(r->contexts[i].state);
    }
    stk__reader_nvidia.close(&r->reader);
    assert_null(r->reader);
}

static stk__nvml *nvml_of(rig *r)
{
    return &((stk__nvidia *)r->reader)->nvml;
}

static const stk_reading *poll_gpu(rig *r, int gpu)
{
    stk__gpu_frame_clear(&frame);
    stk__reader_nvidia.read(&r->contexts[gpu], &frame);
    return frame.readings;
}

static void expect(const stk_reading *readings, int metric, stk_known known)
{
    if (readings[metric].known != known)
        fail_msg("%s is %d, not %d (%s)", stk_metric_key((stk_metric)metric), (int)readings[metric].known,
                 (int)known, frame.note);
    if (known != STK_KNOWN || driver_values[metric] < 0) return;
    if (fabs(readings[metric].value - driver_values[metric]) > 1e-6)
        fail_msg("%s is %g, not %g", stk_metric_key((stk_metric)metric), readings[metric].value,
                 driver_values[metric]);
}

static void every_number_is_told(void **state)
{
    (void)state;
    rig r = start(DRIVER_GPU "gpus 2\nprocess 1 1 3e9 50\n");
    assert_int_equal(r.count, 2);
    stk_gpu gpu;
    stk__reader_nvidia.describe(r.reader, 1, &gpu);
    assert_int_equal(gpu.index, 1);
    assert_string_equal(gpu.vendor, "nvidia");
    assert_string_equal(gpu.name, "NVIDIA Fake 80GB");
    assert_string_equal(gpu.id, "GPU-00000001-fa4e-0000-0000-000000000000");
    assert_string_equal(gpu.part, "");
    const stk_reading *readings = poll_gpu(&r, 1);
    assert_int_equal(frame.load_count, 0);     /* what was before us is not ours */
    for (int i = 0; i < STK_METRIC_COUNT; i++) /* activity lies between two samples */
        expect(readings, i,
               i >= STK_METRIC_SM_ACTIVE && i <= STK_METRIC_DRAM_ACTIVE ? STK_UNKNOWN : STK_KNOWN);
    double first[STK_METRIC_COUNT];
    for (int i = 0; i < STK_METRIC_COUNT; i++)
        first[i] = readings[i].value;
    const uint64_t before_ns = readings[STK_METRIC_POWER].when_ns;
    pause_ms(400);
    poll_gpu(&r, 1);
    const double passed_s = (double)(readings[STK_METRIC_POWER].when_ns - before_ns) / 1e9;
    for (int i = 0; i < STK_METRIC_COUNT; i++) {
        expect(readings, i, STK_KNOWN);
        if (driver_values[i] >= 0) continue;
        const double grown = readings[i].value - first[i], expected = driver_rate(i) * passed_s;
        if (fabs(grown - expected) > 0.5 * expected + 1e-9) /* the machine may be busy between two calls */
            fail_msg("%s grew by %g, not %g", stk_metric_key((stk_metric)i), grown, expected);
    }
    assert_in_range(frame.load_count, 1, 4);
    assert_true(frame.loads[0].percent == 73);
    assert_string_equal(frame.note, "");
    assert_true(frame.processes_known && frame.process_count == 1);
    assert_int_equal(frame.processes[0].pid, 1);
    assert_true(frame.processes[0].name[0]);
    assert_true(frame.processes[0].memory_bytes.value == 3e9 && frame.processes[0].util_percent.value == 50);
    finish(&r);
}

/* What the driver's functions give where it lacks newer ones. */
static void missing_functions_are_stood_in_for(void **state)
{
    (void)state;
    rig r = start(DRIVER_GPU "process 0 1 3e9 50\n");
    stk__nvml *nvml = nvml_of(&r);
    nvml->fields = NULL;
    nvml->memory2 = NULL;
    nvml->temperature1 = NULL;
    nvml->compute2 = nvml->graphics2 = NULL;
    nvml->gpm_support = NULL;
    nvml->samples = NULL;
    poll_gpu(&r, 0);
    pause_ms(50);
    const stk_reading *readings = poll_gpu(&r, 0);
    for (int i = 0; i < STK_METRIC_COUNT; i++) {
        const bool none =
            i == STK_METRIC_MEMORY_TEMPERATURE || (i >= STK_METRIC_SM_ACTIVE && i <= STK_METRIC_DRAM_ACTIVE);
        expect(readings, i, none ? STK_UNSUPPORTED : STK_KNOWN);
    }
    assert_int_equal(frame.load_count, 1);
    assert_true(frame.loads[0].percent == 73 && frame.loads[0].to_ns - frame.loads[0].from_ns >= 50000000);
    assert_non_null(strstr(frame.note, "utilization is polled, not sampled"));
    assert_non_null(strstr(frame.note, "PCIe throughput is estimated"));
    assert_int_equal(frame.process_count, 1);
    const double received = readings[STK_METRIC_PCIE_RECEIVED].value;
    assert_true(received > 0.05 * 2e9 * 0.9 && received < 2e9); /* 50 ms and a little of it */
    finish(&r);
}

/* Each function in turn is not there, and then nothing is: no number may come of it that is wrong. */
static void any_function_may_be_missing(void **state)
{
    (void)state;
    static const size_t offsets[] = {
#define OFFSET(field, names, parameters) offsetof(stk__nvml, field),
        STK_NVML_LIST(OFFSET)
#undef OFFSET
    };
    enum { COUNT = sizeof offsets / sizeof offsets[0] };
    rig r = start(DRIVER_GPU "process 0 1 3e9 50\n");
    const stk__nvml whole = *nvml_of(&r);
    void *none = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        if (offsets[i] == offsetof(stk__nvml, gpm_free)) continue; /* what was got must be given back */
        *nvml_of(&r) = whole;
        memcpy((char *)nvml_of(&r) + offsets[i], &none, sizeof none);
        const stk_reading *readings = poll_gpu(&r, 0);
        assert_int_equal(frame.state, STK_GPU_GOOD);
        for (int m = 0; m < STK_METRIC_COUNT; m++)
            if (readings[m].known == STK_KNOWN) expect(readings, m, STK_KNOWN);
    }
    *nvml_of(&r) = (stk__nvml){.gpm_free = whole.gpm_free, .shutdown = whole.shutdown};
    const stk_reading *readings = poll_gpu(&r, 0);
    assert_int_equal(frame.state, STK_GPU_LOST);
    assert_string_equal(frame.note, "the driver reports no values");
    for (int m = 0; m < STK_METRIC_COUNT; m++)
        assert_int_equal(readings[m].known, STK_UNKNOWN);
    finish(&r);
}

static void samples_lose_nothing(void **state)
{
    (void)state;
    static const char *const clocks[] = {"clock realtime\n", "clock boot\n", "clock step 0.7 -3600\n",
                                         "clock step 0.7 3600\n"};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        char script[256];
        snprintf(script, sizeof script, "0 util_percent square 0.4 0.7 100 0\nsamples 50 120\n%s", clocks[i]);
        rig r = start(script);
        const bool set = i >= 2;
        double sum = 0, span = 0, last = 0;
        uint64_t end_ns = 0;
        poll_gpu(&r, 0);
        const uint64_t start_ns = stk__clock_ns();
        while (stk__clock_ns() < start_ns + (set ? 4 : 2) * STK_SECOND_NS) {
            pause_ms(130);
            poll_gpu(&r, 0);
            for (int l = 0; l < frame.load_count; l++) {
                const stk_load_sample *load = &frame.loads[l];
                assert_true(load->from_ns >= end_ns && load->to_ns > load->from_ns);
                assert_true(load->to_ns <= stk__clock_ns());
                end_ns = load->to_ns;
                last = (double)(load->to_ns - load->from_ns) / 1e9;
                sum += load->percent * last;
                span += last;
            }
        }
        /* told without gaps; 70 % but for what is left of the last wave */
        const double passed = (double)(end_ns - start_ns) / 1e9;
        if (fabs(span - passed) > 0.05 || passed < (set ? 3.5 : 1.8) || fabs(sum / span - 70) > 5 ||
            last > 0.03)
            fail_msg("%s: %g s, mean %g, last %g s", clocks[i], span, sum / span, last);
        finish(&r);
    }
}

static void garbage_is_no_number(void **state)
{
    (void)state;
    static const char *const bytes[] = {"FF", "7F", "80"};
    for (size_t b = 0; b < sizeof bytes / sizeof bytes[0]; b++) {
        char script[2048];
        snprintf(script, sizeof script, DRIVER_GPU "process 0 1 3e9 50\nfault * gpu 0 garbage %s\n",
                 bytes[b]);
        rig r = start(script);
        for (int i = 0; i < 3; i++) {
            const stk_reading *readings = poll_gpu(&r, 0);
            for (int m = 0; m < STK_METRIC_COUNT; m++) {
                /* the first of a counter is believed: nobody knows better */
                if (readings[m].known != STK_KNOWN || driver_values[m] < 0) continue;
                if (m == STK_METRIC_THROTTLE) continue; /* bits of an unknown future */
                expect(readings, m, STK_KNOWN);
            }
            assert_int_equal(frame.load_count, 0);
            for (int p = 0; p < frame.process_count; p++)
                assert_int_not_equal(frame.processes[p].util_percent.known, STK_KNOWN);
            pause_ms(120);
        }
        finish(&r);
    }
}

static void garbage_of_processes_is_dropped(void **state)
{
    (void)state;
    rig r = start(DRIVER_GPU "process 0 1 90e9 50\nprocess 0 2 -1 60\nprocess 0 4999999 1e9 7\n"
                             "fault nvmlDeviceGetProcessUtilization below 1 garbage FF\n");
    poll_gpu(&r, 0);
    assert_int_equal(frame.process_count, 2); /* no process can have the third's number */
    assert_int_equal(frame.processes[0].memory_bytes.known, STK_UNKNOWN); /* more than there is */
    assert_int_equal(frame.processes[1].memory_bytes.known, STK_UNSUPPORTED);
    assert_int_equal(frame.processes[0].util_percent.known, STK_UNKNOWN);
    pause_ms(2);
    poll_gpu(&r, 0);
    assert_true(frame.processes[0].util_percent.value == 50 && frame.processes[1].util_percent.value == 60);
    finish(&r);
}

static void counters_wrap(void **state)
{
    (void)state;
    rig r = start("0 pcie_sent_bytes_total const 4e8\n0 util_percent const 1\n"
                  "counters wrap32\ncounters 4.2e9\n");
    const stk_reading *readings = poll_gpu(&r, 0);
    const double first = readings[STK_METRIC_PCIE_SENT].value;
    double last = first;
    for (int i = 0; i < 6; i++) { /* 95 MB to the wrap, 40 MB a turn */
        pause_ms(100);
        poll_gpu(&r, 0);
        assert_true(readings[STK_METRIC_PCIE_SENT].value > last);
        last = readings[STK_METRIC_PCIE_SENT].value;
    }
    if (last < 4.2e9 + 2.3e8 || last > 4.2e9 + 4e9) fail_msg("from %.10g to %.10g", first, last);
    finish(&r);
}

static void parts_of_a_divided_gpu_are_listed(void **state)
{
    (void)state;
    rig r = start(DRIVER_GPU "gpus 2\nmig 0 2 1g.10gb\n");
    assert_int_equal(r.count, 4);
    stk_gpu gpu;
    stk__reader_nvidia.describe(r.reader, 2, &gpu);
    assert_int_equal(gpu.index, 0);
    assert_string_equal(gpu.name, "NVIDIA Fake 80GB");
    assert_string_equal(gpu.part, "MIG 1g.10gb");
    assert_int_equal(gpu.part_number, 1);
    assert_string_equal(gpu.id, "MIG-00000000-fa4e-0000-0000-000000000001");
    stk__reader_nvidia.describe(r.reader, 3, &gpu);
    assert_int_equal(gpu.index, 1);
    assert_string_equal(gpu.part, "");
    poll_gpu(&r, 0);
    assert_non_null(strstr(frame.note, "MIG enabled"));
    poll_gpu(&r, 2);
    pause_ms(120);
    const stk_reading *readings = poll_gpu(&r, 2);
    for (int m = 0; m < STK_METRIC_COUNT; m++) {
        const bool told = m == STK_METRIC_MEMORY_TOTAL || m == STK_METRIC_MEMORY_USED;
        if (m >= STK_METRIC_SM_ACTIVE && m <= STK_METRIC_DRAM_ACTIVE)
            expect(readings, m, STK_KNOWN);
        else
            assert_int_equal(readings[m].known, told ? STK_KNOWN : STK_UNSUPPORTED);
    }
    assert_true(readings[STK_METRIC_MEMORY_TOTAL].value == 40e9);
    finish(&r);
}

static void what_is_not_supported_is_asked_rarely(void **state)
{
    (void)state;
    rig r = start("0 util_percent const 5\n");
    for (int i = 0; i < 5; i++)
        poll_gpu(&r, 0);
    assert_int_equal(frame.readings[STK_METRIC_FAN].known, STK_UNSUPPORTED);
    assert_int_equal(driver_calls("nvmlDeviceGetFanSpeed", 0), 1);
    assert_int_equal(driver_calls("nvmlDeviceGetUtilizationRates", 0), 5);
    finish(&r);
}

static void refuse(const char *script, const char *message)
{
    stk__gpu_reader *reader;
    stk_error error = {0};
    if (script) driver_play(script);
    assert_int_equal(stk__reader_nvidia.open(&reader, &error), STK_ERROR_UNSUPPORTED);
    assert_null(reader);
    if (!strstr(error.message, message)) fail_msg("%s", error.message);
}

static void drivers_that_cannot_be_used_say_why(void **state)
{
    (void)state;
    char kept[512];
    refuse("fault nvmlInit_v2 fail 9", "NVML initialization failed: Driver Not Loaded");
    refuse("fault nvmlDeviceGetCount_v2 fail 999", "NVML cannot list GPUs: Unknown Error");
    snprintf(kept, sizeof kept, "%s", getenv("STOKER_NVML"));
    setenv("STOKER_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    refuse(NULL, "no NVIDIA driver: '/nowhere/libnvidia-ml.so.1' not found");
    setenv("STOKER_NVML", "libm.so.6", 1);
    refuse(NULL, "NVML lacks nvmlInit");
    setenv("STOKER_NVML", kept, 1);
}

/* On machines that are shared the driver counts GPUs of others, too, but hands out none of them. */
static void gpus_of_others_are_left_out(void **state)
{
    (void)state;
    rig r = start(DRIVER_GPU "gpus 3\nfault nvmlDeviceGetHandleByIndex_v2 gpu 1 fail 4\n");
    assert_int_equal(r.count, 2);
    stk_gpu gpu;
    stk__reader_nvidia.describe(r.reader, 1, &gpu);
    assert_int_equal(gpu.index, 2); /* numbers stay the driver's */
    poll_gpu(&r, 1);
    assert_int_equal(frame.state, STK_GPU_GOOD);
    finish(&r);
    refuse(DRIVER_GPU "gpus 3\nfault nvmlDeviceGetHandleByIndex_v2 fail 4\n",
           "the NVIDIA driver gives access to none of its 3 GPUs: Insufficient Permissions");
}

static void lost_ones_come_back(void **state)
{
    (void)state;
    rig r = start(DRIVER_GPU "gpus 2\nfault nvmlDeviceGetHandleByIndex_v2 gpu 1 fail 15\n"
                             "fault nvmlDeviceGetHandleByUUID gpu 0 below 2 fail 9\n");
    assert_int_equal(r.count, 2); /* the second one is there, but lost */
    poll_gpu(&r, 1);
    assert_int_equal(frame.state, STK_GPU_LOST);
    assert_string_equal(frame.note, "not found by the driver");
    assert_false(stk__reader_nvidia.revive(&r.contexts[1]));
    assert_false(stk__reader_nvidia.revive(&r.contexts[0])); /* starts the driver again, in vain */
    assert_true(stk__reader_nvidia.revive(&r.contexts[0]));
    poll_gpu(&r, 0);
    assert_int_equal(frame.state, STK_GPU_GOOD);
    finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_told),
        cmocka_unit_test(missing_functions_are_stood_in_for),
        cmocka_unit_test(any_function_may_be_missing),
        cmocka_unit_test(samples_lose_nothing),
        cmocka_unit_test(garbage_is_no_number),
        cmocka_unit_test(garbage_of_processes_is_dropped),
        cmocka_unit_test(counters_wrap),
        cmocka_unit_test(parts_of_a_divided_gpu_are_listed),
        cmocka_unit_test(what_is_not_supported_is_asked_rarely),
        cmocka_unit_test(drivers_that_cannot_be_used_say_why),
        cmocka_unit_test(gpus_of_others_are_left_out),
        cmocka_unit_test(lost_ones_come_back),
    };
    return cmocka_run_group_tests_name("reader_nvidia", tests, NULL, NULL);
}
