/* What memory and link of a GPU allow, computed and not measured: what the numbers of the self-test are held
 * against. tools/gpu_bound prints the same for the documentation. */
#ifndef STK_DEVICE_GPU_BOUND_H
#define STK_DEVICE_GPU_BOUND_H

#include "device/augment.h"

/* A row of known_gpus.list. */
typedef struct stk__known_gpu {
    const char *pattern, *name; /* of the driver's name for it, as fnmatch reads it; what people call it */
    int architecture, units;    /* 86: sm_86; multiprocessors */
    double memory_gb_per_s;
    int threads, groups, shared_kib; /* most of a multiprocessor */
} stk__known_gpu;

const stk__known_gpu *stk__gpu_find(const char *model); /* NULL: not in the list */

/* Bytes of device memory that the kernels of the text have to move for a batch: sources, outputs and the
 * numbers of samples once; the image of a sample with contrast twice. */
double stk__gpu_bound_bytes(const stk__augment_batch *batch);
double stk__gpu_bound_ms(const stk__augment_batch *batch, double memory_gb_per_s);

/* GB/s of a PCIe link in one direction, after its coding; NAN: unknown. */
double stk__gpu_link_gb_per_s(int generation, int width);

/* GB/s of memory that moves twice per clock; NAN: unknown (a number is not positive). */
double stk__gpu_memory_gb_per_s(double clock_khz, double bus_bits);

#endif
