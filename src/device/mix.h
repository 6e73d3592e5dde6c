/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing two finished samples, in place, both ways: the arithmetic of MixUp and CutMix. */
#ifndef STK_DEVICE_MIX_H
#define STK_DEVICE_MIX_H

#include "device/cpu/augment_pass.h"
#include "device/kernel/kernel_launch.h"

#include <stdbool.h>
#include <stddef.h>

/* a = a * lambda + b * (1 - lambda), and b = b * lambda + a * (1 - lambda) with the values before. dtype F32,
 * F16, BF16, or U8 (rounded); sums in float. */
void stk__mix_blend(void *a, void *b, size_t count, stk_dtype dtype, float lambda);

/* A box of a picture that lies in memory as planes of w x h values. */
typedef struct stk__mix_box {
    int32_t x, y, w, h; /* in pixels */
    int32_t picture_w, picture_h;
    int32_t planes;     /* channels of planar images, else 1 */
    size_t pixel_bytes; /* of one pixel in a plane */
} stk__mix_box;

/* The box of a and of b change places. */
void stk__mix_swap(void *a, void *b, const stk__mix_box *box);

/* The finished samples of a batch, in host memory. */
typedef struct stk__mix_batch {
    stk__augment_target first; /* of the first sample; those of the others follow densely. image: U8, too */
    void *mask2;               /* second ids of the first sample, as first.mask; NULL: none */
} stk__mix_batch;

/* What an entry says to do to the samples it names; the bits of the kernel source. Not
 * STK_KERNEL_MIX_BLANK. Different entries at once from any threads. */
void stk__mix_run(const stk__kernel_mix *mix, const stk__mix_batch *batch);

#endif
