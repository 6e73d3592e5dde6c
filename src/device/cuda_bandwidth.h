/* How fast bytes move: between host and GPU, measured, and in the GPU's own memory, as the driver tells. For
 * `stoker devices --selftest`. One thread, as all calls of a device. */
#ifndef STK_DEVICE_CUDA_BANDWIDTH_H
#define STK_DEVICE_CUDA_BANDWIDTH_H

#include "device/device.h"

typedef struct stk__cuda_copies {
    size_t bytes; /* of each copy */
    int rounds;   /* the fastest counts */
    bool pinned;  /* host memory that the driver knows; else plain pages */
    bool to_host;
} stk__cuda_copies;

/* device: a `cuda:N`. */
stk_status stk__cuda_copies_measure(stk__device *device, const stk__cuda_copies *copies, double *gb_per_s,
                                    stk_error *error);

double stk__cuda_memory_gb_per_s(const stk__device *device); /* NAN: the driver does not tell */

#endif
