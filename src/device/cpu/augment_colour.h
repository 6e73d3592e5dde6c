/* SPDX-License-Identifier: Apache-2.0 */
/* The colour program on a row, step by step, LANES pixels at once: the reference's operations in the
 * reference's order. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_COLOUR_H
#define STK_DEVICE_AUGMENT_COLOUR_H

#include "device/cpu/augment_rows.h"

static inline vf clamp_level(vf v)
{
    return vf_min(vf_all(255), vf_max(vf_all(0), v)); /* in this order a zero keeps its sign */
}

static inline vf grey_of(vf red, vf green, vf blue)
{
    return vf_fma(vf_all(0.299f), red, vf_fma(vf_all(0.587f), green, vf_mul(vf_all(0.114f), blue)));
}

static inline vf grey_at(row r, int32_t channels, int32_t x)
{
    const vf red = vf_load(r.line[0] + x);
    if (channels == 1) return red;
    return grey_of(red, vf_load(r.line[1] + x), vf_load(r.line[2] + x));
}

/* Between two levels, 0 <= a <= 1, lie no others, rounding included: what rounds v - other up by half a step
 * is a tie above 255, and 255 is even. Greys are levels: that of white is 255. */
static inline bool stays_between(float a, float other)
{
    return a >= 0 && a <= 1 && other <= 255;
}

/* between: stays_between, as a constant. */
ROW_INLINE vf blend(vf a, vf v, vf other, bool between)
{
    const vf blended = vf_fma(a, vf_sub(v, other), other);
    return between ? blended : clamp_level(blended);
}

/* Whole 1/256 levels. A lane holds the sum of 65,536 pixels. */
static inline uint64_t sum_grey(const pass *p, row r)
{
    uint64_t sum = 0;
    for (int32_t from = 0; from < p->w; from += 65536 * LANES) {
        const int32_t to = p->w - from < 65536 * LANES ? p->w : from + 65536 * LANES;
        vi sums = vi_all(0);
        int32_t x = from;
        for (; x + LANES <= to; x += LANES)
            sums = vi_add(sums, vi_truncate(vf_fma(grey_at(r, p->channels, x), vf_all(256), vf_all(0.5f))));
        int32_t lanes[LANES], tail[LANES];
        vi_store(lanes, sums);
        for (int i = 0; i < LANES; i++)
            sum += (uint32_t)lanes[i];
        vi_store(tail, vi_truncate(vf_fma(grey_at(r, p->channels, x), vf_all(256), vf_all(0.5f))));
        for (int i = 0; i < to - x; i++)
            sum += (uint32_t)tail[i];
    }
    return sum;
}

static inline void step_brightness(row r, int32_t w, int32_t channels, float a)
{
    for (int32_t c = 0; c < channels; c++) {
        float *const line = r.line[c];
        for (int32_t x = 0; x < w; x += LANES)
            vf_store(line + x, clamp_level(vf_mul(vf_load(line + x), vf_all(a))));
    }
}

ROW_INLINE void blend_line(float *line, int32_t w, float a, float mean, bool between)
{
    for (int32_t x = 0; x < w; x += LANES)
        vf_store(line + x, blend(vf_all(a), vf_load(line + x), vf_all(mean), between));
}

static inline void step_contrast(row r, int32_t w, int32_t channels, float a, float mean)
{
    for (int32_t c = 0; c < channels; c++) {
        if (stays_between(a, mean))
            blend_line(r.line[c], w, a, mean, true);
        else
            blend_line(r.line[c], w, a, mean, false);
    }
}

ROW_INLINE void blend_grey(row r, int32_t w, int32_t channels, float a, bool between)
{
    for (int32_t x = 0; x < w; x += LANES) {
        const vf grey = grey_at(r, channels, x);
        for (int32_t c = 0; c < channels; c++)
            vf_store(r.line[c] + x, blend(vf_all(a), vf_load(r.line[c] + x), grey, between));
    }
}

ROW_INLINE void step_saturation(row r, int32_t w, int32_t channels, float a)
{
    if (stays_between(a, 255))
        blend_grey(r, w, channels, a, true);
    else
        blend_grey(r, w, channels, a, false);
}

static inline void step_gray(row r, int32_t w, int32_t channels)
{
    for (int32_t x = 0; x < w; x += LANES) {
        const vf grey = grey_at(r, channels, x);
        for (int32_t c = 0; c < channels; c++)
            vf_store(r.line[c] + x, grey);
    }
}

/* Parts of the three channels from the hue of 0 … 6: the reference's in fewer operations. What it finds by
 * turning k = start + hue back below 6 is here the larger of what either side of 6 gives, of which one is not
 * above 0. Where hue is not a number, every part is 1. */
static inline vf red_part(vf hue)
{
    const vf k = vf_sub(vf_add(hue, vf_all(5)), vf_all(6));
    return vf_max(vf_all(0), vf_min(vf_min(k, vf_sub(vf_all(4), k)), vf_all(1)));
}

static inline vf green_part(vf hue)
{
    const vf k = vf_add(hue, vf_all(3));
    return vf_max(vf_all(0), vf_max(vf_sub(vf_all(4), k), vf_min(vf_sub(k, vf_all(6)), vf_all(1))));
}

static inline vf blue_part(vf hue)
{
    const vf k = vf_add(hue, vf_all(1));
    return vf_max(vf_all(0), vf_max(vf_sub(k, vf_all(6)), vf_min(vf_sub(vf_all(4), k), vf_all(1))));
}

/* Hue of 0 … 6, turned. As whole numbers floats below 0 are larger than all others, so the least one is the
 * one in the range. Not a number where there is no colour. */
static inline vf find_hue(const vf old[3], vf value, vf chroma, vf turn)
{
    const vf six = vf_all(6);
    const vm red = vf_equal(old[0], value), green = vf_equal(old[1], value);
    const vf to_red = vf_sub(old[1], old[2]), to_green = vf_sub(old[2], old[0]),
             to_blue = vf_sub(old[0], old[1]);
    vf hue = vf_div(vf_pick(red, to_red, vf_pick(green, to_green, to_blue)), chroma);
    hue = vf_add(hue, vf_pick(red, vf_all(0), vf_pick(green, vf_all(2), vf_all(4))));
    hue = vf_fma(turn, six, hue);
    return vf_least_bits(vf_least_bits(hue, vf_add(hue, six)), vf_sub(hue, six));
}

/* Two short loops: one long one has so many instructions waiting for the division that the CPU cannot see the
 * next pixels. Between them the lines hold hue, value and chroma. */
static inline void find_hues(row r, int32_t w, float turn)
{
    for (int32_t x = 0; x < w; x += LANES) {
        const vf old[3] = {vf_load(r.line[0] + x), vf_load(r.line[1] + x), vf_load(r.line[2] + x)};
        const vf value = vf_max(old[0], vf_max(old[1], old[2]));
        const vf chroma = vf_sub(value, vf_min(old[0], vf_min(old[1], old[2])));
        vf_store(r.line[0] + x, find_hue(old, value, chroma, vf_all(turn)));
        vf_store(r.line[1] + x, value);
        vf_store(r.line[2] + x, chroma);
    }
}

/* No clamp: no channel leaves the range between value - chroma and value. Where chroma is 0, all stay. */
static inline void step_hue(row r, int32_t w, float turn)
{
    find_hues(r, w, turn);
    for (int32_t x = 0; x < w; x += LANES) {
        const vf hue = vf_load(r.line[0] + x), value = vf_load(r.line[1] + x);
        const vf chroma = vf_load(r.line[2] + x);
        vf_store(r.line[0] + x, vf_minus_product(value, chroma, red_part(hue)));
        vf_store(r.line[1] + x, vf_minus_product(value, chroma, green_part(hue)));
        vf_store(r.line[2] + x, vf_minus_product(value, chroma, blue_part(hue)));
    }
}

static inline vf log2_of(vf v)
{
    const vi bits = vi_bits(v), exponent = vi_shift_signed(vi_sub(bits, vi_all(0x3f3504f3)), 23);
    const vf m = vf_from_bits(vi_sub(bits, vi_shift_left(exponent, 23))), one = vf_all(1);
    const vf s = vf_div(vf_sub(m, one), vf_add(m, one)), s2 = vf_mul(s, s);
    vf series = vf_fma(s2, vf_all(0.41219858f), vf_all(0.57707802f));
    series = vf_fma(s2, series, vf_all(0.96179669f));
    series = vf_fma(s2, series, vf_all(2.8853901f));
    return vf_fma(s, series, vf_of(exponent));
}

static inline vf exp2_of(vf power)
{
    const vf whole = vf_floor(vf_add(power, vf_all(0.5f))), f = vf_sub(power, whole);
    vf series = vf_fma(f, vf_all(1.5403530e-4f), vf_all(1.3333558e-3f));
    series = vf_fma(f, series, vf_all(9.6181291e-3f));
    series = vf_fma(f, series, vf_all(5.5504109e-2f));
    series = vf_fma(f, series, vf_all(2.4022651e-1f));
    series = vf_fma(f, series, vf_all(6.9314718e-1f));
    series = vf_fma(f, series, vf_all(1));
    const vf scale = vf_from_bits(vi_shift_left(vi_add(vi_truncate(whole), vi_all(127)), 23));
    return vf_pick(vf_less(power, vf_all(-100)), vf_all(0), vf_mul(series, scale));
}

static inline void step_gamma(row r, int32_t w, int32_t channels, float gamma)
{
    for (int32_t c = 0; c < channels; c++) {
        float *const line = r.line[c];
        for (int32_t x = 0; x < w; x += LANES) {
            const vf v = vf_load(line + x);
            const vf power = vf_mul(vf_all(gamma), log2_of(vf_mul(v, vf_all(1.0f / 255))));
            const vf raised = clamp_level(vf_mul(vf_all(255), exp2_of(power)));
            vf_store(line + x, vf_pick(vf_less(v, vf_all(0x1p-20f)), vf_all(0), raised));
        }
    }
}

/* Loops work on copies of what they need: a store of a vector could change
 * anything that is read through a pointer, as far as the compiler knows. channels is p->channels, as a
 * constant. */
ROW_INLINE void run_steps_of(const pass *p, row r, stretch steps, int32_t channels)
{
    const int32_t w = p->w;
    for (int32_t s = steps.from; s < steps.to; s++) {
        const float a = p->block->step_value[s];
        switch (p->block->step_kind[s]) {
        case STK_COLOUR_BRIGHTNESS:
            step_brightness(r, w, channels, a);
            break;
        case STK_COLOUR_CONTRAST:
            step_contrast(r, w, channels, a, p->mean);
            break;
        case STK_COLOUR_SATURATION:
            step_saturation(r, w, channels, a);
            break;
        case STK_COLOUR_GRAY:
            step_gray(r, w, channels);
            break;
        case STK_COLOUR_GAMMA:
            step_gamma(r, w, channels, a);
            break;
        case STK_COLOUR_HUE:
            if (channels == 3) step_hue(r, w, a);
        }
    }
}

/* Steps from … to - 1 of the program. */
static inline void run_steps(const pass *p, row r, stretch steps)
{
    if (p->channels == 3)
        run_steps_of(p, r, steps, 3);
    else
        run_steps_of(p, r, steps, 1);
}

#endif
