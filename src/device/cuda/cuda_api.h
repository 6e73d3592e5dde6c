/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NVIDIA's driver interface and of NVRTC that Stoker calls, written from their public
 * documentation. libcuda.so.1 and libnvrtc.so.N are opened at run time (STOKER_CUDA_LIBRARY and
 * STOKER_NVRTC_LIBRARY name others) and never linked. tests/device/test_cuda_headers compares all of this
 * with the toolkit's own headers. */
#ifndef STK_DEVICE_CUDA_API_H
#define STK_DEVICE_CUDA_API_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

typedef void *stk__cu_handle;     /* context, stream, event, module, function */
typedef uint64_t stk__cu_pointer; /* of device memory */
typedef void *stk__nvrtc_program;
typedef struct stk__cu_uuid {
    unsigned char bytes[16];
} stk__cu_uuid;

/* Codes that are treated differently from "it failed". */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
    CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_OPERATING_SYSTEM = 304,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
    CUDA_ERROR_SYSTEM_NOT_READY = 802,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
    CUDA_ERROR_EXTERNAL_DEVICE = 911,
    CUDA_ERROR_UNKNOWN = 999
};

enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6
};

enum {
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, /* kHz */
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36, /* kHz */
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
};

enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };

/* Name, parameters; every call returns a code. Names are those of the symbols, version included. */
#define STK_CUDA_CALLS(X)                                                                                    \
    X(cuInit, (unsigned))                                                                                    \
    X(cuDriverGetVersion, (int *))                                                                           \
    X(cuGetErrorName, (int, const char **))                                                                  \
    X(cuGetErrorString, (int, const char **))                                                                \
    X(cuDeviceGetCount, (int *))                                                                             \
    X(cuDeviceGet, (int *, int))                                                                             \
    X(cuDeviceGetName, (char *, int, int))                                                                   \
    X(cuDeviceGetUuid, (stk__cu_uuid *, int))                                                                \
    X(cuDeviceTotalMem_v2, (size_t *, int))                                                                  \
    X(cuDeviceGetAttribute, (int *, int, int))                                                               \
    X(cuDevicePrimaryCtxRetain, (stk__cu_handle *, int))                                                     \
    X(cuDevicePrimaryCtxRelease_v2, (int))                                                                   \
    X(cuCtxPushCurrent_v2, (stk__cu_handle))                                                                 \
    X(cuCtxPopCurrent_v2, (stk__cu_handle *))                                                                \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                                 \
    X(cuMemAlloc_v2, (stk__cu_pointer *, size_t))                                                            \
    X(cuMemFree_v2, (stk__cu_pointer))                                                                       \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                           \
    X(cuMemFreeHost, (void *))                                                                               \
    X(cuMemHostRegister_v2, (void *, size_t, unsigned))                                                      \
    X(cuMemHostUnregister, (void *))                                                                         \
    X(cuMemcpyHtoDAsync_v2, (stk__cu_pointer, const void *, size_t, stk__cu_handle))                         \
    X(cuMemcpyDtoHAsync_v2, (void *, stk__cu_pointer, size_t, stk__cu_handle))                               \
    X(cuStreamCreate, (stk__cu_handle *, unsigned))                                                          \
    X(cuStreamDestroy_v2, (stk__cu_handle))                                                                  \
    X(cuStreamWaitEvent, (stk__cu_handle, stk__cu_handle, unsigned))                                         \
    X(cuEventCreate, (stk__cu_handle *, unsigned))                                                           \
    X(cuEventDestroy_v2, (stk__cu_handle))                                                                   \
    X(cuEventRecord, (stk__cu_handle, stk__cu_handle))                                                       \
    X(cuEventQuery, (stk__cu_handle))                                                                        \
    X(cuEventElapsedTime, (float *, stk__cu_handle, stk__cu_handle))                                         \
    X(cuModuleLoadData, (stk__cu_handle *, const void *))                                                    \
    X(cuModuleUnload, (stk__cu_handle))                                                                      \
    X(cuModuleGetFunction, (stk__cu_handle *, stk__cu_handle, const char *))                                 \
    X(cuLaunchKernel, (stk__cu_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                       stk__cu_handle, void **, void **))

#define STK_NVRTC_CALLS(X)                                                                                   \
    X(nvrtcVersion, (int *, int *))                                                                          \
    X(nvrtcCreateProgram,                                                                                    \
      (stk__nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *))     \
    X(nvrtcCompileProgram, (stk__nvrtc_program, int, const char *const *))                                   \
    X(nvrtcGetCUBINSize, (stk__nvrtc_program, size_t *))                                                     \
    X(nvrtcGetCUBIN, (stk__nvrtc_program, char *))                                                           \
    X(nvrtcGetPTXSize, (stk__nvrtc_program, size_t *))                                                       \
    X(nvrtcGetPTX, (stk__nvrtc_program, char *))                                                             \
    X(nvrtcGetNumSupportedArchs, (int *))                                                                    \
    X(nvrtcGetSupportedArchs, (int *))                                                                       \
    X(nvrtcGetProgramLogSize, (stk__nvrtc_program, size_t *))                                                \
    X(nvrtcGetProgramLog, (stk__nvrtc_program, char *))                                                      \
    X(nvrtcDestroyProgram, (stk__nvrtc_program *))

#define STK_CUDA_MEMBER(name, parameters) int(*name) parameters;
typedef struct stk__cuda_api {
    STK_CUDA_CALLS(STK_CUDA_MEMBER)
} stk__cuda_api;
typedef struct stk__nvrtc_api {
    STK_NVRTC_CALLS(STK_CUDA_MEMBER)
} stk__nvrtc_api;
#undef STK_CUDA_MEMBER

/* Another name of the default stream, which consumers may use for it; NULL is the same one. */
#define STK_CU_STREAM_LEGACY ((stk__cu_handle)(uintptr_t)1)

/* Opened once per process, by whoever comes first. NULL: not there, and error says why. Any thread. */
const stk__cuda_api *stk__cuda_api_open(stk_error *error);
const stk__nvrtc_api *stk__nvrtc_api_open(stk_error *error); /* the first of those in nvrtc.h */

/* code CUDA_SUCCESS: STK_OK; else the error names call and code and says what could help:
 * STK_ERROR_MEMORY out of memory, STK_ERROR_UNSUPPORTED for all the rest. */
stk_status stk__cuda_judge(const stk__cuda_api *api, int code, const char *call, stk_error *error);
stk_status stk__nvrtc_judge(int code, const char *call, stk_error *error);

bool stk__cuda_is_lost(int code); /* the context does not come back */

#endif
