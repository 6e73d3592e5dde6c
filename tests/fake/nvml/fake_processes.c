/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and GPM samples of the fake NVML: lists of compute and graphics processes in both layouts, and
 * activity over a span. */
#include "fake_nvml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int gpu_of(const void *device)
{
    return ((const fake_device *)device)->gpu;
}

static int count_processes(int gpu)
{
    int count = 0;
    for (int i = 0; i < fake.process_count; i++)
        count += fake.processes[i].gpu == gpu;
    return count;
}

static unsigned long long bytes_of(const fake_process *process)
{
    return process->bytes < 0 ? ~0ull : (unsigned long long)process->bytes;
}

/* item: bytes from one entry to the next. All of them begin with a stk__nvml_process1. */
static int list_processes(fake_function function, const void *device, unsigned *count, void *list,
                          size_t item)
{
    int garbage;
    const int gpu = gpu_of(device), result = fake_enter(function, device, &garbage);
    if (result) return result;
    const unsigned there = (unsigned)count_processes(gpu);
    if (*count < there) {
        *count = there;
        return STK_NVML_INSUFFICIENT_SIZE;
    }
    *count = there;
    unsigned told = 0;
    for (int i = 0; i < fake.process_count; i++) {
        if (fake.processes[i].gpu != gpu) continue;
        const stk__nvml_process1 head = {.pid = fake.processes[i].pid, .used = bytes_of(&fake.processes[i])};
        memcpy((char *)list + told++ * item, &head, sizeof head);
    }
    return there ? fake_spoil(garbage, list, there * item) : STK_NVML_SUCCESS;
}

FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, stk__nvml_process1 *list);
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, stk__nvml_process1 *list)
{
    return list_processes(FAKE_nvmlDeviceGetComputeRunningProcesses, device, count, list, sizeof *list);
}

FAKE_EXPORT int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned *count,
                                                      stk__nvml_process1 *list);
int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned *count, stk__nvml_process1 *list)
{
    int garbage;
    (void)list;
    *count = 0;
    return fake_enter(FAKE_nvmlDeviceGetGraphicsRunningProcesses, device, &garbage);
}

FAKE_EXPORT int nvmlDeviceGetProcessUtilization(void *device, stk__nvml_process_load *loads, unsigned *count,
                                                unsigned long long last_us);
int nvmlDeviceGetProcessUtilization(void *device, stk__nvml_process_load *loads, unsigned *count,
                                    unsigned long long last_us)
{
    int garbage;
    const int gpu = gpu_of(device),
              result = fake_enter(FAKE_nvmlDeviceGetProcessUtilization, device, &garbage);
    if (result) return result;
    const unsigned room = 100; /* as drivers do: room for so many, whatever is there */
    if (!loads || *count < room) {
        *count = room;
        return STK_NVML_INSUFFICIENT_SIZE;
    }
    *count = 0;
    const unsigned long long now_us = (unsigned long long)(fake_second() * 1e6) + 1;
    for (int i = 0; i < fake.process_count && now_us > last_us; i++)
        if (fake.processes[i].gpu == gpu)
            loads[(*count)++] = (stk__nvml_process_load){
                .pid = fake.processes[i].pid, .stamp_us = now_us, .sm = (unsigned)fake.processes[i].percent};
    if (!*count) return STK_NVML_NOT_FOUND;
    for (unsigned i = 0; garbage >= 0 && i < *count; i++)
        fake_spoil(garbage, &loads[i].sm, sizeof loads[i].sm);
    return STK_NVML_SUCCESS;
}

#ifndef FAKE_OLD
FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                                        stk__nvml_process *list);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, stk__nvml_process *list)
{
    return list_processes(FAKE_nvmlDeviceGetComputeRunningProcesses_v3, device, count, list, sizeof *list);
}

FAKE_EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count,
                                                         stk__nvml_process *list);
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, stk__nvml_process *list)
{
    int garbage;
    (void)list;
    *count = 0;
    return fake_enter(FAKE_nvmlDeviceGetGraphicsRunningProcesses_v3, device, &garbage);
}

/* A moment of a GPU, or of a part. */
typedef struct gpm_sample {
    int gpu;
    double second;
} gpm_sample;

static bool has_gpm(int gpu)
{
    double value;
    return stk__curves_at(fake.curves, gpu, STK_METRIC_SM_ACTIVE, 0, &value);
}

FAKE_EXPORT int nvmlGpmQueryDeviceSupport(void *device, stk__nvml_gpm_support *support);
int nvmlGpmQueryDeviceSupport(void *device, stk__nvml_gpm_support *support)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlGpmQueryDeviceSupport, device, &garbage);
    if (result) return result;
    support->supported = has_gpm(gpu_of(device));
    return fake_spoil(garbage, &support->supported, sizeof support->supported);
}

FAKE_EXPORT int nvmlGpmSampleAlloc(void **sample);
int nvmlGpmSampleAlloc(void **sample)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlGpmSampleAlloc, NULL, &garbage);
    if (result) return result;
    *sample = calloc(1, sizeof(gpm_sample));
    return *sample ? STK_NVML_SUCCESS : STK_NVML_UNKNOWN;
}

FAKE_EXPORT int nvmlGpmSampleFree(void *sample);
int nvmlGpmSampleFree(void *sample)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlGpmSampleFree, NULL, &garbage);
    free(sample); /* even when it says that it failed */
    return result;
}

static int take_sample(fake_function function, const void *device, void *sample)
{
    int garbage;
    const int result = fake_enter(function, device, &garbage);
    if (result) return result;
    if (!has_gpm(gpu_of(device))) return STK_NVML_NOT_SUPPORTED;
    *(gpm_sample *)sample = (gpm_sample){.gpu = gpu_of(device), .second = fake_second()};
    return STK_NVML_SUCCESS;
}

FAKE_EXPORT int nvmlGpmSampleGet(void *device, void *sample);
int nvmlGpmSampleGet(void *device, void *sample)
{
    return take_sample(FAKE_nvmlGpmSampleGet, device, sample);
}

FAKE_EXPORT int nvmlGpmMigSampleGet(void *device, unsigned gpu_instance, void *sample);
int nvmlGpmMigSampleGet(void *device, unsigned gpu_instance, void *sample)
{
    if (gpu_instance < 7) return STK_NVML_INVALID_ARGUMENT;
    return take_sample(FAKE_nvmlGpmMigSampleGet, device, sample);
}

static void tell_metric(const gpm_sample *a, const gpm_sample *b, stk__nvml_gpm_metric *metric)
{
    const stk_metric wanted = metric->id == STK_NVML_GPM_SM       ? STK_METRIC_SM_ACTIVE
                              : metric->id == STK_NVML_GPM_TENSOR ? STK_METRIC_TENSOR_ACTIVE
                                                                  : STK_METRIC_DRAM_ACTIVE;
    const bool told = stk__curves_mean(fake.curves, a->gpu, wanted, a->second, b->second, &metric->value);
    metric->result = told ? STK_NVML_SUCCESS : STK_NVML_NOT_SUPPORTED;
}

FAKE_EXPORT int nvmlGpmMetricsGet(stk__nvml_gpm_list *list);
int nvmlGpmMetricsGet(stk__nvml_gpm_list *list)
{
    int garbage;
    const gpm_sample *a = list->sample1, *b = list->sample2;
    const fake_device device = {.gpu = a->gpu, .mig = -1};
    const int result = fake_enter(FAKE_nvmlGpmMetricsGet, &device, &garbage);
    if (result) return result;
    if (list->version != 1 || b->second <= a->second) return STK_NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; i < list->count; i++) {
        tell_metric(a, b, &list->metrics[i]);
        fake_spoil(garbage, &list->metrics[i].value, sizeof list->metrics[i].value);
    }
    return STK_NVML_SUCCESS;
}
#endif
