/* SPDX-License-Identifier: Apache-2.0 */
/* Where the pixels of an output row lie in the source. Part of the template.
 *
 * A row's places are found first, all of them, and its taps are loaded afterwards: two short chains of
 * instructions overlap better than one long one. */
#ifndef STK_DEVICE_AUGMENT_PLACES_H
#define STK_DEVICE_AUGMENT_PLACES_H

#include "device/cpu/augment_rows.h"

#include <math.h>

enum { AHEAD_ROWS = 8 };

/* What is the same for all pixels of a row. Coordinates are in 1/32768 px: the factor is a power of two, so
 * it may as well be put into the matrix. */
typedef struct sampler {
    vf step_u, step_v, start_u, start_v; /* u = step_u * cx + start_u */
    vf least, most_u, most_v;
    vi pitch, mask_pitch;
    stretch touching;            /* the source; pixels before and after are surely outside */
    stretch inner;               /* of these surely all taps may be loaded */
    ptrdiff_t ahead, mask_ahead; /* bytes from a tap to the tap of the pixel AHEAD_ROWS below */
    bool loads;                  /* places fit in 32 bits, and there is something to load */
} sampler;

/* Where LANES pixels lie. */
typedef struct coords {
    vi u, v;
} coords;

enum { PLACE_BITS = 15 };
#define PLACE_ONE ((float)(1 << PLACE_BITS))

static inline float limit_near(float v)
{
    return v < -4096 ? -4096 : v > 4096 ? 4096 : v;
}

/* Taps are loaded 8 bytes at a time, or 2 of grey: not from the last pixels of a row. */
static inline bool may_load(stk__pixels image, stk__pixels mask, int32_t tail)
{
    const uint64_t bytes = image.pitch_bytes * (uint64_t)image.h, ids = mask.pitch_bytes * (uint64_t)mask.h;
    return image.w >= tail && image.h >= 2 && bytes <= INT32_MAX && (!mask.data || ids <= INT32_MAX);
}

static inline axis start_axis(const pass *p, const float matrix[3])
{
    const double step = (double)matrix[0], across = (double)matrix[1], offset = (double)matrix[2];
    return (axis){.step = step,
                  .inverse = 1 / step,
                  .across = across,
                  .offset = offset,
                  .spare = 0x1p-4 + (fabs(step) * p->w + fabs(across) * p->h + fabs(offset)) * 0x1p-20};
}

/* Keeps of range[0] … range[1] where row y lies from least to most. */
static inline void clip_range(double range[2], const axis *along, int32_t y, double least, double most)
{
    const double start = along->across * (y + 0.5) + along->offset;
    if (along->step == 0) {
        if (start < least || start > most) range[1] = range[0];
        return;
    }
    const double a = (least - start) * along->inverse, b = (most - start) * along->inverse;
    const double from = along->step > 0 ? a : b, to = along->step > 0 ? b : a;
    if (from > range[0]) range[0] = from;
    if (to < range[1]) range[1] = to;
}

/* The groups of row y with a pixel that lies in a frame (in px) of the source, or all of whose pixels do. */
static inline stretch find_groups(const pass *p, int32_t y, const double frame[4], bool all)
{
    const int32_t most = (p->w + GROUP - 1) / GROUP * GROUP;
    if (!(p->u.spare < 1 && p->v.spare < 1)) return (stretch){0, all ? 0 : most};
    const double u = all ? p->u.spare : -p->u.spare, v = all ? p->v.spare : -p->v.spare;
    double range[2] = {0, p->w};
    clip_range(range, &p->u, y, frame[0] + u, frame[1] - u);
    clip_range(range, &p->v, y, frame[2] + v, frame[3] - v);
    if (!(range[0] < range[1])) return (stretch){0, 0};
    const int32_t from = (int32_t)range[0] + (all && range[0] > 0 ? GROUP : -1),
                  to = (int32_t)range[1] + (all ? 0 : GROUP);
    stretch s = {from < 0 ? 0 : from / GROUP * GROUP, to > most ? most : to / GROUP * GROUP};
    return s.from < s.to ? s : (stretch){0, 0};
}

static inline sampler start_sampler(const pass *p, int32_t y)
{
    const float *const m = p->block->matrix, cy = (float)y + 0.5f;
    const stk__pixels image = p->source->image, mask = p->source->mask;
    const int32_t tail = image.channels == 3 ? 3 : 2;
    const ptrdiff_t rows_ahead = (ptrdiff_t)limit_near(AHEAD_ROWS * m[4]);
    const ptrdiff_t pixels_ahead = (ptrdiff_t)limit_near(AHEAD_ROWS * m[1]);
    const bool loads = may_load(image, mask, tail);
    const double outer[4] = {-1, image.w, -1, image.h}; /* farther away even nearest pixels are outside */
    const double inside[4] = {0, image.w - tail + 1.0, 0, image.h - 1.0};
    const stretch touching = find_groups(p, y, outer, false);
    const stretch inner = loads ? find_groups(p, y, inside, true) : (stretch){0, 0};
    return (sampler){.touching = touching,
                     .inner = inner.from < inner.to ? inner : (stretch){touching.to, touching.to},
                     .step_u = vf_all(m[0] * PLACE_ONE),
                     .step_v = vf_all(m[3] * PLACE_ONE),
                     .start_u = vf_fma(vf_all(m[1] * PLACE_ONE), vf_all(cy), vf_all(m[2] * PLACE_ONE)),
                     .start_v = vf_fma(vf_all(m[4] * PLACE_ONE), vf_all(cy), vf_all(m[5] * PLACE_ONE)),
                     .least = vf_all(-2 * PLACE_ONE),
                     .most_u = vf_all((float)image.w * PLACE_ONE),
                     .most_v = vf_all((float)image.h * PLACE_ONE),
                     .pitch = vi_all((int32_t)image.pitch_bytes),
                     .mask_pitch = vi_all((int32_t)mask.pitch_bytes),
                     .ahead = rows_ahead * (ptrdiff_t)image.pitch_bytes + pixels_ahead * image.channels,
                     .mask_ahead = rows_ahead * (ptrdiff_t)mask.pitch_bytes + pixels_ahead,
                     .loads = loads};
}

/* Of inner pixels: no coordinate is negative, so cutting off is rounding down. */
static inline coords find_inner_spots(const sampler *s, vf cx)
{
    return (coords){vi_truncate(vf_fma(s->step_u, cx, s->start_u)),
                    vi_truncate(vf_fma(s->step_v, cx, s->start_v))};
}

/* Of the pixels of numbers x, brought near. */
static inline coords find_near_spots(const sampler *s, vi x)
{
    const vf cx = vf_add(vf_of(x), vf_all(0.5f));
    const vf u = vf_fma(s->step_u, cx, s->start_u), v = vf_fma(s->step_v, cx, s->start_v);
    return (coords){vi_truncate(vf_floor(vf_min(vf_max(u, s->least), s->most_u))),
                    vi_truncate(vf_floor(vf_min(vf_max(v, s->least), s->most_v)))};
}

static inline vi whole_of(vi place)
{
    return vi_shift_right(place, PLACE_BITS);
}

/* Where the nearest pixel of a mask lies. */
static inline vi find_id(const sampler *s, const coords *at)
{
    const vi half = vi_all(1 << (PLACE_BITS - 1));
    return vi_add(vi_mul(whole_of(vi_add(at->v, half)), s->mask_pitch), whole_of(vi_add(at->u, half)));
}

/* Offsets of taps and ids from the first byte, of LANES pixels. */
ROW_INLINE void find_offsets(const places *to, const sampler *s, int32_t i, const coords *at,
                             int32_t channels)
{
    const vi x = whole_of(at->u), y = whole_of(at->v);
    const vi along = channels == 3 ? vi_add(vi_add(x, x), x) : x;
    vi_store(to->offset + i, vi_add(vi_mul(y, s->pitch), along));
    vi_store(to->id_offset + i, find_id(s, at));
}

/* Of inner groups. In each part of a vector of words are eight pixels side by side: their places are found in
 * two vectors. */
ROW_INLINE void find_places(const pass *p, const sampler *s, stretch groups, int32_t channels)
{
    const places to = p->places;
    const sampler constants = *s;
    const vi fraction = vi_all((1 << PLACE_BITS) - 1);
    vf cx = vf_add(vf_of(vi_add(vi_spread(), vi_all(groups.from))), vf_all(0.5f));
    for (int32_t i = groups.from; i < groups.to; i += GROUP, cx = vf_add(cx, vf_all(GROUP))) {
        const coords first = find_inner_spots(&constants, cx);
        const coords second = find_inner_spots(&constants, vf_add(cx, vf_all(4)));
        find_offsets(&to, &constants, i, &first, channels);
        find_offsets(&to, &constants, i + LANES, &second, channels);
        vw_store(to.weights + 2 * i, vw_pack(vi_and(first.u, fraction), vi_and(second.u, fraction)));
        vw_store(to.weights + 2 * i + GROUP, vw_pack(vi_and(first.v, fraction), vi_and(second.v, fraction)));
    }
}

#endif
