/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over a row of values: plain C, and AVX2 for what compilers do not make good vectors of. Whether
 * a value is wrong is gathered without a branch. Pure functions: any thread. */
#include "augmenter/pixel_rows.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))
#endif

/* The bits of 1.0f, and of what rounding may make of it: 8 units in the last place above, 1 + 2^-20. Those of
 * 0 to 1 are not above, but for -0. */
enum { ONE = 0x3f800000, MOST = ONE + 8 };
static const uint32_t minus_zero = 0x80000000u;

static inline bool levels_c(const float *from, uint8_t *to, int32_t count)
{
    uint32_t strange = 0;
    for (int32_t i = 0; i < count; i++) {
        uint32_t bits;
        float v;
        memcpy(&bits, &from[i], sizeof bits);
        const uint32_t wrong = (uint32_t)(bits > MOST) & (uint32_t)(bits != minus_zero);
        strange |= wrong;
        bits &= wrong - 1; /* 0 instead, which can be converted */
        memcpy(&v, &bits, sizeof v);
        to[i] = (uint8_t)(int)(v * 255 + 0.5f);
    }
    return !strange;
}

static inline bool ids_c(const int64_t *from, uint8_t *to, int32_t count)
{
    uint64_t all = 0;
    for (int32_t i = 0; i < count; i++) {
        all |= (uint64_t)from[i];
        to[i] = (uint8_t)from[i];
    }
    return all <= 255;
}

static inline void weave_c(const uint8_t *const planes[3], uint8_t *restrict to, int32_t count)
{
    const uint8_t *const a = planes[0], *const b = planes[1], *const c = planes[2];
    for (int32_t i = 0; i < count; i++) {
        to[3 * (int64_t)i] = a[i];
        to[3 * (int64_t)i + 1] = b[i];
        to[3 * (int64_t)i + 2] = c[i];
    }
}

static const stk__pixel_rows rows_c = {levels_c, ids_c, weave_c};

#if defined(__x86_64__)
/* 8 levels in 32 bits; strange gathers which are wrong. */
AVX2 static inline __m256i level8(const float *from, __m256 *strange)
{
    const __m256 v = _mm256_loadu_ps(from), most = _mm256_castsi256_ps(_mm256_set1_epi32(MOST));
    const __m256 wrong =
        _mm256_or_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NGE_UQ), _mm256_cmp_ps(v, most, _CMP_NLE_UQ));
    *strange = _mm256_or_ps(*strange, wrong);
    return _mm256_cvttps_epi32(_mm256_add_ps(_mm256_mul_ps(v, _mm256_set1_ps(255)), _mm256_set1_ps(0.5f)));
}

AVX2 static bool levels_avx2(const float *from, uint8_t *to, int32_t count)
{
    enum { STEP = 32 };
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* packing works in halves */
    __m256 strange = _mm256_setzero_ps();
    int32_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        const __m256i ab = _mm256_packs_epi32(level8(from + i, &strange), level8(from + i + 8, &strange)),
                      cd = _mm256_packs_epi32(level8(from + i + 16, &strange),
                                              level8(from + i + 24, &strange));
        const __m256i all = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
        _mm256_storeu_si256((__m256i *)(void *)(to + i), all);
    }
    const bool rest = levels_c(from + i, to + i, count - i);
    return _mm256_movemask_ps(strange) == 0 && rest;
}

/* The same C: the compiler makes wider vectors of it. */
AVX2 static bool ids_avx2(const int64_t *from, uint8_t *to, int32_t count)
{
    return ids_c(from, to, count);
}

enum { NO = 0x80 };

/* [which 16 bytes of 48][plane]: the pixel whose value stands there. */
static const uint8_t places[3][3][16] = {{{0, NO, NO, 1, NO, NO, 2, NO, NO, 3, NO, NO, 4, NO, NO, 5},
                                          {NO, 0, NO, NO, 1, NO, NO, 2, NO, NO, 3, NO, NO, 4, NO, NO},
                                          {NO, NO, 0, NO, NO, 1, NO, NO, 2, NO, NO, 3, NO, NO, 4, NO}},
                                         {{NO, NO, 6, NO, NO, 7, NO, NO, 8, NO, NO, 9, NO, NO, 10, NO},
                                          {5, NO, NO, 6, NO, NO, 7, NO, NO, 8, NO, NO, 9, NO, NO, 10},
                                          {NO, 5, NO, NO, 6, NO, NO, 7, NO, NO, 8, NO, NO, 9, NO, NO}},
                                         {{NO, 11, NO, NO, 12, NO, NO, 13, NO, NO, 14, NO, NO, 15, NO, NO},
                                          {NO, NO, 11, NO, NO, 12, NO, NO, 13, NO, NO, 14, NO, NO, 15, NO},
                                          {10, NO, NO, 11, NO, NO, 12, NO, NO, 13, NO, NO, 14, NO, NO, 15}}};

AVX2 static inline __m128i placed(__m128i pixels, int part, int plane)
{
    return _mm_shuffle_epi8(pixels, _mm_loadu_si128((const __m128i *)(const void *)places[part][plane]));
}

AVX2 static void weave_avx2(const uint8_t *const planes[3], uint8_t *to, int32_t count)
{
    enum { STEP = 16 };
    int32_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(planes[0] + i)),
                      b = _mm_loadu_si128((const __m128i *)(const void *)(planes[1] + i)),
                      c = _mm_loadu_si128((const __m128i *)(const void *)(planes[2] + i));
        uint8_t *at = to + 3 * (int64_t)i;
        for (int part = 0; part < 3; part++)
            _mm_storeu_si128(
                (__m128i *)(void *)(at + 16 * part),
                _mm_or_si128(placed(a, part, 0), _mm_or_si128(placed(b, part, 1), placed(c, part, 2))));
    }
    weave_c((const uint8_t *const[3]){planes[0] + i, planes[1] + i, planes[2] + i}, to + 3 * (int64_t)i,
            count - i);
}

static const stk__pixel_rows rows_avx2 = {levels_avx2, ids_avx2, weave_avx2};
#endif

const stk__pixel_rows *stk__pixel_rows_at(stk__cpu_level level)
{
#if defined(__x86_64__)
    if (level >= STK_CPU_AVX2) return &rows_avx2;
#endif
    (void)level;
    return &rows_c;
}
