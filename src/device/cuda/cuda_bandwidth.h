/* SPDX-License-Identifier: Apache-2.0 */
/* Measured copy bandwidth between host and GPU, and the GPU's clocks and units as the driver reports them.
 * For `stoker devices --selftest`. One thread, as all calls of a device. */
#ifndef STK_DEVICE_CUDA_BANDWIDTH_H
#define STK_DEVICE_CUDA_BANDWIDTH_H

#include "device/device.h"
#include "device/gpu_bound.h"

typedef struct stk__cuda_copies {
    size_t bytes; /* of each copy */
    int rounds;   /* the fastest counts */
    bool pinned;  /* host memory that the driver knows; else plain pages */
    bool to_host;
} stk__cuda_copies;

/* device: a `cuda:N`. */
stk_status stk__cuda_copies_measure(stk__device *device, const stk__cuda_copies *copies, double *gb_per_s,
                                    stk_error *error);

/* As the driver reports; NAN: unknown. */
stk__gpu_speed stk__cuda_speed(const stk__device *device);

#endif
