/* SPDX-License-Identifier: Apache-2.0 */
/* The few vectors that winograd_level.h needs, sixteen floats wide. */
#ifndef STK_ENGINE_WINOGRAD_SIMD_AVX512_H
#define STK_ENGINE_WINOGRAD_SIMD_AVX512_H

#include <immintrin.h>

enum {
    LANES = 16,
    ROWS = 12 /* 24 sums, 2 of u, 1 of v in 32 registers */
};

typedef __m512 vf;

/* clang-format off */
static inline vf vf_all(float v) { return _mm512_set1_ps(v); }
static inline vf vf_at(const float *p) { return _mm512_set1_ps(*p); }
static inline vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }   /* a b + c */
static inline vf vf_less(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a b */
/* clang-format on */

#endif
