/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of groups at the edge of the source: taps outside have the colour of the fill. Part of the
 * template.
 *
 * Taps of colour are loaded from where eight bytes can be loaded, and what is outside is exchanged for the
 * fill. Grey, and sources too small for that, go pixel by pixel. Nothing before the source's first byte or
 * after its last one is ever read. */
#ifndef STK_DEVICE_AUGMENT_EDGE_H
#define STK_DEVICE_AUGMENT_EDGE_H

#include "device/cpu/augment_taps.h"

static inline bool is_inside(stk__pixels source, int32_t x, int32_t y)
{
    return x >= 0 && y >= 0 && x < source.w && y < source.h;
}

static inline int32_t tap(const pass *p, int32_t x, int32_t y, int32_t c)
{
    const stk__pixels image = p->source->image;
    return is_inside(image, x, y) ? stk__pixels_row(image, y)[x * image.channels + c] * STK_AUGMENT_LEVEL
                                  : p->block->fill[c];
}

static inline int32_t between(int32_t a, int32_t b, int32_t weight)
{
    return a + (((b - a) * weight + (1 << 14)) >> 15);
}

/* Pixels at the edge of the source, in 1/32768. */
typedef struct edge_pixels {
    int32_t u[GROUP], v[GROUP];
} edge_pixels;

static inline edge_pixels find_edge(const sampler *s, int32_t i)
{
    edge_pixels edge;
    for (int32_t part = 0; part < GROUP; part += LANES) {
        const coords at = find_near_spots(s, vi_add(vi_counting(), vi_all(i + part)));
        vi_store(edge.u + part, at.u);
        vi_store(edge.v + part, at.v);
    }
    return edge;
}

static inline void sample_edge_pixel(const pass *p, const edge_pixels *at, int lane, int16_t *levels)
{
    const int32_t x = at->u[lane] >> PLACE_BITS, y = at->v[lane] >> PLACE_BITS;
    const int32_t weight_x = at->u[lane] & ((1 << PLACE_BITS) - 1);
    const int32_t weight_y = at->v[lane] & ((1 << PLACE_BITS) - 1);
    const stk__pixels image = p->source->image;
    const bool outside = x < -1 || y < -1 || x >= image.w || y >= image.h;
    for (int32_t c = 0; c < p->channels; c++) {
        int16_t *const to = levels + (size_t)c * p->line_values;
        *to = (int16_t)p->block->fill[c];
        if (outside) continue;
        const int32_t upper = between(tap(p, x, y, c), tap(p, x + 1, y, c), weight_x);
        const int32_t lower = between(tap(p, x, y + 1, c), tap(p, x + 1, y + 1, c), weight_x);
        *to = (int16_t)between(upper, lower, weight_y);
    }
}

/* One by one. */
static inline void sample_edge_pixels(const pass *p, const sampler *s, int32_t i, int16_t *levels)
{
    const edge_pixels edge = find_edge(s, i);
    for (int lane = 0; lane < GROUP; lane++)
        sample_edge_pixel(p, &edge, lane, levels + i + lane);
}

/* Where the taps of a group at the edge are: each row's own, and brought to where eight bytes can be loaded.
 * Words of pixels side by side: which taps are inside (all bits or none), and how far the wanted bytes lie
 * from those loaded, in both bytes of a word. */
typedef struct edge_places {
    int32_t upper[GROUP], lower[GROUP];
    vw left, right, above, below, upper_shift, lower_shift, weight_x, weight_y;
} edge_places;

static inline vi bring_near(vi v, int32_t least, int32_t most)
{
    return vi_max(vi_min(v, vi_all(most)), vi_all(least));
}

static inline vi load_near(const pass *p, vi x, vi y, int32_t *to)
{
    const stk__pixels image = p->source->image;
    const int32_t pitch = (int32_t)image.pitch_bytes, end = pitch * (image.h - 1) + 3 * image.w;
    const vi near_x = bring_near(x, -1, image.w - 1), near_y = bring_near(y, 0, image.h - 1);
    const vi at = vi_add(vi_mul(near_y, vi_all(pitch)), vi_mul(near_x, vi_all(3)));
    const vi near = bring_near(at, 0, end - 8), shift = vi_and(vi_sub(at, near), vi_all(255));
    vi_store(to, near);
    return vi_add(shift, vi_shift_left(shift, 8));
}

static inline vw pack_masks(vi first, vi second, int32_t size)
{
    const vi ones = vi_all(0xffff), last = vi_all(size - 1);
    return vw_pack(vi_keep(vi_below(first, last), ones), vi_keep(vi_below(second, last), ones));
}

static inline void find_edge_places(const pass *p, const sampler *s, int32_t i, edge_places *e)
{
    const stk__pixels image = p->source->image;
    const vi fraction = vi_all((1 << PLACE_BITS) - 1), one = vi_all(1);
    vi x[2], y[2], upper[2], lower[2], weight_x[2], weight_y[2];
    for (int k = 0; k < 2; k++) {
        const coords at = find_near_spots(s, vi_add(vi_spread(), vi_all(i + 4 * k)));
        x[k] = vi_shift_signed(at.u, PLACE_BITS);
        y[k] = vi_shift_signed(at.v, PLACE_BITS);
        upper[k] = load_near(p, x[k], y[k], e->upper + k * LANES);
        lower[k] = load_near(p, x[k], vi_add(y[k], one), e->lower + k * LANES);
        weight_x[k] = vi_and(at.u, fraction);
        weight_y[k] = vi_and(at.v, fraction);
    }
    e->left = pack_masks(x[0], x[1], image.w);
    e->right = pack_masks(vi_add(x[0], one), vi_add(x[1], one), image.w);
    e->above = pack_masks(y[0], y[1], image.h);
    e->below = pack_masks(vi_add(y[0], one), vi_add(y[1], one), image.h);
    e->upper_shift = vw_pack(upper[0], upper[1]);
    e->lower_shift = vw_pack(lower[0], lower[1]);
    e->weight_x = vw_pack(weight_x[0], weight_x[1]);
    e->weight_y = vw_pack(weight_y[0], weight_y[1]);
}

/* Like weigh_row, of taps that may be outside. */
ROW_INLINE vw weigh_edge_row(vw taps, vw fill, vw left_inside, vw right_inside, vw weight)
{
    const vw left = vw_choose(left_inside, lefts_of(taps), fill);
    const vw right = vw_choose(right_inside, vw_weigh_bytes(taps, vw_all_bytes(0, STK_AUGMENT_LEVEL)), fill);
    return vw_between(left, right, weight);
}

/* Pixels 2k and 2k + 1 of each part. */
ROW_INLINE vw sample_edge_two(const uint8_t *image, const edge_places *e, vw fill, int k)
{
    const vw order = vw_parts(by_channel);
    const int32_t at = k / 2 * LANES + k % 2 * 2;
    const vw left = vw_pair(e->left, k), right = vw_pair(e->right, k), weight_x = vw_pair(e->weight_x, k);
    const vw is_above = vw_pair(e->above, k), is_below = vw_pair(e->below, k);
    const vw upper_order = vw_add_bytes(order, vw_pair(e->upper_shift, k));
    const vw lower_order = vw_add_bytes(order, vw_pair(e->lower_shift, k));
    const vw upper = vw_shuffle(vw_taps(image, e->upper + at), upper_order);
    const vw lower = vw_shuffle(vw_taps(image, e->lower + at), lower_order);
    const vw above = weigh_edge_row(upper, fill, vw_and(left, is_above), vw_and(right, is_above), weight_x);
    const vw below = weigh_edge_row(lower, fill, vw_and(left, is_below), vw_and(right, is_below), weight_x);
    return vw_between(above, below, vw_pair(e->weight_y, k));
}

static inline void sample_edge_rgb(const pass *p, const sampler *s, int32_t i, int16_t *levels)
{
    const int32_t *const f = p->block->fill;
    const int16_t words[8] = {
        (int16_t)f[0], (int16_t)f[0], (int16_t)f[1], (int16_t)f[1], (int16_t)f[2], (int16_t)f[2], 0, 0};
    const vw fill = vw_parts(words);
    const uint8_t *const image = p->source->image.data;
    int16_t *const out[3] = {levels + i, levels + p->line_values + i, levels + 2 * p->line_values + i};
    edge_places e;
    find_edge_places(p, s, i, &e);
    const vw pairs[4] = {sample_edge_two(image, &e, fill, 0), sample_edge_two(image, &e, fill, 1),
                         sample_edge_two(image, &e, fill, 2), sample_edge_two(image, &e, fill, 3)};
    store_channels(pairs, out);
}

static inline void sample_edge_levels(const pass *p, const sampler *s, stretch groups, int16_t *levels)
{
    for (int32_t i = groups.from; i < groups.to; i += GROUP) {
        if (s->loads && p->channels == 3)
            sample_edge_rgb(p, s, i, levels);
        else
            sample_edge_pixels(p, s, i, levels);
    }
}

static inline void sample_edge_ids(const pass *p, const sampler *s, int32_t i)
{
    const stk__pixels mask = p->source->mask;
    const edge_pixels edge = find_edge(s, i);
    const int32_t half = 1 << (PLACE_BITS - 1);
    for (int lane = 0; lane < GROUP; lane++) {
        const int32_t x = (edge.u[lane] + half) >> PLACE_BITS, y = (edge.v[lane] + half) >> PLACE_BITS;
        p->ids[i + lane] = is_inside(mask, x, y) ? stk__pixels_row(mask, y)[x] : (uint8_t)p->block->mask_fill;
    }
}

static inline void sample_edge_groups(const pass *p, const sampler *s, int16_t *levels, stretch groups)
{
    sample_edge_levels(p, s, groups, levels);
    for (int32_t i = groups.from; i < groups.to && p->target->mask; i += GROUP)
        sample_edge_ids(p, s, i);
}

#endif
