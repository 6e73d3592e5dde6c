/* Blur and noise of rows. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_SPATIAL_H
#define STK_DEVICE_AUGMENT_SPATIAL_H

#include "core/random.h"
#include "device/augment_colour.h"

static inline int32_t reflect(int32_t i, int32_t size)
{
    if (size == 1) return 0;
    while (i < 0 || i >= size)
        i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

/* Taps around the centre in pairs, from the outermost inwards; pairs[r] are the two lines at distance r. */
typedef struct taps {
    const float *pairs[STK_AUGMENT_RADIUS + 1][2];
} taps;

ROW_INLINE void blur_line_of(const float *blur_weight, const taps *t, int32_t w, float *out, int32_t radius)
{
    const taps at = *t;
    vf weight[STK_AUGMENT_RADIUS + 1];
    for (int32_t r = 0; r <= radius; r++)
        weight[r] = vf_all(blur_weight[r]);
    for (int32_t x = 0; x < w; x += LANES) {
        vf sum = vf_all(0);
        for (int32_t r = radius; r > 0; r--) {
            const vf pair = vf_add(vf_load(at.pairs[r][0] + x), vf_load(at.pairs[r][1] + x));
            sum = vf_fma(weight[r], pair, sum);
        }
        vf_store(out + x, vf_fma(weight[0], vf_load(at.pairs[0][0] + x), sum));
    }
}

static inline void blur_line(const pass *p, const taps *t, float *out)
{
    const float *const blur_weight = p->block->blur_weight;
    if (p->block->blur_radius == 1)
        blur_line_of(blur_weight, t, p->w, out, 1);
    else if (p->block->blur_radius == 2)
        blur_line_of(blur_weight, t, p->w, out, 2);
    else
        blur_line_of(blur_weight, t, p->w, out, 3);
}

/* Along x, from p->work into its place of the ring. Edges are reflected into the margins. */
static inline void blur_along_x(const pass *p, int32_t y)
{
    const int32_t radius = p->block->blur_radius;
    const row out = p->ring[y % (2 * radius + 1)];
    for (int32_t c = 0; c < p->channels; c++) {
        float *const line = p->work.line[c];
        taps t;
        for (int32_t r = 0; r <= radius; r++) {
            line[-r] = line[reflect(-r, p->w)];
            line[p->w - 1 + r] = line[reflect(p->w - 1 + r, p->w)];
            t.pairs[r][0] = line - r;
            t.pairs[r][1] = line + r;
        }
        blur_line(p, &t, out.line[c]);
    }
}

/* Along y, from the ring into p->blurred. A reflected row is never farther away than the row it stands for,
 * so the ring still has it. */
static inline void blur_along_y(const pass *p, int32_t y)
{
    const int32_t radius = p->block->blur_radius, count = 2 * radius + 1;
    for (int32_t c = 0; c < p->channels; c++) {
        taps t;
        for (int32_t r = 0; r <= radius; r++) {
            t.pairs[r][0] = p->ring[reflect(y - r, p->h) % count].line[c];
            t.pairs[r][1] = p->ring[reflect(y + r, p->h) % count].line[c];
        }
        blur_line(p, &t, p->blurred.line[c]);
    }
}

/* Philox's counters of LANES / 2 draws, each in the lower half of 64 bits. The upper halves hold rubbish:
 * the wide product does not see them. */
typedef struct counters {
    vi word[4];
} counters;

/* What the first round leaves: it sees the draw's number only in its last step. */
typedef struct noise_start {
    uint32_t key[2];  /* of the second round */
    uint32_t word[4]; /* word[2] is still to be mixed with the number */
} noise_start;

static inline noise_start start_noise(const stk__augment_block *block)
{
    const uint64_t product0 = (uint64_t)block->noise_epoch * UINT32_C(0xD2511F53);
    const uint64_t product1 = (uint64_t)STK_OPERATION_NOISE_PIXELS * UINT32_C(0xCD9E8D57);
    return (noise_start){
        .key = {block->noise_key[0] + UINT32_C(0x9E3779B9), block->noise_key[1] + UINT32_C(0xBB67AE85)},
        .word = {(uint32_t)(product1 >> 32) ^ block->noise_sample ^ block->noise_key[0], (uint32_t)product1,
                 (uint32_t)(product0 >> 32) ^ block->noise_key[1], (uint32_t)product0}};
}

static inline counters draw_counters(const noise_start *start, vi number)
{
    const vi factor0 = vi_all((int32_t)UINT32_C(0xD2511F53)), factor1 = vi_all((int32_t)UINT32_C(0xCD9E8D57));
    uint32_t key0 = start->key[0], key1 = start->key[1];
    vi c0 = vi_all((int32_t)start->word[0]), c1 = vi_all((int32_t)start->word[1]);
    vi c2 = vi_xor(number, vi_all((int32_t)start->word[2])), c3 = vi_all((int32_t)start->word[3]);
    for (int round = 1; round < 10; round++) {
        const vi product0 = vi_mul_wide(c0, factor0), product1 = vi_mul_wide(c2, factor1);
        c0 = vi_xor(vi_upper(product1), vi_xor(c1, vi_all((int32_t)key0)));
        c2 = vi_xor(vi_upper(product0), vi_xor(c3, vi_all((int32_t)key1)));
        c1 = product1;
        c3 = product0;
        key0 += UINT32_C(0x9E3779B9);
        key1 += UINT32_C(0xBB67AE85);
    }
    return (counters){{c0, c1, c2, c3}};
}

/* All draws of a row first: rounds wait for each other, and a short loop lets the CPU work on several. A word
 * of each channel is for two neighbours. */
ROW_INLINE void draw_row(const pass *p, int32_t y, int32_t channels)
{
    const noise_start start = start_noise(p->block);
    const int32_t pairs = (p->w + 1) / 2;
    const size_t apart = p->line_values;
    int32_t *const words = p->draws, counting[LANES];
    for (uint32_t i = 0; i < LANES; i++)
        counting[i] = (int32_t)((uint32_t)y * (uint32_t)pairs + (i & ~1u));
    vi number = vi_load(counting);
    for (int32_t x = 0; x < pairs; x += LANES, number = vi_add(number, vi_all(LANES))) {
        const counters even = draw_counters(&start, number);
        const counters odd = draw_counters(&start, vi_add(number, vi_all(1)));
        for (int32_t c = 0; c < channels; c++)
            vi_store(words + (size_t)c * apart + x, vi_merge(even.word[c], odd.word[c]));
    }
}

/* The noise of 2 x LANES pixels: each draw is for two neighbours. */
ROW_INLINE void add_noise_at(float *line, vi words, vf std)
{
    const vf part = vf_all(1 / 9.219544457f), mean = vf_all(30);
    const vw sums = vw_sum_nibbles(words);
    const vi halves[2] = {vi_of_words(vw_low(sums)), vi_of_words(vw_high(sums))};
    for (int32_t i = 0; i < 2; i++) {
        float *const at = line + i * LANES;
        const vf noise = vf_mul(vf_sub(vf_of(halves[i]), mean), part);
        vf_store(at, clamp_level(vf_fma(std, noise, vf_load(at))));
    }
}

ROW_INLINE void add_noise_of(const pass *p, row r, int32_t y, int32_t channels)
{
    const vf std = vf_all(p->block->noise_std);
    const int32_t w = p->w;
    draw_row(p, y, channels);
    for (int32_t c = 0; c < channels; c++) {
        const int32_t *const words = p->draws + (size_t)c * p->line_values;
        float *const line = r.line[c];
        for (int32_t x = 0; x < w; x += 2 * LANES)
            add_noise_at(line + x, vi_load(words + x / 2), std);
    }
}

static inline void add_noise_row(const pass *p, row r, int32_t y)
{
    if (p->channels == 3)
        add_noise_of(p, r, y, 3);
    else
        add_noise_of(p, r, y, 1);
}

#endif
