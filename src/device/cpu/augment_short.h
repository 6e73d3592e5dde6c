/* SPDX-License-Identifier: Apache-2.0 */
/* The short way of rows: what was sampled, brightness, contrast, the store, all in registers. For samples
 * that are neither blurred, noisy nor erased and whose colours need no more than that; the result is the
 * same. Channel after channel: streams of half lines side by side would be slow. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_SHORT_H
#define STK_DEVICE_AUGMENT_SHORT_H

#include "device/cpu/augment_colour.h"
#include "device/cpu/augment_output.h"
#include "device/cpu/augment_places.h"

/* Are these the steps? -1: none. */
static inline bool is_program(const stk__augment_block *block, int32_t first, int32_t second)
{
    const int32_t count = (first >= 0) + (second >= 0);
    return block->step_count == count && (count < 1 || block->step_kind[0] == first) &&
           (count < 2 || block->step_kind[1] == second);
}

static inline short_way find_short_way(const pass *p)
{
    const stk__augment_block *const b = p->block;
    enum { BRIGHTNESS = STK_COLOUR_BRIGHTNESS, CONTRAST = STK_COLOUR_CONTRAST };
    if (p->whole || b->blur_radius || b->noise_std > 0 || b->erase_w > 0) return SHORT_NOT;
    if (p->channels == 3 && !p->target->planar) return SHORT_NOT;
    for (int32_t s = 0; s < b->step_count; s++)
        if (b->step_value[s] < 0) return SHORT_NOT; /* brightness is clamped above only */
    if (is_program(b, -1, -1)) return SHORT_PLAIN;
    if (is_program(b, BRIGHTNESS, -1)) return SHORT_B;
    if (is_program(b, CONTRAST, -1)) return SHORT_C;
    if (is_program(b, BRIGHTNESS, CONTRAST)) return SHORT_BC;
    return is_program(b, CONTRAST, BRIGHTNESS) ? SHORT_CB : SHORT_NOT;
}

/* The way on when the mean is known. */
static inline short_way find_less_way(const pass *p)
{
    const bool less = stays_between(p->block->step_value[p->way == SHORT_BC], p->mean);
    if (!less) return p->way;
    return p->way == SHORT_C ? SHORT_LESS_C : p->way == SHORT_BC ? SHORT_LESS_BC : SHORT_LESS_CB;
}

ROW_INLINE bool starts_bright(short_way way)
{
    return way == SHORT_B || way == SHORT_BC || way == SHORT_LESS_BC;
}

ROW_INLINE bool ends_bright(short_way way)
{
    return way == SHORT_CB || way == SHORT_LESS_CB;
}

/* The numbers of a program. Levels are in 1/64; that factor, a power of two, may as well be in the next one.
 */
typedef struct short_numbers {
    vf first, contrast, mean, last;
} short_numbers;

ROW_INLINE short_numbers read_numbers(const pass *p, short_way way)
{
    const float *const value = p->block->step_value, unit = 1.0f / STK_AUGMENT_LEVEL;
    const bool bright = starts_bright(way);
    return (short_numbers){.first = vf_all(bright ? value[0] * unit : unit),
                           .contrast = vf_all(value[bright]),
                           .mean = vf_all(p->mean),
                           .last = vf_all(value[1])};
}

/* What comes before contrast. */
ROW_INLINE vf begin_short(vf level, const short_numbers *n, short_way way)
{
    const vf v = vf_mul(level, n->first);
    return starts_bright(way) ? vf_min(vf_all(255), v) : v;
}

ROW_INLINE vf run_short(vf level, const short_numbers *n, short_way way)
{
    vf v = begin_short(level, n, way);
    if (way >= SHORT_C) v = blend(n->contrast, v, n->mean, way >= SHORT_LESS_C);
    return ends_bright(way) ? vf_min(vf_all(255), vf_mul(v, n->last)) : v;
}

ROW_INLINE vf load_level(const int16_t *levels)
{
    return vf_of(vi_from_words(levels));
}

ROW_INLINE vi short_grey(const int16_t *levels, size_t apart, const short_numbers *n, short_way way)
{
    vf grey = begin_short(load_level(levels), n, way);
    if (apart)
        grey = grey_of(grey, begin_short(load_level(levels + apart), n, way),
                       begin_short(load_level(levels + 2 * apart), n, way));
    return vi_truncate(vf_fma(grey, vf_all(256), vf_all(0.5f)));
}

/* Of a part of a row at the contrast step. */
ROW_INLINE uint64_t sum_short_as(const pass *p, const int16_t *levels, stretch part, short_way way)
{
    const short_numbers n = read_numbers(p, way);
    const size_t apart = p->channels == 3 ? p->line_values : 0;
    uint64_t sum = 0;
    int32_t lanes[LANES], x = part.from;
    vi sums = vi_all(0);
    for (; x + LANES <= part.to; x += LANES)
        sums = vi_add(sums, short_grey(levels + x, apart, &n, way));
    vi_store(lanes, sums);
    for (int i = 0; i < LANES; i++)
        sum += (uint32_t)lanes[i];
    if (x == part.to) return sum;
    vi_store(lanes, short_grey(levels + x, apart, &n, way));
    for (int i = 0; i < part.to - x; i++)
        sum += (uint32_t)lanes[i];
    return sum;
}

static inline uint64_t sum_short(const pass *p, const int16_t *levels, stretch part)
{
    return p->way == SHORT_BC ? sum_short_as(p, levels, part, SHORT_BC)
                              : sum_short_as(p, levels, part, SHORT_C);
}

ROW_INLINE void store_short_as(const pass *p, const int16_t *levels, int32_t y, stretch part, short_way way,
                               output_kind kind)
{
    const short_numbers n = read_numbers(p, way);
    void *const image = p->target->image;
    const size_t area = (size_t)p->w * (size_t)p->h;
    const int32_t w = p->w;
    for (int32_t c = 0; c < p->channels; c++, levels += p->line_values) {
        const vf scale = vf_all(p->target->scale[c]), bias = vf_all(p->target->bias[c]);
        const size_t at = (size_t)c * area + (size_t)y * (size_t)w;
        int32_t x = part.from;
        for (; x + LANES <= part.to; x += LANES)
            put_as(image, at + (size_t)x, vf_fma(run_short(load_level(levels + x), &n, way), scale, bias),
                   kind);
        if (x < part.to)
            put_some(p, at + (size_t)x, vf_fma(run_short(load_level(levels + x), &n, way), scale, bias),
                     part.to - x);
    }
}

ROW_INLINE void store_short_way(const pass *p, const int16_t *levels, int32_t y, stretch part, short_way way)
{
    switch (p->kind) {
    case OUTPUT_FLOATS:
        store_short_as(p, levels, y, part, way, OUTPUT_FLOATS);
        break;
    case OUTPUT_FLOATS_STREAMED:
        store_short_as(p, levels, y, part, way, OUTPUT_FLOATS_STREAMED);
        break;
    case OUTPUT_HALVES:
        store_short_as(p, levels, y, part, way, OUTPUT_HALVES);
        break;
    case OUTPUT_HALVES_STREAMED:
        store_short_as(p, levels, y, part, way, OUTPUT_HALVES_STREAMED);
        break;
    case OUTPUT_BFLOATS:
        store_short_as(p, levels, y, part, way, OUTPUT_BFLOATS);
        break;
    case OUTPUT_BFLOATS_STREAMED:
        store_short_as(p, levels, y, part, way, OUTPUT_BFLOATS_STREAMED);
        break;
    }
}

static inline void store_short(const pass *p, const int16_t *levels, int32_t y, stretch part)
{
    switch (p->way) {
    case SHORT_PLAIN:
        store_short_way(p, levels, y, part, SHORT_PLAIN);
        break;
    case SHORT_B:
        store_short_way(p, levels, y, part, SHORT_B);
        break;
    case SHORT_C:
        store_short_way(p, levels, y, part, SHORT_C);
        break;
    case SHORT_BC:
        store_short_way(p, levels, y, part, SHORT_BC);
        break;
    case SHORT_CB:
        store_short_way(p, levels, y, part, SHORT_CB);
        break;
    case SHORT_LESS_C:
        store_short_way(p, levels, y, part, SHORT_LESS_C);
        break;
    case SHORT_LESS_BC:
        store_short_way(p, levels, y, part, SHORT_LESS_BC);
        break;
    case SHORT_LESS_CB:
        store_short_way(p, levels, y, part, SHORT_LESS_CB);
        break;
    case SHORT_NOT:
        break;
    }
}

#endif
