/* SPDX-License-Identifier: Apache-2.0 */
/* A libnvidia-ml.so.1 that plays a script: the file that STOKER_FAKE_NVML names, or what a test hands over.
 *
 *   GPU METRIC SHAPE NUMBERS…        curves, as in src/monitor/curve.h; `state` makes a GPU hung, lost, …
 *   gpus N                           how many there are (else those with curves)
 *   samples PER_SECOND BUFFER        of utilisation; 6 and 120 if not given
 *   clock realtime|boot              of the samples' stamps; realtime if not given
 *   clock step SECOND BY             it is set by so many seconds then
 *   counters wrap32|START            of PCIe bytes: wrap at 2^32; begin at START
 *   process GPU PID BYTES PERCENT    BYTES -1: not available
 *   mig GPU COUNT PROFILE            divided into so many parts
 *   fault FUNCTION [gpu K] [at N|from N|below N] fail CODE|hang S|garbage HH
 *
 * FUNCTION is a name of NVML or '*'. Calls are counted from 0, per function and GPU. `hang` comes back after
 * S seconds or when released; `garbage` fills what is told with that byte. */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

#include "monitor/curve.h"
#include "monitor/nvidia/nvml.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

enum { FAKE_FAULTS = 64, FAKE_PROCESSES = 64, FAKE_MIGS = 8, FAKE_ANY = -1 };

/* Every function that can be told to fail. */
#define FAKE_LIST(X)                                                                                         \
    X(nvmlInit_v2)                                                                                           \
    X(nvmlShutdown)                                                                                          \
    X(nvmlDeviceGetCount_v2)                                                                                 \
    X(nvmlDeviceGetHandleByIndex_v2)                                                                         \
    X(nvmlDeviceGetHandleByUUID)                                                                             \
    X(nvmlDeviceGetName)                                                                                     \
    X(nvmlDeviceGetUUID)                                                                                     \
    X(nvmlDeviceGetMigMode)                                                                                  \
    X(nvmlDeviceGetMaxMigDeviceCount)                                                                        \
    X(nvmlDeviceGetMigDeviceHandleByIndex)                                                                   \
    X(nvmlDeviceGetGpuInstanceId)                                                                            \
    X(nvmlDeviceGetSamples)                                                                                  \
    X(nvmlDeviceGetUtilizationRates)                                                                         \
    X(nvmlDeviceGetFieldValues)                                                                              \
    X(nvmlDeviceGetPowerUsage)                                                                               \
    X(nvmlDeviceGetEnforcedPowerLimit)                                                                       \
    X(nvmlDeviceGetTotalEnergyConsumption)                                                                   \
    X(nvmlDeviceGetMemoryInfo_v2)                                                                            \
    X(nvmlDeviceGetMemoryInfo)                                                                               \
    X(nvmlDeviceGetTemperatureV)                                                                             \
    X(nvmlDeviceGetTemperature)                                                                              \
    X(nvmlDeviceGetTemperatureThreshold)                                                                     \
    X(nvmlDeviceGetFanSpeed)                                                                                 \
    X(nvmlDeviceGetClockInfo)                                                                                \
    X(nvmlDeviceGetMaxClockInfo)                                                                             \
    X(nvmlDeviceGetCurrentClocksEventReasons)                                                                \
    X(nvmlDeviceGetViolationStatus)                                                                          \
    X(nvmlDeviceGetPcieThroughput)                                                                           \
    X(nvmlDeviceGetCurrPcieLinkGeneration)                                                                   \
    X(nvmlDeviceGetMaxPcieLinkGeneration)                                                                    \
    X(nvmlDeviceGetCurrPcieLinkWidth)                                                                        \
    X(nvmlDeviceGetMaxPcieLinkWidth)                                                                         \
    X(nvmlDeviceGetComputeRunningProcesses_v3)                                                               \
    X(nvmlDeviceGetComputeRunningProcesses)                                                                  \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3)                                                              \
    X(nvmlDeviceGetGraphicsRunningProcesses)                                                                 \
    X(nvmlDeviceGetProcessUtilization)                                                                       \
    X(nvmlGpmQueryDeviceSupport)                                                                             \
    X(nvmlGpmSampleAlloc)                                                                                    \
    X(nvmlGpmSampleFree)                                                                                     \
    X(nvmlGpmSampleGet)                                                                                      \
    X(nvmlGpmMigSampleGet)                                                                                   \
    X(nvmlGpmMetricsGet)

typedef enum fake_function {
#define FAKE_ENUM(name) FAKE_##name,
    FAKE_LIST(FAKE_ENUM)
#undef FAKE_ENUM
        FAKE_FUNCTIONS
} fake_function;

typedef struct fake_fault {
    int function, gpu; /* FAKE_ANY */
    long from, to;     /* calls [from, to) */
    enum { FAULT_FAIL, FAULT_HANG, FAULT_GARBAGE } kind;
    double number; /* code, seconds or byte */
} fake_fault;

typedef struct fake_process {
    int gpu;
    unsigned pid;
    double bytes, percent;
} fake_process;

typedef struct fake_script {
    stk__curves *curves;
    uint64_t start_ns; /* second 0 of the curves */
    double clock_s;    /* the driver's clock then */
    int gpu_count;
    double samples_per_s;
    int sample_buffer;
    bool boot_clock, wrap32;
    double step_at_s, step_by_s; /* of the driver's clock */
    double counter_start;
    int mig_count[STK_GPUS];
    char mig_profile[STK_GPUS][16];
    int process_count, fault_count;
    fake_process processes[FAKE_PROCESSES];
    fake_fault faults[FAKE_FAULTS];
} fake_script;

/* A device handle. mig: number of the part; -1: the whole GPU. */
typedef struct fake_device {
    int gpu, mig;
} fake_device;

extern fake_script fake; /* set by fake_nvml_play; read by all */

double fake_second(void);
bool fake_read_script(fake_script *script, const char *text, stk_error *error);

/* Begins a call: counts it, hangs, fails. *garbage: the byte to fill with; -1: none. */
int fake_enter(fake_function function, const void *device, int *garbage);
int fake_spoil(int garbage, void *told, size_t size); /* fills, gives success */

/* For tests, found by dlsym: plays another script (seconds begin anew), lets all that hang come back, counts.
 * Nothing may be under way except calls that hang. */
FAKE_EXPORT const char *fake_nvml_play(const char *text); /* NULL: good; else why not */
FAKE_EXPORT void fake_nvml_release(void);
FAKE_EXPORT long fake_nvml_calls(const char *function, int gpu);

#endif
