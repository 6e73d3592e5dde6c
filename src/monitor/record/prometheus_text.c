/* SPDX-License-Identifier: Apache-2.0 */
/* A frame in Prometheus' text format, under our own metric names (base units) or those of NVIDIA's DCGM
 * exporter. Unknown values are left out. */
#include "monitor/record/prometheus_text.h"

#include "core/utf8.h"
#include "monitor/verdict/throttle.h"
#include "stoker/runtime.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Metric names, and the factor to their base unit. */
typedef struct series {
    const char *name, *type, *help;
    stk_metric metric;
    double scale;
} series;

#define GAUGE   "gauge"
#define COUNTER "counter"

static const series own[] = {
    {"stoker_gpu_utilization_ratio", GAUGE,
     "GPU utilization: share of the last interval in which a kernel ran.", STK_METRIC_UTIL, 0.01},
    {"stoker_gpu_memory_busy_ratio", GAUGE,
     "Memory utilization: share of time in which memory was read or written.", STK_METRIC_MEMORY_BUSY, 0.01},
    {"stoker_gpu_sm_active_ratio", GAUGE, "SM activity: share of SMs with work, averaged over time.",
     STK_METRIC_SM_ACTIVE, 0.01},
    {"stoker_gpu_tensor_active_ratio", GAUGE,
     "Tensor core activity: share of time in which tensor cores worked.", STK_METRIC_TENSOR_ACTIVE, 0.01},
    {"stoker_gpu_dram_active_ratio", GAUGE, "DRAM activity: share of the memory bandwidth in use.",
     STK_METRIC_DRAM_ACTIVE, 0.01},
    {"stoker_gpu_power_watts", GAUGE, "Power draw.", STK_METRIC_POWER, 1},
    {"stoker_gpu_power_limit_watts", GAUGE, "Enforced power limit.", STK_METRIC_POWER_LIMIT, 1},
    {"stoker_gpu_energy_joules_total", COUNTER, "Energy since the driver was loaded.", STK_METRIC_ENERGY, 1},
    {"stoker_gpu_memory_used_bytes", GAUGE, "Memory used.", STK_METRIC_MEMORY_USED, 1},
    {"stoker_gpu_memory_size_bytes", GAUGE, "Total memory.", STK_METRIC_MEMORY_TOTAL, 1},
    {"stoker_gpu_temperature_celsius", GAUGE, "GPU temperature.", STK_METRIC_TEMPERATURE, 1},
    {"stoker_gpu_temperature_limit_celsius", GAUGE, "Slowdown temperature: thermal throttling starts here.",
     STK_METRIC_TEMPERATURE_LIMIT, 1},
    {"stoker_gpu_memory_temperature_celsius", GAUGE, "Memory temperature.", STK_METRIC_MEMORY_TEMPERATURE, 1},
    {"stoker_gpu_fan_ratio", GAUGE, "Fan speed.", STK_METRIC_FAN, 0.01},
    {"stoker_gpu_sm_clock_hertz", GAUGE, "SM clock.", STK_METRIC_SM_CLOCK, 1e6},
    {"stoker_gpu_sm_clock_max_hertz", GAUGE, "Maximum SM clock.", STK_METRIC_SM_CLOCK_MAX, 1e6},
    {"stoker_gpu_memory_clock_hertz", GAUGE, "Memory clock.", STK_METRIC_MEMORY_CLOCK, 1e6},
    {"stoker_gpu_memory_clock_max_hertz", GAUGE, "Maximum memory clock.", STK_METRIC_MEMORY_CLOCK_MAX, 1e6},
    {"stoker_gpu_throttled_power_seconds_total", COUNTER, "Time of power throttling.",
     STK_METRIC_THROTTLED_POWER, 1},
    {"stoker_gpu_throttled_heat_seconds_total", COUNTER, "Time of thermal throttling.",
     STK_METRIC_THROTTLED_HEAT, 1},
    {"stoker_gpu_pcie_sent_bytes_total", COUNTER, "Bytes sent by the GPU over PCIe (TX).",
     STK_METRIC_PCIE_SENT, 1},
    {"stoker_gpu_pcie_received_bytes_total", COUNTER, "Bytes received by the GPU over PCIe (RX).",
     STK_METRIC_PCIE_RECEIVED, 1},
    {"stoker_gpu_pcie_generation", GAUGE, "Current PCIe link generation.", STK_METRIC_LINK_GENERATION, 1},
    {"stoker_gpu_pcie_generation_max", GAUGE, "Maximum PCIe link generation in this slot.",
     STK_METRIC_LINK_GENERATION_MAX, 1},
    {"stoker_gpu_pcie_lanes", GAUGE, "Current PCIe link width (lanes).", STK_METRIC_LINK_WIDTH, 1},
    {"stoker_gpu_pcie_lanes_max", GAUGE, "Maximum PCIe link width (lanes) in this slot.",
     STK_METRIC_LINK_WIDTH_MAX, 1},
};

/* Its units are percent, MiB, MHz and mJ. */
static const series dcgm_names[] = {
    {"DCGM_FI_DEV_GPU_UTIL", GAUGE, "GPU utilization, in percent.", STK_METRIC_UTIL, 1},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", GAUGE, "Memory utilization, in percent.", STK_METRIC_MEMORY_BUSY, 1},
    {"DCGM_FI_PROF_SM_ACTIVE", GAUGE, "SM activity: share of SMs with work, averaged over time.",
     STK_METRIC_SM_ACTIVE, 0.01},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", GAUGE,
     "Tensor core activity: share of time in which tensor cores worked.", STK_METRIC_TENSOR_ACTIVE, 0.01},
    {"DCGM_FI_PROF_DRAM_ACTIVE", GAUGE, "DRAM activity: share of the memory bandwidth in use.",
     STK_METRIC_DRAM_ACTIVE, 0.01},
    {"DCGM_FI_DEV_POWER_USAGE", GAUGE, "Power draw, in W.", STK_METRIC_POWER, 1},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", COUNTER, "Energy since the driver was loaded, in mJ.",
     STK_METRIC_ENERGY, 1e3},
    {"DCGM_FI_DEV_FB_USED", GAUGE, "Memory used, in MiB.", STK_METRIC_MEMORY_USED, 1.0 / 1048576},
    {"DCGM_FI_DEV_FB_TOTAL", GAUGE, "Total memory, in MiB.", STK_METRIC_MEMORY_TOTAL, 1.0 / 1048576},
    {"DCGM_FI_DEV_GPU_TEMP", GAUGE, "GPU temperature, in degrees Celsius.", STK_METRIC_TEMPERATURE, 1},
    {"DCGM_FI_DEV_MEMORY_TEMP", GAUGE, "Memory temperature, in degrees Celsius.",
     STK_METRIC_MEMORY_TEMPERATURE, 1},
    {"DCGM_FI_DEV_SM_CLOCK", GAUGE, "SM clock, in MHz.", STK_METRIC_SM_CLOCK, 1},
    {"DCGM_FI_DEV_MEM_CLOCK", GAUGE, "Memory clock, in MHz.", STK_METRIC_MEMORY_CLOCK, 1},
};

typedef struct page {
    stk__buffer *text;
    const stk_monitor_frame *frame;
    bool failed; /* no memory */
} page;

static void put_bytes(page *p, const char *bytes, size_t count)
{
    if (stk__buffer_append(p->text, bytes, count, NULL) != STK_OK) p->failed = true;
}

static void put(page *p, const char *text)
{
    put_bytes(p, text, strlen(text));
}

/* Whole numbers to the last digit; never a decimal comma, whatever the locale. */
static void put_number(page *p, double value)
{
    char text[64];
    const bool whole = value == floor(value) && fabs(value) < 9007199254740992.0 /* 2^53 */;
    snprintf(text, sizeof text, whole ? "%.0f" : "%.15g", value);
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    put(p, text);
    put(p, "\n");
}

static void put_label(page *p, const char *name, const char *value)
{
    put(p, name);
    put(p, "=\"");
    while (*value) {
        const size_t length = stk__utf8_length(value);
        if (!length)
            put(p, "?");
        else if (*value == '\\' || *value == '"')
            put_bytes(p, (const char[]){'\\', *value}, 2);
        else if (*value == '\n')
            put(p, "\\n");
        else
            put_bytes(p, value, length);
        value += length ? length : 1;
    }
    put(p, "\"");
}

static void put_head(page *p, const char *name, const char *type, const char *help)
{
    const char *const parts[] = {"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        put(p, parts[i]);
}

static void put_gpu_labels(page *p, const stk_gpu *gpu, bool dcgm)
{
    char index[16];
    snprintf(index, sizeof index, "%d", (int)gpu->index);
    put(p, "{");
    put_label(p, "gpu", index);
    put(p, ",");
    put_label(p, dcgm ? "UUID" : "uuid", gpu->id);
    put(p, ",");
    put_label(p, dcgm ? "modelName" : "name", gpu->name);
    if (!dcgm) {
        put(p, ",");
        put_label(p, "vendor", gpu->vendor);
    }
    if (gpu->part[0]) {
        put(p, ",");
        put_label(p, "part", gpu->part);
    }
}

static bool is_told(stk_reading reading)
{
    return reading.known == STK_KNOWN && isfinite(reading.value);
}

/* The heading only where there is a value. */
static void put_series(page *p, const series *s, bool dcgm)
{
    bool headed = false;
    for (int i = 0; i < p->frame->gpu_count; i++) {
        const stk_reading reading = p->frame->gpu_frames[i].readings[s->metric];
        if (!is_told(reading)) continue;
        if (!headed) put_head(p, s->name, s->type, s->help);
        headed = true;
        put(p, s->name);
        put_gpu_labels(p, &p->frame->gpus[i], dcgm);
        put(p, "} ");
        put_number(p, reading.value * s->scale);
    }
}

/* State set: 1 for the active words, 0 for the others. */
static void put_word(page *p, const char *name, int gpu, const char *label, const char *word, bool holds)
{
    put(p, name);
    put_gpu_labels(p, &p->frame->gpus[gpu], false);
    put(p, ",");
    put_label(p, label, word);
    put(p, holds ? "} 1\n" : "} 0\n");
}

static void put_states(page *p)
{
    static const char name[] = "stoker_gpu_state";
    if (p->frame->gpu_count) put_head(p, name, GAUGE, "GPU state: 1 for the current one.");
    for (int i = 0; i < p->frame->gpu_count; i++)
        for (stk_gpu_state state = STK_GPU_GOOD; state <= STK_GPU_BARRED; state++)
            put_word(p, name, i, "state", stk_gpu_state_name(state), p->frame->gpu_frames[i].state == state);
}

static void put_throttles(page *p)
{
    static const char name[] = "stoker_gpu_throttled";
    static const char *const words[] = {"power", "heat", "brake", "sync", "user", "other"};
    bool headed = false;
    for (int i = 0; i < p->frame->gpu_count; i++) {
        const stk_reading throttle = p->frame->gpu_frames[i].readings[STK_METRIC_THROTTLE];
        if (!is_told(throttle)) continue;
        if (!headed) put_head(p, name, GAUGE, "Throttle reasons: 1 for those that are active.");
        headed = true;
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++)
            put_word(p, name, i, "reason", words[j], stk__throttle_bits(throttle) & 1u << j);
    }
}

static void put_single(page *p, const series *s, stk_reading reading)
{
    if (!is_told(reading)) return;
    put_head(p, s->name, s->type, s->help);
    put(p, s->name);
    put(p, " ");
    put_number(p, reading.value * s->scale);
}

static void put_host(page *p)
{
    const stk_host_frame *h = &p->frame->host;
    const struct {
        series series;
        stk_reading reading;
    } all[] = {
        {{"stoker_host_cpu_ratio", GAUGE, "CPU utilization of all usable CPUs together.", 0, 0.01},
         h->cpu_percent},
        {{"stoker_host_cpu_busiest_ratio", GAUGE, "CPU utilization of the busiest CPU.", 0, 0.01},
         h->cpu_max_percent},
        {{"stoker_host_memory_used_bytes", GAUGE, "Memory used.", 0, 1}, h->memory_used_bytes},
        {{"stoker_host_memory_size_bytes", GAUGE, "Total memory.", 0, 1}, h->memory_total_bytes},
        {{"stoker_host_disk_read_bytes_total", COUNTER, "Bytes read from disks.", 0, 1},
         h->disk_read_bytes_total},
        {{"stoker_host_disk_written_bytes_total", COUNTER, "Bytes written to disks.", 0, 1},
         h->disk_written_bytes_total},
        {{"stoker_host_cpu_pressure_ratio", GAUGE,
          "CPU pressure (PSI): share of time in which some task waited for a CPU.", 0, 0.01},
         h->cpu_pressure_percent},
        {{"stoker_host_io_pressure_ratio", GAUGE,
          "I/O pressure (PSI): share of time in which some task waited for storage.", 0, 0.01},
         h->io_pressure_percent},
        {{"stoker_host_memory_pressure_ratio", GAUGE,
          "Memory pressure (PSI): share of time in which some task waited for memory.", 0, 0.01},
         h->memory_pressure_percent},
        {{"stoker_host_quota_throttled_seconds_total", COUNTER,
          "Time throttled by the CPU quota of the cgroup.", 0, 1},
         h->quota_throttled_s},
        {{"stoker_job_cpus", GAUGE, "CPUs used by the job.", 0, 0.01}, h->job_cpu_percent},
        {{"stoker_job_memory_bytes", GAUGE, "Memory used by the job.", 0, 1}, h->job_memory_bytes},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        put_single(p, &all[i].series, all[i].reading);
}

static void put_monitor(page *p)
{
    const series frames = {"stoker_monitor_frames_total", COUNTER, "Frames sampled.", 0, 1},
                 moment = {"stoker_monitor_frame_timestamp_seconds", GAUGE,
                           "Time at the end of the last frame.", 0, 1};
    put_head(p, "stoker_build_info", GAUGE, "Version of stoker.");
    put(p, "stoker_build_info{");
    put_label(p, "version", stk_version());
    put(p, "} 1\n");
    put_single(p, &frames, (stk_reading){.value = (double)p->frame->number, .known = STK_KNOWN});
    put_single(p, &moment, (stk_reading){.value = round(p->frame->clock_s * 1e3) / 1e3, .known = STK_KNOWN});
}

stk_status stk__prometheus_text_write(stk__buffer *text, const stk_monitor_frame *frame, bool dcgm,
                                      stk_error *error)
{
    page p = {.text = text, .frame = frame};
    text->size_bytes = 0;
    put_monitor(&p);
    put_states(&p);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        put_series(&p, &own[i], false);
    put_throttles(&p);
    put_host(&p);
    for (size_t i = 0; dcgm && i < sizeof dcgm_names / sizeof dcgm_names[0]; i++)
        put_series(&p, &dcgm_names[i], true);
    return p.failed ? stk__fail_memory(error, text->size_bytes, "the metrics") : STK_OK;
}
