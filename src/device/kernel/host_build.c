/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel text of the GPUs compiled as C, so that sanitizers, debuggers and tests without a GPU see it:
 * work items run one after the other in nested loops. A test device only. */
#include "device/kernel/host_build.h"

#include <math.h>
#include <string.h>

static inline uint32_t stk__bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float stk__float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#define STK_KERNEL_SOURCE
#undef STK_GLOBAL
#include "device/kernel/kernel_dialect.h"
#include "device/kernel/kernel_pixel.h"
#include "device/kernel/kernel_colour.h"
#include "device/kernel/kernel_tile.h"
#include "device/kernel/kernel_augment.h"
#include "device/kernel/kernel_mix.h"
#include "device/kernel/kernel_dropout.h"
#include "device/kernel/kernel_gather.h"
#include "device/kernel/kernel_round.h"

typedef void (*group_function)(stk__kernel_work work, uint32_t column, uint32_t row, uint32_t number);

static void run_groups(group_function run, const stk__kernel_work *work, const uint32_t groups[3])
{
    for (uint32_t number = 0; number < groups[2]; number++)
        for (uint32_t row = 0; row < groups[1]; row++)
            for (uint32_t column = 0; column < groups[0]; column++)
                run(*work, column, row, number);
}

void stk__host_build_grey(const stk__kernel_work *work, uint32_t columns, uint32_t rows, uint32_t samples)
{
    run_groups(stk_grey, work, (const uint32_t[]){columns, rows, samples});
}

void stk__host_build_augment(const stk__kernel_work *work, uint32_t columns, uint32_t rows, uint32_t samples)
{
    run_groups(stk_augment, work, (const uint32_t[]){columns, rows, samples});
}

void stk__host_build_mix(const stk__kernel_mix_work *work, uint32_t columns, uint32_t rows, uint32_t entries)
{
    for (uint32_t number = 0; number < entries; number++)
        for (uint32_t row = 0; row < rows; row++)
            for (uint32_t column = 0; column < columns; column++)
                stk_mix(work, column, row, number);
}

void stk__host_build_dropout(const stk__kernel_dropout_work *work, uint32_t columns, uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++)
            stk_dropout(work, column, row);
}

void stk__host_build_gather(const stk__kernel_gather_work *work, uint32_t columns, uint32_t rows,
                            uint32_t samples)
{
    for (uint32_t number = 0; number < samples; number++)
        for (uint32_t row = 0; row < rows; row++)
            for (uint32_t column = 0; column < columns; column++)
                stk_gather(work, column, row, number);
}

void stk__host_build_round(const stk__kernel_round_work *work, uint32_t columns, uint32_t samples)
{
    for (uint32_t number = 0; number < samples; number++)
        for (uint32_t column = 0; column < columns; column++)
            stk_round(work, column, number);
}

stk_status stk__host_build_batch(const stk__augment_batch *batch, stk__buffer *scratch, stk_error *error)
{
    if (batch->count == 0) return STK_OK;
    STK__TRY(stk__buffer_reserve(scratch, batch->count * sizeof(stk__kernel_sample), error));
    stk__kernel_sample *samples = (stk__kernel_sample *)(void *)scratch->data;
    const stk__launch launch = stk__launch_make(batch, samples);
    const stk__kernel_work work = {.launch = launch.text,
                                   .arena = batch->arena,
                                   .samples = samples,
                                   .image = batch->target.image,
                                   .mask = batch->target.mask};
    if (launch.grey) stk__host_build_grey(&work, launch.columns, launch.rows, launch.samples);
    stk__host_build_augment(&work, launch.columns, launch.rows, launch.samples);
    return STK_OK;
}

static stk_view append_pixels(stk__pixels pixels, uint8_t *arena, size_t *used)
{
    if (!pixels.data) return (stk_view){0};
    const size_t row = (size_t)pixels.w * (size_t)pixels.channels;
    const stk_view view = {*used, row, pixels.w, pixels.h, pixels.channels};
    for (int32_t y = 0; y < pixels.h; y++)
        memcpy(arena + *used + (size_t)y * row, stk__pixels_row(pixels, y), row);
    *used += row * (size_t)pixels.h;
    return view;
}

/* Image and mask may lie anywhere: they are brought together in an arena behind the sample. */
stk_status stk__host_build_sample(const stk__augment_block *block, const stk__augment_source *source,
                                  const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    const size_t area = (size_t)source->image.w * (size_t)source->image.h;
    size_t used = 0;
    STK__TRY(stk__buffer_reserve(scratch, sizeof(stk__kernel_sample) + area * 4 + 1, error));
    uint8_t *arena = scratch->data + sizeof(stk__kernel_sample);
    const stk_view image = append_pixels(source->image, arena, &used);
    const stk_view mask = append_pixels(source->mask, arena, &used);
    return stk__host_build_batch(&(stk__augment_batch){.count = 1,
                                                       .blocks = block,
                                                       .arena = arena,
                                                       .arena_bytes = used,
                                                       .images = &image,
                                                       .masks = &mask,
                                                       .target = *target},
                                 scratch, error);
}
