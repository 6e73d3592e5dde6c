/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of a GPU that is not here. A kernel takes
 *
 *     max(bytes / memory, instructions a pixel x pixels / (multiprocessors x 128 x clock)) / its share,
 *
 * a copy bytes / link / its share (pageable memory has half of the link), and a stream's clock is the sum of
 * its work, set forward by events that it waits for. Instructions are those of
 * src/device/kernel/kernel_cost.list: of `strong` where a sample is blurred, else of `standard`; stk_grey's
 * are among them, so it only reads. Also which work is left undone, and which gets a bit wrong. */
#include "fake_gpu.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *chain;
    double instructions;
} costs[] = {
#define CHAIN(name, instructions) {name, instructions},
#include "device/kernel/kernel_cost.list"
#undef CHAIN
};

static double cost_of(const char *chain)
{
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++)
        if (strcmp(costs[i].chain, chain) == 0) return costs[i].instructions;
    abort();
}

/* Samples lie in device memory, which may have gone by now: then nothing is blurred. */
static bool has_blur(const fake_work *work, int gpu)
{
    bool blurred = false;
    const size_t bytes = work->groups[2] * sizeof(stk__kernel_sample);
    const uint64_t address = (uint64_t)(uintptr_t)work->text.samples;
    pthread_mutex_lock(&fake_lock);
    const fake_memory *memory = fake_find(address, bytes, false, gpu);
    const stk__kernel_sample *samples =
        memory ? (const void *)(memory->host + (address - memory->address)) : NULL;
    for (uint32_t i = 0; samples && i < work->groups[2]; i++)
        blurred |= samples[i].block.blur_radius > 0;
    pthread_mutex_unlock(&fake_lock);
    return blurred;
}

static double kernel_ns(const fake_work *work, const fake_gpu *g, int gpu)
{
    const bool mix = work->kernel == FAKE_MIX;
    const stk__kernel_launch *l = mix ? &work->mix.launch : &work->text.launch;
    if (work->kernel == FAKE_DROPOUT || work->kernel == FAKE_GATHER || work->kernel == FAKE_ROUND)
        return (double)fake_output_bytes(work) / g->memory_gb_per_s / g->kernel_share;
    const double pixels = (double)l->w * l->h * work->groups[2],
                 bytes = pixels * (l->channels + 2) + (double)fake_output_bytes(work);
    if (work->kernel == FAKE_GREY) return pixels * l->channels / g->memory_gb_per_s / g->kernel_share;
    const double instructions = mix ? 0 : cost_of(has_blur(work, gpu) ? "strong" : "standard"),
                 memory_ns = bytes / g->memory_gb_per_s,
                 issue_ns = instructions * pixels * 1e3 / (g->units * 128 * g->core_mhz);
    return (memory_ns > issue_ns ? memory_ns : issue_ns) / g->kernel_share;
}

double fake_model_ns(const fake_work *work, int gpu)
{
    const fake_gpu *g = &fake.gpus[gpu];
    if (g->core_mhz <= 0) return 0;
    if (work->function == FAKE_kernel) return kernel_ns(work, g, gpu);
    return (double)work->bytes / g->link_gb_per_s / g->copy_share * (work->pageable ? 2 : 1);
}

bool fake_is_idle(const fake_work *work)
{
    if (fake.idle_bytes < 0) return false;
    const size_t bytes = work->function == FAKE_kernel ? fake_output_bytes(work) : work->bytes;
    return bytes > (size_t)fake.idle_bytes;
}

bool fake_is_wrong(const fake_work *work, long done)
{
    const bool mix = work->kernel == FAKE_MIX;
    const stk__kernel_launch *l = mix ? &work->mix.launch : &work->text.launch;
    const char *part = fake.wrong_part;
    if (work->kernel == FAKE_GATHER || work->kernel == FAKE_ROUND) return work->wrong_bits;
    if (work->wrong_bits) return !mix;
    if (strcmp(part, "mix") == 0) return mix;
    if (mix) return false;
    if (strcmp(part, "nhwc") == 0) return !l->planar;
    if (strcmp(part, "planar") == 0) return l->planar;
    if (strcmp(part, "half") == 0) return l->dtype != STK_KERNEL_F32;
    return part[0] && done >= strtol(part, NULL, 10);
}
