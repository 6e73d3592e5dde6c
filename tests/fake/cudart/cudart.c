/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, and the fake driver behind all of it. Each thread has a device, as in the real runtime; the
 * driver's context of it is current only while a call is under way. */
#include "cudart_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 8 };

static dry_driver driver;
static void *contexts[DEVICES]; /* lock */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int device;
static _Thread_local int last_error;

static void take(void *library, const char *name, void *member)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "dry: the fake driver has no '%s'\n", name);
        abort();
    }
    memcpy(member, &symbol, sizeof symbol); /* C has no cast from void * to a function */
}

static void open_driver(void)
{
    const char *path = getenv("STOKER_CUDA_LIBRARY");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "dry: STOKER_CUDA_LIBRARY does not name the fake driver: %s\n",
                path ? dlerror() : "it is not set");
        abort();
    }
    const struct {
        const char *name;
        void *member;
    } calls[] = {{"cuInit", &driver.init},
                 {"cuDeviceGetCount", &driver.count},
                 {"cuDeviceGet", &driver.device},
                 {"cuDevicePrimaryCtxRetain", &driver.retain},
                 {"cuCtxPushCurrent_v2", &driver.push},
                 {"cuCtxPopCurrent_v2", &driver.pop},
                 {"cuMemGetInfo_v2", &driver.info},
                 {"cuMemAlloc_v2", &driver.allocate},
                 {"cuMemFree_v2", &driver.release},
                 {"cuMemHostAlloc", &driver.pin},
                 {"cuMemFreeHost", &driver.unpin},
                 {"cuMemHostRegister_v2", &driver.lock},
                 {"cuMemHostUnregister", &driver.unlock},
                 {"cuStreamCreate", &driver.stream_create},
                 {"cuStreamDestroy_v2", &driver.stream_destroy},
                 {"cuStreamWaitEvent", &driver.stream_wait},
                 {"cuEventCreate", &driver.event_create},
                 {"cuEventDestroy_v2", &driver.event_destroy},
                 {"cuEventRecord", &driver.event_record},
                 {"cuEventQuery", &driver.event_query},
                 {"cuEventElapsedTime", &driver.event_elapsed},
                 {"cuStreamBeginCapture_v2", &driver.capture_begin},
                 {"cuStreamEndCapture", &driver.capture_end},
                 {"cuStreamIsCapturing", &driver.capture_status},
                 {"cuThreadExchangeStreamCaptureMode", &driver.capture_mode},
                 {"cuGraphGetNodes", &driver.graph_nodes},
                 {"cuGraphDestroy", &driver.graph_destroy},
                 {"cuGraphInstantiateWithFlags", &driver.exec_create},
                 {"cuGraphLaunch", &driver.exec_launch},
                 {"cuGraphExecDestroy", &driver.exec_destroy},
                 {"fake_cuda_capture", &driver.capture},
                 {"fake_cuda_unsafe", &driver.unsafe},
                 {"fake_cuda_host", &driver.host},
                 {"fake_cuda_owner", &driver.owner},
                 {"fake_cuda_settle", &driver.settle},
                 {"fake_cuda_pinned", &driver.pinned},
                 {"fake_cuda_calls", &driver.calls},
                 {"fake_cuda_count", &driver.tell}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        take(library, calls[i].name, calls[i].member);
    driver.init(0);
}

const dry_driver *dry_driver_open(void)
{
    pthread_once(&once, open_driver);
    return &driver;
}

int dry_device(void)
{
    return device;
}

const dry_driver *dry_driver_enter(void)
{
    int handle;
    dry_driver_open();
    pthread_mutex_lock(&lock);
    if (!contexts[device] && driver.device(&handle, device) == 0) driver.retain(&contexts[device], handle);
    void *context = contexts[device];
    pthread_mutex_unlock(&lock);
    driver.push(context);
    return &driver;
}

int dry_driver_leave(int code)
{
    void *context;
    driver.pop(&context);
    if (code && code != CUDART_NOT_READY) last_error = code;
    return code;
}

int cudaGetLastError(void)
{
    const int code = last_error;
    last_error = 0;
    return code;
}

int cudaPeekAtLastError(void)
{
    return last_error;
}

int cudaGetDeviceCount(int *count)
{
    return dry_driver_open()->count(count) ? CUDART_NO_DEVICE : 0;
}

int cudaGetDevice(int *now)
{
    *now = device;
    return 0;
}

int cudaSetDevice(int chosen)
{
    int count = 0;
    cudaGetDeviceCount(&count);
    if (chosen < 0 || chosen >= count || chosen >= DEVICES) return last_error = CUDART_INVALID_DEVICE;
    device = chosen;
    return 0;
}

int cudaDriverGetVersion(int *version)
{
    *version = dry_cuda_version;
    return 0;
}

int cudaRuntimeGetVersion(int *version)
{
    *version = dry_cuda_version;
    return 0;
}

/* Calls of the driver that PyTorch asks for by name: virtual memory, multicast … A step needs none; when it
 * begins it wants to be told of the driver's own errors, of which there are none. */
static int refuse_driver_call(void)
{
    return dry_refuse("a call of the driver through the runtime", CUDART_NOT_SUPPORTED);
}

static int take_log_call(void)
{
    return 0;
}

int cudaGetDriverEntryPointByVersion(const char *name, void **call, unsigned version,
                                     unsigned long long flags, int *found)
{
    int (*given)(void) = strncmp(name, "cuLogs", 6) == 0 ? take_log_call : refuse_driver_call;
    (void)version, (void)flags;
    memcpy(call, &given, sizeof given);
    if (found) *found = 0;
    return 0;
}

int cudaGetDriverEntryPoint(const char *name, void **call, unsigned long long flags, int *found)
{
    return cudaGetDriverEntryPointByVersion(name, call, 0, flags, found);
}

DRY_EXPORT const char *cudaGetErrorString(int code);
DRY_EXPORT const char *cudaGetErrorName(int code);

const char *cudaGetErrorString(int code)
{
    static _Thread_local char text[64];
    snprintf(text, sizeof text, "code %d of the dry runtime", code);
    return text;
}

const char *cudaGetErrorName(int code)
{
    return code == CUDART_MEMORY_ALLOCATION ? "cudaErrorMemoryAllocation" : "cudaErrorOfTheDryRuntime";
}

int cudaProfilerStart(void)
{
    return 0;
}

int cudaProfilerStop(void)
{
    return 0;
}
