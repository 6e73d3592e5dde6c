/* Sampling of one row, in whole numbers: bilinear for the image, nearest for the mask. Part of the template.
 *
 * The taps of a pixel are loaded one pixel after the other (8 bytes hold both taps of a row in all channels),
 * turned into lines per channel LANES pixels at once, and weighed in 16 bits. Groups that touch the edge of
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

/* Weights as words: along x for both rows, along y. */
typedef struct weights {
    vw x;
    vh y;
} weights;

static inline vh weigh_taps(vw left, vw right, const weights *by)
{
    const vw rows = vw_between(left, right, by->x);
    return vh_between(vw_low(rows), vw_high(rows), by->y);
}

static inline vw level_low(vw bytes)
{
    return vw_shift_right(vw_unpack_low(vw_zero(), bytes), 1);
}

static inline vw level_high(vw bytes)
{
    return vw_shift_right(vw_unpack_high(vw_zero(), bytes), 1);
}

/* Eight pixels of eight bytes become eight bytes of eight pixels, in each part. */
static inline void sample_rgb(stk__pixels image, const int32_t *at, const weights *by, int16_t *const out[3])
{
    const uint8_t *const upper = image.data, *const lower = image.data + image.pitch_bytes;
    const vw p04 = vw_taps(upper, lower, at, 0), p15 = vw_taps(upper, lower, at, 1);
    const vw p26 = vw_taps(upper, lower, at, 2), p37 = vw_taps(upper, lower, at, 3);
    const vw even = vw_unpack_low(p04, p26), even_end = vw_unpack_high(p04, p26);
    const vw odd = vw_unpack_low(p15, p37), odd_end = vw_unpack_high(p15, p37);
    const vw r_g = vw_unpack_low(even, odd), b_r = vw_unpack_high(even, odd);
    const vw g_b = vw_unpack_low(even_end, odd_end);
    vh_store(out[0], weigh_taps(level_low(r_g), level_high(b_r), by));
    vh_store(out[1], weigh_taps(level_high(r_g), level_low(g_b), by));
    vh_store(out[2], weigh_taps(level_low(b_r), level_high(g_b), by));
}

static inline void sample_grey(stk__pixels image, const int32_t *at, const weights *by, int16_t *out)
{
    const vw pairs = vw_grey_taps(image.data, image.data + image.pitch_bytes, at);
    const vw left = vw_shift_right(vw_shift_left(pairs, 8), 1);
    const vw right = vw_shift_left(vw_shift_right(pairs, 8), 7);
    vh_store(out, weigh_taps(left, right, by));
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

/* A pixel at the edge: its upper left tap, and weights that may be 32768, which no word holds. */
typedef struct edge_pixels {
    int32_t x[LANES], y[LANES], weight_x[LANES], weight_y[LANES];
} edge_pixels;

static inline void sample_edge_pixel(const pass *p, const edge_pixels *at, int lane, int16_t *levels)
{
    const int32_t x = at->x[lane], y = at->y[lane], weight = at->weight_x[lane];
    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t upper = between(tap(p, x, y, c), tap(p, x + 1, y, c), weight);
        const int32_t lower = between(tap(p, x, y + 1, c), tap(p, x + 1, y + 1, c), weight);
        levels[(size_t)c * p->line_values] = (int16_t)between(upper, lower, at->weight_y[lane]);
    }
}

/* Do any of a group's taps lie in the source? */
static inline bool touches_source(stk__pixels source, const spots *at)
{
    const vi one = vi_all(1);
    return vm_bits(vm_and(vi_below(vi_add(at->x, one), vi_all(source.w)),
                          vi_below(vi_add(at->y, one), vi_all(source.h)))) != 0;
}

/* Those pixels of a group that were not loaded. */
static inline void sample_edge(const pass *p, const sampler *s, int32_t i, int16_t *levels)
{
    const uint32_t loaded = p->places.inside[i / LANES];
    const spots at = find_near_spots(s, i);
    if (loaded == 0 && !touches_source(p->source->image, &at)) {
        for (int32_t c = 0; c < p->channels; c++)
            vh_store(levels + (size_t)c * p->line_values + i, vh_all((int16_t)p->block->fill[c]));
        return;
    }
    edge_pixels edge;
    vi_store(edge.x, at.x);
    vi_store(edge.y, at.y);
    vi_store(edge.weight_x, weigh(vf_sub(at.u, at.left)));
    vi_store(edge.weight_y, weigh(vf_sub(at.v, at.top)));
    for (uint32_t rest = ~loaded & ALL_LANES; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        sample_edge_pixel(p, &edge, lane, levels + i + lane);
    }
}

ROW_INLINE void sample_levels(const pass *p, const sampler *s, int16_t *levels, int32_t channels)
{
    const stk__pixels image = p->source->image;
    const places at = p->places;
    const size_t apart = channels == 3 ? p->line_values : 0;
    const int32_t w = p->w;
    for (int32_t i = 0; i < w; i += LANES) {
        int16_t *const out[3] = {levels + i, levels + apart + i, levels + 2 * apart + i};
        if (at.inside[i / LANES]) { /* where one pixel can be loaded, the first of the source can */
            const weights by = {vw_load_twice(at.weight_x + i), vh_load(at.weight_y + i)};
            fetch_early(image.data, at.offset[i] + s->ahead);
            if (channels == 3)
                sample_rgb(image, at.offset + i, &by, out);
            else
                sample_grey(image, at.offset + i, &by, out[0]);
        }
        if (at.inside[i / LANES] != ALL_LANES) sample_edge(p, s, i, levels);
    }
}

static inline void sample_edge_ids(const pass *p, const sampler *s, int32_t i)
{
    const stk__pixels mask = p->source->mask;
    const spots at = find_near_spots(s, i);
    const vf half = vf_all(0.5f);
    int32_t x[LANES], y[LANES];
    vi_store(x, vi_truncate(vf_floor(vf_add(at.u, half))));
    vi_store(y, vi_truncate(vf_floor(vf_add(at.v, half))));
    for (int lane = 0; lane < LANES; lane++)
        p->ids[i + lane] = is_inside(mask, x[lane], y[lane]) ? stk__pixels_row(mask, y[lane])[x[lane]]
                                                             : (uint8_t)p->block->mask_fill;
}

/* The nearest pixel of a mask is inside wherever all four taps are. */
static inline void sample_ids(const pass *p, const sampler *s)
{
    const uint8_t *const mask = p->source->mask.data;
    uint8_t *const ids = p->ids;
    const places at = p->places;
    const ptrdiff_t ahead = s->mask_ahead;
    const int32_t w = p->w;
    for (int32_t i = 0; i < w; i += LANES) {
        if (at.inside[i / LANES] != ALL_LANES) {
            sample_edge_ids(p, s, i);
            continue;
        }
        fetch_early(mask, at.id_offset[i] + ahead);
        for (int lane = 0; lane < LANES; lane++)
            ids[i + lane] = mask[at.id_offset[i + lane]];
    }
}

/* Into lines of levels and, if the target has a mask, into p->ids. */
static inline void sample_row(const pass *p, int32_t y, int16_t *levels)
{
    const sampler s = start_sampler(p, y);
    if (p->channels == 3) {
        find_places(p, &s, 3);
        sample_levels(p, &s, levels, 3);
    } else {
        find_places(p, &s, 1);
        sample_levels(p, &s, levels, 1);
    }
    if (p->target->mask) sample_ids(p, &s);
}

#endif
