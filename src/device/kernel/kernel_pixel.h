/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel source: one pixel or id of the source, and how a value is stored. Means what augment_c.c says. */

typedef struct colour {
    float c[3]; /* grey images: only the first counts */
} colour;

typedef struct coord {
    int32_t u, v; /* index of the source, in 1/32768 */
} coord;

STK_FUNCTION float clamp_level(float v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

STK_FUNCTION int32_t place_of(float v, int32_t size)
{
    const float most = (float)size;
    return (int32_t)STK_FLOOR(STK_SMALLER(STK_LARGER(v, -2.0f), most) * 32768);
}

STK_FUNCTION coord find_source(STK_SAMPLE const stk__kernel_sample *sample, int32_t x, int32_t y)
{
    STK_SAMPLE const float *matrix = sample->block.matrix;
    const float cx = (float)x + 0.5f, cy = (float)y + 0.5f;
    coord at;
    at.u = place_of(STK_FMA(matrix[0], cx, STK_FMA(matrix[1], cy, matrix[2])), sample->image.w);
    at.v = place_of(STK_FMA(matrix[3], cx, STK_FMA(matrix[4], cy, matrix[5])), sample->image.h);
    return at;
}

STK_FUNCTION STK_GLOBAL const uint8_t *find_pixels(const stk__kernel_work *work,
                                                   STK_SAMPLE const stk__kernel_place *place)
{
    return work->arena + ((uint64_t)place->offset_high << 32 | place->offset_low);
}

/* None of the four is negative. */
STK_FUNCTION bool is_inside(STK_SAMPLE const stk__kernel_place *place, int32_t x, int32_t y)
{
    return (x | y | (place->w - 1 - x) | (place->h - 1 - y)) >= 0;
}

/* Between two values; the weights sum to 32768, or to 64 times that, for levels that become 1/64 of one. */
STK_FUNCTION int32_t between(int32_t a, int32_t b, int32_t weight_a, int32_t weight_b)
{
    return (a * weight_a + b * weight_b + (1 << 14)) >> 15;
}

/* How far a coord is from the pixel to its left and above; up to 32767. */
typedef struct weights {
    int32_t x, y;
} weights;

/* One channel of the pixels left and right of a coord, in the row above it and in the one below. */
STK_FUNCTION float sample_levels(STK_GLOBAL const uint8_t *above, STK_GLOBAL const uint8_t *below,
                                 uint32_t next, weights by)
{
    const int32_t right = by.x * STK_AUGMENT_LEVEL, left = 32768 * STK_AUGMENT_LEVEL - right;
    const int32_t upper = between(above[0], above[next], left, right),
                  lower = between(below[0], below[next], left, right);
    return (float)between(upper, lower, 32768 - by.y, by.y) * (1.0f / STK_AUGMENT_LEVEL);
}

/* All four pixels are inside; the first begins at `above`. */
STK_FUNCTION colour sample_inside(STK_GLOBAL const uint8_t *above, uint32_t pitch_bytes, uint32_t channels,
                                  weights by)
{
    STK_GLOBAL const uint8_t *below = above + pitch_bytes;
    colour out;
    out.c[0] = out.c[1] = out.c[2] = sample_levels(above, below, channels, by);
    if (channels == 3) {
        out.c[1] = sample_levels(above + 1, below + 1, 3, by);
        out.c[2] = sample_levels(above + 2, below + 2, 3, by);
    }
    return out;
}

/* The four pixels around a coord: where they begin (only if they are inside), and which are inside. */
typedef struct taps {
    uint32_t at[4];
    bool inside[4];
} taps;

STK_FUNCTION taps find_taps(STK_SAMPLE const stk__kernel_place *place, int32_t channels, int32_t x, int32_t y)
{
    taps four;
    STK_UNROLL
    for (int32_t i = 0; i < 4; i++) {
        const int32_t tap_x = x + (i & 1), tap_y = y + (i >> 1);
        four.inside[i] = is_inside(place, tap_x, tap_y);
        four.at[i] = (uint32_t)tap_y * place->pitch_bytes + (uint32_t)tap_x * (uint32_t)channels;
    }
    return four;
}

STK_FUNCTION int32_t tap(STK_GLOBAL const uint8_t *pixels, const taps *four, int32_t i, uint32_t channel,
                         int32_t fill)
{
    return four->inside[i] ? pixels[four->at[i] + channel] * STK_AUGMENT_LEVEL : fill;
}

/* Some pixels are outside: fill values stand for them. */
STK_FUNCTION colour sample_edge(STK_GLOBAL const uint8_t *pixels, STK_SAMPLE const stk__kernel_sample *sample,
                                int32_t channels, coord at)
{
    const weights by = {at.u & 32767, at.v & 32767};
    const taps four = find_taps(&sample->image, channels, at.u >> 15, at.v >> 15);
    colour out;
    for (int32_t c = 0; c < 3; c++) {
        /* Grey images have one byte per pixel: it is read again instead of the next pixel's. */
        const uint32_t channel = channels == 3 ? (uint32_t)c : 0;
        const int32_t fill = sample->block.fill[c];
        const int32_t above = between(tap(pixels, &four, 0, channel, fill),
                                      tap(pixels, &four, 1, channel, fill), 32768 - by.x, by.x);
        const int32_t below = between(tap(pixels, &four, 2, channel, fill),
                                      tap(pixels, &four, 3, channel, fill), 32768 - by.x, by.x);
        out.c[c] = (float)between(above, below, 32768 - by.y, by.y) * (1.0f / STK_AUGMENT_LEVEL);
    }
    return out;
}

STK_FUNCTION colour sample_pixel(const stk__kernel_work *work, STK_SAMPLE const stk__kernel_sample *sample,
                                 coord at)
{
    const int32_t x = at.u >> 15, y = at.v >> 15, channels = work->launch.channels;
    STK_GLOBAL const uint8_t *pixels = find_pixels(work, &sample->image);
    const weights by = {at.u & 32767, at.v & 32767};
    const uint32_t first = (uint32_t)y * sample->image.pitch_bytes + (uint32_t)x * (uint32_t)channels;
    if ((x | y | (sample->image.w - 2 - x) | (sample->image.h - 2 - y)) < 0)
        return sample_edge(pixels, sample, channels, at);
    return sample_inside(pixels + first, sample->image.pitch_bytes, (uint32_t)channels, by);
}

STK_FUNCTION uint8_t sample_id(const stk__kernel_work *work, STK_SAMPLE const stk__kernel_sample *sample,
                               coord at)
{
    const int32_t x = (at.u + 16384) >> 15, y = (at.v + 16384) >> 15;
    if (!is_inside(&sample->mask, x, y)) return (uint8_t)sample->block.mask_fill;
    return find_pixels(work, &sample->mask)[(uint32_t)y * sample->mask.pitch_bytes + (uint32_t)x];
}

/* To 11 bits of mantissa; below 2^-14 the last bit is worth 2^-24. */
STK_FUNCTION uint16_t half_from_float(float value)
{
#if defined(__CUDACC_RTC__)
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
#else
    const uint32_t bits = STK_BITS(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
    if (size < 0x38800000u) return (uint16_t)(sign | (STK_BITS(STK_FLOAT(size) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | ((size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13));
#endif
}

STK_FUNCTION uint16_t bfloat_from_float(float value)
{
    const uint32_t bits = STK_BITS(value);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Bytes are counted from a sample's first: fewer than 2^32, see MOST_PIXELS of launch.c. */
STK_FUNCTION void store_f32(STK_GLOBAL uint8_t *image, uint32_t at, float v)
{
    *(STK_GLOBAL float *)(STK_GLOBAL void *)(image + at) = v;
}

STK_FUNCTION void store_f16(STK_GLOBAL uint8_t *image, uint32_t at, int32_t dtype, float v)
{
    *(STK_GLOBAL uint16_t *)(STK_GLOBAL void *)(image + at) =
        dtype == STK_KERNEL_F16 ? half_from_float(v) : bfloat_from_float(v);
}
