/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of simd_avx512.h as arrays: runs the sixteen-lane row code on any machine, and says what each
 * of the names does. Slow. */
#ifndef SIMD_PLAIN_H
#define SIMD_PLAIN_H

#include "device/cpu/augment_pass.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 16 };

typedef struct vf {
    float lane[LANES];
} vf;
typedef struct vi {
    uint32_t lane[LANES];
} vi;
typedef struct vm {
    bool lane[LANES];
} vm;
typedef struct vh {
    uint16_t lane[LANES];
} vh;
typedef union vw {
    struct {
        vh low, high;
    } half;
    uint16_t word[2 * LANES];
    uint8_t byte[4 * LANES];
} vw;

/* A function whose result has each lane i computed by itself. */
#define EACH(type, name, parameters, expression)                                                             \
    static inline type name parameters                                                                       \
    {                                                                                                        \
        type out;                                                                                            \
        for (int i = 0; i < LANES; i++)                                                                      \
            out.lane[i] = expression;                                                                        \
        return out;                                                                                          \
    }

static inline int32_t truncate_one(float v) /* what does not fit: as the instruction has it */
{
    return v >= -0x1p31f && v < 0x1p31f ? (int32_t)v : INT32_MIN;
}

static inline float float_from(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline uint32_t bits_from(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

EACH(vf, vf_all, (float v), v)
EACH(vf, vf_load, (const float *p), p[i])
EACH(vf, vf_add, (vf a, vf b), a.lane[i] + b.lane[i])
EACH(vf, vf_sub, (vf a, vf b), a.lane[i] - b.lane[i])
EACH(vf, vf_mul, (vf a, vf b), a.lane[i] * b.lane[i])
EACH(vf, vf_div, (vf a, vf b), a.lane[i] / b.lane[i])
EACH(vf, vf_fma, (vf a, vf b, vf c), fmaf(a.lane[i], b.lane[i], c.lane[i]))
EACH(vf, vf_minus_product, (vf a, vf b, vf c), fmaf(-b.lane[i], c.lane[i], a.lane[i]))
EACH(vf, vf_least_bits, (vf a, vf b), bits_from(a.lane[i]) < bits_from(b.lane[i]) ? a.lane[i] : b.lane[i])
EACH(vf, vf_min, (vf a, vf b), a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i])
EACH(vf, vf_max, (vf a, vf b), a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i])
EACH(vf, vf_floor, (vf v), floorf(v.lane[i]))
EACH(vm, vf_less, (vf a, vf b), a.lane[i] < b.lane[i])
EACH(vm, vf_equal, (vf a, vf b), a.lane[i] == b.lane[i])
EACH(vf, vf_pick, (vm m, vf yes, vf no), m.lane[i] ? yes.lane[i] : no.lane[i])
EACH(vf, vf_permute, (vf v, vi from), v.lane[from.lane[i] % LANES])
EACH(vf, vf_of, (vi v), (float)(int32_t)v.lane[i])
EACH(vf, vf_from_bits, (vi v), float_from(v.lane[i]))

EACH(vi, vi_all, (int32_t v), (uint32_t)v)
EACH(vi, vi_load, (const int32_t *p), (uint32_t)p[i])
EACH(vi, vi_counting, (void), (uint32_t)i)
EACH(vi, vi_spread, (void), (uint32_t)(i / 4 * 8 + i % 4))
EACH(vi, vi_add, (vi a, vi b), a.lane[i] + b.lane[i])
EACH(vi, vi_sub, (vi a, vi b), a.lane[i] - b.lane[i])
EACH(vi, vi_min, (vi a, vi b), (int32_t)a.lane[i] < (int32_t)b.lane[i] ? a.lane[i] : b.lane[i])
EACH(vi, vi_max, (vi a, vi b), (int32_t)a.lane[i] > (int32_t)b.lane[i] ? a.lane[i] : b.lane[i])
EACH(vi, vi_mul, (vi a, vi b), a.lane[i] * b.lane[i])
EACH(vi, vi_xor, (vi a, vi b), a.lane[i] ^ b.lane[i])
EACH(vi, vi_shift_left, (vi v, int bits), v.lane[i] << bits)
EACH(vi, vi_and, (vi a, vi b), a.lane[i] & b.lane[i])
EACH(vi, vi_shift_right, (vi v, int bits), v.lane[i] >> bits)
EACH(vi, vi_shift_signed, (vi v, int bits), (uint32_t)((int32_t)v.lane[i] >> bits))
EACH(vi, vi_truncate, (vf v), (uint32_t)truncate_one(v.lane[i]))
EACH(vi, vi_bits, (vf v), bits_from(v.lane[i]))
EACH(vi, vi_keep, (vm m, vi v), m.lane[i] ? v.lane[i] : 0)
EACH(vm, vi_below, (vi a, vi most), a.lane[i] <= most.lane[i])
EACH(vm, vi_odd, (vi v), (v.lane[i] & 1) != 0)
EACH(vm, vm_and, (vm a, vm b), a.lane[i] && b.lane[i])
EACH(vi, vi_from_words, (const int16_t *p), (uint32_t)p[i])
EACH(vi, vi_from_bytes, (const uint8_t *p), p[i])
EACH(vi, vi_mul_wide, (vi a, vi b), (uint32_t)((uint64_t)a.lane[i & ~1] * b.lane[i & ~1] >> (i % 2 ? 32 : 0)))
EACH(vi, vi_upper, (vi v), i % 2 ? 0 : v.lane[i + 1])
EACH(vi, vi_merge, (vi even, vi odd), i % 2 ? odd.lane[i - 1] : even.lane[i])

EACH(vf, vf_low_words, (vw v), 0x1p23f + v.word[i / 4 * 8 + i % 4])
EACH(vf, vf_high_words, (vw v), 0x1p23f + v.word[i / 4 * 8 + 4 + i % 4])
EACH(vh, vh_all, (int16_t v), (uint16_t)v)
EACH(vh, vh_half, (vf v), stk__half_from_float(v.lane[i]))
EACH(vh, vh_top_words, (vi v), (uint16_t)(v.lane[i] >> 16))

static inline void vf_store(float *p, vf v)
{
    memcpy(p, v.lane, sizeof v.lane);
}

static inline void vi_store(int32_t *p, vi v)
{
    memcpy(p, v.lane, sizeof v.lane);
}

static inline void vh_store(void *p, vh v)
{
    memcpy(p, v.lane, sizeof v.lane);
}

static inline void stop_unless_aligned(const void *p, size_t bytes)
{
    if ((uintptr_t)p % bytes) __builtin_trap(); /* as the instruction does */
}

static inline void vf_stream(float *p, vf v)
{
    stop_unless_aligned(p, sizeof v);
    vf_store(p, v);
}

static inline void vh_stream(void *p, vh v)
{
    stop_unless_aligned(p, sizeof v);
    vh_store(p, v);
}

static inline void stream_fence(void) {}

static inline uint32_t vm_bits(vm m)
{
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)m.lane[i] << i;
    return bits;
}

/* The same for a vw, word by word. */
#define EACH_WORD(name, parameters, expression)                                                              \
    static inline vw name parameters                                                                         \
    {                                                                                                        \
        vw out;                                                                                              \
        for (int i = 0; i < 2 * LANES; i++)                                                                  \
            out.word[i] = (uint16_t)(expression);                                                            \
        return out;                                                                                          \
    }

static inline int32_t signed_word(vw v, int i)
{
    return (int16_t)v.word[i];
}

static inline int32_t weigh_two(vw bytes, vw weights, int i) /* pmaddubsw; sums here are small */
{
    return bytes.byte[2 * i] * (int8_t)weights.byte[2 * i] +
           bytes.byte[2 * i + 1] * (int8_t)weights.byte[2 * i + 1];
}

static inline int sum_nibbles(uint32_t v)
{
    return (int)((v & 15) + (v >> 4 & 15) + (v >> 8 & 15) + (v >> 12 & 15));
}

EACH_WORD(vw_load, (const int16_t *p), p[i])
EACH_WORD(vw_all_bytes, (int even, int odd), (even & 255) | odd * 256)
EACH_WORD(vw_pack, (vi a, vi b), (i / 4 % 2 ? b : a).lane[i / 8 * 4 + i % 4])
EACH_WORD(vw_unpack_low, (vw a, vw b), (i / 2 % 2 ? b : a).word[i / 8 * 8 + i / 4 % 2 * 2 + i % 2])
EACH_WORD(vw_unpack_high, (vw a, vw b), (i / 2 % 2 ? b : a).word[i / 8 * 8 + 4 + i / 4 % 2 * 2 + i % 2])
EACH_WORD(vw_lows, (vw a, vw b), (i / 4 % 2 ? b : a).word[i / 8 * 8 + i % 4])
EACH_WORD(vw_highs, (vw a, vw b), (i / 4 % 2 ? b : a).word[i / 8 * 8 + 4 + i % 4])
EACH_WORD(vw_pair, (vw v, int k), v.word[i / 8 * 8 + 2 * k + i % 2])
EACH_WORD(vw_and, (vw a, vw b), a.word[i] & b.word[i])
EACH_WORD(vw_choose, (vw mask, vw yes, vw no), (mask.word[i] & yes.word[i]) | (~mask.word[i] & no.word[i]))
EACH_WORD(vw_weigh_bytes, (vw bytes, vw weights), weigh_two(bytes, weights, i))
EACH_WORD(vw_add_part, (vw v, vw step, vw weight),
          v.word[i] + ((signed_word(step, i) * signed_word(weight, i) + (1 << 14)) >> 15))
EACH_WORD(word_differences, (vw a, vw b), a.word[i] - b.word[i])
EACH_WORD(vw_sum_nibbles, (vi v), sum_nibbles(v.lane[i / 2] >> (i % 2 * 16)))

static inline vw vw_between(vw a, vw b, vw weight)
{
    return vw_add_part(a, word_differences(b, a), weight);
}

static inline void vw_store(int16_t *p, vw v)
{
    memcpy(p, v.word, sizeof v.word);
}

static inline vw vw_parts(const void *p)
{
    vw out;
    for (int i = 0; i < 4 * LANES; i += 16)
        memcpy(out.byte + i, p, 16);
    return out;
}

static inline vw vw_shuffle(vw v, vw from) /* numbers above 127 give 0 */
{
    vw out;
    for (int i = 0; i < 4 * LANES; i++)
        out.byte[i] = from.byte[i] & 128 ? 0 : v.byte[i / 16 * 16 + from.byte[i] % 16];
    return out;
}

static inline vw vw_add_bytes(vw a, vw b)
{
    vw out;
    for (int i = 0; i < 4 * LANES; i++)
        out.byte[i] = (uint8_t)(a.byte[i] + b.byte[i]);
    return out;
}

static inline vh vw_low(vw v)
{
    return v.half.low;
}

static inline vh vw_high(vw v)
{
    return v.half.high;
}

typedef struct offsets {
    size_t of[2];
} offsets;

static inline offsets two_offsets(const int32_t *at)
{
    return (offsets){{(size_t)at[0], (size_t)at[1]}};
}

static inline vw vw_taps(const uint8_t *p, const int32_t *at)
{
    vw out;
    for (int i = 0; i < 4 * LANES; i++)
        out.byte[i] = p[at[i / 16 * 4 + i / 8 % 2] + i % 8];
    return out;
}

static inline vw vw_grey_taps(const uint8_t *upper, const uint8_t *lower, const int32_t *at)
{
    vw out;
    for (int i = 0; i < 4 * LANES; i++)
        out.byte[i] = (i / 8 % 2 ? lower : upper)[at[i / 16 * 4 + i / 2 % 4] + i % 2];
    return out;
}

static inline vw vw_triples(const uint8_t *p)
{
    vw out;
    for (int i = 0; i < 4 * LANES; i++)
        out.byte[i] = p[i / 16 * 12 + i % 16];
    return out;
}

static inline vi vi_of_triples(vw v, int c)
{
    vi out;
    for (int i = 0; i < LANES; i++)
        out.lane[i] = v.byte[i / 4 * 16 + i % 4 * 3 + c];
    return out;
}

#endif
