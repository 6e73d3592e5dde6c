/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL device from inside: what opencl.c, opencl_program.c and opencl_run.c share. */
#ifndef STK_DEVICE_OPENCL_DEVICE_H
#define STK_DEVICE_OPENCL_DEVICE_H

#include "device/device.h"
#include "device/kernel/launch.h"
#include "device/opencl/opencl_api.h"

/* Memory of the device that only grows. */
typedef struct stk__opencl_buffer {
    stk__cl_handle handle; /* NULL: none yet */
    size_t capacity_bytes;
} stk__opencl_buffer;

typedef struct stk__opencl {
    stk__device device;
    const stk__opencl_api *api;
    stk__cl_handle id, context, queue, program, grey, augment;
    stk__opencl_buffer arena, samples, image, mask;
    stk__buffer staged; /* stk__kernel_sample of the batch, on the host until they are copied */
    bool lost;          /* it did not answer in time: something may still run, nothing is released */
} stk__opencl;

/* From the cache on disk, or built and put there. text and options: the embedded ones, or a test's. */
stk_status stk__opencl_build(stk__opencl *cl, const char *text, stk_error *error);

/* A checked batch with at least one sample. */
stk_status stk__opencl_run(stk__opencl *cl, const stk__augment_batch *batch, stk_error *error);

#endif
