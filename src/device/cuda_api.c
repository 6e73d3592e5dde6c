#include "device/cuda_api.h"

#include "device/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t api_lock = PTHREAD_MUTEX_INITIALIZER;
static stk__cuda_api cuda; /* (api_lock) until cuda_there, then constant; the same for nvrtc */
static stk__nvrtc_api nvrtc;
static bool cuda_there, nvrtc_there;

static bool take_call(void *library, const char *name, void *member, stk_error *error)
{
    void *symbol = dlsym(library, name);
    if (symbol) {
        memcpy(member, &symbol, sizeof symbol); /* C has no cast from void * to a function */
        return true;
    }
    stk__fail(error, STK_ERROR_UNSUPPORTED, "NVIDIA's library has no '%s'", name);
    stk__error_hint(error, "it is older than CUDA 11.2, or something else");
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

static bool take_nvrtc(void *library, stk__nvrtc_api *table, stk_error *error)
{
    STK_NVRTC_CALLS(TAKE_CALL)
    return true;
}
#undef TAKE_CALL

/* What was not there is looked for again each time: a variable may have been set since. */
const stk__cuda_api *stk__cuda_api_open(stk_error *error)
{
    pthread_mutex_lock(&api_lock);
    if (!cuda_there) {
        void *library = stk__library_open("libcuda.so.1", "STOKER_CUDA_LIBRARY", error);
        cuda_there = library && take_cuda(library, &cuda, error);
    }
    const bool there = cuda_there;
    pthread_mutex_unlock(&api_lock);
    return there ? &cuda : NULL;
}

const stk__nvrtc_api *stk__nvrtc_api_open(stk_error *error)
{
    static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                        NULL};
    pthread_mutex_lock(&api_lock);
    if (!nvrtc_there) {
        void *library = stk__library_open_any(files, "STOKER_NVRTC_LIBRARY", error);
        nvrtc_there = library && take_nvrtc(library, &nvrtc, error);
    }
    const bool there = nvrtc_there;
    pthread_mutex_unlock(&api_lock);
    return there ? &nvrtc : NULL;
}

bool stk__cuda_is_lost(int code)
{
    static const int codes[] = {
        CUDA_ERROR_DEINITIALIZED,  CUDA_ERROR_ECC_UNCORRECTABLE,    CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ASSERT,
        CUDA_ERROR_UNKNOWN};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (code == codes[i]) return true;
    return code >= CUDA_ERROR_HARDWARE_STACK_ERROR && code <= CUDA_ERROR_LAUNCH_FAILED;
}

static const char *find_hint(int code)
{
    if (stk__cuda_is_lost(code))
        return "the GPU is lost to this process: start again from the newest checkpoint; if it happens "
               "again, look at the kernel's log (dmesg, Xid) and at other users of the GPU";
    switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return "lower data.batch_size or data.prefetch_factor, or end other programs on the GPU (nvidia-smi)";
    case CUDA_ERROR_NO_DEVICE:
        return "see if nvidia-smi lists a GPU and what CUDA_VISIBLE_DEVICES is";
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
        return "another process has it in exclusive mode (nvidia-smi -q -d COMPUTE)";
    case CUDA_ERROR_STUB_LIBRARY:
        return "this libcuda.so.1 is the toolkit's stub; install the driver, or mend LD_LIBRARY_PATH";
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return "the driver is older than NVRTC: update it, or name an older one in STOKER_NVRTC_LIBRARY";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return "libcuda.so.1 and the kernel's driver are of different versions: restart, or update the "
               "driver";
    default:
        return "see if `stoker devices --check` passes; else use augment.device=cpu";
    }
}

stk_status stk__cuda_judge(const stk__cuda_api *api, int code, const char *call, stk_error *error)
{
    const char *name = NULL, *text = NULL;
    if (code == CUDA_SUCCESS) return STK_OK;
    if (api->cuGetErrorName(code, &name) != CUDA_SUCCESS || !name) name = "a code without a name";
    if (api->cuGetErrorString(code, &text) != CUDA_SUCCESS || !text) text = "the driver says no more";
    const stk_status status = code == CUDA_ERROR_OUT_OF_MEMORY ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED;
    stk__fail(error, status, "%s failed: %s (%s, %d)", call, text, name, code);
    stk__error_hint(error, "%s", find_hint(code));
    return status;
}

stk_status stk__nvrtc_judge(int code, const char *call, stk_error *error)
{
    static const char *const names[] = {
        "success",        "out of memory", "program creation failure", "invalid input", "invalid program",
        "invalid option", "compilation",   "builtin operation failure"};
    if (code == NVRTC_SUCCESS) return STK_OK;
    const bool known = code > 0 && (size_t)code < sizeof names / sizeof names[0];
    const stk_status status = code == NVRTC_ERROR_OUT_OF_MEMORY ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED;
    stk__fail(error, status, "%s failed: %s (%d)", call, known ? names[code] : "a code without a name", code);
    stk__error_hint(error, "name another NVRTC in STOKER_NVRTC_LIBRARY, or use augment.device=cpu");
    return status;
}
