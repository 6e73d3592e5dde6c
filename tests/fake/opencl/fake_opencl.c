/* SPDX-License-Identifier: Apache-2.0 */
/* A libOpenCL.so.1 whose driver fails as real ones do. STOKER_FAKE_OPENCL says what happens when it is asked
 * for its platforms: abort, segfault, hang, exit, quit (exit with status 0), mute (SIGKILL) or works. One
 * that works has a device without a compiler: it can be listed, not opened. */
#include "device/opencl/opencl_api.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
typedef struct mood {
    const char *word;
    void (*act)(void);
} mood;

static void fail_by_abort(void)
{
    fprintf(stderr, "first line\nfake driver: no topology\n\n");
    abort();
}

static void fail_by_segfault(void)
{
    fprintf(stderr, "fake driver: reads what is not there\n");
    signal(SIGSEGV, SIG_DFL); /* the sanitizers have one of their own */
    raise(SIGSEGV);
}

static void fail_by_hanging(void)
{
    while (1)
        pause();
}

static void fail_by_exit(void)
{
    fprintf(stderr, "fake driver: \033[31mno licence");
    exit(3);
}

static void leave_quietly(void)
{
    exit(0);
}

static void fail_mute(void)
{
    raise(SIGKILL);
}

static void work(void)
{
    fprintf(stderr, "fake driver: works\n");
}

static const mood moods[] = {
    {"abort", fail_by_abort}, {"segfault", fail_by_segfault}, {"hang", fail_by_hanging},
    {"exit", fail_by_exit},   {"quit", leave_quietly},        {"mute", fail_mute},
    {"works", work}};

EXPORTED int32_t clGetPlatformIDs(uint32_t most, stk__cl_handle *platforms, uint32_t *count);
EXPORTED int32_t clGetDeviceIDs(stk__cl_handle platform, uint64_t kind, uint32_t most, stk__cl_handle *ids,
                                uint32_t *count);
EXPORTED int32_t clGetDeviceInfo(stk__cl_handle id, uint32_t what, size_t bytes, void *value, size_t *size);

int32_t clGetPlatformIDs(uint32_t most, stk__cl_handle *platforms, uint32_t *count)
{
    const char *word = getenv("STOKER_FAKE_OPENCL");
    for (size_t i = 0; word && i < sizeof moods / sizeof moods[0]; i++)
        if (strcmp(word, moods[i].word) == 0) moods[i].act();
    if (most) platforms[0] = platforms;
    *count = 1;
    return CL_SUCCESS;
}

int32_t clGetDeviceIDs(stk__cl_handle platform, uint64_t kind, uint32_t most, stk__cl_handle *ids,
                       uint32_t *count)
{
    (void)kind;
    if (most) ids[0] = platform;
    *count = 1;
    return CL_SUCCESS;
}

int32_t clGetDeviceInfo(stk__cl_handle id, uint32_t what, size_t bytes, void *value, size_t *size)
{
    (void)id, (void)size;
    const uint32_t yes = 1;
    if (what == CL_DEVICE_NAME) snprintf(value, bytes, "fake model");
    if (what == CL_DEVICE_AVAILABLE) memcpy(value, &yes, sizeof yes);
    return what == CL_DEVICE_NAME || what == CL_DEVICE_AVAILABLE ? CL_SUCCESS : -30; /* CL_INVALID_VALUE */
}

/* The rest is there, because it is looked for, and refuses. */
#define REFUSES(name)                                                                                        \
    EXPORTED int32_t name(void);                                                                             \
    int32_t name(void)                                                                                       \
    {                                                                                                        \
        return -59; /* CL_INVALID_OPERATION */                                                               \
    }
REFUSES(clGetPlatformInfo)
REFUSES(clCreateContext)
REFUSES(clReleaseContext)
REFUSES(clCreateCommandQueue)
REFUSES(clReleaseCommandQueue)
REFUSES(clCreateProgramWithSource)
REFUSES(clCreateProgramWithBinary)
REFUSES(clBuildProgram)
REFUSES(clGetProgramInfo)
REFUSES(clGetProgramBuildInfo)
REFUSES(clReleaseProgram)
REFUSES(clCreateKernel)
REFUSES(clReleaseKernel)
REFUSES(clSetKernelArg)
REFUSES(clCreateBuffer)
REFUSES(clReleaseMemObject)
REFUSES(clEnqueueWriteBuffer)
REFUSES(clEnqueueReadBuffer)
REFUSES(clEnqueueNDRangeKernel)
REFUSES(clFlush)
REFUSES(clGetEventInfo)
REFUSES(clGetEventProfilingInfo)
REFUSES(clReleaseEvent)
