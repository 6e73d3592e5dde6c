/* SPDX-License-Identifier: Apache-2.0 */
/* One batch on an OpenCL device: two copies in, one or two launches, one or two copies out. */
#include "core/clock.h"
#include "core/logger.h"
#include "device/opencl/opencl_device.h"

#include <time.h>

typedef struct waiting {
    stk__opencl *cl;
    uint64_t deadline_ns;
} waiting;

/* Asks again and again, because OpenCL's own wait has no end: at first every few microseconds. */
static stk_status wait_for(const waiting *w, stk__cl_handle event, const char *what, stk_error *error)
{
    struct timespec pause = {0, 5000};
    for (;;) {
        int32_t state = CL_COMPLETE;
        STK__TRY(stk__opencl_judge(
            w->cl->api->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
            "clGetEventInfo", error));
        if (state < 0) return stk__opencl_judge(state, what, error);
        if (state == CL_COMPLETE) return STK_OK;
        if (stk__clock_ns() >= w->deadline_ns) break;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 500000) pause.tv_nsec += pause.tv_nsec / 4;
    }
    w->cl->lost = true;
    stk__fail(error, STK_ERROR_TIMEOUT, "timeout: '%s' did not finish %s within %.1f s",
              w->cl->device.info.name, what, (double)w->cl->device.timeout_ns * 1e-9);
    stk__error_hint(error, "the device hangs or is busy with other work; check it with its vendor's tools");
    return STK_ERROR_TIMEOUT;
}

/* 0 when the device does not say. */
static uint64_t time_of(const stk__opencl *cl, stk__cl_handle event)
{
    uint64_t start_ns = 0, end_ns = 0;
    const stk__opencl_api *api = cl->api;
    if (api->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start_ns, &start_ns, NULL) ||
        api->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end_ns, &end_ns, NULL))
        return 0;
    return end_ns > start_ns ? end_ns - start_ns : 0;
}

static stk_status finish(const waiting *w, stk__cl_handle event, const char *what, uint64_t *sum_ns,
                         stk_error *error)
{
    const stk_status status = wait_for(w, event, what, error);
    if (status == STK_OK) *sum_ns += time_of(w->cl, event);
    if (status != STK_ERROR_TIMEOUT) w->cl->api->clReleaseEvent(event);
    return status;
}

static stk_status grow(stk__opencl *cl, stk__opencl_buffer *buffer, size_t bytes, uint64_t use,
                       stk_error *error)
{
    if (bytes <= buffer->capacity_bytes) return STK_OK;
    const int64_t largest = cl->device.info.largest_buffer_bytes;
    if (largest >= 0 && bytes > (uint64_t)largest) {
        stk__fail(error, STK_ERROR_MEMORY, "a batch needs a buffer of %zu bytes; '%s' has at most %lld",
                  bytes, cl->device.info.name, (long long)largest);
        stk__error_hint(error, "use a smaller batch");
        return STK_ERROR_MEMORY;
    }
    size_t capacity = buffer->capacity_bytes + buffer->capacity_bytes / 2;
    if (capacity < bytes || (largest >= 0 && capacity > (uint64_t)largest)) capacity = bytes;
    if (buffer->handle) cl->api->clReleaseMemObject(buffer->handle);
    *buffer = (stk__opencl_buffer){0};
    int32_t code;
    stk__cl_handle handle = cl->api->clCreateBuffer(cl->context, use, capacity, NULL, &code);
    STK__TRY(stk__opencl_judge(code, "clCreateBuffer", error));
    *buffer = (stk__opencl_buffer){handle, capacity};
    return STK_OK;
}

static stk_status copy_in(const waiting *w, const stk__opencl_buffer *to, const void *from, size_t bytes,
                          stk_error *error)
{
    stk__opencl *cl = w->cl;
    stk__cl_handle event;
    if (bytes == 0) return STK_OK;
    STK__TRY(stk__opencl_judge(
        cl->api->clEnqueueWriteBuffer(cl->queue, to->handle, 0, 0, bytes, from, 0, NULL, &event),
        "clEnqueueWriteBuffer", error));
    cl->api->clFlush(cl->queue);
    return finish(w, event, "copying a batch to the device", &cl->device.last_copy_ns, error);
}

static stk_status copy_out(const waiting *w, const stk__opencl_buffer *from, void *to, size_t bytes,
                           stk_error *error)
{
    stk__opencl *cl = w->cl;
    stk__cl_handle event;
    if (bytes == 0) return STK_OK;
    STK__TRY(stk__opencl_judge(
        cl->api->clEnqueueReadBuffer(cl->queue, from->handle, 0, 0, bytes, to, 0, NULL, &event),
        "clEnqueueReadBuffer", error));
    cl->api->clFlush(cl->queue);
    return finish(w, event, "copying a batch from the device", &cl->device.last_copy_ns, error);
}

static stk_status set_arguments(const stk__opencl *cl, stk__cl_handle kernel, const stk__launch *launch,
                                stk_error *error)
{
    const stk__cl_handle handles[] = {cl->arena.handle, cl->samples.handle, cl->image.handle,
                                      cl->mask.handle};
    int32_t code = cl->api->clSetKernelArg(kernel, 0, sizeof launch->text, &launch->text);
    for (uint32_t i = 0; i < 4 && code == CL_SUCCESS; i++)
        code = cl->api->clSetKernelArg(kernel, i + 1, sizeof handles[i], &handles[i]);
    return stk__opencl_judge(code, "clSetKernelArg", error);
}

/* Waited for, so that a result that never comes is never written into the caller's memory. */
static stk_status run_kernel(const waiting *w, stk__cl_handle kernel, const stk__launch *launch,
                             stk_error *error)
{
    stk__opencl *cl = w->cl;
    stk__cl_handle event;
    const size_t group[3] = {STK_KERNEL_GROUP, 1, 1};
    const size_t items[3] = {(size_t)launch->columns * STK_KERNEL_GROUP, launch->rows, launch->samples};
    STK__TRY(set_arguments(cl, kernel, launch, error));
    STK__TRY(stk__opencl_judge(
        cl->api->clEnqueueNDRangeKernel(cl->queue, kernel, 3, NULL, items, group, 0, NULL, &event),
        "clEnqueueNDRangeKernel", error));
    cl->api->clFlush(cl->queue);
    return finish(w, event, "a kernel", &cl->device.last_kernel_ns, error);
}

static stk_status make_room(stk__opencl *cl, const stk__augment_batch *batch, const stk__launch *launch,
                            stk_error *error)
{
    STK__TRY(grow(cl, &cl->arena, batch->arena_bytes + 1, CL_MEM_READ_ONLY, error));
    STK__TRY(grow(cl, &cl->samples, batch->count * sizeof(stk__kernel_sample), CL_MEM_READ_WRITE, error));
    STK__TRY(grow(cl, &cl->image, launch->image_bytes, CL_MEM_WRITE_ONLY, error));
    return grow(cl, &cl->mask, launch->mask_bytes + 1, CL_MEM_WRITE_ONLY, error);
}

stk_status stk__opencl_run(stk__opencl *cl, const stk__augment_batch *batch, stk_error *error)
{
    const waiting w = {cl, stk__clock_ns() + cl->device.timeout_ns};
    if (cl->lost)
        return stk__fail(error, STK_ERROR_TIMEOUT, "device '%s' timed out before and is no longer used",
                         cl->device.info.name);
    STK__TRY(stk__buffer_reserve(&cl->staged, batch->count * sizeof(stk__kernel_sample), error));
    stk__kernel_sample *samples = (stk__kernel_sample *)(void *)cl->staged.data;
    const stk__launch launch = stk__launch_make(batch, samples);
    STK__TRY(make_room(cl, batch, &launch, error));
    STK__TRY(copy_in(&w, &cl->arena, batch->arena, batch->arena_bytes, error));
    STK__TRY(copy_in(&w, &cl->samples, samples, batch->count * sizeof *samples, error));
    if (launch.grey) STK__TRY(run_kernel(&w, cl->grey, &launch, error));
    STK__TRY(run_kernel(&w, cl->augment, &launch, error));
    STK__TRY(copy_out(&w, &cl->image, batch->target.image, launch.image_bytes, error));
    return copy_out(&w, &cl->mask, batch->target.mask, launch.mask_bytes, error);
}
