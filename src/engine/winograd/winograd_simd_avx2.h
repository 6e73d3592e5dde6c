/* SPDX-License-Identifier: Apache-2.0 */
/* The few vectors that winograd_level.h needs, eight floats wide. */
#ifndef STK_ENGINE_WINOGRAD_SIMD_AVX2_H
#define STK_ENGINE_WINOGRAD_SIMD_AVX2_H

#include <immintrin.h>

enum {
    LANES = 8,
    ROWS = 6 /* of a product's register block: 12 sums, 2 of u, 1 of v in 16 registers */
};

typedef __m256 vf;

/* clang-format off */
static inline vf vf_all(float v) { return _mm256_set1_ps(v); }
static inline vf vf_at(const float *p) { return _mm256_broadcast_ss(p); }
static inline vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }   /* a b + c */
static inline vf vf_less(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); } /* c - a b */
/* clang-format on */

#endif
