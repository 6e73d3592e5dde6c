/* SPDX-License-Identifier: Apache-2.0 */
/* The fused augmentation of one sample on the CPU: sampling, colour, blur, noise, erase and store in one
 * pass. The plain C reference gives a stk__augment_block its meaning; every other level has the same bits. */
#ifndef STK_DEVICE_AUGMENT_PASS_H
#define STK_DEVICE_AUGMENT_PASS_H

#include "core/cpu_level.h"
#include "core/half.h"
#include "core/memory.h"
#include "device/augment_block.h"
#include "image/pixels.h"

/* Where a sample goes, and how it is stored. */
typedef struct stk__augment_target {
    void *image;          /* w * h * channels values, dense */
    void *mask;           /* w * h ids, dense; NULL: none */
    stk_dtype dtype;      /* of image: F32, F16, BF16 */
    stk_dtype mask_dtype; /* U8, I64 */
    int32_t w, h, channels;
    bool planar; /* channel after channel (NCHW) instead of pixel after pixel (NHWC) */
    float scale[3], bias[3];
} stk__augment_target;

/* One sample: the source's pixels and mask (data NULL: none), which have the same size; as many channels as
 * the target. A target with a mask needs a source with one, unless the source has no pixels either.
 * scratch only grows, and belongs to one thread. Fails only when out of memory. */
typedef struct stk__augment_source {
    stk__pixels image, mask;
} stk__augment_source;

typedef stk_status (*stk__augment_kernel)(const stk__augment_block *block, const stk__augment_source *source,
                                          const stk__augment_target *target, stk__buffer *scratch,
                                          stk_error *error);

stk_status stk__augment_c(const stk__augment_block *block, const stk__augment_source *source,
                          const stk__augment_target *target, stk__buffer *scratch, stk_error *error);

/* The faster levels, on x86-64 only; call them through stk__augment_at, which asks the CPU first. */
stk_status stk__augment_avx2(const stk__augment_block *block, const stk__augment_source *source,
                             const stk__augment_target *target, stk__buffer *scratch, stk_error *error);
stk_status stk__augment_avx512(const stk__augment_block *block, const stk__augment_source *source,
                               const stk__augment_target *target, stk__buffer *scratch, stk_error *error);

/* The kernel of a level; NULL when this build or CPU does not have it. */
stk__augment_kernel stk__augment_at(stk__cpu_level level);

/* A whole batch: the pixels of its samples in one arena, one block for each. */
typedef struct stk__augment_batch {
    uint64_t count;
    const stk__augment_block *blocks; /* [count] */
    const uint8_t *arena;
    size_t arena_bytes;
    const stk_view *images, *masks; /* [count] places in the arena; masks NULL: none */
    stk__augment_target target;     /* image, mask: of the first sample; those of the others follow densely */
    bool pinned;                    /* arena and target lie in host memory that the device has pinned */
} stk__augment_batch;

#endif
