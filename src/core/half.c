/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between float32 and the 16-bit types fp16 (IEEE 754 binary16) and bf16, rounding to nearest
 * even. The scalar functions are the reference; the loops for whole arrays are chosen by CPU level and
 * give the same bits. */
#include "core/half.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2,f16c")))
#endif

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To 11 bits of mantissa; below 2^-14 the last bit is worth 2^-24. */
uint16_t stk__half_from_float(float value)
{
    const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x1ff)); /* not a number, quiet */
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more: infinite */
    if (size < 0x38800000)                                    /* subnormal: the float adder rounds */
        return (uint16_t)(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
}

/* The exponent is moved by a product, which is exact, for subnormal ones too. */
float stk__half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, size = (uint32_t)(half & 0x7fff) << 13;
    if ((half & 0x7c00) == 0x7c00) /* infinite, or NaN: quiet */
        return float_of(sign | 0x7f800000 | size | (half & 0x3ff ? 0x400000 : 0));
    return float_of(sign | bits_of(float_of(size) * 0x1p112f));
}

static inline uint16_t bfloat_from(float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

uint16_t stk__bfloat_from_float(float value)
{
    return bfloat_from(value);
}

float stk__bfloat_to_float(uint16_t bfloat)
{
    return float_of((uint32_t)bfloat << 16);
}

static void widen_half_c(const uint16_t *from, float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = stk__half_to_float(from[i]);
}

static void narrow_half_c(const float *from, uint16_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = stk__half_from_float(from[i]);
}

static void widen_bfloat_c(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = float_of((uint32_t)from[i] << 16);
}

static void narrow_bfloat_c(const float *restrict from, uint16_t *restrict to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = bfloat_from(from[i]);
}

static const stk__half_loops halves_c = {widen_half_c, narrow_half_c},
                             bfloats_c = {widen_bfloat_c, narrow_bfloat_c};

#if defined(__x86_64__)
enum { LANES = 8 };

AVX2 static void widen_half_avx2(const uint16_t *from, float *to, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
    widen_half_c(from + i, to + i, count - i);
}

AVX2 static void narrow_half_avx2(const float *from, uint16_t *to, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    narrow_half_c(from + i, to + i, count - i);
}

/* The same C as above: the compiler makes wider vectors of it. */
AVX2 static void widen_bfloat_avx2(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = float_of((uint32_t)from[i] << 16);
}

AVX2 static void narrow_bfloat_avx2(const float *restrict from, uint16_t *restrict to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = bfloat_from(from[i]);
}

static const stk__half_loops halves_avx2 = {widen_half_avx2, narrow_half_avx2},
                             bfloats_avx2 = {widen_bfloat_avx2, narrow_bfloat_avx2};
#endif

const stk__half_loops *stk__half_loops_at(stk_dtype dtype, stk__cpu_level level)
{
#if defined(__x86_64__)
    if (level >= STK_CPU_AVX2) return dtype == STK_DTYPE_F16 ? &halves_avx2 : &bfloats_avx2;
#endif
    (void)level;
    return dtype == STK_DTYPE_F16 ? &halves_c : &bfloats_c;
}
