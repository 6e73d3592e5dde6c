/* SPDX-License-Identifier: Apache-2.0 */
/* A whole level of the augmentation, from the vectors that its file has included before this one: see
 * augment_avx2.c. The reference (augment_c.c) says what it means; this says how it is done in one stream of
 * rows, or in two where contrast has to know the mean first. */
#ifndef STK_DEVICE_AUGMENT_LEVEL_H
#define STK_DEVICE_AUGMENT_LEVEL_H

#include "device/cpu/augment_colour.h"
#include "device/cpu/augment_output.h"
#include "device/cpu/augment_sampler.h"
#include "device/cpu/augment_short.h"
#include "device/cpu/augment_spatial.h"
#include "device/cpu/augment_whole.h"

static inline int32_t find_contrast(const stk__augment_block *block)
{
    int32_t s = 0;
    while (s < block->step_count && block->step_kind[s] != STK_COLOUR_CONTRAST)
        s++;
    return s;
}

/* Are steps before contrast more expensive than reading rows again that have left the L1 and L2 caches? */
static inline bool has_dear_steps(const pass *p)
{
    const int32_t *const kind = p->block->step_kind;
    for (int32_t s = 0; s < p->contrast; s++)
        if (p->contrast < p->block->step_count && kind[s] != STK_COLOUR_BRIGHTNESS) return true;
    return false;
}

static inline void start_pass(pass *p)
{
    p->w = p->target->w;
    p->h = p->target->h;
    p->channels = p->target->channels;
    p->line_values = (((size_t)p->w + ROW_MARGIN - 1) / ROW_MARGIN + 2) * ROW_MARGIN;
    p->u = start_axis(p, p->block->matrix);
    p->v = start_axis(p, p->block->matrix + 3);
    p->whole = find_whole(p);
    p->contrast = find_contrast(p->block);
    p->keeps_rows = has_dear_steps(p);
    p->keeps_levels = !p->whole && !p->keeps_rows && p->contrast < p->block->step_count;
    p->kind = find_kind(p->target, may_stream(p->target));
    p->way = find_short_way(p);
}

static inline int16_t *levels_at(const pass *p, int32_t y)
{
    return p->levels + (p->keeps_levels ? (size_t)y * (size_t)p->channels * p->line_values : 0);
}

/* A row of the source's pixels into p->work, and its ids to where they belong. */
static inline void take_row(const pass *p, int32_t y)
{
    int16_t *const levels = levels_at(p, y);
    if (!p->sampled) {
        if (!p->whole) {
            const sampler sa = start_sampler(p, y);
            sample_part(p, &sa, levels, (stretch){0, p->w});
        }
        if (p->whole && p->target->mask) take_whole_ids(p, y);
        if (p->target->mask) store_ids(p, y);
    }
    if (p->whole)
        take_whole_row(p, y);
    else
        take_levels(p, levels);
}

static inline float mean_of(const pass *p, uint64_t sum)
{
    return (float)sum / ((float)((size_t)p->w * (size_t)p->h) * 256);
}

/* A sum of whole numbers, as the reference's. */
static inline float find_mean(pass *p)
{
    uint64_t sum = 0;
    for (int32_t y = 0; y < p->h; y++) {
        turn_to_row(p, y);
        take_row(p, y);
        run_steps(p, p->work, (stretch){0, p->contrast});
        sum += sum_grey(p, p->work);
    }
    return mean_of(p, sum);
}

static inline stretch part_at(const pass *p, int32_t from)
{
    return (stretch){from, from + PART_PX < p->w ? from + PART_PX : p->w};
}

/* The short way; twice where contrast is in it. */
static inline void run_short_rows(pass *p)
{
    uint64_t sum = 0;
    for (int32_t y = 0; y < p->h; y++) {
        int16_t *const levels = levels_at(p, y);
        const sampler s = start_sampler(p, y);
        for (int32_t x = 0; x < p->w; x += PART_PX) {
            const stretch part = part_at(p, x);
            sample_part(p, &s, levels, part);
            if (p->keeps_levels)
                sum += sum_short(p, levels, part);
            else
                store_short(p, levels, y, part);
        }
        if (p->target->mask) store_ids(p, y);
    }
    if (!p->keeps_levels) return;
    p->mean = mean_of(p, sum);
    p->way = find_less_way(p);
    for (int32_t y = 0; y < p->h; y++)
        store_short(p, levels_at(p, y), y, (stretch){0, p->w});
}

static inline void finish_row(const pass *p, row r, int32_t y)
{
    if (p->block->noise_std > 0) add_noise_row(p, r, y);
    erase_row(p, r, y);
    store_row(p, r, y);
}

/* Rows come in order; the blurred row y can be made when row y + radius is there. */
static inline void run_rows(pass *p)
{
    const int32_t radius = p->block->blur_radius;
    const stretch steps = {p->keeps_rows ? p->contrast : 0, p->block->step_count};
    for (int32_t y = 0; y < p->h + radius; y++) {
        if (y < p->h) {
            turn_to_row(p, y);
            if (!p->keeps_rows) take_row(p, y);
            run_steps(p, p->work, steps);
            if (radius) blur_along_x(p, y);
        }
        if (radius && y >= radius) blur_along_y(p, y - radius);
        if (y >= radius) finish_row(p, radius ? p->blurred : p->work, y - radius);
    }
}

static inline stk_status run_level(const stk__augment_block *block, const stk__augment_source *source,
                                   const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    pass p = {.block = block, .source = source, .target = target};
    start_pass(&p);
    STK__TRY(reserve_memory(&p, scratch, error));
    if (p.way != SHORT_NOT) {
        run_short_rows(&p);
    } else {
        if (p.contrast < block->step_count) p.mean = find_mean(&p);
        p.sampled = p.contrast < block->step_count;
        run_rows(&p);
    }
    stream_fence();
    return STK_OK;
}

#endif
