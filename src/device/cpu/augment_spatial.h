/* SPDX-License-Identifier: Apache-2.0 */
/* Blur and noise of rows. Part of the template. */
#ifndef STK_DEVICE_AUGMENT_SPATIAL_H
#define STK_DEVICE_AUGMENT_SPATIAL_H

#include "core/random.h"
#include "device/cpu/augment_colour.h"

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

enum { NOISE_ROUNDS = 10, NOISE_HALF = 6, NOISE_CHAINS = 2, NOISE_WORDS = 4 };
#define NOISE_FACTOR0 UINT32_C(0xD2511F53)
#define NOISE_FACTOR1 UINT32_C(0xCD9E8D57)

/* Only one of the four words differs from draw to draw, so much of the first rounds is the same for all. */
typedef struct noise_start {
    uint32_t key[NOISE_ROUNDS][2];
    uint32_t number;           /* is mixed with the draw's number: the third word after the first round */
    uint32_t second, third[2]; /* are mixed with what is not the same: after the second round and the third */
    uint32_t fourth;           /* after the fourth */
} noise_start;

static inline noise_start start_noise(const stk__augment_block *block)
{
    noise_start s;
    for (uint32_t i = 0; i < NOISE_ROUNDS; i++) {
        s.key[i][0] = block->noise_key[0] + i * UINT32_C(0x9E3779B9);
        s.key[i][1] = block->noise_key[1] + i * UINT32_C(0xBB67AE85);
    }
    const uint64_t first0 = (uint64_t)block->noise_epoch * NOISE_FACTOR0;
    const uint64_t first1 = (uint64_t)STK_OPERATION_NOISE_PIXELS * NOISE_FACTOR1;
    const uint32_t word0 = (uint32_t)(first1 >> 32) ^ block->noise_sample ^ s.key[0][0];
    const uint64_t second0 = (uint64_t)word0 * NOISE_FACTOR0;
    const uint32_t word2 = (uint32_t)(second0 >> 32) ^ (uint32_t)first0 ^ s.key[1][1];
    const uint64_t third1 = (uint64_t)word2 * NOISE_FACTOR1;
    s.number = (uint32_t)(first0 >> 32) ^ s.key[0][1];
    s.second = (uint32_t)first1 ^ s.key[1][0];
    s.third[0] = (uint32_t)(third1 >> 32) ^ s.key[2][0];
    s.third[1] = (uint32_t)second0 ^ s.key[2][1];
    s.fourth = (uint32_t)third1 ^ s.key[3][0];
    return s;
}

ROW_INLINE vi mix_word(vi product, vi word, uint32_t key)
{
    return vi_xor(vi_upper(product), vi_xor(word, vi_all((int32_t)key)));
}

/* The second to the fourth round, as far as draws differ. */
ROW_INLINE counters start_counters(const noise_start *s, vi number)
{
    const vi factor0 = vi_all((int32_t)NOISE_FACTOR0), factor1 = vi_all((int32_t)NOISE_FACTOR1);
    const vi second = vi_mul_wide(vi_xor(number, vi_all((int32_t)s->number)), factor1);
    const vi third = vi_mul_wide(vi_xor(vi_upper(second), vi_all((int32_t)s->second)), factor0);
    const vi word0 = vi_xor(second, vi_all((int32_t)s->third[0]));
    const vi word2 = vi_xor(vi_upper(third), vi_all((int32_t)s->third[1]));
    const vi product0 = vi_mul_wide(word0, factor0), product1 = vi_mul_wide(word2, factor1);
    return (counters){{vi_xor(vi_upper(product1), vi_all((int32_t)s->fourth)), product1,
                       mix_word(product0, third, s->key[3][1]), product0}};
}

/* Rounds wait for each other: two chains of them go side by side. */
ROW_INLINE void run_rounds(const noise_start *s, counters c[NOISE_CHAINS], stretch rounds)
{
    const vi factor0 = vi_all((int32_t)NOISE_FACTOR0), factor1 = vi_all((int32_t)NOISE_FACTOR1);
    for (int32_t round = rounds.from; round < rounds.to; round++)
        for (int k = 0; k < NOISE_CHAINS; k++) {
            const vi product0 = vi_mul_wide(c[k].word[0], factor0);
            const vi product1 = vi_mul_wide(c[k].word[2], factor1);
            c[k] = (counters){{mix_word(product1, c[k].word[1], s->key[round][0]), product1,
                               mix_word(product0, c[k].word[3], s->key[round][1]), product0}};
        }
}

/* Which two neighbours lane i draws for: those that vf_low_words and vf_high_words put in order. */
static inline int32_t pair_of(int32_t i)
{
    return i / 4 * 2 + i % 2 + i % 4 / 2 * (LANES / 2);
}

/* The first half of the rounds, for all draws of row y: into p->half_drawn. */
ROW_INLINE void begin_draws(const pass *p, const noise_start *start, int32_t y)
{
    const int32_t pairs = (p->w + 1) / 2;
    int32_t *to = p->half_drawn, counting[LANES];
    for (int32_t i = 0; i < LANES; i++)
        counting[i] = (int32_t)((uint32_t)y * (uint32_t)pairs + (uint32_t)pair_of(i & ~1));
    vi number = vi_load(counting);
    for (int32_t x = 0; x < pairs; x += LANES, number = vi_add(number, vi_all(LANES))) {
        counters c[NOISE_CHAINS];
        for (int k = 0; k < NOISE_CHAINS; k++)
            c[k] = start_counters(start, vi_add(number, vi_all(k)));
        run_rounds(start, c, (stretch){4, NOISE_HALF});
        for (int k = 0; k < NOISE_CHAINS; k++)
            for (int i = 0; i < NOISE_WORDS; i++, to += LANES)
                vi_store(to, c[k].word[i]);
    }
}

/* The other half: a word of each channel for two neighbours, into p->draws. */
ROW_INLINE void finish_draws(const pass *p, const noise_start *start, int32_t channels)
{
    const int32_t pairs = (p->w + 1) / 2;
    const int32_t *from = p->half_drawn;
    int32_t *const to = p->draws;
    const size_t apart = p->line_values;
    for (int32_t x = 0; x < pairs; x += LANES) {
        counters c[NOISE_CHAINS];
        for (int k = 0; k < NOISE_CHAINS; k++)
            for (int i = 0; i < NOISE_WORDS; i++, from += LANES)
                c[k].word[i] = vi_load(from);
        run_rounds(start, c, (stretch){NOISE_HALF, NOISE_ROUNDS});
        for (int32_t i = 0; i < channels; i++)
            vi_store(to + (size_t)i * apart + x, vi_merge(c[0].word[i], c[1].word[i]));
    }
}

/* All draws of a row first, in two loops: rounds wait for each other, and in short loops the CPU sees the
 * next draws while it waits. */
ROW_INLINE void draw_row(const pass *p, int32_t y, int32_t channels)
{
    const noise_start start = start_noise(p->block);
    begin_draws(p, &start, y);
    finish_draws(p, &start, channels);
}

/* The noise of LANES pixels: sums as floats, 2 ^ 23 too large. */
ROW_INLINE void add_noise_at(float *line, vf sums, vf std)
{
    const vf noise = vf_mul(vf_sub(sums, vf_all(0x1p23f + 30)), vf_all(1 / 9.219544457f));
    vf_store(line, clamp_level(vf_fma(std, noise, vf_load(line))));
}

ROW_INLINE void add_noise_of(const pass *p, row r, int32_t y, int32_t channels)
{
    const vf std = vf_all(p->block->noise_std);
    const int32_t w = p->w;
    draw_row(p, y, channels);
    for (int32_t c = 0; c < channels; c++) {
        const int32_t *const words = p->draws + (size_t)c * p->line_values;
        float *const line = r.line[c];
        for (int32_t x = 0; x < w; x += 2 * LANES) {
            const vw sums = vw_sum_nibbles(vi_load(words + x / 2));
            add_noise_at(line + x, vf_low_words(sums), std);
            add_noise_at(line + x + LANES, vf_high_words(sums), std);
        }
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
