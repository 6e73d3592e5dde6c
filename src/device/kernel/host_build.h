/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel source compiled as plain C, so that sanitizers and debuggers see it. Not a device to work with:
 * it makes one item after the other. */
#ifndef STK_DEVICE_HOST_BUILD_H
#define STK_DEVICE_HOST_BUILD_H

#include "device/kernel/launch.h"

/* The groups of one launch of stk_augment (and stk_grey before it), with the work's pointers into host
 * memory. A fake CUDA driver calls them too. */
void stk__host_build_grey(const stk__kernel_work *work, uint32_t columns, uint32_t rows, uint32_t samples);
void stk__host_build_augment(const stk__kernel_work *work, uint32_t columns, uint32_t rows, uint32_t samples);
void stk__host_build_mix(const stk__kernel_mix_work *work, uint32_t columns, uint32_t rows, uint32_t entries);
void stk__host_build_dropout(const stk__kernel_dropout_work *work, uint32_t columns, uint32_t rows);
void stk__host_build_gather(const stk__kernel_gather_work *work, uint32_t columns, uint32_t rows,
                            uint32_t samples);
void stk__host_build_round(const stk__kernel_round_work *work, uint32_t columns, uint32_t samples);

/* A checked batch. scratch only grows. */
stk_status stk__host_build_batch(const stk__augment_batch *batch, stk__buffer *scratch, stk_error *error);

/* One sample, as a stk__augment_kernel. */
stk_status stk__host_build_sample(const stk__augment_block *block, const stk__augment_source *source,
                                  const stk__augment_target *target, stk__buffer *scratch, stk_error *error);

#endif
