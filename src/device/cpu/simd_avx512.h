/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of the AVX-512 level (F, BW, DQ, VL): the names of simd_avx2.h, twice as wide. */
#ifndef STK_DEVICE_SIMD_AVX512_H
#define STK_DEVICE_SIMD_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 16 };

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;
typedef __m256i vh;
typedef __m512i vw;

/* clang-format off */
static inline vf vf_all(float v) { return _mm512_set1_ps(v); }
static inline vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
static inline void vf_stream(float *p, vf v) { _mm512_stream_ps(p, v); }
static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf vf_minus_product(vf a, vf b, vf c) { return _mm512_fnmadd_ps(b, c, a); }
static inline vf vf_least_bits(vf a, vf b) { return _mm512_castsi512_ps(_mm512_min_epu32(_mm512_castps_si512(a), _mm512_castps_si512(b))); }
static inline vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
static inline vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf vf_floor(vf v) { return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
static inline vm vf_less(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vm vf_equal(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline vf vf_pick(vm m, vf yes, vf no) { return _mm512_mask_blend_ps(m, no, yes); }
static inline vf vf_permute(vf v, vi from) { return _mm512_permutexvar_ps(from, v); }
static inline vf vf_of(vi v) { return _mm512_cvtepi32_ps(v); }
static inline vf vf_from_bits(vi v) { return _mm512_castsi512_ps(v); }

static inline vi vi_all(int32_t v) { return _mm512_set1_epi32(v); }
static inline vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
static inline void vi_store(int32_t *p, vi v) { _mm512_storeu_si512(p, v); }
static inline vi vi_counting(void) { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
static inline vi vi_spread(void) { return _mm512_setr_epi32(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27); }
static inline vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
static inline vi vi_min(vi a, vi b) { return _mm512_min_epi32(a, b); }
static inline vi vi_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
static inline vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
static inline vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
static inline vi vi_shift_left(vi v, unsigned bits) { return _mm512_slli_epi32(v, bits); }
static inline vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
static inline vi vi_shift_right(vi v, unsigned bits) { return _mm512_srli_epi32(v, bits); }
static inline vi vi_shift_signed(vi v, unsigned bits) { return _mm512_srai_epi32(v, bits); }
static inline vi vi_truncate(vf v) { return _mm512_cvttps_epi32(v); }
static inline vi vi_bits(vf v) { return _mm512_castps_si512(v); }
static inline vi vi_keep(vm m, vi v) { return _mm512_maskz_mov_epi32(m, v); }
static inline vm vi_below(vi a, vi most) { return _mm512_cmple_epu32_mask(a, most); }
static inline vm vi_odd(vi v) { return _mm512_test_epi32_mask(v, _mm512_set1_epi32(1)); }
static inline vm vm_and(vm a, vm b) { return (vm)(a & b); }
static inline uint32_t vm_bits(vm m) { return m; }
static inline vi vi_from_words(const int16_t *p) { return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
static inline vi vi_from_bytes(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)); }
static inline vi vi_mul_wide(vi a, vi b) { return _mm512_mul_epu32(a, b); }
static inline vi vi_upper(vi v) { return _mm512_srli_epi64(v, 32); }
static inline vi vi_merge(vi even, vi odd) { return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32)); }

static inline vw vw_halves(vh low, vh high) { return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1); }
static inline vw vw_load(const int16_t *p) { return _mm512_loadu_si512(p); }
static inline void vw_store(int16_t *p, vw v) { _mm512_storeu_si512(p, v); }
static inline vw vw_parts(const void *p) { return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p)); }
static inline vw vw_all_bytes(int even, int odd) { return _mm512_set1_epi16((int16_t)((even & 255) | odd * 256)); }
static inline vw vw_pack(vi a, vi b) { return _mm512_packus_epi32(a, b); }
static inline vh vw_low(vw v) { return _mm512_castsi512_si256(v); }
static inline vh vw_high(vw v) { return _mm512_extracti64x4_epi64(v, 1); }
static inline vw vw_shuffle(vw v, vw from) { return _mm512_shuffle_epi8(v, from); }
static inline vw vw_unpack_low(vw a, vw b) { return _mm512_unpacklo_epi32(a, b); }
static inline vw vw_unpack_high(vw a, vw b) { return _mm512_unpackhi_epi32(a, b); }
static inline vw vw_lows(vw a, vw b) { return _mm512_unpacklo_epi64(a, b); }
static inline vw vw_highs(vw a, vw b) { return _mm512_unpackhi_epi64(a, b); }
static inline vw vw_and(vw a, vw b) { return _mm512_and_si512(a, b); }
static inline vw vw_add_bytes(vw a, vw b) { return _mm512_add_epi8(a, b); }
static inline vw vw_choose(vw mask, vw yes, vw no) { return _mm512_mask_blend_epi16(_mm512_movepi16_mask(mask), no, yes); }
static inline vw vw_weigh_bytes(vw bytes, vw weights) { return _mm512_maddubs_epi16(bytes, weights); }
static inline vw vw_add_part(vw v, vw step, vw weight) { return _mm512_add_epi16(v, _mm512_mulhrs_epi16(step, weight)); }
static inline vw vw_between(vw a, vw b, vw weight) { return vw_add_part(a, _mm512_sub_epi16(b, a), weight); }
static inline vw vw_sum_nibbles(vi v) { return _mm512_maddubs_epi16(_mm512_add_epi8(_mm512_and_si512(v, _mm512_set1_epi8(15)), _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15))), _mm512_set1_epi8(1)); }
static inline vf vf_low_words(vw v) { return _mm512_castsi512_ps(_mm512_unpacklo_epi16(v, _mm512_set1_epi16(0x4B00))); }
static inline vf vf_high_words(vw v) { return _mm512_castsi512_ps(_mm512_unpackhi_epi16(v, _mm512_set1_epi16(0x4B00))); }
static inline vh vh_all(int16_t v) { return _mm256_set1_epi16(v); }
static inline void vh_store(void *p, vh v) { _mm256_storeu_si256((__m256i *)p, v); }
static inline void vh_stream(void *p, vh v) { _mm256_stream_si256((__m256i *)p, v); }
static inline vh vh_half(vf v) { return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vh vh_top_words(vi v) { return _mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16)); }

static inline __m128i sixteen_bytes(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
static inline void stream_fence(void) { _mm_sfence(); }
/* clang-format on */

typedef struct offsets {
    size_t of[2];
} offsets;

static inline offsets two_offsets(const int32_t *at)
{
    uint64_t both;
    memcpy(&both, at, sizeof both);
    return (offsets){{(uint32_t)both, both >> 32}};
}

static inline __m128i two_taps(const uint8_t *p, const int32_t *at)
{
    const offsets both = two_offsets(at);
    const __m128i first = _mm_loadl_epi64((const __m128i *)(const void *)(p + both.of[0]));
    return _mm_castps_si128(
        _mm_loadh_pi(_mm_castsi128_ps(first), (const __m64 *)(const void *)(p + both.of[1])));
}

static inline vw vw_taps(const uint8_t *p, const int32_t *at)
{
    return vw_halves(_mm256_set_m128i(two_taps(p, at + 4), two_taps(p, at)),
                     _mm256_set_m128i(two_taps(p, at + 12), two_taps(p, at + 8)));
}

static inline int word_at(const uint8_t *p)
{
    uint16_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline __m128i eight_words(const uint8_t *upper, const uint8_t *lower, const int32_t *at)
{
    return _mm_setr_epi16((int16_t)word_at(upper + at[0]), (int16_t)word_at(upper + at[1]),
                          (int16_t)word_at(upper + at[2]), (int16_t)word_at(upper + at[3]),
                          (int16_t)word_at(lower + at[0]), (int16_t)word_at(lower + at[1]),
                          (int16_t)word_at(lower + at[2]), (int16_t)word_at(lower + at[3]));
}

static inline vw vw_grey_taps(const uint8_t *upper, const uint8_t *lower, const int32_t *at)
{
    return vw_halves(_mm256_set_m128i(eight_words(upper, lower, at + 4), eight_words(upper, lower, at)),
                     _mm256_set_m128i(eight_words(upper, lower, at + 12), eight_words(upper, lower, at + 8)));
}

static inline vw vw_pair(vw v, int k)
{
    return k == 0   ? _mm512_shuffle_epi32(v, 0x00)
           : k == 1 ? _mm512_shuffle_epi32(v, 0x55)
           : k == 2 ? _mm512_shuffle_epi32(v, 0xAA)
                    : _mm512_shuffle_epi32(v, 0xFF);
}

static inline vw vw_triples(const uint8_t *p)
{
    return vw_halves(_mm256_set_m128i(sixteen_bytes(p + 12), sixteen_bytes(p)),
                     _mm256_set_m128i(sixteen_bytes(p + 36), sixteen_bytes(p + 24)));
}

static inline vi vi_of_triples(vw v, int c)
{
    const __m512i first = _mm512_broadcast_i32x4(_mm_setr_epi32(-256, -253, -250, -247));
    return _mm512_shuffle_epi8(v, _mm512_add_epi32(first, _mm512_set1_epi32(c)));
}

#endif
