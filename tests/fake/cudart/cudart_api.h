/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NVIDIA's runtime interface that PyTorch calls and the dry runtime has, written from the public
 * documentation. Every other call that PyTorch wants is made by assemble.py, and refused. */
#ifndef DRY_CUDART_API_H
#define DRY_CUDART_API_H

#include "dry.h"

enum {
    CUDART_INVALID_VALUE = 1,
    CUDART_MEMORY_ALLOCATION = 2,
    CUDART_INVALID_CONFIGURATION = 9,
    CUDART_NO_DEVICE = 100,
    CUDART_INVALID_DEVICE = 101,
    CUDART_NOT_READY = 600,
    CUDART_NOT_SUPPORTED = 801,
    CUDART_CAPTURE_UNSUPPORTED = 900,
};

typedef struct dry_dim3 {
    unsigned x, y, z;
} dry_dim3;

enum { CUDART_MEMORY_UNREGISTERED, CUDART_MEMORY_HOST, CUDART_MEMORY_DEVICE };

/* CUDA 13 has more behind it, which is left alone. */
typedef struct cudart_pointer {
    int type, device;
    void *device_pointer, *host_pointer;
} cudart_pointer;

/* The beginning of it, too. */
typedef struct cudart_function {
    size_t shared_bytes, constant_bytes, local_bytes;
    int max_threads, registers, ptx, binary, cache_mode, max_dynamic_shared, carveout;
} cudart_function;

typedef struct cudart_config {
    dry_dim3 grid, block;
    size_t shared_bytes;
    void *stream, *attributes;
    unsigned attribute_count;
} cudart_config;

/* Name, parameters; each returns a code. Handles are void pointers, enums are ints. */
#define DRY_CUDART_CALLS(X)                                                                                  \
    X(cudaGetDeviceCount, (int *))                                                                           \
    X(cudaGetDevice, (int *))                                                                                \
    X(cudaSetDevice, (int))                                                                                  \
    X(cudaDriverGetVersion, (int *))                                                                         \
    X(cudaRuntimeGetVersion, (int *))                                                                        \
    X(cudaDeviceGetAttribute, (int *, int, int))                                                             \
    X(cudaDeviceGetStreamPriorityRange, (int *, int *))                                                      \
    X(cudaDeviceCanAccessPeer, (int *, int, int))                                                            \
    X(cudaDeviceGetPCIBusId, (char *, int, int))                                                             \
    X(cudaGetLastError, (void))                                                                              \
    X(cudaPeekAtLastError, (void))                                                                           \
    X(cudaGetDriverEntryPointByVersion, (const char *, void **, unsigned, unsigned long long, int *))        \
    X(cudaGetDriverEntryPoint, (const char *, void **, unsigned long long, int *))                           \
    X(cudaProfilerStart, (void))                                                                             \
    X(cudaProfilerStop, (void))                                                                              \
    X(cudaMalloc, (void **, size_t))                                                                         \
    X(cudaFree, (void *))                                                                                    \
    X(cudaHostAlloc, (void **, size_t, unsigned))                                                            \
    X(cudaMallocHost, (void **, size_t))                                                                     \
    X(cudaFreeHost, (void *))                                                                                \
    X(cudaHostRegister, (void *, size_t, unsigned))                                                          \
    X(cudaHostUnregister, (void *))                                                                          \
    X(cudaMemGetInfo, (size_t *, size_t *))                                                                  \
    X(cudaPointerGetAttributes, (cudart_pointer *, const void *))                                            \
    X(cudaGetSymbolAddress, (void **, const void *))                                                         \
    X(cudaMemcpy, (void *, const void *, size_t, int))                                                       \
    X(cudaMemcpyAsync, (void *, const void *, size_t, int, void *))                                          \
    X(cudaMemset, (void *, int, size_t))                                                                     \
    X(cudaMemsetAsync, (void *, int, size_t, void *))                                                        \
    X(cudaDeviceSynchronize, (void))                                                                         \
    X(cudaStreamCreate, (void **))                                                                           \
    X(cudaStreamCreateWithFlags, (void **, unsigned))                                                        \
    X(cudaStreamCreateWithPriority, (void **, unsigned, int))                                                \
    X(cudaStreamDestroy, (void *))                                                                           \
    X(cudaStreamQuery, (void *))                                                                             \
    X(cudaStreamSynchronize, (void *))                                                                       \
    X(cudaStreamWaitEvent, (void *, void *, unsigned))                                                       \
    X(cudaEventCreate, (void **))                                                                            \
    X(cudaEventCreateWithFlags, (void **, unsigned))                                                         \
    X(cudaEventDestroy, (void *))                                                                            \
    X(cudaEventRecord, (void *, void *))                                                                     \
    X(cudaEventRecordWithFlags, (void *, void *, unsigned))                                                  \
    X(cudaEventQuery, (void *))                                                                              \
    X(cudaEventSynchronize, (void *))                                                                        \
    X(cudaEventElapsedTime, (float *, void *, void *))                                                       \
    X(cudaThreadExchangeStreamCaptureMode, (int *))                                                          \
    X(cudaStreamIsCapturing, (void *, int *))                                                                \
    X(cudaStreamBeginCapture, (void *, int))                                                                 \
    X(cudaStreamEndCapture, (void *, void **))                                                               \
    X(cudaStreamGetCaptureInfo_v2, (void *, int *, unsigned long long *, void **, void *const **, size_t *)) \
    X(cudaGraphGetNodes, (void *, void **, size_t *))                                                        \
    X(cudaGraphInstantiate, (void **, void *, unsigned long long))                                           \
    X(cudaGraphInstantiateWithFlags, (void **, void *, unsigned long long))                                  \
    X(cudaGraphLaunch, (void *, void *))                                                                     \
    X(cudaGraphExecDestroy, (void *))                                                                        \
    X(cudaGraphDestroy, (void *))                                                                            \
    X(cudaFuncGetAttributes, (cudart_function *, const void *))                                              \
    X(cudaFuncSetAttribute, (const void *, int, int))                                                        \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *, const void *, int, size_t))                     \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int *, const void *, int, size_t, unsigned))  \
    X(cudaLaunchKernel, (const void *, dry_dim3, dry_dim3, void **, size_t, void *))                         \
    X(cudaLaunchCooperativeKernel, (const void *, dry_dim3, dry_dim3, void **, size_t, void *))              \
    X(cudaLaunchKernelExC, (const cudart_config *, const void *, void **))

/* Of CUDA 13, where it has a parameter more than before. */
DRY_EXPORT int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph,
                                        void *const **nodes, const void **edges, size_t *count);

#define DRY_CUDART_PROTOTYPE(name, parameters) DRY_EXPORT int name parameters;
DRY_CUDART_CALLS(DRY_CUDART_PROTOTYPE)
#undef DRY_CUDART_PROTOTYPE

/* The fake driver, opened by the first call; the context of this thread's device is current between the two.
 */
typedef struct dry_driver {
    int (*init)(unsigned), (*count)(int *), (*device)(int *, int), (*retain)(void **, int);
    int (*push)(void *), (*pop)(void **), (*info)(size_t *, size_t *);
    int (*allocate)(uint64_t *, size_t), (*release)(uint64_t);
    int (*pin)(void **, size_t, unsigned), (*unpin)(void *);
    int (*lock)(void *, size_t, unsigned), (*unlock)(void *);
    int (*stream_create)(void **, unsigned), (*stream_destroy)(void *),
        (*stream_wait)(void *, void *, unsigned);
    int (*event_create)(void **, unsigned), (*event_destroy)(void *), (*event_record)(void *, void *);
    int (*event_query)(void *), (*event_elapsed)(float *, void *, void *);
    int (*capture_begin)(void *, int), (*capture_end)(void *, void **), (*capture_status)(void *, int *);
    int (*capture_mode)(int *), (*graph_nodes)(void *, void **, size_t *), (*graph_destroy)(void *);
    int (*exec_create)(void **, void *, unsigned long long), (*exec_launch)(void *, void *),
        (*exec_destroy)(void *);
    int (*capture)(void *, int, void (*)(const void *), const void *, size_t), (*unsafe)(void);
    void *(*host)(uint64_t);
    int (*owner)(uint64_t), (*settle)(void *, int), (*pinned)(const void *, size_t);
    long (*calls)(const char *, int);
    int64_t (*tell)(const char *);
} dry_driver;
const dry_driver *dry_driver_enter(void);
int dry_driver_leave(int code); /* code, which is a code of the runtime, too */
const dry_driver *dry_driver_open(void);
int dry_device(void); /* of this thread */

extern const int dry_cuda_version; /* 13000; assemble.py knows it */

#endif
