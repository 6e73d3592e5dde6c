/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of gpu_bound.h, from two lists: GPUs, and what the kernels cost. Pure functions. */
#include "device/gpu_bound.h"

#include "device/kernel/kernel_launch.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ISSUED_A_CLOCK = 4 * 32 }; /* schedulers of a multiprocessor x threads of a warp */

static const stk__known_gpu known[] = {
#define GPU(pattern, name, architecture, units, clock, memory, threads, groups, shared)                      \
    {pattern, name, architecture, units, clock, memory, threads, groups, shared},
#include "device/known_gpus.list"
#undef GPU
};

static const struct {
    const char *chain;
    double instructions;
} costs[] = {
#define CHAIN(name, instructions) {name, instructions},
#include "device/kernel/kernel_cost.list"
#undef CHAIN
};

const stk__known_gpu *stk__gpu_known(int index)
{
    return (size_t)index < sizeof known / sizeof known[0] ? &known[index] : NULL;
}

const stk__known_gpu *stk__gpu_find(const char *model)
{
    char board[128];
    const char *part = strstr(model, " MIG ");
    snprintf(board, sizeof board, "%.*s", part ? (int)(part - model) : (int)sizeof board, model);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (fnmatch(known[i].pattern, board, 0) == 0) return &known[i];
    return NULL;
}

stk__gpu_speed stk__gpu_speed_of(const stk__known_gpu *row, stk__gpu_speed told)
{
    if (!row) return told;
    const double units = told.units > 0 && told.units < row->units ? told.units : row->units;
    return (stk__gpu_speed){units, row->clock_mhz, row->memory_gb_per_s * units / row->units};
}

double stk__gpu_instructions(const char *chain)
{
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++)
        if (strcmp(costs[i].chain, chain) == 0) return costs[i].instructions;
    return NAN;
}

static bool has_contrast(const stk__augment_block *block)
{
    for (int32_t s = 0; s < block->step_count; s++)
        if (block->step_kind[s] == STK_COLOUR_CONTRAST) return true;
    return false;
}

static double view_bytes(const stk_view *view)
{
    return (double)view->w * (double)view->h * (double)view->channels;
}

double stk__gpu_bound_bytes(const stk__augment_batch *batch)
{
    const stk__augment_target *target = &batch->target;
    double pixel_bytes = (double)target->channels * (double)stk_dtype_bytes(target->dtype);
    if (target->mask) pixel_bytes += (double)stk_dtype_bytes(target->mask_dtype);
    double bytes = (double)batch->count * (double)target->w * (double)target->h * pixel_bytes;
    for (uint64_t i = 0; i < batch->count; i++) {
        const int reads = has_contrast(&batch->blocks[i]) ? 2 : 1;
        bytes += reads * (view_bytes(&batch->images[i]) + (double)sizeof(stk__kernel_sample));
        if (batch->masks) bytes += view_bytes(&batch->masks[i]);
    }
    return bytes;
}

stk__gpu_bound stk__gpu_bound_of(const stk__augment_batch *batch, double instructions,
                                 const stk__gpu_speed *speed)
{
    const double pixels = (double)batch->count * (double)batch->target.w * (double)batch->target.h;
    stk__gpu_bound bound = {.memory_ms = stk__gpu_bound_bytes(batch) / speed->memory_gb_per_s * 1e-6,
                            .issue_ms = instructions * pixels /
                                        (speed->units * ISSUED_A_CLOCK * speed->clock_mhz * 1e3)};
    bound.ms = isnan(bound.memory_ms) || isnan(bound.issue_ms) ? NAN : fmax(bound.memory_ms, bound.issue_ms);
    return bound;
}

/* GT/s of a lane by generation, coded 8 in 10, then 128 in 130; from 6 on in units with their own checks. */
double stk__gpu_link_gb_per_s(int generation, int width)
{
    static const double lane[] = {0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    const int known_generations = sizeof lane / sizeof lane[0];
    if (generation < 1 || generation > known_generations || width < 1) return NAN;
    return lane[generation - 1] * width;
}

double stk__gpu_memory_gb_per_s(double clock_khz, double bus_bits)
{
    return clock_khz > 0 && bus_bits > 0 ? 2 * clock_khz * bus_bits / 8 * 1e-6 : NAN;
}
