/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the fake: its script, its clock, faults, handles. */
#include "fake_nvml.h"

#include "core/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_script fake;
_Atomic long fake_calls[FAKE_FUNCTIONS][STK_GPUS + 1]; /* the last column: calls without a GPU */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int generation; /* lock: counts releases */
static bool playing;   /* lock */
static fake_device devices[STK_GPUS][FAKE_MIGS + 1];

double fake_second(void)
{
    return (double)(stk__clock_ns() - fake.start_ns) / 1e9;
}

void fake_nvml_release(void)
{
    pthread_mutex_lock(&lock);
    generation++;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

const char *fake_nvml_play(const char *text)
{
    static stk_error error;
    static fake_script next;
    fake_nvml_release();
    if (!fake_read_script(&next, text, &error)) return error.message;
    pthread_mutex_lock(&lock);
    stk__curves_destroy(&fake.curves);
    fake = next;
    struct timespec now;
    clock_gettime(fake.boot_clock ? CLOCK_BOOTTIME : CLOCK_REALTIME, &now);
    fake.clock_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    fake.start_ns = stk__clock_ns();
    playing = true;
    for (int f = 0; f < FAKE_FUNCTIONS; f++)
        for (int g = 0; g <= STK_GPUS; g++)
            atomic_store(&fake_calls[f][g], 0);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* From the file, when nobody handed a script over. */
static int play_file(void)
{
    static char text[65536];
    pthread_mutex_lock(&lock);
    const bool ready = playing;
    pthread_mutex_unlock(&lock);
    if (ready) return STK_NVML_SUCCESS;
    const char *path = getenv("STOKER_FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return STK_NVML_DRIVER_NOT_LOADED;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *why = fake_nvml_play(text);
    if (why) fprintf(stderr, "fake NVML: %s: %s\n", path, why);
    return why ? STK_NVML_UNKNOWN : STK_NVML_SUCCESS;
}

static void hang(double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    const int begun = generation;
    while (generation == begun && pthread_cond_timedwait(&released, &lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&lock);
}

static int result_of_state(int gpu)
{
    switch (stk__curves_state(fake.curves, gpu, fake_second())) {
    case STK_GPU_HUNG:
        hang(3600);
        return STK_NVML_UNKNOWN;
    case STK_GPU_LOST:
        return STK_NVML_GPU_IS_LOST;
    case STK_GPU_RESET:
        return STK_NVML_RESET_REQUIRED;
    case STK_GPU_BARRED:
        return STK_NVML_NO_PERMISSION;
    case STK_GPU_GOOD:
        break;
    }
    return STK_NVML_SUCCESS;
}

int fake_enter(fake_function function, const void *device, int *garbage)
{
    const fake_device *d = device;
    const int gpu = d ? d->gpu : FAKE_ANY;
    const long call = atomic_fetch_add(&fake_calls[function][d ? gpu : STK_GPUS], 1);
    *garbage = -1;
    if (function != FAKE_nvmlInit_v2 && !fake.curves) return STK_NVML_UNINITIALIZED;
    for (int i = 0; i < fake.fault_count; i++) {
        const fake_fault *f = &fake.faults[i];
        if ((f->function != FAKE_ANY && f->function != (int)function) || call < f->from || call >= f->to ||
            (f->gpu != FAKE_ANY && f->gpu != gpu))
            continue;
        if (f->kind == FAULT_FAIL) return (int)f->number;
        if (f->kind == FAULT_GARBAGE) *garbage = (int)f->number;
        if (f->kind == FAULT_HANG) hang(f->number);
    }
    return d ? result_of_state(gpu) : STK_NVML_SUCCESS;
}

int fake_spoil(int garbage, void *told, size_t size)
{
    if (garbage >= 0) memset(told, garbage, size);
    return STK_NVML_SUCCESS;
}

FAKE_EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    int garbage;
    const int ready = play_file();
    return ready ? ready : fake_enter(FAKE_nvmlInit_v2, NULL, &garbage);
}

FAKE_EXPORT int nvmlInitWithFlags(unsigned flags);
int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

FAKE_EXPORT int nvmlShutdown(void);
int nvmlShutdown(void)
{
    int garbage;
    return fake_enter(FAKE_nvmlShutdown, NULL, &garbage);
}

FAKE_EXPORT const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    static const struct {
        int result;
        const char *text;
    } rows[] = {{STK_NVML_SUCCESS, "Success"},
                {STK_NVML_UNINITIALIZED, "Uninitialized"},
                {STK_NVML_NOT_SUPPORTED, "Not Supported"},
                {STK_NVML_NO_PERMISSION, "Insufficient Permissions"},
                {STK_NVML_NOT_FOUND, "Not Found"},
                {STK_NVML_DRIVER_NOT_LOADED, "Driver Not Loaded"},
                {STK_NVML_TIMEOUT, "Timeout"},
                {STK_NVML_GPU_IS_LOST, "GPU is lost"},
                {STK_NVML_RESET_REQUIRED, "GPU requires reset"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].result == result) return rows[i].text;
    return "Unknown Error";
}

FAKE_EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlDeviceGetCount_v2, NULL, &garbage);
    if (result) return result;
    *count = (unsigned)fake.gpu_count;
    return fake_spoil(garbage, count, sizeof *count);
}

__attribute__((constructor)) static void make_handles(void)
{
    for (int gpu = 0; gpu < STK_GPUS; gpu++)
        for (int mig = -1; mig < FAKE_MIGS; mig++)
            devices[gpu][mig + 1] = (fake_device){gpu, mig};
}

static int hand_out(fake_function function, int gpu, int mig, void **device)
{
    int garbage;
    fake_device *handle = &devices[gpu][mig + 1];
    const int result = fake_enter(function, handle, &garbage);
    if (!result) *device = handle;
    return result;
}

FAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index >= (unsigned)fake.gpu_count || index >= STK_GPUS) return STK_NVML_INVALID_ARGUMENT;
    return hand_out(FAKE_nvmlDeviceGetHandleByIndex_v2, (int)index, -1, device);
}

static void print_uuid(int gpu, int mig, char *text, unsigned length)
{
    if (mig < 0)
        snprintf(text, length, "GPU-%08x-fa4e-0000-0000-000000000000", gpu);
    else
        snprintf(text, length, "MIG-%08x-fa4e-0000-0000-%012x", gpu, mig);
}

FAKE_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    char text[STK_NVML_NAME_BYTES];
    for (int gpu = 0; gpu < fake.gpu_count; gpu++)
        for (int mig = -1; mig < fake.mig_count[gpu]; mig++) {
            print_uuid(gpu, mig, text, sizeof text);
            if (strcmp(text, uuid) == 0) return hand_out(FAKE_nvmlDeviceGetHandleByUUID, gpu, mig, device);
        }
    return STK_NVML_NOT_FOUND;
}

FAKE_EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned length);
int nvmlDeviceGetName(void *device, char *name, unsigned length)
{
    int garbage;
    const fake_device *d = device;
    const int result = fake_enter(FAKE_nvmlDeviceGetName, device, &garbage);
    if (result) return result;
    if (d->mig < 0)
        snprintf(name, length, "NVIDIA Fake 80GB");
    else
        snprintf(name, length, "NVIDIA Fake 80GB MIG %s", fake.mig_profile[d->gpu]);
    return fake_spoil(garbage, name, length);
}

FAKE_EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length)
{
    int garbage;
    const fake_device *d = device;
    const int result = fake_enter(FAKE_nvmlDeviceGetUUID, device, &garbage);
    if (result) return result;
    print_uuid(d->gpu, d->mig, uuid, length);
    return fake_spoil(garbage, uuid, length);
}

#ifndef FAKE_OLD
FAKE_EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending);
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlDeviceGetMigMode, device, &garbage);
    if (result) return result;
    *now = *pending = fake.mig_count[((const fake_device *)device)->gpu] > 0;
    return fake_spoil(garbage, now, sizeof *now);
}

FAKE_EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count);
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
    int garbage;
    const int result = fake_enter(FAKE_nvmlDeviceGetMaxMigDeviceCount, device, &garbage);
    if (result) return result;
    *count = FAKE_MIGS;
    return fake_spoil(garbage, count, sizeof *count);
}

FAKE_EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **mig);
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **mig)
{
    const int gpu = ((const fake_device *)device)->gpu;
    if (index >= (unsigned)fake.mig_count[gpu]) return STK_NVML_NOT_FOUND;
    return hand_out(FAKE_nvmlDeviceGetMigDeviceHandleByIndex, gpu, (int)index, mig);
}

FAKE_EXPORT int nvmlDeviceGetGpuInstanceId(void *device, unsigned *id);
int nvmlDeviceGetGpuInstanceId(void *device, unsigned *id)
{
    int garbage;
    const fake_device *d = device;
    const int result = fake_enter(FAKE_nvmlDeviceGetGpuInstanceId, device, &garbage);
    if (result) return result;
    *id = (unsigned)d->mig + 7;
    return fake_spoil(garbage, id, sizeof *id);
}
#endif
