/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix on two finished samples, in place: a' = l a + (1 - l) b and b' = l b + (1 - l) a for
 * all values, or a box that changes places. In float32, fp16 and bf16; 16-bit values are blended in
 * float32 and rounded. */
#include "device/mix.h"

#include "core/half.h"

#include <assert.h>
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

static void blend_bytes(uint8_t *a, uint8_t *b, size_t count, float lambda)
{
    const float rest = 1 - lambda;
    for (size_t i = 0; i < count; i++) {
        const float at_a = a[i], at_b = b[i];
        a[i] = (uint8_t)(at_a * lambda + at_b * rest + 0.5f);
        b[i] = (uint8_t)(at_b * lambda + at_a * rest + 0.5f);
    }
}

void stk__mix_blend(void *a, void *b, size_t count, stk_dtype dtype, float lambda)
{
    if (dtype == STK_DTYPE_U8) blend_bytes(a, b, count, lambda);
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

/* One sample of the batch. */
typedef struct mixed_sample {
    uint8_t *image, *mask, *mask2;
} mixed_sample;

static size_t mask_bytes_of(const stk__augment_target *first)
{
    return (size_t)first->w * (size_t)first->h * (size_t)stk_dtype_bytes(first->mask_dtype);
}

static size_t value_count_of(const stk__augment_target *first)
{
    return (size_t)first->w * (size_t)first->h * (size_t)first->channels;
}

static mixed_sample sample_at(const stk__mix_batch *batch, size_t place)
{
    const stk__augment_target *first = &batch->first;
    const size_t mask_bytes = mask_bytes_of(first);
    const size_t image_bytes = value_count_of(first) * (size_t)stk_dtype_bytes(first->dtype);
    return (mixed_sample){.image = (uint8_t *)first->image + place * image_bytes,
                          .mask = first->mask ? (uint8_t *)first->mask + place * mask_bytes : NULL,
                          .mask2 = batch->mask2 ? (uint8_t *)batch->mask2 + place * mask_bytes : NULL};
}

/* CutMix: the box changes places in image and mask. */
static void paste(const stk__kernel_mix *mix, const stk__augment_target *first, const mixed_sample *a,
                  const mixed_sample *b)
{
    const size_t value_bytes = (size_t)stk_dtype_bytes(first->dtype);
    stk__mix_box box = {
        mix->x, mix->y, mix->w, mix->h, first->w, first->h, first->planar ? first->channels : 1, value_bytes};
    if (!first->planar) box.pixel_bytes *= (size_t)first->channels;
    stk__mix_swap(a->image, b->image, &box);
    if (!a->mask) return;
    box.planes = 1;
    box.pixel_bytes = (size_t)stk_dtype_bytes(first->mask_dtype);
    stk__mix_swap(a->mask, b->mask, &box);
}

/* Second targets: of blended samples each other's, else the own (of pasted ones, the pasted). */
void stk__mix_run(const stk__kernel_mix *mix, const stk__mix_batch *batch)
{
    const stk__augment_target *first = &batch->first;
    const mixed_sample a = sample_at(batch, mix->a), b = sample_at(batch, mix->b);
    const bool blend = mix->kind == STK_KERNEL_MIX_BLEND;
    assert(mix->kind != STK_KERNEL_MIX_BLANK);
    if (blend) stk__mix_blend(a.image, b.image, value_count_of(first), first->dtype, mix->lambda);
    if (mix->kind == STK_KERNEL_MIX_PASTE) paste(mix, first, &a, &b);
    if (!a.mask || !a.mask2) return;
    memcpy(a.mask2, blend ? b.mask : a.mask, mask_bytes_of(first));
    if (mix->a != mix->b) memcpy(b.mask2, blend ? a.mask : b.mask, mask_bytes_of(first));
}
