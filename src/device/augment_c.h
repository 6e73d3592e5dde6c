/* The plain C reference of the fused augmentation: the meaning of a stk__augment_block. Never optimised. */
#ifndef STK_DEVICE_AUGMENT_C_H
#define STK_DEVICE_AUGMENT_C_H

#include "core/memory.h"
#include "device/augment_block.h"
#include "image/pixels.h"

/* Where a sample goes: float32 planes or interleaved. */
typedef struct stk__augment_target {
    float *image;  /* w * h * channels values */
    uint8_t *mask; /* w * h ids; NULL: none */
    int32_t w, h, channels;
    bool planar; /* channel after channel (NCHW) instead of pixel after pixel */
    float scale[3], bias[3];
} stk__augment_target;

/* source and mask (data NULL: none) have the same size. scratch only grows. */
stk_status stk__augment_c(const stk__augment_block *block, stk__pixels source, stk__pixels mask,
                          const stk__augment_target *target, stk__buffer *scratch, stk_error *error);

#endif
