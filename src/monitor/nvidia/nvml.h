/* SPDX-License-Identifier: Apache-2.0 */
/* What Stoker uses of NVIDIA's management library, declared from its public documentation. The library is
 * opened at run time; every function may be missing. */
#ifndef STK_MONITOR_NVML_H
#define STK_MONITOR_NVML_H

#include "core/error.h"

enum { /* results */
       STK_NVML_SUCCESS = 0,
       STK_NVML_UNINITIALIZED = 1,
       STK_NVML_INVALID_ARGUMENT = 2,
       STK_NVML_NOT_SUPPORTED = 3,
       STK_NVML_NO_PERMISSION = 4,
       STK_NVML_NOT_FOUND = 6,
       STK_NVML_INSUFFICIENT_SIZE = 7,
       STK_NVML_DRIVER_NOT_LOADED = 9,
       STK_NVML_TIMEOUT = 10,
       STK_NVML_FUNCTION_NOT_FOUND = 13,
       STK_NVML_GPU_IS_LOST = 15,
       STK_NVML_RESET_REQUIRED = 16,
       STK_NVML_VERSION_MISMATCH = 18,
       STK_NVML_IN_USE = 19,
       STK_NVML_NO_DATA = 21,
       STK_NVML_ARGUMENT_VERSION_MISMATCH = 25,
       STK_NVML_DEPRECATED = 26,
       STK_NVML_NOT_READY = 27,
       STK_NVML_GPU_NOT_FOUND = 28,
       STK_NVML_UNKNOWN = 999
};

enum { /* choices of single functions */
       STK_NVML_GPU_SAMPLES = 1,
       STK_NVML_MEMORY_SAMPLES = 2,
       STK_NVML_THRESHOLD_SLOWDOWN = 1,
       STK_NVML_THRESHOLD_GPU_MAX = 3,
       STK_NVML_CLOCK_SM = 1,
       STK_NVML_CLOCK_MEMORY = 2,
       STK_NVML_PCIE_SENT = 0,
       STK_NVML_PCIE_RECEIVED = 1,
       STK_NVML_POLICY_POWER = 0,
       STK_NVML_POLICY_HEAT = 1,
       STK_NVML_GPM_SM = 2,
       STK_NVML_GPM_TENSOR = 5,
       STK_NVML_GPM_DRAM = 10,
       STK_NVML_GPM_MOST = 512, /* metrics a list has room for; drivers know 477 so far */
       STK_NVML_NAME_BYTES = 96
};

enum { /* bits of clocksEventReasons */
       STK_NVML_REASON_IDLE = 0x1,
       STK_NVML_REASON_APPLICATION = 0x2,
       STK_NVML_REASON_POWER_CAP = 0x4,
       STK_NVML_REASON_HW_SLOWDOWN = 0x8,
       STK_NVML_REASON_SYNC = 0x10,
       STK_NVML_REASON_SW_HEAT = 0x20,
       STK_NVML_REASON_HW_HEAT = 0x40,
       STK_NVML_REASON_POWER_BRAKE = 0x80,
       STK_NVML_REASON_DISPLAY = 0x100
};

enum {                                      /* numbers of fields */
       STK_NVML_FIELD_THROTTLED_POWER = 74, /* ns */
       STK_NVML_FIELD_THROTTLED_HEAT = 75,  /* ns */
       STK_NVML_FIELD_MEMORY_TEMPERATURE = 82,
       STK_NVML_FIELD_POWER_INSTANT = 186, /* mW */
       STK_NVML_FIELD_PCIE_SENT = 197,     /* bytes, may wrap */
       STK_NVML_FIELD_PCIE_RECEIVED = 198
};

typedef enum stk__nvml_type {
    STK_NVML_DOUBLE,
    STK_NVML_UINT,
    STK_NVML_ULONG,
    STK_NVML_ULONGLONG,
    STK_NVML_LONGLONG,
    STK_NVML_INT,
    STK_NVML_USHORT
} stk__nvml_type;

typedef union stk__nvml_value {
    double as_double;
    int as_int;
    unsigned as_uint;
    unsigned long as_ulong;
    unsigned long long as_ulonglong;
    long long as_longlong;
    unsigned short as_ushort;
} stk__nvml_value;

typedef struct stk__nvml_sample {
    unsigned long long stamp_us; /* of a clock that is the driver's own */
    stk__nvml_value value;
} stk__nvml_sample;

typedef struct stk__nvml_field {
    unsigned id, scope;
    long long stamp_us, latency_us;
    int type, result;
    stk__nvml_value value;
} stk__nvml_field;

typedef struct stk__nvml_rates {
    unsigned gpu, memory; /* percent */
} stk__nvml_rates;

typedef struct stk__nvml_memory {
    unsigned long long total, free, used;
} stk__nvml_memory;

typedef struct stk__nvml_memory2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
} stk__nvml_memory2;

typedef struct stk__nvml_temperature {
    unsigned version;
    int sensor, temperature;
} stk__nvml_temperature;

typedef struct stk__nvml_violation {
    unsigned long long reference_us, violation_ns;
} stk__nvml_violation;

typedef struct stk__nvml_process1 {
    unsigned pid;
    unsigned long long used;
} stk__nvml_process1;

typedef struct stk__nvml_process { /* of _v2 and _v3 */
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} stk__nvml_process;

typedef struct stk__nvml_process_load {
    unsigned pid;
    unsigned long long stamp_us;
    unsigned sm, memory, encoder, decoder; /* percent */
} stk__nvml_process_load;

typedef struct stk__nvml_gpm_metric {
    unsigned id;
    int result;
    double value;
    struct {
        char *short_name, *long_name, *unit;
    } info;
} stk__nvml_gpm_metric;

typedef struct stk__nvml_gpm_list {
    unsigned version, count;
    void *sample1, *sample2;
    stk__nvml_gpm_metric metrics[STK_NVML_GPM_MOST];
} stk__nvml_gpm_list;

typedef struct stk__nvml_gpm_support {
    unsigned version, supported;
} stk__nvml_gpm_support;

/* A version in the upper byte, the size of the struct below. */
#define STK_NVML_VERSION(type, number) ((unsigned)sizeof(type) | (unsigned)(number) << 24)

/* Field of the table, names (newest first), parameters. All give a result, except error_text. */
#define STK_NVML_LIST(X)                                                                                     \
    X(init, "nvmlInit_v2 nvmlInit", (void))                                                                  \
    X(shutdown, "nvmlShutdown", (void))                                                                      \
    X(device_count, "nvmlDeviceGetCount_v2 nvmlDeviceGetCount", (unsigned *count))                           \
    X(by_index, "nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByIndex", (unsigned index, void **device)) \
    X(by_uuid, "nvmlDeviceGetHandleByUUID", (const char *uuid, void **device))                               \
    X(name, "nvmlDeviceGetName", (void *device, char *name, unsigned length))                                \
    X(uuid, "nvmlDeviceGetUUID", (void *device, char *uuid, unsigned length))                                \
    X(samples, "nvmlDeviceGetSamples",                                                                       \
      (void *device, int kind, unsigned long long last_us, int *type, unsigned *count,                       \
       stk__nvml_sample *samples))                                                                           \
    X(rates, "nvmlDeviceGetUtilizationRates", (void *device, stk__nvml_rates *rates))                        \
    X(fields, "nvmlDeviceGetFieldValues", (void *device, int count, stk__nvml_field *fields))                \
    X(power, "nvmlDeviceGetPowerUsage", (void *device, unsigned *milliwatts))                                \
    X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (void *device, unsigned *milliwatts))                  \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", (void *device, unsigned long long *millijoules))        \
    X(memory2, "nvmlDeviceGetMemoryInfo_v2", (void *device, stk__nvml_memory2 *memory))                      \
    X(memory, "nvmlDeviceGetMemoryInfo", (void *device, stk__nvml_memory *memory))                           \
    X(temperature1, "nvmlDeviceGetTemperatureV", (void *device, stk__nvml_temperature *temperature))         \
    X(temperature, "nvmlDeviceGetTemperature", (void *device, int sensor, unsigned *celsius))                \
    X(threshold, "nvmlDeviceGetTemperatureThreshold", (void *device, int threshold, unsigned *celsius))      \
    X(fan, "nvmlDeviceGetFanSpeed", (void *device, unsigned *percent))                                       \
    X(clock, "nvmlDeviceGetClockInfo", (void *device, int clock, unsigned *megahertz))                       \
    X(clock_max, "nvmlDeviceGetMaxClockInfo", (void *device, int clock, unsigned *megahertz))                \
    X(reasons, "nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons",           \
      (void *device, unsigned long long *reasons))                                                           \
    X(violation, "nvmlDeviceGetViolationStatus", (void *device, int policy, stk__nvml_violation *time))      \
    X(pcie_rate, "nvmlDeviceGetPcieThroughput", (void *device, int counter, unsigned *kilobytes_per_s))      \
    X(link_generation, "nvmlDeviceGetCurrPcieLinkGeneration", (void *device, unsigned *generation))          \
    X(link_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration", (void *device, unsigned *generation))       \
    X(link_width, "nvmlDeviceGetCurrPcieLinkWidth", (void *device, unsigned *lanes))                         \
    X(link_width_max, "nvmlDeviceGetMaxPcieLinkWidth", (void *device, unsigned *lanes))                      \
    X(compute2, "nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetComputeRunningProcesses_v2",           \
      (void *device, unsigned *count, stk__nvml_process *processes))                                         \
    X(compute1, "nvmlDeviceGetComputeRunningProcesses",                                                      \
      (void *device, unsigned *count, stk__nvml_process1 *processes))                                        \
    X(graphics2, "nvmlDeviceGetGraphicsRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses_v2",        \
      (void *device, unsigned *count, stk__nvml_process *processes))                                         \
    X(graphics1, "nvmlDeviceGetGraphicsRunningProcesses",                                                    \
      (void *device, unsigned *count, stk__nvml_process1 *processes))                                        \
    X(process_loads, "nvmlDeviceGetProcessUtilization",                                                      \
      (void *device, stk__nvml_process_load *loads, unsigned *count, unsigned long long last_us))            \
    X(gpm_support, "nvmlGpmQueryDeviceSupport", (void *device, stk__nvml_gpm_support *support))              \
    X(gpm_alloc, "nvmlGpmSampleAlloc", (void **sample))                                                      \
    X(gpm_free, "nvmlGpmSampleFree", (void *sample))                                                         \
    X(gpm_get, "nvmlGpmSampleGet", (void *device, void *sample))                                             \
    X(gpm_get_mig, "nvmlGpmMigSampleGet", (void *device, unsigned gpu_instance, void *sample))               \
    X(gpm_metrics, "nvmlGpmMetricsGet", (stk__nvml_gpm_list * list))                                         \
    X(mig_mode, "nvmlDeviceGetMigMode", (void *device, unsigned *now, unsigned *pending))                    \
    X(mig_most, "nvmlDeviceGetMaxMigDeviceCount", (void *device, unsigned *count))                           \
    X(mig_device, "nvmlDeviceGetMigDeviceHandleByIndex", (void *device, unsigned index, void **mig))         \
    X(mig_instance, "nvmlDeviceGetGpuInstanceId", (void *device, unsigned *id))

typedef struct stk__nvml {
    void *library;
    const char *(*error_text)(int result);
#define STK_NVML_POINTER(field, names, parameters) int(*field) parameters;
    STK_NVML_LIST(STK_NVML_POINTER)
#undef STK_NVML_POINTER
} stk__nvml;

/* Opens the library and finds its functions; init is not called. STOKER_NVML is the path of another file. The
 * library is never closed. STK_ERROR_UNSUPPORTED with the reason when it is missing or lacks essential
 * functions. */
stk_status stk__nvml_open(stk__nvml *nvml, stk_error *error);

const char *stk__nvml_result_text(const stk__nvml *nvml, int result); /* never NULL */

/* Sentinels and NaN give false. */
bool stk__nvml_number(stk__nvml_value value, int type, double *number);

#endif
