/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of rows, part by part. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_SAMPLER_H
#define STK_DEVICE_AUGMENT_SAMPLER_H

#include "device/cpu/augment_edge.h"

/* Groups that lie outside altogether. */
static inline void fill_levels(const pass *p, int16_t *levels, stretch groups)
{
    for (int32_t c = 0; c < p->channels; c++) {
        const vh fill = vh_all((int16_t)p->block->fill[c]);
        for (int32_t i = groups.from; i < groups.to; i += LANES)
            vh_store(levels + (size_t)c * p->line_values + i, fill);
    }
}

static inline void sample_inner_groups(const pass *p, const sampler *s, int16_t *levels, stretch groups)
{
    const bool has_mask = p->target->mask;
    if (p->channels == 3) {
        find_places(p, s, groups, 3);
        if (has_mask)
            sample_inner(p, s, levels, groups, 3, true);
        else
            sample_inner(p, s, levels, groups, 3, false);
    } else {
        find_places(p, s, groups, 1);
        if (has_mask)
            sample_inner(p, s, levels, groups, 1, true);
        else
            sample_inner(p, s, levels, groups, 1, false);
    }
}

static inline stretch overlap(stretch a, stretch b)
{
    const int32_t from = a.from > b.from ? a.from : b.from, to = a.to < b.to ? a.to : b.to;
    return (stretch){from, to > from ? to : from};
}

/* A part of a row into lines of levels and, if the target has a mask, into p->ids. */
static inline void sample_part(const pass *p, const sampler *s, int16_t *levels, stretch part)
{
    const stretch before = overlap(part, (stretch){0, s->touching.from});
    const stretch after = overlap(part, (stretch){s->touching.to, p->w});
    const stretch left = overlap(part, (stretch){s->touching.from, s->inner.from});
    const stretch inner = overlap(part, s->inner);
    const stretch right = overlap(part, (stretch){s->inner.to, s->touching.to});
    if (inner.to - inner.from < part.to - part.from) {
        fill_levels(p, levels, before);
        fill_levels(p, levels, after);
        if (p->target->mask) memset(p->ids + part.from, p->block->mask_fill, (size_t)(part.to - part.from));
        sample_edge_groups(p, s, levels, left);
    }
    sample_inner_groups(p, s, levels, inner);
    if (right.to > right.from) sample_edge_groups(p, s, levels, right);
}

#endif
