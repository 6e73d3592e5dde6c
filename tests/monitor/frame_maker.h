/* SPDX-License-Identifier: Apache-2.0 */
/* Frames by hand: a clock that is moved on, and what is to be seen in the interval that ends there. */
#ifndef FRAME_MAKER_H
#define FRAME_MAKER_H

#include "core/clock.h"
#include "stoker/monitor.h"

#include <stdio.h>
#include <string.h>

enum { MAKER_GPUS = 4, MAKER_START_S = 1000 };

typedef struct frame_maker {
    stk_gpu gpus[MAKER_GPUS];
    stk_gpu_frame seen[MAKER_GPUS];
    stk_monitor_frame frame;
    float cores[2];
} frame_maker;

/* Moments of the maker are seconds since its start. */
static inline uint64_t maker_ns(double second)
{
    return (MAKER_START_S * STK_SECOND_NS) + (uint64_t)(second * 1e9 + 0.5);
}

static inline void maker_start(frame_maker *maker, int gpu_count)
{
    memset(maker, 0, sizeof *maker);
    for (int i = 0; i < gpu_count; i++) {
        maker->gpus[i].index = i;
        snprintf(maker->gpus[i].vendor, sizeof maker->gpus[i].vendor, "made");
        snprintf(maker->gpus[i].name, sizeof maker->gpus[i].name, "Made up %d", i);
        snprintf(maker->gpus[i].id, sizeof maker->gpus[i].id, "GPU-%d", i);
    }
    maker->frame = (stk_monitor_frame){.number = UINT64_MAX,
                                       .to_ns = maker_ns(0),
                                       .clock_s = 1.7e9,
                                       .gpu_count = gpu_count,
                                       .gpus = maker->gpus,
                                       .gpu_frames = maker->seen};
    maker->frame.host.core_count = maker->frame.host.cpu_count = 2;
    maker->frame.host.core_percent = maker->cores;
}

/* The next interval, of so many seconds; readings stay, loads go. Returns where it began. */
static inline double maker_next(frame_maker *maker, double seconds)
{
    stk_monitor_frame *frame = &maker->frame;
    frame->number++;
    frame->from_ns = frame->to_ns;
    frame->to_ns += (uint64_t)(seconds * 1e9 + 0.5);
    frame->clock_s += seconds;
    for (int i = 0; i < frame->gpu_count; i++)
        maker->seen[i].load_count = 0;
    return (double)(frame->from_ns - maker_ns(0)) * 1e-9;
}

static inline stk_reading maker_known(const frame_maker *maker, double value)
{
    return (stk_reading){.value = value, .when_ns = maker->frame.to_ns, .known = STK_KNOWN};
}

static inline void maker_set(frame_maker *maker, int gpu, stk_metric metric, double value)
{
    maker->seen[gpu].readings[metric] = maker_known(maker, value);
}

static inline void maker_load(frame_maker *maker, int gpu, double from_s, double to_s, double percent)
{
    stk_gpu_frame *seen = &maker->seen[gpu];
    seen->loads[seen->load_count++] =
        (stk_load_sample){.from_ns = maker_ns(from_s), .to_ns = maker_ns(to_s), .percent = percent};
}

#endif
