/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake tells of a GPU. */
#include "fake_nvml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int gpu_of(const void *device)
{
    return ((const fake_device *)device)->gpu;
}

static bool is_part(const void *device)
{
    return ((const fake_device *)device)->mig >= 0;
}

/* The curve's value now; false: this GPU does not have it. */
static bool value_now(const void *device, stk_metric metric, double *value)
{
    return !is_part(device) && stk__curves_at(fake.curves, gpu_of(device), metric, fake_second(), value);
}

static bool total_now(const void *device, stk_metric metric, double *value)
{
    return !is_part(device) && stk__curves_total(fake.curves, gpu_of(device), metric, fake_second(), value);
}

/* A whole number that a function tells. */
static int tell(fake_function function, const void *device, stk_metric metric, double scale, unsigned *told)
{
    int garbage;
    double value;
    const int result = fake_enter(function, device, &garbage);
    if (result) return result;
    if (!value_now(device, metric, &value)) return STK_NVML_NOT_SUPPORTED;
    *told = (unsigned)lround(value * scale);
    return fake_spoil(garbage, told, sizeof *told);
}

#define TELLER(function, metric, scale)                                                                      \
    FAKE_EXPORT int function(void *device, unsigned *told);                                                  \
    int function(void *device, unsigned *told)                                                               \
    {                                                                                                        \
        return tell(FAKE_##function, device, metric, scale, told);                                           \
    }
TELLER(nvmlDeviceGetPowerUsage, STK_METRIC_POWER, 1000)
TELLER(nvmlDeviceGetEnforcedPowerLimit, STK_METRIC_POWER_LIMIT, 1000)
TELLER(nvmlDeviceGetFanSpeed, STK_METRIC_FAN, 1)
TELLER(nvmlDeviceGetCurrPcieLinkGeneration, STK_METRIC_LINK_GENERATION, 1)
TELLER(nvmlDeviceGetMaxPcieLinkGeneration, STK_METRIC_LINK_GENERATION_MAX, 1)
TELLER(nvmlDeviceGetCurrPcieLinkWidth, STK_METRIC_LINK_WIDTH, 1)
TELLER(nvmlDeviceGetMaxPcieLinkWidth, STK_METRIC_LINK_WIDTH_MAX, 1)

FAKE_EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *told);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *told)
{
    if (sensor) return STK_NVML_INVALID_ARGUMENT;
    return tell(FAKE_nvmlDeviceGetTemperature, device, STK_METRIC_TEMPERATURE, 1, told);
}

FAKE_EXPORT int nvmlDeviceGetTemperatureThreshold(void *device, int threshold, unsigned *told);
int nvmlDeviceGetTemperatureThreshold(void *device, int threshold, unsigned *told)
{
    const int result =
        tell(FAKE_nvmlDeviceGetTemperatureThreshold, device, STK_METRIC_TEMPERATURE_LIMIT, 1, told);
    return !result && threshold != STK_NVML_THRESHOLD_SLOWDOWN ? STK_NVML_NOT_SUPPORTED : result;
}

FAKE_EXPORT int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *told);
int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *told)
{
    return tell(FAKE_nvmlDeviceGetClockInfo, device,
                clock == STK_NVML_CLOCK_MEMORY ? STK_METRIC_MEMORY_CLOCK : STK_METRIC_SM_CLOCK, 1, told);
}

FAKE_EXPORT int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *told);
int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *told)
{
    return tell(FAKE_nvmlDeviceGetMaxClockInfo, device,
                clock == STK_NVML_CLOCK_MEMORY ? STK_METRIC_MEMORY_CLOCK_MAX : STK_METRIC_SM_CLOCK_MAX, 1,
                told);
}

FAKE_EXPORT int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *told);
int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *told)
{
    return tell(FAKE_nvmlDeviceGetPcieThroughput, device,
                counter == STK_NVML_PCIE_SENT ? STK_METRIC_PCIE_SENT : STK_METRIC_PCIE_RECEIVED, 1 / 1024.,
                told);
}

FAKE_EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *told);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *told)
{
    int garbage;
    double joules;
    const int result = fake_enter(FAKE_nvmlDeviceGetTotalEnergyConsumption, device, &garbage);
    if (result) return result;
    if (!total_now(device, STK_METRIC_ENERGY, &joules)) return STK_NVML_NOT_SUPPORTED;
    *told = (unsigned long long)(joules * 1000);
    return fake_spoil(garbage, told, sizeof *told);
}

/* A part of a divided GPU has its share. */
static int tell_memory(fake_function function, const void *device, stk__nvml_memory *memory, int *garbage)
{
    double total, used;
    const int result = fake_enter(function, device, garbage);
    if (result) return result;
    const int gpu = gpu_of(device);
    if (!stk__curves_at(fake.curves, gpu, STK_METRIC_MEMORY_TOTAL, fake_second(), &total) ||
        !stk__curves_at(fake.curves, gpu, STK_METRIC_MEMORY_USED, fake_second(), &used))
        return STK_NVML_NOT_SUPPORTED;
    const double share = is_part(device) ? 1. / fake.mig_count[gpu] : 1;
    memory->total = (unsigned long long)(total * share);
    memory->used = (unsigned long long)(used * share);
    memory->free = memory->total - memory->used;
    return STK_NVML_SUCCESS;
}

FAKE_EXPORT int nvmlDeviceGetMemoryInfo(void *device, stk__nvml_memory *memory);
int nvmlDeviceGetMemoryInfo(void *device, stk__nvml_memory *memory)
{
    int garbage;
    const int result = tell_memory(FAKE_nvmlDeviceGetMemoryInfo, device, memory, &garbage);
    return result ? result : fake_spoil(garbage, memory, sizeof *memory);
}

FAKE_EXPORT int nvmlDeviceGetUtilizationRates(void *device, stk__nvml_rates *rates);
int nvmlDeviceGetUtilizationRates(void *device, stk__nvml_rates *rates)
{
    int garbage;
    double util, memory = 0;
    const int gpu = gpu_of(device), result = fake_enter(FAKE_nvmlDeviceGetUtilizationRates, device, &garbage);
    if (result) return result;
    const double now_s = fake_second(), from_s = now_s - 1 / fake.samples_per_s;
    if (is_part(device) || !stk__curves_mean(fake.curves, gpu, STK_METRIC_UTIL, from_s, now_s, &util))
        return STK_NVML_NOT_SUPPORTED;
    stk__curves_mean(fake.curves, gpu, STK_METRIC_MEMORY_BUSY, from_s, now_s, &memory);
    *rates = (stk__nvml_rates){(unsigned)lround(util), (unsigned)lround(memory)};
    return fake_spoil(garbage, rates, sizeof *rates);
}

/* Microseconds of the driver's clock at a second of the script. */
static unsigned long long stamp_of(double second)
{
    const double stepped = second >= fake.step_at_s ? fake.step_by_s : 0;
    return (unsigned long long)llround((fake.clock_s + second + stepped) * 1e6);
}

FAKE_EXPORT int nvmlDeviceGetSamples(void *device, int kind, unsigned long long last_us, int *type,
                                     unsigned *count, stk__nvml_sample *samples);
int nvmlDeviceGetSamples(void *device, int kind, unsigned long long last_us, int *type, unsigned *count,
                         stk__nvml_sample *samples)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlDeviceGetSamples, device, &garbage);
    if (result) return result;
    const stk_metric metric = kind == STK_NVML_GPU_SAMPLES ? STK_METRIC_UTIL : STK_METRIC_MEMORY_BUSY;
    const double newest = floor(fake_second() * fake.samples_per_s);
    double value;
    if (is_part(device) || fake.samples_per_s <= 0 || !value_now(device, metric, &value))
        return STK_NVML_NOT_SUPPORTED;
    *type = STK_NVML_UINT;
    unsigned told = 0;
    const unsigned room = samples ? *count : ~0u;
    for (double k = newest - fake.sample_buffer + 1; k <= newest && told < room; k++) {
        const double to_s = k / fake.samples_per_s, from_s = (k - 1) / fake.samples_per_s;
        if (stamp_of(to_s) <= last_us) continue;
        stk__curves_mean(fake.curves, gpu_of(device), metric, from_s, to_s, &value);
        if (samples) {
            samples[told] = (stk__nvml_sample){.stamp_us = stamp_of(to_s)};
            samples[told].value.as_uint = (unsigned)lround(value);
        }
        told++;
    }
    *count = told;
    if (!told) return STK_NVML_NOT_FOUND;
    return samples ? fake_spoil(garbage, samples, told * sizeof *samples) : STK_NVML_SUCCESS;
}

static unsigned long long pcie_bytes(const void *device, stk_metric metric, bool *there)
{
    double bytes = 0;
    *there = total_now(device, metric, &bytes);
    bytes += fake.counter_start;
    return (unsigned long long)(fake.wrap32 ? fmod(bytes, 4294967296.0) : bytes);
}

static void tell_field(const void *device, stk__nvml_field *field)
{
    double value = 0;
    bool there = false;
    field->type = STK_NVML_ULONGLONG;
    switch (field->id) {
    case STK_NVML_FIELD_POWER_INSTANT:
        there = value_now(device, STK_METRIC_POWER, &value);
        field->type = STK_NVML_UINT;
        field->value.as_uint = (unsigned)lround(value * 1000);
        break;
    case STK_NVML_FIELD_MEMORY_TEMPERATURE:
        there = value_now(device, STK_METRIC_MEMORY_TEMPERATURE, &value);
        field->type = STK_NVML_UINT;
        field->value.as_uint = (unsigned)lround(value);
        break;
    case STK_NVML_FIELD_THROTTLED_POWER:
    case STK_NVML_FIELD_THROTTLED_HEAT:
        there = total_now(device,
                          field->id == STK_NVML_FIELD_THROTTLED_POWER ? STK_METRIC_THROTTLED_POWER
                                                                      : STK_METRIC_THROTTLED_HEAT,
                          &value);
        field->value.as_ulonglong = (unsigned long long)(value * 1e9);
        break;
    case STK_NVML_FIELD_PCIE_SENT:
        field->value.as_ulonglong = pcie_bytes(device, STK_METRIC_PCIE_SENT, &there);
        break;
    case STK_NVML_FIELD_PCIE_RECEIVED:
        field->value.as_ulonglong = pcie_bytes(device, STK_METRIC_PCIE_RECEIVED, &there);
        break;
    default:
        break;
    }
    field->result = there ? STK_NVML_SUCCESS : STK_NVML_NOT_SUPPORTED;
}

FAKE_EXPORT int nvmlDeviceGetViolationStatus(void *device, int policy, stk__nvml_violation *time);
int nvmlDeviceGetViolationStatus(void *device, int policy, stk__nvml_violation *time)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlDeviceGetViolationStatus, device, &garbage);
    if (result) return result;
    stk__nvml_field field = {.id = policy == STK_NVML_POLICY_POWER ? STK_NVML_FIELD_THROTTLED_POWER
                                                                   : STK_NVML_FIELD_THROTTLED_HEAT};
    tell_field(device, &field);
    *time = (stk__nvml_violation){.violation_ns = field.value.as_ulonglong};
    return field.result ? field.result : fake_spoil(garbage, time, sizeof *time);
}

static unsigned long long reasons_of(int throttle)
{
    return (throttle & STK_THROTTLE_POWER ? STK_NVML_REASON_POWER_CAP : 0ull) |
           (throttle & STK_THROTTLE_HEAT ? STK_NVML_REASON_SW_HEAT : 0ull) |
           (throttle & STK_THROTTLE_BRAKE ? STK_NVML_REASON_POWER_BRAKE | STK_NVML_REASON_HW_SLOWDOWN
                                          : 0ull) |
           (throttle & STK_THROTTLE_SYNC ? STK_NVML_REASON_SYNC : 0ull) |
           (throttle & STK_THROTTLE_USER ? STK_NVML_REASON_APPLICATION : 0ull) |
           (throttle & STK_THROTTLE_OTHER ? STK_NVML_REASON_DISPLAY : 0ull);
}

static int tell_reasons(void *device, unsigned long long *reasons)
{
    int garbage;
    double throttle;
    const int result = fake_enter(FAKE_nvmlDeviceGetCurrentClocksEventReasons, device, &garbage);
    if (result) return result;
    if (!value_now(device, STK_METRIC_THROTTLE, &throttle)) return STK_NVML_NOT_SUPPORTED;
    *reasons = reasons_of((int)throttle);
    return fake_spoil(garbage, reasons, sizeof *reasons);
}

#ifdef FAKE_OLD
FAKE_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    (void)tell_field;
    return tell_reasons(device, reasons);
}
#else
FAKE_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    return tell_reasons(device, reasons);
}

FAKE_EXPORT int nvmlDeviceGetFieldValues(void *device, int count, stk__nvml_field *fields);
int nvmlDeviceGetFieldValues(void *device, int count, stk__nvml_field *fields)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlDeviceGetFieldValues, device, &garbage);
    if (result) return result;
    for (int i = 0; i < count; i++) {
        tell_field(device, &fields[i]);
        fake_spoil(garbage, &fields[i].value, sizeof fields[i].value);
    }
    return STK_NVML_SUCCESS;
}

FAKE_EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, stk__nvml_memory2 *memory);
int nvmlDeviceGetMemoryInfo_v2(void *device, stk__nvml_memory2 *memory)
{
    int garbage;
    stk__nvml_memory plain;
    if (memory->version != STK_NVML_VERSION(stk__nvml_memory2, 2)) return STK_NVML_ARGUMENT_VERSION_MISMATCH;
    const int result = tell_memory(FAKE_nvmlDeviceGetMemoryInfo_v2, device, &plain, &garbage);
    if (result) return result;
    memory->total = plain.total;
    memory->used = plain.used;
    memory->free = plain.free;
    memory->reserved = 0;
    return fake_spoil(garbage, &memory->total, 4 * sizeof memory->total);
}

FAKE_EXPORT int nvmlDeviceGetTemperatureV(void *device, stk__nvml_temperature *heat);
int nvmlDeviceGetTemperatureV(void *device, stk__nvml_temperature *heat)
{
    if (heat->version != STK_NVML_VERSION(stk__nvml_temperature, 1))
        return STK_NVML_ARGUMENT_VERSION_MISMATCH;
    unsigned told = 0;
    const int result = tell(FAKE_nvmlDeviceGetTemperatureV, device, STK_METRIC_TEMPERATURE, 1, &told);
    if (!result) heat->temperature = (int)told;
    return result;
}
#endif
