/* SPDX-License-Identifier: Apache-2.0 */
/* What memory, schedulers and link of a GPU allow, computed and not measured: what the numbers of the
 * self-test are held against. tools/gpu_bound prints the same for the documentation.
 *
 * A batch takes at least
 *
 *     max(bytes / memory bandwidth, instructions a pixel x pixels / (multiprocessors x 4 x 32 x clock)):
 *
 * a multiprocessor has four schedulers, each of which issues one instruction of a warp of 32 threads a clock
 * (compute capability 7.0 and newer; NVIDIA's CUDA programming guide, "compute capabilities"). Lanes do not
 * appear in it: where a multiprocessor has 64 FP32 lanes (sm_70, sm_75, sm_80) code of FP32 instructions
 * alone would take twice as long, mixed with integers, loads and branches it need not. */
#ifndef STK_DEVICE_GPU_BOUND_H
#define STK_DEVICE_GPU_BOUND_H

#include "device/cpu/augment_pass.h"

/* A row of known_gpus.list. */
typedef struct stk__known_gpu {
    const char *pattern, *name; /* of the driver's name for it, as fnmatch reads it; what people call it */
    int architecture, units;    /* 86: sm_86; multiprocessors */
    double clock_mhz, memory_gb_per_s;
    int threads, groups, shared_kib; /* most of a multiprocessor */
} stk__known_gpu;

/* NULL: not in the list. A MIG instance ("… MIG 1g.5gb") is found by its GPU's name. */
const stk__known_gpu *stk__gpu_find(const char *model);
const stk__known_gpu *stk__gpu_known(int index); /* 0, 1, …; NULL at the end */

/* NAN: unknown. */
typedef struct stk__gpu_speed {
    double units, clock_mhz, memory_gb_per_s;
} stk__gpu_speed;

/* The list's numbers; of an instance with fewer multiprocessors (MIG) its share of the memory's bandwidth.
 * told: the driver's values, used alone if there is no row. */
stk__gpu_speed stk__gpu_speed_of(const stk__known_gpu *known, stk__gpu_speed told);

/* By kernel_cost.list. NAN: no such chain. */
double stk__gpu_instructions(const char *chain);

/* Bytes of device memory that the kernels of the text have to move for a batch: sources, outputs and the
 * numbers of samples once; the image of a sample with contrast twice. */
double stk__gpu_bound_bytes(const stk__augment_batch *batch);

/* What a batch takes at least; NAN: a speed is unknown. */
typedef struct stk__gpu_bound {
    double memory_ms, issue_ms;
    double ms; /* the larger */
} stk__gpu_bound;
stk__gpu_bound stk__gpu_bound_of(const stk__augment_batch *batch, double instructions,
                                 const stk__gpu_speed *speed);

/* GB/s of a PCIe link in one direction, after its coding; NAN: unknown. */
double stk__gpu_link_gb_per_s(int generation, int width);

/* GB/s of memory that moves twice per clock; NAN: unknown (a number is not positive). */
double stk__gpu_memory_gb_per_s(double clock_khz, double bus_bits);

#endif
