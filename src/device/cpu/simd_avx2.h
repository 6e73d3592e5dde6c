/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of the AVX2 level (with FMA and F16C): what the augmentation's row code is written in. Every
 * level has such a file with the same names, and nothing else differs between levels.
 *
 *   vf  LANES floats            vi  LANES whole numbers of 32 bits       vm  a yes or no for each lane
 *   vh  LANES words of 16 bits  vw  two vh: 2 x LANES words, or bytes
 *
 * "Parts" of a vw are its 128-bit pieces: shuffling and unpacking work within each part. Comparisons, minimum
 * and maximum are those of C's a < b ? a : b, also for zeros of both signs. */
#ifndef STK_DEVICE_SIMD_AVX2_H
#define STK_DEVICE_SIMD_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

typedef __m256 vf;
typedef __m256i vi;
typedef __m256i vm;
typedef __m128i vh;
typedef __m256i vw;

/* clang-format off */
static inline vf vf_all(float v) { return _mm256_set1_ps(v); }
static inline vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
static inline void vf_stream(float *p, vf v) { _mm256_stream_ps(p, v); } /* p aligned */
static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf vf_minus_product(vf a, vf b, vf c) { return _mm256_fnmadd_ps(b, c, a); } /* a - b * c, rounded once */
static inline vf vf_least_bits(vf a, vf b) { return _mm256_castsi256_ps(_mm256_min_epu32(_mm256_castps_si256(a), _mm256_castps_si256(b))); } /* the one whose bits are the smaller whole number */
static inline vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); } /* a < b ? a : b */
static inline vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); } /* a > b ? a : b */
static inline vf vf_floor(vf v) { return _mm256_floor_ps(v); }
static inline vm vf_less(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
static inline vm vf_equal(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)); }
static inline vf vf_pick(vm m, vf yes, vf no) { return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m)); }
static inline vf vf_permute(vf v, vi from) { return _mm256_permutevar8x32_ps(v, from); }
static inline vf vf_of(vi v) { return _mm256_cvtepi32_ps(v); }
static inline vf vf_from_bits(vi v) { return _mm256_castsi256_ps(v); }

static inline vi vi_all(int32_t v) { return _mm256_set1_epi32(v); }
static inline vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
static inline void vi_store(int32_t *p, vi v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
static inline vi vi_counting(void) { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
static inline vi vi_spread(void) { return _mm256_setr_epi32(0, 1, 2, 3, 8, 9, 10, 11); } /* the first four of each eight */
static inline vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
static inline vi vi_min(vi a, vi b) { return _mm256_min_epi32(a, b); } /* signed */
static inline vi vi_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
static inline vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
static inline vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
static inline vi vi_shift_left(vi v, int bits) { return _mm256_slli_epi32(v, bits); }
static inline vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
static inline vi vi_shift_right(vi v, int bits) { return _mm256_srli_epi32(v, bits); }
static inline vi vi_shift_signed(vi v, int bits) { return _mm256_srai_epi32(v, bits); } /* right */
static inline vi vi_truncate(vf v) { return _mm256_cvttps_epi32(v); }
static inline vi vi_bits(vf v) { return _mm256_castps_si256(v); }
static inline vi vi_keep(vm m, vi v) { return _mm256_and_si256(m, v); } /* 0 elsewhere */
static inline vm vi_below(vi a, vi most) { return _mm256_cmpeq_epi32(_mm256_min_epu32(a, most), a); } /* unsigned a <= most */
static inline vm vi_odd(vi v) { return _mm256_srai_epi32(_mm256_slli_epi32(v, 31), 31); }
static inline vm vm_and(vm a, vm b) { return _mm256_and_si256(a, b); }
static inline uint32_t vm_bits(vm m) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(m)); }
static inline vi vi_from_words(const int16_t *p) { return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)); }
static inline vi vi_from_bytes(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)); }
/* In each 64 bits: product of the lower halves; upper half; lower halves of two put side by side. */
static inline vi vi_mul_wide(vi a, vi b) { return _mm256_mul_epu32(a, b); }
static inline vi vi_upper(vi v) { return _mm256_srli_epi64(v, 32); }
static inline vi vi_merge(vi even, vi odd) { return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA); }

static inline vw vw_load(const int16_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
static inline void vw_store(int16_t *p, vw v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
static inline vw vw_parts(const void *p) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p)); } /* the same 16 bytes in each part */
static inline vw vw_all_bytes(int even, int odd) { return _mm256_set1_epi16((int16_t)((even & 255) | odd * 256)); }
static inline vw vw_pack(vi a, vi b) { return _mm256_packus_epi32(a, b); } /* in each part four of a, then four of b; 0 … 65535 */
static inline vh vw_low(vw v) { return _mm256_castsi256_si128(v); }
static inline vh vw_high(vw v) { return _mm256_extracti128_si256(v, 1); }
/* In each part: bytes by their number; pairs of words of a and b alternately; four words twice. */
static inline vw vw_shuffle(vw v, vw from) { return _mm256_shuffle_epi8(v, from); }
static inline vw vw_unpack_low(vw a, vw b) { return _mm256_unpacklo_epi32(a, b); }
static inline vw vw_unpack_high(vw a, vw b) { return _mm256_unpackhi_epi32(a, b); }
static inline vw vw_lows(vw a, vw b) { return _mm256_unpacklo_epi64(a, b); } /* in each part the lower half of a, then of b */
static inline vw vw_highs(vw a, vw b) { return _mm256_unpackhi_epi64(a, b); }
static inline vw vw_and(vw a, vw b) { return _mm256_and_si256(a, b); }
static inline vw vw_add_bytes(vw a, vw b) { return _mm256_add_epi8(a, b); }
static inline vw vw_choose(vw mask, vw yes, vw no) { return _mm256_blendv_epi8(no, yes, mask); } /* all bits of a word, or none */
static inline vw vw_weigh_bytes(vw bytes, vw weights) { return _mm256_maddubs_epi16(bytes, weights); } /* unsigned times signed, two side by side summed */
static inline vw vw_add_part(vw v, vw step, vw weight) { return _mm256_add_epi16(v, _mm256_mulhrs_epi16(step, weight)); }
static inline vw vw_between(vw a, vw b, vw weight) { return vw_add_part(a, _mm256_sub_epi16(b, a), weight); }
static inline vw vw_sum_nibbles(vi v) { return _mm256_maddubs_epi16(_mm256_add_epi8(_mm256_and_si256(v, _mm256_set1_epi8(15)), _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15))), _mm256_set1_epi8(1)); } /* of each word */
/* Four words of each part as floats, 2 ^ 23 larger; the other four. */
static inline vf vf_low_words(vw v) { return _mm256_castsi256_ps(_mm256_unpacklo_epi16(v, _mm256_set1_epi16(0x4B00))); }
static inline vf vf_high_words(vw v) { return _mm256_castsi256_ps(_mm256_unpackhi_epi16(v, _mm256_set1_epi16(0x4B00))); }
static inline vh vh_all(int16_t v) { return _mm_set1_epi16(v); }
static inline vh vh_load(const int16_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
static inline void vh_store(void *p, vh v) { _mm_storeu_si128((__m128i *)p, v); }
static inline void vh_stream(void *p, vh v) { _mm_stream_si128((__m128i *)p, v); } /* p aligned */
static inline vh vh_half(vf v) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }
static inline vh vh_top_words(vi v) { return vw_low(_mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_srli_epi32(v, 16), _mm256_setzero_si256()), 0xD8)); }

static inline __m128i sixteen_bytes(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
static inline void stream_fence(void) { _mm_sfence(); }
/* clang-format on */

/* Two offsets that are not negative. One load for both: of loads the loop of taps has the most. */
typedef struct offsets {
    size_t of[2];
} offsets;

static inline offsets two_offsets(const int32_t *at)
{
    uint64_t both;
    memcpy(&both, at, sizeof both);
    return (offsets){{(uint32_t)both, both >> 32}};
}

/* Eight bytes each of pixels 0 and 1, and of 4 and 5 in the other part. */
static inline __m128i two_taps(const uint8_t *p, const int32_t *at)
{
    const offsets both = two_offsets(at);
    const __m128i first = _mm_loadl_epi64((const __m128i *)(const void *)(p + both.of[0]));
    return _mm_castps_si128(
        _mm_loadh_pi(_mm_castsi128_ps(first), (const __m64 *)(const void *)(p + both.of[1])));
}

static inline vw vw_taps(const uint8_t *p, const int32_t *at)
{
    return _mm256_set_m128i(two_taps(p, at + 4), two_taps(p, at));
}

static inline int word_at(const uint8_t *p)
{
    uint16_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Two neighbouring bytes of four pixels as words: from the upper row, then from the lower. */
static inline __m128i eight_words(const uint8_t *upper, const uint8_t *lower, const int32_t *at)
{
    return _mm_setr_epi16((int16_t)word_at(upper + at[0]), (int16_t)word_at(upper + at[1]),
                          (int16_t)word_at(upper + at[2]), (int16_t)word_at(upper + at[3]),
                          (int16_t)word_at(lower + at[0]), (int16_t)word_at(lower + at[1]),
                          (int16_t)word_at(lower + at[2]), (int16_t)word_at(lower + at[3]));
}

static inline vw vw_grey_taps(const uint8_t *upper, const uint8_t *lower, const int32_t *at)
{
    return _mm256_set_m128i(eight_words(upper, lower, at + 4), eight_words(upper, lower, at));
}

/* In each part: words 2k and 2k + 1 four times. */
static inline vw vw_pair(vw v, int k)
{
    return k == 0   ? _mm256_shuffle_epi32(v, 0x00)
           : k == 1 ? _mm256_shuffle_epi32(v, 0x55)
           : k == 2 ? _mm256_shuffle_epi32(v, 0xAA)
                    : _mm256_shuffle_epi32(v, 0xFF);
}

/* Four pixels of three bytes in each part; reads 4 bytes too many. */
static inline vw vw_triples(const uint8_t *p)
{
    return _mm256_set_m128i(sixteen_bytes(p + 12), sixteen_bytes(p));
}

static inline vi vi_of_triples(vw v, int c)
{
    const __m256i first = _mm256_setr_epi32(-256, -253, -250, -247, -256, -253, -250, -247);
    return _mm256_shuffle_epi8(v, _mm256_add_epi32(first, _mm256_set1_epi32(c)));
}

#endif
