/* SPDX-License-Identifier: Apache-2.0 */
/* The fused augmentation pass in plain C: the reference that every level and device equals bit by bit; never
 * optimised, never deleted. One call is one sample, on any thread, with scratch of its own.
 *
 * In: image u8 [h w c] and mask u8 [h w] as decoded, and the sample's numbers (augment_block.h). Out: image
 * [H W c] or [c H W] in f32, f16 or bf16, mask [H W] in u8 or i64. Between them I is float [H W c], 0 … 255.
 * The stages, in this order, for pixel (x, y) of the output and S the image that came in:
 *
 *     sample   (u, v) = M [x + 1/2, y + 1/2, 1]'     M [2 3]: the inverse of crop, resize, flip, rotation,
 *                                                    shear and translation together
 *              i = floor(u), p = u - i, j = floor(v), q = v - j
 *              I  = (1 - q) ((1 - p) S(i, j) + p S(i+1, j)) + q ((1 - p) S(i, j+1) + p S(i+1, j+1))
 *              id = mask(round(u), round(v))         outside of S: fill, mask_fill
 *     steps    I = clamp(step_k(I)), k = 1 to K      each over the whole image: contrast needs its mean
 *     blur     I = sum over r of b_|r| I(x + r, y)   then along y; r = -R to R, edges reflected
 *     noise    I = clamp(I + sigma N(x, y))          N by Philox of (sample, epoch, pixel)
 *     erase    I = fill                              inside the box
 *     store    out_c = scale_c I_c + bias_c          scale = 1 / (255 std), bias = -mean / std
 *
 * All geometry is one matrix, so pixels are interpolated once. Same bits everywhere: u, v and the
 * interpolation are whole numbers (1/32768 px, 1/64 level); then only + - x / and explicit fma in float. */
#include "device/cpu/augment_pass.h"

#include "core/random.h"

#include <math.h>
#include <string.h>

/* A picture of floats, pixel after pixel. */
typedef struct plane {
    float *data;
    int32_t w, h, channels;
} plane;

static float *pixel_at(plane p, int32_t x, int32_t y)
{
    return p.data + ((size_t)y * (size_t)p.w + (size_t)x) * (size_t)p.channels;
}

static float clamp_level(float v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

/* A coordinate as a whole number of 1/32768 px. What lies far outside is brought near, where it is outside
 * too. */
static int32_t place_of(float v, int32_t size)
{
    const float most = (float)size, near = v < -2 ? -2 : v > most ? most : v;
    return (int32_t)floorf(near * 32768);
}

typedef struct coord {
    int32_t u, v; /* index of the source, in 1/32768 */
} coord;

static coord find_source(const float matrix[6], int32_t x, int32_t y, stk__pixels source)
{
    const float cx = (float)x + 0.5f, cy = (float)y + 0.5f;
    const float u = fmaf(matrix[0], cx, fmaf(matrix[1], cy, matrix[2]));
    const float v = fmaf(matrix[3], cx, fmaf(matrix[4], cy, matrix[5]));
    return (coord){place_of(u, source.w), place_of(v, source.h)};
}

static bool is_inside(stk__pixels source, int32_t x, int32_t y)
{
    return x >= 0 && y >= 0 && x < source.w && y < source.h;
}

static int32_t tap(const stk__augment_block *block, stk__pixels source, int32_t x, int32_t y, int32_t c)
{
    const bool inside = is_inside(source, x, y);
    return inside ? stk__pixels_row(source, y)[x * source.channels + c] * STK_AUGMENT_LEVEL : block->fill[c];
}

/* Between two values, by a weight of 15 bits, rounded: what pmulhrsw does. */
static int32_t between(int32_t a, int32_t b, int32_t weight)
{
    return a + (((b - a) * weight + (1 << 14)) >> 15);
}

static void sample_pixel(const stk__augment_block *block, stk__pixels source, coord at, float *out)
{
    const int32_t x = at.u >> 15, y = at.v >> 15, wx = at.u & 32767, wy = at.v & 32767;
    for (int32_t c = 0; c < source.channels; c++) {
        const int32_t upper = between(tap(block, source, x, y, c), tap(block, source, x + 1, y, c), wx);
        const int32_t lower =
            between(tap(block, source, x, y + 1, c), tap(block, source, x + 1, y + 1, c), wx);
        out[c] = (float)between(upper, lower, wy) * (1.0f / STK_AUGMENT_LEVEL);
    }
}

static uint8_t sample_id(const stk__augment_block *block, stk__pixels mask, coord at)
{
    const int32_t x = (at.u + 16384) >> 15, y = (at.v + 16384) >> 15;
    return is_inside(mask, x, y) ? stk__pixels_row(mask, y)[x] : (uint8_t)block->mask_fill;
}

static float grey_of(const float *pixel, int32_t channels)
{
    if (channels == 1) return pixel[0];
    return fmaf(0.299f, pixel[0], fmaf(0.587f, pixel[1], 0.114f * pixel[2]));
}

/* A sum of whole numbers: the same in any order, so the same on every device. Levels in 1/256. */
static float mean_grey(plane p)
{
    uint64_t sum = 0;
    const size_t count = (size_t)p.w * (size_t)p.h;
    for (size_t i = 0; i < count; i++)
        sum += (uint32_t)fmaf(grey_of(p.data + i * (size_t)p.channels, p.channels), 256, 0.5f);
    return (float)sum / ((float)count * 256);
}

static float blend(float a, float v, float other)
{
    return clamp_level(fmaf(a, v - other, other));
}

static float largest(float a, float b)
{
    return a > b ? a : b;
}

static float smallest(float a, float b)
{
    return a < b ? a : b;
}

/* Hue of 0 … 6 from the two channels that are not the largest; value and chroma stay. */
static void turn_hue(float turn, float *p)
{
    const float value = largest(p[0], largest(p[1], p[2])),
                chroma = value - smallest(p[0], smallest(p[1], p[2]));
    if (chroma == 0) return;
    float hue = p[0] == value   ? (p[1] - p[2]) / chroma
                : p[1] == value ? (p[2] - p[0]) / chroma + 2
                                : (p[0] - p[1]) / chroma + 4;
    hue = fmaf(turn, 6, hue);
    hue = hue < 0 ? hue + 6 : hue >= 6 ? hue - 6 : hue;
    static const float starts[3] = {5, 3, 1};
    for (int c = 0; c < 3; c++) {
        float k = starts[c] + hue;
        k = k >= 6 ? k - 6 : k;
        const float part = largest(0, smallest(smallest(k, 4 - k), 1));
        p[c] = clamp_level(fmaf(-chroma, part, value));
    }
}

static uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* v > 0, normal. m lies in [sqrt(1/2), sqrt(2)); log2 m = 2 / ln 2 * artanh((m - 1) / (m + 1)). */
static float log2_of(float v)
{
    const uint32_t bits = bits_of(v);
    const int32_t exponent = (int32_t)(bits - 0x3f3504f3u) >> 23;
    const float m = float_of(bits - ((uint32_t)exponent << 23)), s = (m - 1) / (m + 1), s2 = s * s;
    const float series = fmaf(s2, fmaf(s2, fmaf(s2, 0.41219858f, 0.57707802f), 0.96179669f), 2.8853901f);
    return fmaf(s, series, (float)exponent);
}

/* 2 ^ p for p <= 0; nothing below 2 ^ -100. Taylor's series of 2 ^ f, f in [-1/2, 1/2]. */
static float exp2_of(float p)
{
    if (p < -100) return 0;
    const float whole = floorf(p + 0.5f), f = p - whole;
    float series = fmaf(f, 1.5403530e-4f, 1.3333558e-3f);
    series = fmaf(f, series, 9.6181291e-3f);
    series = fmaf(f, series, 5.5504109e-2f);
    series = fmaf(f, series, 2.4022651e-1f);
    series = fmaf(f, series, 6.9314718e-1f);
    series = fmaf(f, series, 1);
    return series * float_of((uint32_t)((int32_t)whole + 127) << 23);
}

/* Less than a millionth of a level is black. */
static float raise(float v, float gamma)
{
    if (v < 0x1p-20f) return 0;
    return clamp_level(255 * exp2_of(gamma * log2_of(v * (1.0f / 255))));
}

static void step_pixel(int32_t kind, float a, float mean, float *p, int32_t channels)
{
    const float grey = grey_of(p, channels);
    for (int32_t c = 0; c < channels && kind != STK_COLOUR_HUE; c++) {
        if (kind == STK_COLOUR_BRIGHTNESS) p[c] = clamp_level(p[c] * a);
        if (kind == STK_COLOUR_CONTRAST) p[c] = blend(a, p[c], mean);
        if (kind == STK_COLOUR_SATURATION) p[c] = blend(a, p[c], grey);
        if (kind == STK_COLOUR_GRAY) p[c] = grey;
        if (kind == STK_COLOUR_GAMMA) p[c] = raise(p[c], a);
    }
    if (kind == STK_COLOUR_HUE && channels == 3) turn_hue(a, p);
}

static void apply_steps(const stk__augment_block *block, plane p)
{
    const size_t count = (size_t)p.w * (size_t)p.h;
    for (int32_t s = 0; s < block->step_count; s++) {
        const int32_t kind = block->step_kind[s];
        const float mean = kind == STK_COLOUR_CONTRAST ? mean_grey(p) : 0;
        for (size_t i = 0; i < count; i++)
            step_pixel(kind, block->step_value[s], mean, p.data + i * (size_t)p.channels, p.channels);
    }
}

/* … 2 1 | 0 1 2 … n-1 | n-2 …; sides of 1 repeat. */
static int32_t reflect(int32_t i, int32_t size)
{
    if (size == 1) return 0;
    while (i < 0 || i >= size)
        i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

/* Taps in pairs around the centre, from the outermost inwards. */
static float blur_at(const stk__augment_block *block, const float *line, size_t step, int32_t i, int32_t size)
{
    float sum = 0;
    for (int32_t r = block->blur_radius; r > 0; r--) {
        const float pair =
            line[(size_t)reflect(i - r, size) * step] + line[(size_t)reflect(i + r, size) * step];
        sum = fmaf(block->blur_weight[r], pair, sum);
    }
    return fmaf(block->blur_weight[0], line[(size_t)i * step], sum);
}

/* Along rows into `other`, then along columns back. */
static void blur(const stk__augment_block *block, plane p, plane other)
{
    const size_t step = (size_t)p.channels, row = (size_t)p.w * step;
    for (int32_t y = 0; y < p.h; y++)
        for (int32_t x = 0; x < p.w; x++)
            for (int32_t c = 0; c < p.channels; c++)
                pixel_at(other, x, y)[c] = blur_at(block, pixel_at(p, 0, y) + c, step, x, p.w);
    for (int32_t y = 0; y < p.h; y++)
        for (int32_t x = 0; x < p.w; x++)
            for (int32_t c = 0; c < p.channels; c++)
                pixel_at(p, x, y)[c] = blur_at(block, pixel_at(other, x, 0) + c, row, y, p.h);
}

/* Sum of four numbers of 4 bits about its mean: standard deviation sqrt(4 * (16^2 - 1) / 12) = 9.22; nearly
 * Gaussian. */
static float noise_of(uint32_t word)
{
    const uint32_t sum = (word & 15) + (word >> 4 & 15) + (word >> 8 & 15) + (word >> 12 & 15);
    return ((float)sum - 30) * (1 / 9.219544457f);
}

/* One draw for two neighbours in a row: a word per channel, its lower half for the left one. */
static void add_noise(const stk__augment_block *block, plane p)
{
    const uint64_t key = (uint64_t)block->noise_key[1] << 32 | block->noise_key[0];
    const uint32_t pairs = ((uint32_t)p.w + 1) / 2;
    for (int32_t y = 0; y < p.h; y++)
        for (int32_t x = 0; x < p.w; x++) {
            const stk__random r =
                stk__random_draw((stk__random_at){.seed = key,
                                                  .epoch = block->noise_epoch,
                                                  .sample = block->noise_sample,
                                                  .operation = STK_OPERATION_NOISE_PIXELS,
                                                  .draw = (uint32_t)y * pairs + (uint32_t)x / 2});
            float *pixel = pixel_at(p, x, y);
            for (int32_t c = 0; c < p.channels; c++) {
                const uint32_t half = x % 2 ? r.word[c] >> 16 : r.word[c] & 0xffff;
                pixel[c] = clamp_level(fmaf(block->noise_std, noise_of(half), pixel[c]));
            }
        }
}

static bool is_erased(const stk__augment_block *block, int32_t x, int32_t y)
{
    return x >= block->erase_x && x < block->erase_x + block->erase_w && y >= block->erase_y &&
           y < block->erase_y + block->erase_h;
}

static void store_value(const stk__augment_target *target, size_t at, float v)
{
    if (target->dtype == STK_DTYPE_F32) ((float *)target->image)[at] = v;
    if (target->dtype == STK_DTYPE_F16) ((uint16_t *)target->image)[at] = stk__half_from_float(v);
    if (target->dtype == STK_DTYPE_BF16) ((uint16_t *)target->image)[at] = stk__bfloat_from_float(v);
}

static void store_pixel(const stk__augment_block *block, plane p, const stk__augment_target *target,
                        int32_t x, int32_t y)
{
    const size_t area = (size_t)p.w * (size_t)p.h, i = (size_t)y * (size_t)p.w + (size_t)x;
    for (int32_t c = 0; c < p.channels; c++) {
        const float fill = (float)block->fill[c] * (1.0f / STK_AUGMENT_LEVEL);
        const float v = is_erased(block, x, y) ? fill : pixel_at(p, x, y)[c];
        const size_t at = target->planar ? (size_t)c * area + i : i * (size_t)p.channels + (size_t)c;
        store_value(target, at, fmaf(v, target->scale[c], target->bias[c]));
    }
}

static void store_id(const stk__augment_target *target, size_t at, uint8_t id)
{
    if (target->mask_dtype == STK_DTYPE_I64)
        ((int64_t *)target->mask)[at] = id;
    else
        ((uint8_t *)target->mask)[at] = id;
}

static void sample(const stk__augment_block *block, const stk__augment_source *source, plane p,
                   const stk__augment_target *target)
{
    for (int32_t y = 0; y < p.h; y++)
        for (int32_t x = 0; x < p.w; x++) {
            const coord at = find_source(block->matrix, x, y, source->image);
            sample_pixel(block, source->image, at, pixel_at(p, x, y));
            if (target->mask)
                store_id(target, (size_t)y * (size_t)p.w + (size_t)x, sample_id(block, source->mask, at));
        }
}

stk_status stk__augment_c(const stk__augment_block *block, const stk__augment_source *source,
                          const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    const size_t values = (size_t)target->w * (size_t)target->h * (size_t)target->channels;
    STK__TRY(stk__buffer_reserve(scratch, 2 * values * sizeof(float), error));
    float *floats = (float *)(void *)scratch->data;
    const plane p = {floats, target->w, target->h, target->channels};
    const plane other = {floats + values, target->w, target->h, target->channels};
    sample(block, source, p, target);
    apply_steps(block, p);
    if (block->blur_radius) blur(block, p, other);
    if (block->noise_std > 0) add_noise(block, p);
    for (int32_t y = 0; y < p.h; y++)
        for (int32_t x = 0; x < p.w; x++)
            store_pixel(block, p, target, x, y);
    return STK_OK;
}
