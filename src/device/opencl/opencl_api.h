/* SPDX-License-Identifier: Apache-2.0 */
/* The part of OpenCL 1.2 that Stoker calls, written from its public specification. libOpenCL.so.1 is opened
 * at run time (STOKER_OPENCL_LIBRARY names another) and never linked. */
#ifndef STK_DEVICE_OPENCL_API_H
#define STK_DEVICE_OPENCL_API_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

typedef void *stk__cl_handle; /* platform, device, context, queue, program, kernel, buffer, event */

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_PLATFORM_NOT_FOUND = -1001
};

enum {
    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283
};

enum { CL_COMPLETE = 0 }; /* smaller: it failed; larger: it waits or runs */

#define CL_DEVICE_TYPE_ALL        UINT64_C(0xFFFFFFFF)
#define CL_QUEUE_PROFILING_ENABLE UINT64_C(2)
#define CL_MEM_READ_WRITE         UINT64_C(1)
#define CL_MEM_WRITE_ONLY         UINT64_C(2)
#define CL_MEM_READ_ONLY          UINT64_C(4)

/* Bits of CL_DEVICE_SINGLE_FP_CONFIG. */
#define CL_FP_DENORM                        UINT64_C(1)
#define CL_FP_INF_NAN                       UINT64_C(2)
#define CL_FP_ROUND_TO_NEAREST              UINT64_C(4)
#define CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT UINT64_C(128)

typedef void (*stk__cl_notify)(stk__cl_handle, void *);
typedef void (*stk__cl_complaint)(const char *, const void *, size_t, void *);

/* Result, name, parameters. Handles that a call makes: its last parameter is the error code. */
#define STK_OPENCL_CALLS(X)                                                                                  \
    X(int32_t, clGetPlatformIDs, (uint32_t, stk__cl_handle *, uint32_t *))                                   \
    X(int32_t, clGetPlatformInfo, (stk__cl_handle, uint32_t, size_t, void *, size_t *))                      \
    X(int32_t, clGetDeviceIDs, (stk__cl_handle, uint64_t, uint32_t, stk__cl_handle *, uint32_t *))           \
    X(int32_t, clGetDeviceInfo, (stk__cl_handle, uint32_t, size_t, void *, size_t *))                        \
    X(stk__cl_handle, clCreateContext,                                                                       \
      (const intptr_t *, uint32_t, const stk__cl_handle *, stk__cl_complaint, void *, int32_t *))            \
    X(int32_t, clReleaseContext, (stk__cl_handle))                                                           \
    X(stk__cl_handle, clCreateCommandQueue, (stk__cl_handle, stk__cl_handle, uint64_t, int32_t *))           \
    X(int32_t, clReleaseCommandQueue, (stk__cl_handle))                                                      \
    X(stk__cl_handle, clCreateProgramWithSource,                                                             \
      (stk__cl_handle, uint32_t, const char **, const size_t *, int32_t *))                                  \
    X(stk__cl_handle, clCreateProgramWithBinary,                                                             \
      (stk__cl_handle, uint32_t, const stk__cl_handle *, const size_t *, const unsigned char **, int32_t *,  \
       int32_t *))                                                                                           \
    X(int32_t, clBuildProgram,                                                                               \
      (stk__cl_handle, uint32_t, const stk__cl_handle *, const char *, stk__cl_notify, void *))              \
    X(int32_t, clGetProgramInfo, (stk__cl_handle, uint32_t, size_t, void *, size_t *))                       \
    X(int32_t, clGetProgramBuildInfo, (stk__cl_handle, stk__cl_handle, uint32_t, size_t, void *, size_t *))  \
    X(int32_t, clReleaseProgram, (stk__cl_handle))                                                           \
    X(stk__cl_handle, clCreateKernel, (stk__cl_handle, const char *, int32_t *))                             \
    X(int32_t, clReleaseKernel, (stk__cl_handle))                                                            \
    X(int32_t, clSetKernelArg, (stk__cl_handle, uint32_t, size_t, const void *))                             \
    X(stk__cl_handle, clCreateBuffer, (stk__cl_handle, uint64_t, size_t, void *, int32_t *))                 \
    X(int32_t, clReleaseMemObject, (stk__cl_handle))                                                         \
    X(int32_t, clEnqueueWriteBuffer,                                                                         \
      (stk__cl_handle, stk__cl_handle, uint32_t, size_t, size_t, const void *, uint32_t,                     \
       const stk__cl_handle *, stk__cl_handle *))                                                            \
    X(int32_t, clEnqueueReadBuffer,                                                                          \
      (stk__cl_handle, stk__cl_handle, uint32_t, size_t, size_t, void *, uint32_t, const stk__cl_handle *,   \
       stk__cl_handle *))                                                                                    \
    X(int32_t, clEnqueueNDRangeKernel,                                                                       \
      (stk__cl_handle, stk__cl_handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,   \
       const stk__cl_handle *, stk__cl_handle *))                                                            \
    X(int32_t, clFlush, (stk__cl_handle))                                                                    \
    X(int32_t, clGetEventInfo, (stk__cl_handle, uint32_t, size_t, void *, size_t *))                         \
    X(int32_t, clGetEventProfilingInfo, (stk__cl_handle, uint32_t, size_t, void *, size_t *))                \
    X(int32_t, clReleaseEvent, (stk__cl_handle))

typedef struct stk__opencl_api {
#define STK_OPENCL_MEMBER(result, name, parameters) result(*name) parameters;
    STK_OPENCL_CALLS(STK_OPENCL_MEMBER)
#undef STK_OPENCL_MEMBER
} stk__opencl_api;

/* Opened once per process, by whoever comes first. NULL: not there, and error says why. Any thread. */
const stk__opencl_api *stk__opencl_api_open(stk_error *error);

/* A driver that aborts takes the whole process with it. The library starts no processes, so a program that
 * must survive gives it a probe, which tries the driver in another process: asked once, by whoever opens
 * OpenCL first, before the library is loaded. What it does not return STK_OK for is not available, because of
 * its error. NULL: none. Set it before any device is listed or opened. */
typedef stk_status (*stk__opencl_probe)(stk_error *error);
void stk__opencl_probe_set(stk__opencl_probe probe);

const char *stk__opencl_code_name(int32_t code); /* "CL_OUT_OF_RESOURCES" */

/* code CL_SUCCESS: STK_OK; else the error names call and code. */
stk_status stk__opencl_judge(int32_t code, const char *call, stk_error *error);

#endif
