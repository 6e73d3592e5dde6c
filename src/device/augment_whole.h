/* Rows that need no sampling, because every output pixel is a pixel of the source: nothing, flips, whole
 * shifts. And the way from bytes and levels to floats. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_WHOLE_H
#define STK_DEVICE_AUGMENT_WHOLE_H

#include "device/augment_rows.h"

#include <math.h>

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

static inline void spread_rgb(const uint8_t *bytes, int32_t count, bool mirror, row out)
{
    const vi back = backwards();
    for (int32_t x = 0; x < count; x += LANES) {
        const vw pixels = vw_triples(mirror ? bytes + 3 * (count - LANES - x) : bytes + 3 * x);
        for (int c = 0; c < 3; c++) {
            const vf v = vf_of(vi_of_triples(pixels, c));
            vf_store(out.line[c] + x, mirror ? vf_permute(v, back) : v);
        }
    }
}

static inline void spread_grey(const uint8_t *bytes, int32_t count, bool mirror, float *out)
{
    const vi back = backwards();
    for (int32_t x = 0; x < count; x += LANES) {
        const vf v = vf_of(vi_from_bytes(mirror ? bytes + count - LANES - x : bytes + x));
        vf_store(out + x, mirror ? vf_permute(v, back) : v);
    }
}

/* The bytes are copied first, so that vectors may read beyond both ends. */
static inline void take_whole_row(const pass *p, int32_t y)
{
    const stk__pixels image = p->source->image;
    const int32_t source_y = whole_row(p, y);
    const span s = source_y < 0 ? (span){p->w, p->w, 0} : find_span(p, image.w);
    const int32_t count = s.to - s.from;
    if (count > 0) {
        memcpy(p->bytes, stk__pixels_row(image, source_y) + (size_t)s.first * (size_t)image.channels,
               (size_t)count * (size_t)image.channels);
        row out = p->work;
        for (int32_t c = 0; c < p->channels; c++)
            out.line[c] += s.from;
        if (p->channels == 3)
            spread_rgb(p->bytes, count, p->mirror_x, out);
        else
            spread_grey(p->bytes, count, p->mirror_x, out.line[0]);
    }
    fill_span(p, p->work, 0, s.from);
    fill_span(p, p->work, s.to, p->w);
}

static inline void take_whole_ids(const pass *p, int32_t y)
{
    const stk__pixels mask = p->source->mask;
    const int32_t source_y = whole_row(p, y);
    const span s = source_y < 0 ? (span){p->w, p->w, 0} : find_span(p, mask.w);
    const int32_t count = s.to - s.from;
    memset(p->ids, p->block->mask_fill, (size_t)p->w);
    if (count <= 0) return;
    const uint8_t *const ids = stk__pixels_row(mask, source_y) + s.first;
    uint8_t *const out = p->ids + s.from;
    for (int32_t i = 0; p->mirror_x && i < count; i++)
        out[i] = ids[count - 1 - i];
    if (!p->mirror_x) memcpy(out, ids, (size_t)count);
}

static inline void take_levels(const pass *p, const int16_t *levels)
{
    const vf part = vf_all(1.0f / STK_AUGMENT_LEVEL);
    for (int32_t c = 0; c < p->channels; c++)
        for (int32_t x = 0; x < p->w; x += LANES)
            vf_store(p->work.line[c] + x,
                     vf_mul(vf_of(vi_from_words(levels + (size_t)c * p->line_values + x)), part));
}

#endif
