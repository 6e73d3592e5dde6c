/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of AMD and Intel, from made-up trees of /sys and /proc. */
#include "monitor/drm/drm_process.h"

#include "core/file.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static workspace space;
static stk_gpu_frame frame;
static stk__gpu_reader *reader;
static stk__poller_context asked;
static const stk__reader_ops *ops;

static int set_up(void **state)
{
    (void)state;
    space = workspace_make();
    setenv("STOKER_MONITOR_ROOT", space.path, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (reader) {
        ops->close(&reader);
        stk__free(asked.state);
    }
    unsetenv("STOKER_MONITOR_ROOT");
    workspace_remove(&space);
    return 0;
}

static void put(const char *name, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    workspace_put(&space, name, text);
}

static void remove_file(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", space.path, name);
    assert_int_equal(unlink(path), 0);
}

/* A process that has a card open. */
static void put_client(int pid, int file, const char *fdinfo)
{
    char name[64], path[400];
    snprintf(name, sizeof name, "proc/%d/fdinfo/%d", pid, file);
    put(name, "%s", fdinfo);
    snprintf(name, sizeof name, "proc/%d/comm", pid);
    put(name, "python3\n");
    snprintf(name, sizeof name, "proc/%d/fd/keep", pid);
    put(name, "");
    snprintf(path, sizeof path, "%s/proc/%d/fd/%d", space.path, pid, file);
    unlink(path);
    assert_int_equal(symlink("/dev/dri/renderD128", path), 0);
}

static void open_reader(const stk__reader_ops *wanted, int number)
{
    stk_error error = {0};
    ops = wanted;
    if (ops->open(&reader, &error) != STK_OK) fail_msg("%s", error.message);
    asked = (stk__poller_context){.reader = reader, .number = number, .state = stk__alloc(ops->state_bytes)};
}

static const stk_reading *poll_gpu(void)
{
    stk__gpu_frame_clear(&frame);
    ops->read(&asked, &frame);
    return frame.readings;
}

static void is(stk_metric metric, double value)
{
    const stk_reading *reading = &frame.readings[metric];
    if (reading->known != STK_KNOWN || fabs(reading->value - value) > 1e-6 * fmax(1, value))
        fail_msg("%s: %g (%d), not %g", stk_metric_key(metric), reading->value, (int)reading->known, value);
}

#define AMD   "sys/class/drm/card1/device/"
#define HWMON AMD "hwmon/hwmon4/"

static void put_amd(void)
{
    put(AMD "uevent", "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n");
    put(AMD "gpu_busy_percent", "87\n");
    put(AMD "mem_busy_percent", "31\n");
    put(AMD "mem_info_vram_total", "25753026560\n");
    put(AMD "mem_info_vram_used", "9000000000\n");
    put(AMD "pp_dpm_sclk", "0: 500Mhz\n1: 1800Mhz *\n2: 2500Mhz\n");
    put(AMD "pp_dpm_mclk", "0: 96Mhz\n1: 1249Mhz *\n");
    put(AMD "current_link_speed", "16.0 GT/s PCIe\n");
    put(AMD "max_link_speed", "32.0 GT/s PCIe\n");
    put(AMD "current_link_width", "8\n");
    put(AMD "max_link_width", "16\n");
    put(HWMON "power1_average", "301000000\n");
    put(HWMON "power1_cap", "339000000\n");
    put(HWMON "temp1_label", "edge\n");
    put(HWMON "temp1_input", "61000\n");
    put(HWMON "temp1_crit", "100000\n");
    put(HWMON "temp2_label", "junction\n");
    put(HWMON "temp2_input", "78000\n");
    put(HWMON "temp3_label", "mem\n");
    put(HWMON "temp3_input", "82000\n");
    put(HWMON "freq1_input", "2105000000\n");
    put(HWMON "freq2_input", "1249000000\n");
    put(HWMON "pwm1", "102\n");
    put("sys/class/drm/card1-DP-1/status", "connected\n");
    put("sys/class/drm/card0/device/uevent", "DRIVER=simple-framebuffer\n");
    put("sys/class/drm/version", "drm\n");
}

static void amd_tells_its_numbers(void **state)
{
    (void)state;
    put_amd();
    open_reader(&stk__reader_amd, 0);
    assert_int_equal(ops->count(reader), 1);
    stk_gpu gpu;
    ops->describe(reader, 0, &gpu);
    assert_string_equal(gpu.vendor, "amd");
    assert_string_equal(gpu.name, "AMD GPU 1002:744C");
    assert_string_equal(gpu.id, "0000:03:00.0");
    assert_int_equal(gpu.index, 0);
    const stk_reading *readings = poll_gpu();
    assert_int_equal(frame.state, STK_GPU_GOOD);
    is(STK_METRIC_UTIL, 87);
    is(STK_METRIC_MEMORY_BUSY, 31);
    is(STK_METRIC_MEMORY_TOTAL, 25753026560);
    is(STK_METRIC_MEMORY_USED, 9e9);
    is(STK_METRIC_POWER, 301);
    is(STK_METRIC_POWER_LIMIT, 339);
    is(STK_METRIC_TEMPERATURE, 61);
    is(STK_METRIC_TEMPERATURE_LIMIT, 100);
    is(STK_METRIC_MEMORY_TEMPERATURE, 82);
    is(STK_METRIC_FAN, 40);
    is(STK_METRIC_SM_CLOCK, 2105);
    is(STK_METRIC_SM_CLOCK_MAX, 2500);
    is(STK_METRIC_MEMORY_CLOCK, 1249);
    is(STK_METRIC_MEMORY_CLOCK_MAX, 1249);
    is(STK_METRIC_LINK_GENERATION, 4);
    is(STK_METRIC_LINK_GENERATION_MAX, 5);
    is(STK_METRIC_LINK_WIDTH, 8);
    is(STK_METRIC_LINK_WIDTH_MAX, 16);
    assert_int_equal(readings[STK_METRIC_SM_ACTIVE].known, STK_UNSUPPORTED);
    assert_int_equal(readings[STK_METRIC_ENERGY].known, STK_UNSUPPORTED);
    assert_int_equal(frame.load_count, 0);
    poll_gpu();
    assert_true(frame.load_count == 1 && frame.loads[0].percent == 87);
    assert_string_equal(frame.note, "utilization is polled, not sampled");
}

static void amd_without_some_files(void **state)
{
    (void)state;
    put_amd();
    remove_file(HWMON "power1_average");
    put(HWMON "power1_input", "222000000\n"); /* some have only this */
    remove_file(HWMON "freq1_input");         /* then the star counts */
    remove_file(HWMON "temp1_label");         /* server cards have no edge */
    put(HWMON "pwm1", "999\n");
    put(AMD "gpu_busy_percent", "");
    put(AMD "mem_info_vram_used", "-5\n");
    put(AMD "current_link_width", "255\n");
    put(AMD "current_link_speed", "Unknown\n");
    put(AMD "product_name", "Instinct MI300X\n");
    open_reader(&stk__reader_amd, 0);
    stk_gpu gpu;
    ops->describe(reader, 0, &gpu);
    assert_string_equal(gpu.name, "Instinct MI300X");
    const stk_reading *readings = poll_gpu();
    is(STK_METRIC_POWER, 222);
    is(STK_METRIC_SM_CLOCK, 1800);
    is(STK_METRIC_TEMPERATURE, 78);
    assert_int_equal(readings[STK_METRIC_UTIL].known, STK_UNKNOWN);
    assert_int_equal(readings[STK_METRIC_MEMORY_USED].known, STK_UNKNOWN);
    assert_int_equal(readings[STK_METRIC_FAN].known, STK_UNKNOWN);
    assert_int_equal(readings[STK_METRIC_LINK_WIDTH].known, STK_UNSUPPORTED);
    assert_int_equal(readings[STK_METRIC_TEMPERATURE_LIMIT].known, STK_UNSUPPORTED);
}

static void one_that_sleeps_is_not_woken(void **state)
{
    (void)state;
    put_amd();
    put(AMD "power/runtime_status", "suspended\n");
    open_reader(&stk__reader_amd, 0);
    const stk_reading *readings = poll_gpu();
    is(STK_METRIC_UTIL, 0);
    assert_int_equal(readings[STK_METRIC_POWER].known, STK_UNKNOWN);
    assert_string_equal(frame.note, "runtime suspended; reading more would wake it");
    put(AMD "power/runtime_status", "active\n");
    poll_gpu();
    is(STK_METRIC_POWER, 301);
}

static void one_that_is_pulled_out_is_lost(void **state)
{
    (void)state;
    put_amd();
    open_reader(&stk__reader_amd, 0);
    remove_file(AMD "uevent");
    poll_gpu();
    assert_int_equal(frame.state, STK_GPU_LOST);
    assert_string_equal(frame.note, "device lost: its sysfs files are missing");
    assert_false(ops->revive(&asked));
    put_amd();
    assert_true(ops->revive(&asked));
    poll_gpu();
    assert_int_equal(frame.state, STK_GPU_GOOD);
}

static void amd_processes(void **state)
{
    (void)state;
    put_amd();
    put_client(70, 5,
               "pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\n"
               "drm-memory-vram:\t2048 KiB\ndrm-engine-compute:\t1000000 ns\ndrm-engine-gfx:\t0 ns\n");
    put_client(70, 6,
               "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\n"); /* the same, again */
    put_client(
        70, 7,
        "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t10\ndrm-resident-vram:\t1 MiB\n");
    put_client(71, 3, "drm-driver:\tamdgpu\ndrm-pdev:\t0000:44:00.0\ndrm-client-id:\t9\n"); /* another card */
    open_reader(&stk__reader_amd, 0);
    poll_gpu();
    assert_true(frame.processes_known && frame.process_count == 1);
    assert_int_equal(frame.processes[0].pid, 70);
    assert_string_equal(frame.processes[0].name, "python3");
    assert_true(frame.processes[0].memory_bytes.value == 3 * 1048576);
    assert_int_equal(frame.processes[0].util_percent.known, STK_UNKNOWN);
    const uint64_t before_ns = stk__clock_ns();
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    put_client(70, 5,
               "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\n"
               "drm-memory-vram:\t2048 KiB\ndrm-engine-compute:\t51000000 ns\ndrm-engine-gfx:\t0 ns\n");
    poll_gpu();
    const double passed_ms = (double)(stk__clock_ns() - before_ns) / 1e6;
    const double percent = frame.processes[0].util_percent.value;
    assert_true(percent > 0.5 * 5000 / passed_ms && percent <= 50.01);
    remove_file("proc/70/fdinfo/5");
    remove_file("proc/70/fdinfo/7");
    poll_gpu();
    assert_int_equal(frame.process_count, 0);
}

/* As somebody who is not root, who cannot look into all processes: none seen is not none there. */
static void processes_of_others_are_not_none(void **state)
{
    (void)state;
    const uid_t me = geteuid();
    put_amd();
    open_reader(&stk__reader_amd, 0);
    unsetenv("STOKER_MONITOR_ROOT"); /* of a made-up machine all is seen */
    assert_int_equal(chmod(space.path, 0755), 0);
    if (!me) assert_int_equal(seteuid(65534), 0);
    poll_gpu();
    assert_int_equal(seteuid(me), 0);
    assert_int_equal(frame.state, STK_GPU_GOOD);
    assert_false(frame.processes_known);
    put_client(70, 5,
               "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\ndrm-memory-vram:\t9 KiB\n");
    memset(asked.state, 0, ops->state_bytes); /* looks for them at once */
    if (!me) assert_int_equal(seteuid(65534), 0);
    poll_gpu();
    assert_int_equal(seteuid(me), 0);
    assert_true(frame.processes_known && frame.process_count == 1); /* our own are told */
}

#define ARC "sys/class/drm/card0/"

static void put_xe(void)
{
    put(ARC "device/uevent", "DRIVER=xe\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=0000:04:00.0\n");
    put(ARC "device/tile0/gt0/freq0/act_freq", "2400\n");
    put(ARC "device/tile0/gt0/freq0/rp0_freq", "2850\n");
    put(ARC "device/tile0/gt0/freq0/throttle/reason_pl1", "1\n");
    put(ARC "device/tile0/gt0/freq0/throttle/reason_thermal", "0\n");
    put(ARC "device/hwmon/hwmon2/energy1_input", "5000000\n");
    put(ARC "device/hwmon/hwmon2/power1_max", "190000000\n");
    put(ARC "device/hwmon/hwmon2/temp2_label", "pkg\n");
    put(ARC "device/hwmon/hwmon2/temp2_input", "55000\n");
    put(ARC "device/hwmon/hwmon2/temp3_label", "vram\n");
    put(ARC "device/hwmon/hwmon2/temp3_input", "58000\n");
    put_client(80, 4,
               "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:04:00.0\ndrm-resident-vram0:\t23992 KiB\n"
               "drm-cycles-rcs:\t1000\ndrm-total-cycles-rcs:\t100000\ndrm-cycles-ccs:\t400\n"
               "drm-total-cycles-ccs:\t100000\ndrm-engine-capacity-ccs:\t4\n");
}

static void intel_xe_tells_its_numbers(void **state)
{
    (void)state;
    put_xe();
    open_reader(&stk__reader_intel, 0);
    const stk_reading *readings = poll_gpu();
    is(STK_METRIC_SM_CLOCK, 2400);
    is(STK_METRIC_SM_CLOCK_MAX, 2850);
    is(STK_METRIC_THROTTLE, STK_THROTTLE_POWER);
    is(STK_METRIC_ENERGY, 5);
    is(STK_METRIC_POWER_LIMIT, 190);
    is(STK_METRIC_TEMPERATURE, 55);
    is(STK_METRIC_MEMORY_TEMPERATURE, 58);
    assert_int_equal(readings[STK_METRIC_POWER].known, STK_UNKNOWN); /* comes with the second read */
    assert_int_equal(readings[STK_METRIC_UTIL].known, STK_UNKNOWN);
    assert_int_equal(readings[STK_METRIC_MEMORY_TOTAL].known, STK_UNSUPPORTED);
    const uint64_t before_ns = readings[STK_METRIC_ENERGY].when_ns;
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    put(ARC "device/hwmon/hwmon2/energy1_input", "15000000\n");
    put_client(80, 4,
               "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:04:00.0\ndrm-resident-vram0:\t23992 KiB\n"
               "drm-cycles-rcs:\t31000\ndrm-total-cycles-rcs:\t200000\ndrm-cycles-ccs:\t240400\n"
               "drm-total-cycles-ccs:\t200000\ndrm-engine-capacity-ccs:\t4\n");
    poll_gpu();
    is(STK_METRIC_POWER, 10 / ((double)(readings[STK_METRIC_ENERGY].when_ns - before_ns) / 1e9));
    is(STK_METRIC_UTIL, 60); /* the four compute engines: 240000 of 4 x 100000 cycles */
    assert_true(frame.load_count == 1 && frame.loads[0].percent == frame.readings[STK_METRIC_UTIL].value);
    assert_true(frame.process_count == 1 &&
                frame.processes[0].util_percent.value == readings[STK_METRIC_UTIL].value);
    assert_true(frame.processes[0].memory_bytes.value == 23992 * 1024.);
}

static void intel_i915_tells_its_numbers(void **state)
{
    (void)state;
    put(ARC "device/uevent", "DRIVER=i915\nPCI_ID=8086:56A0\nPCI_SLOT_NAME=0000:05:00.0\n");
    put(ARC "gt/gt0/rps_act_freq_mhz", "1800\n");
    put(ARC "gt_act_freq_mhz", "7\n");
    put(ARC "gt_RP0_freq_mhz", "2400\n");
    put(ARC "gt/gt0/throttle_reason_thermal", "1\n");
    put(ARC "lmem_total_bytes", "16000000000\n");
    put(ARC "lmem_avail_bytes", "12000000000\n");
    put_client(90, 4,
               "drm-driver:\ti915\ndrm-client-id:\t3\ndrm-pdev:\t0000:05:00.0\ndrm-engine-render:\t100 ns\n");
    open_reader(&stk__reader_intel, 0);
    poll_gpu();
    is(STK_METRIC_SM_CLOCK, 1800);
    is(STK_METRIC_SM_CLOCK_MAX, 2400);
    is(STK_METRIC_THROTTLE, STK_THROTTLE_HEAT);
    is(STK_METRIC_MEMORY_USED, 4e9);
    assert_int_equal(frame.readings[STK_METRIC_POWER].known, STK_UNSUPPORTED); /* no sensors at all */
    put_client(90, 4,
               "drm-driver:\ti915\ndrm-client-id:\t3\ndrm-pdev:\t0000:05:00.0\ndrm-engine-render:"
               "\t9999999999999 ns\n");
    poll_gpu();
    is(STK_METRIC_UTIL, 100); /* never more */
}

static void no_card_says_why(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__reader_amd.open(&reader, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "no AMD GPU: no card uses the driver 'amdgpu'");
    put_xe();
    assert_int_equal(stk__reader_amd.open(&reader, &error), STK_ERROR_UNSUPPORTED);
    remove_file(ARC "device/uevent");
    assert_int_equal(stk__reader_intel.open(&reader, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "no Intel GPU: no card uses the driver 'i915' or 'xe'");
    assert_null(reader);
}

static stk_status open_once(void *context, stk_error *error)
{
    const stk__reader_ops *which = context;
    stk__gpu_reader *opened;
    const stk_status status = which->open(&opened, error);
    which->close(&opened);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    put_amd();
    put_xe();
    stk__reader_ops amd = stk__reader_amd, intel = stk__reader_intel;
    assert_int_equal(fail_alloc_each(open_once, &amd), 2);
    assert_int_equal(fail_alloc_each(open_once, &intel), 2);
}

/* Two vendors in one machine, through the whole monitor. */
static void both_together(void **state)
{
    (void)state;
    put_amd();
    put_xe();
    put("sys/class/drm/card0/device/uevent", "DRIVER=xe\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=0000:04:00.0\n");
    stk_monitor *monitor;
    stk_monitor_frame *both;
    setenv("STOKER_NVML", "/nowhere", 1);
    assert_int_equal(stk_monitor_open(&monitor, &(stk_monitor_options){.interval_s = 0.05}, NULL), STK_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(stk_monitor_next(monitor, &both, NULL), STK_OK);
    assert_int_equal(both->gpu_count, 2);
    assert_string_equal(both->gpus[0].vendor, "amd");
    assert_string_equal(both->gpus[1].vendor, "intel");
    assert_true(both->gpu_frames[0].readings[STK_METRIC_UTIL].value == 87);
    assert_true(both->gpu_frames[1].readings[STK_METRIC_SM_CLOCK].value == 2400);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    unsetenv("STOKER_NVML");
}

#define files_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        files_test(amd_tells_its_numbers),
        files_test(amd_without_some_files),
        files_test(one_that_sleeps_is_not_woken),
        files_test(one_that_is_pulled_out_is_lost),
        files_test(amd_processes),
        files_test(processes_of_others_are_not_none),
        files_test(intel_xe_tells_its_numbers),
        files_test(intel_i915_tells_its_numbers),
        files_test(no_card_says_why),
        files_test(every_allocation_may_fail),
        files_test(both_together),
    };
    return cmocka_run_group_tests_name("reader_files", tests, NULL, NULL);
}
