/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the driver, and what its codes mean for a user. */
#include "device/cuda/cuda_api.h"

#include "device/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINER "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
#define NEWER_NVRTC                                                                                          \
    "the driver is older than NVRTC: update the driver, or set STOKER_NVRTC_LIBRARY to an older NVRTC"
#define OTHER_VERSIONS                                                                                       \
    "libcuda.so.1 and the kernel driver have different versions: reboot, or update the driver"

static pthread_mutex_t api_lock = PTHREAD_MUTEX_INITIALIZER;
static stk__cuda_api cuda; /* (api_lock) until cuda_there, then constant */
static bool cuda_there;

static bool take_call(void *library, const char *name, void *member, stk_error *error)
{
    void *symbol = dlsym(library, name);
    if (symbol) {
        memcpy(member, &symbol, sizeof symbol); /* C has no cast from void * to a function */
        return true;
    }
    stk__fail(error, STK_ERROR_UNSUPPORTED, "the NVIDIA driver library lacks '%s'", name);
    stk__error_hint(error, "CUDA 11.2 or newer is needed");
    return false;
}

#define TAKE_CALL(name, parameters)                                                                          \
    if (!take_call(library, #name, &table->name, error)) return false;

static bool take_cuda(void *library, stk__cuda_api *table, stk_error *error)
{
    STK_CUDA_CALLS(TAKE_CALL)
    /* From CUDA 11.4 on: the id of a MIG instance, where the first version gives that of its GPU. */
    void *newer = dlsym(library, "cuDeviceGetUuid_v2");
    if (newer) memcpy(&table->cuDeviceGetUuid, &newer, sizeof newer);
    return true;
}
#undef TAKE_CALL

/* What was not there is looked for again each time: a variable may have been set since. */
const stk__cuda_api *stk__cuda_api_open(stk_error *error)
{
    pthread_mutex_lock(&api_lock);
    if (!cuda_there) {
        const char *named = getenv("STOKER_CUDA_LIBRARY");
        void *library = stk__library_open("libcuda.so.1", "STOKER_CUDA_LIBRARY", error);
        if (!library && !(named && *named))
            stk__error_hint(error, "install the NVIDIA driver; a container needs `--gpus all` and " CONTAINER
                                   "; or set STOKER_CUDA_LIBRARY to the path of libcuda.so.1");
        cuda_there = library && take_cuda(library, &cuda, error);
    }
    const bool there = cuda_there;
    pthread_mutex_unlock(&api_lock);
    return there ? &cuda : NULL;
}

bool stk__cuda_is_lost(int code)
{
    static const int codes[] = {CUDA_ERROR_DEINITIALIZED,
                                CUDA_ERROR_ECC_UNCORRECTABLE,
                                CUDA_ERROR_NVLINK_UNCORRECTABLE,
                                CUDA_ERROR_CONTAINED,
                                CUDA_ERROR_ILLEGAL_ADDRESS,
                                CUDA_ERROR_LAUNCH_TIMEOUT,
                                CUDA_ERROR_CONTEXT_IS_DESTROYED,
                                CUDA_ERROR_ASSERT,
                                CUDA_ERROR_TENSOR_MEMORY_LEAK,
                                CUDA_ERROR_EXTERNAL_DEVICE,
                                CUDA_ERROR_UNKNOWN};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (code == codes[i]) return true;
    return code >= CUDA_ERROR_HARDWARE_STACK_ERROR && code <= CUDA_ERROR_LAUNCH_FAILED;
}

static const struct {
    int code;
    const char *call; /* NULL: of any */
    const char *hint;
} hints[] = {
    {CUDA_ERROR_UNKNOWN, "cuInit",
     "often the driver was updated without a reboot, or the machine was suspended: reboot, or reload the "
     "module (rmmod nvidia_uvm && modprobe nvidia_uvm); check dmesg"},
    {CUDA_ERROR_OUT_OF_MEMORY, NULL,
     "lower data.batch_size or data.prefetch_factor, or stop other processes on the GPU (nvidia-smi)"},
    {CUDA_ERROR_NOT_INITIALIZED, NULL,
     "CUDA cannot be used in a process forked after its first use: start worker processes with `spawn`; else "
     "check that nvidia-smi works"},
    {CUDA_ERROR_STUB_LIBRARY, NULL,
     "this libcuda.so.1 is the stub of the CUDA toolkit; install the driver, or fix LD_LIBRARY_PATH"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, NULL,
     "another process uses the GPU in exclusive compute mode (nvidia-smi -q -d COMPUTE)"},
    {CUDA_ERROR_NO_DEVICE, NULL,
     "check that nvidia-smi lists a GPU, and CUDA_VISIBLE_DEVICES; a container needs `--gpus all`"},
    {CUDA_ERROR_INVALID_IMAGE, NULL, NEWER_NVRTC},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, NULL, NEWER_NVRTC},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, NULL, NEWER_NVRTC},
    {CUDA_ERROR_INVALID_PTX, NULL,
     "the driver cannot JIT-compile PTX: check that libnvidia-ptxjitcompiler.so.1 has the driver's version "
     "(in a container: " CONTAINER "), or set STOKER_NVRTC_LIBRARY to an NVRTC that supports this GPU"},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, NULL,
     "the driver's libnvidia-ptxjitcompiler.so.1 is missing: install the whole driver; a container needs " //
     CONTAINER "; or set STOKER_NVRTC_LIBRARY to an NVRTC that supports this GPU"},
    {CUDA_ERROR_JIT_COMPILATION_DISABLED, NULL,
     "unset CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT, or set STOKER_NVRTC_LIBRARY to an NVRTC that supports "
     "this GPU"},
    {CUDA_ERROR_OPERATING_SYSTEM, NULL,
     "check that /dev/nvidia* exist and can be opened (a container needs `--gpus all`), the limit of open "
     "files (ulimit -n), and dmesg"},
    {CUDA_ERROR_SYSTEM_NOT_READY, NULL,
     "GPUs behind NVSwitch need the fabric manager, of the driver's version (systemctl status "
     "nvidia-fabricmanager); with confidential computing see nvidia-smi conf-compute -grs"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, NULL, OTHER_VERSIONS},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, NULL, OTHER_VERSIONS},
};

static const char *find_hint(int code, const char *call)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (hints[i].code == code && (!hints[i].call || strcmp(hints[i].call, call) == 0))
            return hints[i].hint;
    if (stk__cuda_is_lost(code))
        return "the CUDA context is lost: resume from the newest checkpoint; if it happens again, check the "
               "kernel log (dmesg, Xid errors) and other processes on the GPU";
    return "check that `stoker devices --check` passes; else use augment.device=cpu";
}

stk_status stk__cuda_judge(const stk__cuda_api *api, int code, const char *call, stk_error *error)
{
    const char *name = NULL, *text = NULL;
    if (code == CUDA_SUCCESS) return STK_OK;
    if (api->cuGetErrorName(code, &name) != CUDA_SUCCESS || !name) name = "unknown error code";
    if (api->cuGetErrorString(code, &text) != CUDA_SUCCESS || !text) text = "no description from the driver";
    const stk_status status = code == CUDA_ERROR_OUT_OF_MEMORY ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED;
    stk__fail(error, status, "%s failed: %s (%s, %d)", call, text, name, code);
    stk__error_hint(error, "%s", find_hint(code, call));
    return status;
}
