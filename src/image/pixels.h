/* SPDX-License-Identifier: Apache-2.0 */
/* A rectangle of interleaved 8-bit pixels in somebody else's memory. */
#ifndef STK_IMAGE_PIXELS_H
#define STK_IMAGE_PIXELS_H

#include "stoker/batch.h"

#include <stddef.h>
#include <stdint.h>

typedef struct stk__pixels {
    uint8_t *data;
    size_t pitch_bytes; /* from row to row, >= w * channels */
    int32_t w, h;
    int32_t channels; /* 1 grey or ids, 3 RGB */
} stk__pixels;

static inline uint8_t *stk__pixels_row(stk__pixels pixels, int32_t y)
{
    return pixels.data + (size_t)y * pixels.pitch_bytes;
}

static inline stk__pixels stk__pixels_dense(uint8_t *data, int32_t w, int32_t h, int32_t channels)
{
    return (stk__pixels){data, (size_t)w * (size_t)channels, w, h, channels};
}

#endif
