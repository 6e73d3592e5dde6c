/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that need no sampling, because every output pixel is a pixel of the source: nothing, flips, whole
 * shifts. And the way from bytes and levels to floats. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_WHOLE_H
#define STK_DEVICE_AUGMENT_WHOLE_H

#include "device/cpu/augment_rows.h"

#include <math.h>

enum { FETCH_ROWS = 4 };
enum { WHOLE_MOST = 1 << 20 }; /* above, floats have no halves to tell pixels apart by */

/* Does factor * (x + 0.5) + offset = shift ± x, exactly? */
static inline bool find_shift(float factor, float offset, bool *mirror, int32_t *shift)
{
    if ((factor != 1 && factor != -1) || !(fabsf(offset) < WHOLE_MOST)) return false;
    const float from = factor > 0 ? offset + 0.5f : offset - 0.5f;
    *mirror = factor < 0;
    *shift = (int32_t)from;
    return from == floorf(from) && from - offset == (*mirror ? -0.5f : 0.5f);
}

static inline bool find_whole(pass *p)
{
    const float *const m = p->block->matrix;
    return m[1] == 0 && m[3] == 0 && p->w < WHOLE_MOST && p->h < WHOLE_MOST &&
           find_shift(m[0], m[2], &p->mirror_x, &p->shift_x) &&
           find_shift(m[4], m[5], &p->mirror_y, &p->shift_y);
}

/* Output pixels from … to - 1 come from the pixels of a row of the source that begin at `first`. */
typedef struct span {
    int32_t from, to, first;
} span;

static inline int32_t limit(int32_t v, int32_t least, int32_t most)
{
    return v < least ? least : v > most ? most : v;
}

static inline span find_span(const pass *p, int32_t source_w)
{
    const int32_t shift = p->shift_x;
    const int32_t from = limit(p->mirror_x ? shift - source_w + 1 : -shift, 0, p->w);
    const int32_t to = limit(p->mirror_x ? shift + 1 : source_w - shift, from, p->w);
    return (span){from, to, p->mirror_x ? shift - (to - 1) : shift + from};
}

/* The row of the source, or -1: outside. */
static inline int32_t whole_row(const pass *p, int32_t y)
{
    const int32_t source_y = p->mirror_y ? p->shift_y - y : p->shift_y + y;
    return source_y >= 0 && source_y < p->source->image.h ? source_y : -1;
}

static inline vi backwards(void)
{
    int32_t lanes[LANES];
    for (int i = 0; i < LANES; i++)
        lanes[i] = LANES - 1 - i;
    return vi_load(lanes);
}

/* A row of the source that is taken as it is, or backwards. Vectors read beyond both ends, so the ends are
 * copied to where that is allowed. */
typedef struct byte_row {
    const uint8_t *source, *ends;
    int32_t count; /* pixels */
    bool mirror;
    uintptr_t early, early_ids; /* where image and mask will be read some rows later */
} byte_row;

/* The CPU guesses what will be read next while addresses rise, but not what comes after a row read backwards.
 * A few addresses with each group: many at once would be ignored. */
static inline void fetch_whole_early(const byte_row *r, int32_t x)
{
    __builtin_prefetch((const void *)(r->early + 3 * (uintptr_t)x));
    __builtin_prefetch((const void *)(r->early_ids + (uintptr_t)x));
}

static inline byte_row open_byte_row(const pass *p, const uint8_t *source, int32_t count, int32_t y)
{
    const size_t size = (size_t)p->channels, end = (count < ROW_MARGIN ? (size_t)count : ROW_MARGIN) * size;
    const size_t all = (size_t)count * size;
    memcpy(p->bytes, source, end);
    memcpy(p->bytes + all - end, source + all - end, end);
    const stk__pixels mask = p->source->mask;
    const size_t rows = p->mirror_y ? -(size_t)FETCH_ROWS : FETCH_ROWS; /* address arithmetic wraps */
    return (byte_row){.source = source,
                      .ends = p->bytes,
                      .count = count,
                      .mirror = p->mirror_x,
                      .early = (uintptr_t)source + rows * p->source->image.pitch_bytes,
                      .early_ids = (uintptr_t)mask.data + ((size_t)y + rows) * mask.pitch_bytes};
}

ROW_INLINE const uint8_t *find_bytes(const byte_row *r, int32_t x, int32_t channels)
{
    const int32_t first = r->mirror ? r->count - LANES - x : x, read = LANES + (channels == 3 ? 2 : 0);
    const bool inside = first >= 0 && first + read <= r->count;
    return (inside ? r->source : r->ends) + (ptrdiff_t)first * channels;
}

static inline void spread_rgb(byte_row r, row out)
{
    const vi back = backwards();
    for (int32_t x = 0; x < r.count; x += LANES) {
        const vw pixels = vw_triples(find_bytes(&r, x, 3));
        fetch_whole_early(&r, x);
        for (int c = 0; c < 3; c++) {
            const vf v = vf_of(vi_of_triples(pixels, c));
            vf_store(out.line[c] + x, r.mirror ? vf_permute(v, back) : v);
        }
    }
}

static inline void spread_grey(byte_row r, float *out)
{
    const vi back = backwards();
    for (int32_t x = 0; x < r.count; x += LANES) {
        const vf v = vf_of(vi_from_bytes(find_bytes(&r, x, 1)));
        fetch_whole_early(&r, x);
        vf_store(out + x, r.mirror ? vf_permute(v, back) : v);
    }
}

static inline void take_whole_row(const pass *p, int32_t y)
{
    const stk__pixels image = p->source->image;
    const int32_t source_y = whole_row(p, y);
    const span s = source_y < 0 ? (span){p->w, p->w, 0} : find_span(p, image.w);
    if (s.to > s.from) {
        const uint8_t *const bytes = stk__pixels_row(image, source_y) + s.first * p->channels;
        const byte_row r = open_byte_row(p, bytes, s.to - s.from, source_y);
        row out = p->work;
        for (int32_t c = 0; c < p->channels; c++)
            out.line[c] += s.from;
        if (p->channels == 3)
            spread_rgb(r, out);
        else
            spread_grey(r, out.line[0]);
    }
    fill_span(p, p->work, 0, s.from);
    fill_span(p, p->work, s.to, p->w);
}

static inline void turn_round(const uint8_t *restrict from, int32_t count, uint8_t *restrict to)
{
    for (int32_t i = 0; i < count; i++)
        to[i] = from[count - 1 - i];
}

static inline void take_whole_ids(const pass *p, int32_t y)
{
    const stk__pixels mask = p->source->mask;
    const int32_t source_y = whole_row(p, y);
    const span s = source_y < 0 ? (span){p->w, p->w, 0} : find_span(p, mask.w);
    const int32_t count = s.to - s.from;
    if (count < p->w) memset(p->ids, p->block->mask_fill, (size_t)p->w);
    if (count <= 0) return;
    const uint8_t *const ids = stk__pixels_row(mask, source_y) + s.first;
    if (p->mirror_x)
        turn_round(ids, count, p->ids + s.from);
    else
        memcpy(p->ids + s.from, ids, (size_t)count);
}

static inline void take_levels(const pass *p, const int16_t *levels)
{
    const int32_t w = p->w;
    for (int32_t c = 0; c < p->channels; c++) {
        const int16_t *const from = levels + (size_t)c * p->line_values;
        float *const to = p->work.line[c];
        for (int32_t x = 0; x < w; x += LANES)
            vf_store(to + x, vf_mul(vf_of(vi_from_words(from + x)), vf_all(1.0f / STK_AUGMENT_LEVEL)));
    }
}

#endif
