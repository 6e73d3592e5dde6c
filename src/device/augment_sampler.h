/* Sampling of one row, in whole numbers: bilinear for the image, nearest for the mask. Part of the template.
 *
 * The taps of a pixel are loaded one pixel after the other (8 bytes hold both taps of a row in all channels),
 * weighed in 16 bits, and turned into lines per channel LANES pixels at once. Groups that touch the edge of
 * the source load only where all taps are inside; their other pixels are computed one by one. Nothing outside
 * the source's rows is ever read. */
#ifndef STK_DEVICE_AUGMENT_SAMPLER_H
#define STK_DEVICE_AUGMENT_SAMPLER_H

#include "device/augment_places.h"

/* A row on its way through a turned source changes lines all the time, and the CPU cannot guess which come
 * next. Outside of the source this asks for memory that nobody reads, which does no harm. */
static inline void fetch_early(const uint8_t *data, ptrdiff_t offset)
{
    __builtin_prefetch((const void *)((uintptr_t)data + (uintptr_t)offset));
}

/* Weights of bytes that stand side by side: the left one, and how far the right one is from it, in 1/64. */
static inline vw lefts_of(vw bytes)
{
    return vw_weigh_bytes(bytes, vw_all_bytes(STK_AUGMENT_LEVEL, 0));
}

static inline vw steps_of(vw bytes)
{
    return vw_weigh_bytes(bytes, vw_all_bytes(-STK_AUGMENT_LEVEL, STK_AUGMENT_LEVEL));
}

/* Two taps of a row, as neighbouring bytes, become one value. */
static inline vw weigh_row(vw taps, vw weight)
{
    return vw_add_part(lefts_of(taps), steps_of(taps), weight);
}

/* In each part: two pixels of eight bytes, of which six are r g b r g b. */
static inline vw sample_two(const uint8_t *upper, const uint8_t *lower, const int32_t *at, vw weight_x,
                            vw weight_y)
{
    static const int8_t by_channel[16] = {0, 3, 1, 4, 2, 5, 6, 7, 8, 11, 9, 12, 10, 13, 14, 15};
    const vw above = weigh_row(vw_shuffle(vw_taps(upper, at), by_channel), weight_x);
    const vw below = weigh_row(vw_shuffle(vw_taps(lower, at), by_channel), weight_x);
    return vw_between(above, below, weight_y);
}

/* Of the four pixels in each part first two, then the others; at the end lines per channel. */
static inline void sample_rgb(stk__pixels image, const int32_t *at, vw weights, int16_t *const out[3])
{
    static const int8_t x01[16] = {0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3};
    static const int8_t x23[16] = {4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7};
    static const int8_t y01[16] = {8, 9, 8, 9, 8, 9, 8, 9, 10, 11, 10, 11, 10, 11, 10, 11};
    static const int8_t y23[16] = {12, 13, 12, 13, 12, 13, 12, 13, 14, 15, 14, 15, 14, 15, 14, 15};
    static const int8_t pairs[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    const uint8_t *const upper = image.data, *const lower = image.data + image.pitch_bytes;
    const vw first = sample_two(upper, lower, at, vw_shuffle(weights, x01), vw_shuffle(weights, y01));
    const vw second = sample_two(upper, lower, at + 2, vw_shuffle(weights, x23), vw_shuffle(weights, y23));
    const vw a = vw_shuffle(first, pairs), b = vw_shuffle(second, pairs);
    const vw red_green = vw_join_parts(vw_unpack_low(a, b)), blue = vw_join_parts(vw_unpack_high(a, b));
    vh_store(out[0], vw_low(red_green));
    vh_store(out[1], vw_high(red_green));
    vh_store(out[2], vw_low(blue));
}

/* In each part: two bytes of four pixels from the upper row, then from the lower. */
static inline void sample_grey(stk__pixels image, const int32_t *at, vw weights, int16_t *out)
{
    const vw taps = vw_grey_taps(image.data, image.data + image.pitch_bytes, at);
    const vw rows = weigh_row(taps, vw_low_twice(weights));
    const vw values = vw_between(rows, vw_high_twice(rows), vw_high_twice(weights));
    vh_store(out, vw_low(vw_join_parts(values)));
}

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

/* Pixels at the edge of the source. */
typedef struct edge_pixels {
    int32_t u[LANES], v[LANES];
} edge_pixels;

static inline void sample_edge_pixel(const pass *p, const edge_pixels *at, int lane, int16_t *levels)
{
    const int32_t x = at->u[lane] >> PLACE_BITS, y = at->v[lane] >> PLACE_BITS;
    const int32_t weight_x = at->u[lane] & ((1 << PLACE_BITS) - 1);
    const int32_t weight_y = at->v[lane] & ((1 << PLACE_BITS) - 1);
    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t upper = between(tap(p, x, y, c), tap(p, x + 1, y, c), weight_x);
        const int32_t lower = between(tap(p, x, y + 1, c), tap(p, x + 1, y + 1, c), weight_x);
        levels[(size_t)c * p->line_values] = (int16_t)between(upper, lower, weight_y);
    }
}

/* Groups that lie outside altogether. */
static inline void fill_levels(const pass *p, int16_t *levels, stretch groups)
{
    for (int32_t c = 0; c < p->channels; c++) {
        const vh fill = vh_all((int16_t)p->block->fill[c]);
        for (int32_t i = groups.from; i < groups.to; i += LANES)
            vh_store(levels + (size_t)c * p->line_values + i, fill);
    }
}

/* Those pixels of a group that were not loaded. */
static inline void sample_edge(const pass *p, const sampler *s, int32_t i, int16_t *levels)
{
    const uint32_t loaded = p->places.inside[i / LANES];
    const spots at = find_near_spots(s, i);
    edge_pixels edge;
    vi_store(edge.u, at.u);
    vi_store(edge.v, at.v);
    for (uint32_t rest = ~loaded & ALL_LANES; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        sample_edge_pixel(p, &edge, lane, levels + i + lane);
    }
}

ROW_INLINE void sample_levels(const pass *p, const sampler *s, int16_t *levels, stretch groups, bool inner,
                              int32_t channels)
{
    const stk__pixels image = p->source->image;
    const places at = p->places;
    const size_t apart = channels == 3 ? p->line_values : 0;
    const ptrdiff_t ahead = s->ahead;
    for (int32_t i = groups.from; i < groups.to; i += LANES) {
        int16_t *const out[3] = {levels + i, levels + apart + i, levels + 2 * apart + i};
        if (inner || at.inside[i / LANES]) { /* where one pixel can be loaded, the first of the source can */
            const vw weights = vw_load(at.weights + 2 * i);
            fetch_early(image.data, at.offset[i] + ahead);
            if (channels == 3)
                sample_rgb(image, at.offset + i, weights, out);
            else
                sample_grey(image, at.offset + i, weights, out[0]);
        }
        if (!inner && at.inside[i / LANES] != ALL_LANES) sample_edge(p, s, i, levels);
    }
}

static inline void sample_edge_ids(const pass *p, const sampler *s, int32_t i)
{
    const stk__pixels mask = p->source->mask;
    const spots at = find_near_spots(s, i);
    const vi half = vi_all(1 << (PLACE_BITS - 1));
    int32_t x[LANES], y[LANES];
    vi_store(x, vi_shift_signed(vi_add(at.u, half), PLACE_BITS));
    vi_store(y, vi_shift_signed(vi_add(at.v, half), PLACE_BITS));
    for (int lane = 0; lane < LANES; lane++)
        p->ids[i + lane] = is_inside(mask, x[lane], y[lane]) ? stk__pixels_row(mask, y[lane])[x[lane]]
                                                             : (uint8_t)p->block->mask_fill;
}

/* The nearest pixel of a mask is inside wherever all four taps are. */
ROW_INLINE void sample_ids(const pass *p, const sampler *s, stretch groups, bool inner)
{
    const uint8_t *const mask = p->source->mask.data;
    uint8_t *const ids = p->ids;
    const places at = p->places;
    const ptrdiff_t ahead = s->mask_ahead;
    for (int32_t i = groups.from; i < groups.to; i += LANES) {
        if (!inner && at.inside[i / LANES] != ALL_LANES) {
            sample_edge_ids(p, s, i);
            continue;
        }
        fetch_early(mask, at.id_offset[i] + ahead);
        for (int lane = 0; lane < LANES; lane++)
            ids[i + lane] = mask[at.id_offset[i + lane]];
    }
}

ROW_INLINE void sample_groups(const pass *p, const sampler *s, int16_t *levels, stretch groups, bool inner)
{
    if (p->channels == 3) {
        find_places(p, s, groups, inner, 3);
        sample_levels(p, s, levels, groups, inner, 3);
    } else {
        find_places(p, s, groups, inner, 1);
        sample_levels(p, s, levels, groups, inner, 1);
    }
    if (p->target->mask) sample_ids(p, s, groups, inner);
}

static inline void sample_edge_groups(const pass *p, const sampler *s, int16_t *levels, stretch groups)
{
    sample_groups(p, s, levels, groups, false);
}

/* Into lines of levels and, if the target has a mask, into p->ids. */
static inline void sample_row(const pass *p, int32_t y, int16_t *levels)
{
    const sampler s = start_sampler(p, y);
    const stretch before = {0, s.touching.from}, after = {s.touching.to, p->w};
    fill_levels(p, levels, before);
    fill_levels(p, levels, after);
    if (p->target->mask) memset(p->ids, p->block->mask_fill, (size_t)p->w);
    sample_edge_groups(p, &s, levels, (stretch){s.touching.from, s.inner.from});
    sample_groups(p, &s, levels, s.inner, true);
    sample_edge_groups(p, &s, levels, (stretch){s.inner.to, s.touching.to});
}

#endif
