/* SPDX-License-Identifier: Apache-2.0 */
/* From a batch to what the kernels of the kernel source are given. Used by every device that runs the text.
 */
#ifndef STK_DEVICE_LAUNCH_H
#define STK_DEVICE_LAUNCH_H

#include "device/cpu/augment_pass.h"
#include "device/kernel/kernel_launch.h"

/* The text itself, embedded at build: OpenCL C and CUDA in one. */
extern const char stk__kernel_source[];
extern const size_t stk__kernel_source_bytes; /* without the zero at its end */

typedef struct stk__launch {
    stk__kernel_launch text;
    uint32_t columns, rows, samples; /* groups of items */
    bool grey;                       /* some sample has contrast: stk_grey runs first */
    size_t image_bytes, mask_bytes;  /* of the whole output; mask_bytes 0: none */
} stk__launch;

/* Is the batch one that kernels may trust? STK_ERROR_ARGUMENT says what is wrong with which sample. */
stk_status stk__launch_check(const stk__augment_batch *batch, stk_error *error);

/* samples [batch->count] is filled for the device. The batch has been checked. */
stk__launch stk__launch_make(const stk__augment_batch *batch, stk__kernel_sample *samples);

/* Of stk_gather, for the largest of the sources. */
void stk__launch_gather_groups(const stk__kernel_gather *sources, uint32_t count, uint32_t groups[3]);

#endif
