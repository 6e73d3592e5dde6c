/* Sampling of one row, in whole numbers: bilinear for the image, nearest for the mask. Part of the template.
 *
 * For LANES pixels at once: where they lie in the source is computed in vectors; their taps are loaded one
 * pixel after the other (8 bytes hold both taps of a row in all channels), turned into lines per channel, and
 * weighed in 16 bits. Groups that touch the edge of the source load only where all taps are inside; their
 * other pixels are computed one by one. Nothing outside the source's rows is ever read. */
#ifndef STK_DEVICE_AUGMENT_SAMPLER_H
#define STK_DEVICE_AUGMENT_SAMPLER_H

#include "device/augment_rows.h"

#define ALL_LANES ((1u << LANES) - 1)

/* What is the same for all pixels of a row. */
typedef struct sampler {
    vf step_u, step_v, start_u, start_v; /* u = step_u * cx + start_u */
    vf most_u, most_v;
    vi last_x, last_y; /* of the upper left tap of pixels whose taps may be loaded together */
    vi pitch, channels, mask_pitch;
    vi last_mask_x, last_mask_y;
    bool loads; /* places fit in 32 bits, and there is something to load */
} sampler;

/* Where LANES pixels lie: the index of their upper left tap and how far they are from it. */
typedef struct spots {
    vf u, v;
    vi x, y;
    vf left, top;
} spots;

static inline sampler start_sampler(const pass *p, int32_t y)
{
    const float *const m = p->block->matrix, cy = (float)y + 0.5f;
    const stk__pixels image = p->source->image, mask = p->source->mask;
    const int32_t tail = image.channels == 3 ? 3 : 2; /* 8 bytes from the last tap but … on are in the row */
    const uint64_t bytes = image.pitch_bytes * (uint64_t)image.h, ids = mask.pitch_bytes * (uint64_t)mask.h;
    return (sampler){.step_u = vf_all(m[0]),
                     .step_v = vf_all(m[3]),
                     .start_u = vf_fma(vf_all(m[1]), vf_all(cy), vf_all(m[2])),
                     .start_v = vf_fma(vf_all(m[4]), vf_all(cy), vf_all(m[5])),
                     .most_u = vf_all((float)image.w + 1),
                     .most_v = vf_all((float)image.h + 1),
                     .last_x = vi_all(image.w - tail),
                     .last_y = vi_all(image.h - 2),
                     .pitch = vi_all((int32_t)image.pitch_bytes),
                     .channels = vi_all(image.channels),
                     .mask_pitch = vi_all((int32_t)mask.pitch_bytes),
                     .last_mask_x = vi_all(mask.w - 1),
                     .last_mask_y = vi_all(mask.h - 1),
                     .loads = image.w >= tail && image.h >= 2 && bytes <= INT32_MAX &&
                              (!mask.data || ids <= INT32_MAX)};
}

static inline spots find_spots(const sampler *s, vi x)
{
    const vf cx = vf_add(vf_of(x), vf_all(0.5f)), least = vf_all(-2);
    spots at;
    at.u = vf_min(vf_max(vf_fma(s->step_u, cx, s->start_u), least), s->most_u);
    at.v = vf_min(vf_max(vf_fma(s->step_v, cx, s->start_v), least), s->most_v);
    at.left = vf_floor(at.u);
    at.top = vf_floor(at.v);
    at.x = vi_truncate(at.left);
    at.y = vi_truncate(at.top);
    return at;
}

static inline vi weigh(vf fraction)
{
    return vi_truncate(vf_mul(fraction, vf_all(32768)));
}

/* Weights as words: along x for both rows, along y. */
typedef struct weights {
    vw x;
    vh y;
} weights;

static inline weights find_weights(const spots *at)
{
    const vw both = vw_pair(weigh(vf_sub(at->u, at->left)), weigh(vf_sub(at->v, at->top)));
    return (weights){vw_low_twice(both), vw_high(both)};
}

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
    const vw taps = vw_grey_taps(image.data, image.data + image.pitch_bytes, at);
    const vw left = vw_shift_right(vw_shift_left(taps, 8), 1);
    const vw right = vw_shift_left(vw_shift_right(taps, 8), 7);
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

/* Whole numbers of a group, for its pixels at the edge. */
typedef struct places {
    int32_t x[LANES], y[LANES], weight_x[LANES], weight_y[LANES];
} places;

static inline void sample_edge_pixel(const pass *p, const places *at, int i, int16_t *const out[3])
{
    const int32_t x = at->x[i], y = at->y[i];
    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t upper = between(tap(p, x, y, c), tap(p, x + 1, y, c), at->weight_x[i]);
        const int32_t lower = between(tap(p, x, y + 1, c), tap(p, x + 1, y + 1, c), at->weight_x[i]);
        out[c][i] = (int16_t)between(upper, lower, at->weight_y[i]);
    }
}

static inline void sample_edge(const pass *p, const spots *at, uint32_t loaded, int16_t *const out[3])
{
    places whole;
    vi_store(whole.x, at->x);
    vi_store(whole.y, at->y);
    vi_store(whole.weight_x, weigh(vf_sub(at->u, at->left)));
    vi_store(whole.weight_y, weigh(vf_sub(at->v, at->top)));
    for (uint32_t rest = ~loaded & ALL_LANES; rest; rest &= rest - 1)
        sample_edge_pixel(p, &whole, __builtin_ctz(rest), out);
}

/* Do any of a group's taps lie in the source? */
static inline bool touches_source(stk__pixels image, const spots *at)
{
    const vi one = vi_all(1);
    return vm_bits(vm_and(vi_below(vi_add(at->x, one), vi_all(image.w)),
                          vi_below(vi_add(at->y, one), vi_all(image.h)))) != 0;
}

/* The levels of LANES pixels, and whether all of their taps are inside. */
static inline bool sample_group(const pass *p, const sampler *s, const spots *at, int16_t *const out[3])
{
    const stk__pixels image = p->source->image;
    const vm inside = vm_and(vi_below(at->x, s->last_x), vi_below(at->y, s->last_y));
    const uint32_t loaded = s->loads ? vm_bits(inside) : 0;
    if (loaded == 0 && !touches_source(image, at)) {
        for (int32_t c = 0; c < p->channels; c++)
            vh_store(out[c], vh_all((int16_t)p->block->fill[c]));
        return false;
    }
    if (loaded) {
        int32_t offsets[LANES];
        const vi place = vi_add(vi_mul(at->y, s->pitch), vi_mul(at->x, s->channels));
        vi_store(offsets, vi_keep(inside, place)); /* the first pixel can be loaded if any can */
        const weights by = find_weights(at);
        if (p->channels == 3)
            sample_rgb(image, offsets, &by, out);
        else
            sample_grey(image, offsets, &by, out[0]);
    }
    if (loaded != ALL_LANES) sample_edge(p, at, loaded, out);
    return loaded == ALL_LANES;
}

static inline void copy_ids(const uint8_t *mask, vi place, uint8_t *out)
{
    int32_t offsets[LANES];
    vi_store(offsets, place);
    for (int i = 0; i < LANES; i++)
        out[i] = mask[offsets[i]];
}

/* Near the edge, or in a mask of 2 GiB and more. */
static inline void sample_edge_ids(const pass *p, vi x, vi y, uint8_t *out)
{
    const stk__pixels mask = p->source->mask;
    int32_t xs[LANES], ys[LANES];
    vi_store(xs, x);
    vi_store(ys, y);
    for (int i = 0; i < LANES; i++)
        out[i] = is_inside(mask, xs[i], ys[i]) ? stk__pixels_row(mask, ys[i])[xs[i]]
                                               : (uint8_t)p->block->mask_fill;
}

static inline void sample_ids(const pass *p, const sampler *s, const spots *at, bool inside, uint8_t *out)
{
    const vf half = vf_all(0.5f);
    const vf u = vf_add(at->u, half), v = vf_add(at->v, half);
    if (inside) { /* not negative, so truncation is floor */
        const vi place = vi_add(vi_mul(vi_truncate(v), s->mask_pitch), vi_truncate(u));
        copy_ids(p->source->mask.data, place, out);
        return;
    }
    const vi x = vi_truncate(vf_floor(u)), y = vi_truncate(vf_floor(v));
    if (touches_source(p->source->mask, at))
        sample_edge_ids(p, x, y, out);
    else
        memset(out, p->block->mask_fill, LANES);
}

/* Into lines of levels and, if the target has a mask, into p->ids. */
static inline void sample_row(const pass *p, int32_t y, int16_t *levels)
{
    const sampler s = start_sampler(p, y);
    int32_t counting[LANES];
    for (int i = 0; i < LANES; i++)
        counting[i] = i;
    vi x = vi_load(counting);
    const size_t apart = p->channels == 3 ? p->line_values : 0;
    for (int32_t i = 0; i < p->w; i += LANES, x = vi_add(x, vi_all(LANES))) {
        int16_t *const out[3] = {levels + i, levels + apart + i, levels + 2 * apart + i};
        const spots at = find_spots(&s, x);
        const bool inside = sample_group(p, &s, &at, out);
        if (p->target->mask) sample_ids(p, &s, &at, inside, p->ids + i);
    }
}

#endif
