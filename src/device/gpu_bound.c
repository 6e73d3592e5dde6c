#include "device/gpu_bound.h"

#include "device/text/text_launch.h"

#include <fnmatch.h>
#include <math.h>

static const stk__known_gpu known[] = {
#define GPU(pattern, name, architecture, units, memory, threads, groups, shared)                             \
    {pattern, name, architecture, units, memory, threads, groups, shared},
#include "device/known_gpus.list"
#undef GPU
};

const stk__known_gpu *stk__gpu_find(const char *model)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (fnmatch(known[i].pattern, model, 0) == 0) return &known[i];
    return NULL;
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
        bytes += reads * (view_bytes(&batch->images[i]) + (double)sizeof(stk__text_sample));
        if (batch->masks) bytes += view_bytes(&batch->masks[i]);
    }
    return bytes;
}

double stk__gpu_bound_ms(const stk__augment_batch *batch, double memory_gb_per_s)
{
    return stk__gpu_bound_bytes(batch) / memory_gb_per_s * 1e-6;
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
