/* Where the pixels of an output row lie in the source. Part of the template.
 *
 * A row's places are found first, all of them, and its taps are loaded afterwards: two short chains of
 * instructions overlap better than one long one. */
#ifndef STK_DEVICE_AUGMENT_PLACES_H
#define STK_DEVICE_AUGMENT_PLACES_H

#include "device/augment_rows.h"

#define ALL_LANES ((1u << LANES) - 1)

enum { AHEAD_ROWS = 8 };

/* What is the same for all pixels of a row. */
typedef struct sampler {
    vf step_u, step_v, start_u, start_v; /* u = step_u * cx + start_u */
    vf most_u, most_v;
    vi last_x, last_y; /* of the upper left tap of pixels whose taps may be loaded together */
    vi pitch, mask_pitch;
    ptrdiff_t ahead, mask_ahead; /* bytes from a tap to the tap of the pixel AHEAD_ROWS below */
    bool loads;                  /* places fit in 32 bits, and there is something to load */
} sampler;

/* Where LANES pixels lie: the index of their upper left tap and how far they are from it. */
typedef struct spots {
    vf u, v;
    vi x, y;
    vf left, top;
} spots;

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

static inline sampler start_sampler(const pass *p, int32_t y)
{
    const float *const m = p->block->matrix, cy = (float)y + 0.5f;
    const stk__pixels image = p->source->image, mask = p->source->mask;
    const int32_t tail = image.channels == 3 ? 3 : 2;
    const ptrdiff_t rows_ahead = (ptrdiff_t)limit_near(AHEAD_ROWS * m[4]);
    const ptrdiff_t pixels_ahead = (ptrdiff_t)limit_near(AHEAD_ROWS * m[1]);
    return (sampler){.step_u = vf_all(m[0]),
                     .step_v = vf_all(m[3]),
                     .start_u = vf_fma(vf_all(m[1]), vf_all(cy), vf_all(m[2])),
                     .start_v = vf_fma(vf_all(m[4]), vf_all(cy), vf_all(m[5])),
                     .most_u = vf_all((float)image.w + 1),
                     .most_v = vf_all((float)image.h + 1),
                     .last_x = vi_all(image.w - tail),
                     .last_y = vi_all(image.h - 2),
                     .pitch = vi_all((int32_t)image.pitch_bytes),
                     .mask_pitch = vi_all((int32_t)mask.pitch_bytes),
                     .ahead = rows_ahead * (ptrdiff_t)image.pitch_bytes + pixels_ahead * image.channels,
                     .mask_ahead = rows_ahead * (ptrdiff_t)mask.pitch_bytes + pixels_ahead,
                     .loads = may_load(image, mask, tail)};
}

/* Not brought near, as the reference does with coordinates far outside: those become the index INT32_MIN,
 * which is outside too. */
static inline spots find_spots(const sampler *s, vf cx)
{
    spots at;
    at.u = vf_fma(s->step_u, cx, s->start_u);
    at.v = vf_fma(s->step_v, cx, s->start_v);
    at.left = vf_floor(at.u);
    at.top = vf_floor(at.v);
    at.x = vi_truncate(at.left);
    at.y = vi_truncate(at.top);
    return at;
}

/* Of the group that begins with pixel x, brought near. */
static inline spots find_near_spots(const sampler *s, int32_t x)
{
    const vf least = vf_all(-2);
    spots at = find_spots(s, vf_add(vf_of(vi_add(vi_counting(), vi_all(x))), vf_all(0.5f)));
    at.u = vf_min(vf_max(at.u, least), s->most_u);
    at.v = vf_min(vf_max(at.v, least), s->most_v);
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

/* Nearest pixel of a mask. Its index is not negative where this is used, so truncation is floor. */
static inline vi find_id(const sampler *s, const spots *at)
{
    const vf half = vf_all(0.5f);
    const vi x = vi_truncate(vf_add(at->u, half)), y = vi_truncate(vf_add(at->v, half));
    return vi_add(vi_mul(y, s->mask_pitch), x);
}

/* Offsets of taps and ids from the first byte (0 where taps may not be loaded), weights, and which taps may.
 */
ROW_INLINE void find_places(const pass *p, const sampler *s, int32_t channels)
{
    const places to = p->places;
    const sampler constants = *s;
    const int32_t w = p->w;
    vi x = vi_counting();
    for (int32_t i = 0; i < w; i += LANES, x = vi_add(x, vi_all(LANES))) {
        const spots at = find_spots(&constants, vf_add(vf_of(x), vf_all(0.5f)));
        const vm inside = vm_and(vi_below(at.x, constants.last_x), vi_below(at.y, constants.last_y));
        const vi along = channels == 3 ? vi_add(vi_add(at.x, at.x), at.x) : at.x;
        const vw weights = vw_pair(weigh(vf_sub(at.u, at.left)), weigh(vf_sub(at.v, at.top)));
        vi_store(to.offset + i, vi_keep(inside, vi_add(vi_mul(at.y, constants.pitch), along)));
        vi_store(to.id_offset + i, vi_keep(inside, find_id(&constants, &at)));
        vh_store(to.weight_x + i, vw_low(weights));
        vh_store(to.weight_y + i, vw_high(weights));
        to.inside[i / LANES] = (uint16_t)(constants.loads ? vm_bits(inside) : 0);
    }
}

#endif
