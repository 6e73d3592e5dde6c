/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix on two finished samples, in place: a' = l a + (1 - l) b and b' = l b + (1 - l) a for
 * all values, or a box that changes places. In float32, fp16 and bf16; 16-bit values are blended in
 * float32 and rounded. */
#include "device/mix.h"

#include "core/half.h"

#include <string.h>

static void blend_floats(float *a, float *b, size_t count, float lambda)
{
    const float rest = 1 - lambda;
    for (size_t i = 0; i < count; i++) {
        const float at_a = a[i], at_b = b[i];
        a[i] = at_a * lambda + at_b * rest;
        b[i] = at_b * lambda + at_a * rest;
    }
}

static void blend_halves(uint16_t *a, uint16_t *b, size_t count, float lambda)
{
    const float rest = 1 - lambda;
    for (size_t i = 0; i < count; i++) {
        const float at_a = stk__half_to_float(a[i]), at_b = stk__half_to_float(b[i]);
        a[i] = stk__half_from_float(at_a * lambda + at_b * rest);
        b[i] = stk__half_from_float(at_b * lambda + at_a * rest);
    }
}

static void blend_bfloats(uint16_t *a, uint16_t *b, size_t count, float lambda)
{
    const float rest = 1 - lambda;
    for (size_t i = 0; i < count; i++) {
        const float at_a = stk__bfloat_to_float(a[i]), at_b = stk__bfloat_to_float(b[i]);
        a[i] = stk__bfloat_from_float(at_a * lambda + at_b * rest);
        b[i] = stk__bfloat_from_float(at_b * lambda + at_a * rest);
    }
}

void stk__mix_blend(void *a, void *b, size_t count, stk_dtype dtype, float lambda)
{
    if (dtype == STK_DTYPE_F32) blend_floats(a, b, count, lambda);
    if (dtype == STK_DTYPE_F16) blend_halves(a, b, count, lambda);
    if (dtype == STK_DTYPE_BF16) blend_bfloats(a, b, count, lambda);
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t size_bytes)
{
    uint8_t part[256];
    for (size_t at = 0; at < size_bytes; at += sizeof part) {
        const size_t step = size_bytes - at < sizeof part ? size_bytes - at : sizeof part;
        memcpy(part, a + at, step);
        memcpy(a + at, b + at, step);
        memcpy(b + at, part, step);
    }
}

void stk__mix_swap(void *a, void *b, const stk__mix_box *box)
{
    const size_t row_bytes = (size_t)box->picture_w * box->pixel_bytes;
    const size_t plane_bytes = row_bytes * (size_t)box->picture_h;
    for (int32_t plane = 0; plane < box->planes; plane++)
        for (int32_t y = box->y; y < box->y + box->h; y++) {
            const size_t start =
                (size_t)plane * plane_bytes + (size_t)y * row_bytes + (size_t)box->x * box->pixel_bytes;
            swap_bytes((uint8_t *)a + start, (uint8_t *)b + start, (size_t)box->w * box->pixel_bytes);
        }
}
