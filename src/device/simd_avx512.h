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
static inline vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
static inline vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
static inline vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
static inline vi vi_shift_left(vi v, unsigned bits) { return _mm512_slli_epi32(v, bits); }
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
static inline vi vi_sum_bytes(vi v) { return _mm512_madd_epi16(_mm512_maddubs_epi16(v, _mm512_set1_epi8(1)), _mm512_set1_epi16(1)); }
static inline vi vi_mul_wide(vi a, vi b) { return _mm512_mul_epu32(a, b); }
static inline vi vi_upper(vi v) { return _mm512_srli_epi64(v, 32); }
static inline vi vi_merge(vi even, vi odd) { return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32)); }

static inline vw vw_zero(void) { return _mm512_setzero_si512(); }
static inline vw vw_halves(vh low, vh high) { return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1); }
static inline vw vw_pair(vi low, vi high) { return vw_halves(_mm512_cvtepi32_epi16(low), _mm512_cvtepi32_epi16(high)); }
static inline vw vw_load_twice(const int16_t *p) { return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
static inline vh vw_low(vw v) { return _mm512_castsi512_si256(v); }
static inline vh vw_high(vw v) { return _mm512_extracti64x4_epi64(v, 1); }
static inline vw vw_unpack_low(vw a, vw b) { return _mm512_unpacklo_epi8(a, b); }
static inline vw vw_unpack_high(vw a, vw b) { return _mm512_unpackhi_epi8(a, b); }
static inline vw vw_shift_left(vw v, unsigned bits) { return _mm512_slli_epi16(v, bits); }
static inline vw vw_shift_right(vw v, unsigned bits) { return _mm512_srli_epi16(v, bits); }
static inline vw vw_between(vw a, vw b, vw weight) { return _mm512_add_epi16(a, _mm512_mulhrs_epi16(_mm512_sub_epi16(b, a), weight)); }
static inline vh vh_between(vh a, vh b, vh weight) { return _mm256_add_epi16(a, _mm256_mulhrs_epi16(_mm256_sub_epi16(b, a), weight)); }
static inline vh vh_all(int16_t v) { return _mm256_set1_epi16(v); }
static inline vh vh_load(const int16_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
static inline void vh_store(void *p, vh v) { _mm256_storeu_si256((__m256i *)p, v); }
static inline void vh_stream(void *p, vh v) { _mm256_stream_si256((__m256i *)p, v); }
static inline vh vh_half(vf v) { return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vh vh_top_words(vi v) { return _mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16)); }

static inline __m128i eight_bytes(const uint8_t *p) { return _mm_loadl_epi64((const __m128i *)(const void *)p); }
static inline __m128i sixteen_bytes(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
static inline __m128i two_taps(const uint8_t *p, const int32_t *at) { return _mm_unpacklo_epi8(eight_bytes(p + at[0]), eight_bytes(p + at[4])); }
static inline void stream_fence(void) { _mm_sfence(); }
/* clang-format on */

/* Parts: upper row of pixels 0 … 7, of 8 … 15, lower row of 0 … 7, of 8 … 15. */
static inline vw vw_taps(const uint8_t *upper, const uint8_t *lower, const int32_t *at, int i)
{
    return vw_halves(_mm256_set_m128i(two_taps(upper, at + i + 8), two_taps(upper, at + i)),
                     _mm256_set_m128i(two_taps(lower, at + i + 8), two_taps(lower, at + i)));
}

static inline int word_at(const uint8_t *p)
{
    uint16_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline __m128i eight_words(const uint8_t *p, const int32_t *at)
{
    return _mm_setr_epi16((int16_t)word_at(p + at[0]), (int16_t)word_at(p + at[1]),
                          (int16_t)word_at(p + at[2]), (int16_t)word_at(p + at[3]),
                          (int16_t)word_at(p + at[4]), (int16_t)word_at(p + at[5]),
                          (int16_t)word_at(p + at[6]), (int16_t)word_at(p + at[7]));
}

static inline vw vw_grey_taps(const uint8_t *upper, const uint8_t *lower, const int32_t *at)
{
    return vw_halves(_mm256_set_m128i(eight_words(upper, at + 8), eight_words(upper, at)),
                     _mm256_set_m128i(eight_words(lower, at + 8), eight_words(lower, at)));
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
