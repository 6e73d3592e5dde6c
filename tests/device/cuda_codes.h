/* SPDX-License-Identifier: Apache-2.0 */
/* The codes that each call documents for itself (those of a driver that is not there or ends are the same for
 * all). test_cuda_headers compares this list with the toolkit's own headers. */
#ifndef TEST_CUDA_CODES_H
#define TEST_CUDA_CODES_H

/* call, codes */
#define CUDA_DOCUMENTED_CODES(X)                                                                             \
    X(cuInit, 1, 3, 34, 46, 100, 101, 803, 804, 999)                                                         \
    X(cuDriverGetVersion, 1)                                                                                 \
    X(cuGetErrorName, 1)                                                                                     \
    X(cuGetErrorString, 1)                                                                                   \
    X(cuDeviceGetCount, 1, 3, 4, 201)                                                                        \
    X(cuDeviceGet, 1, 3, 4, 101, 201)                                                                        \
    X(cuDeviceGetName, 1, 3, 4, 101, 201)                                                                    \
    X(cuDeviceGetUuid, 1, 3, 4, 101)                                                                         \
    X(cuDeviceTotalMem_v2, 1, 3, 4, 101, 201)                                                                \
    X(cuDeviceGetAttribute, 1, 3, 4, 101, 201)                                                               \
    X(cuDevicePrimaryCtxRetain, 1, 2, 3, 4, 101, 201, 999)                                                   \
    X(cuDevicePrimaryCtxRelease_v2, 3, 4, 101, 201)                                                          \
    X(cuCtxPushCurrent_v2, 1, 3, 4, 201)                                                                     \
    X(cuCtxPopCurrent_v2, 3, 4, 201)                                                                         \
    X(cuMemGetInfo_v2, 1, 3, 4, 201)                                                                         \
    X(cuMemAlloc_v2, 1, 2, 3, 4, 201)                                                                        \
    X(cuMemFree_v2, 1, 3, 4, 201)                                                                            \
    X(cuMemHostAlloc, 1, 2, 3, 4, 201)                                                                       \
    X(cuMemFreeHost, 1, 3, 4, 201)                                                                           \
    X(cuMemHostRegister_v2, 1, 2, 3, 4, 201, 712, 800, 801)                                                  \
    X(cuMemHostUnregister, 1, 2, 3, 4, 201, 713)                                                             \
    X(cuMemcpyHtoDAsync_v2, 1, 3, 4, 201, 400)                                                               \
    X(cuMemcpyDtoHAsync_v2, 1, 3, 4, 201, 400)                                                               \
    X(cuStreamCreate, 1, 2, 3, 4, 201)                                                                       \
    X(cuStreamDestroy_v2, 1, 3, 4, 201, 400)                                                                 \
    X(cuStreamWaitEvent, 3, 4, 201, 400)                                                                     \
    X(cuEventCreate, 1, 2, 3, 4, 201)                                                                        \
    X(cuEventDestroy_v2, 3, 4, 201, 400)                                                                     \
    X(cuEventRecord, 1, 3, 4, 201, 400)                                                                      \
    X(cuEventQuery, 1, 3, 4, 400, 700, 719)                                                                  \
    X(cuEventElapsedTime, 3, 4, 201, 400, 600, 999)                                                          \
    X(cuModuleLoadData, 1, 2, 3, 4, 200, 201, 209, 218, 221, 222, 302, 303)                                  \
    X(cuModuleUnload, 1, 3, 4, 201, 800)                                                                     \
    X(cuModuleGetFunction, 1, 3, 4, 201, 500)                                                                \
    X(cuLaunchKernel, 1, 3, 4, 200, 201, 303, 400, 500, 701, 702, 703, 719)                                  \
    X(nvrtcVersion, 3)                                                                                       \
    X(nvrtcCreateProgram, 1, 2, 3, 4)                                                                        \
    X(nvrtcCompileProgram, 1, 3, 4, 5, 6, 7, 11, 12, 16)                                                     \
    X(nvrtcGetCUBINSize, 3, 4)                                                                               \
    X(nvrtcGetCUBIN, 3, 4)                                                                                   \
    X(nvrtcGetPTXSize, 3, 4)                                                                                 \
    X(nvrtcGetPTX, 3, 4)                                                                                     \
    X(nvrtcGetNumSupportedArchs, 3)                                                                          \
    X(nvrtcGetSupportedArchs, 3)                                                                             \
    X(nvrtcGetProgramLogSize, 3, 4)                                                                          \
    X(nvrtcGetProgramLog, 3, 4)                                                                              \
    X(nvrtcDestroyProgram, 4)

enum { MOST_CODES = 16 };

typedef struct call_codes {
    const char *call;
    int codes[MOST_CODES]; /* ends with 0 */
} call_codes;

#define ROW(call, ...) {#call, {__VA_ARGS__}},
static const call_codes rows[] = {CUDA_DOCUMENTED_CODES(ROW)};
#undef ROW
enum { ROWS = sizeof rows / sizeof rows[0] };

#endif
