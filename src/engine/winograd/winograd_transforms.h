/* SPDX-License-Identifier: Apache-2.0 */
/* The five transforms of Winograd's convolution along one line, in vectors of channels. */
#ifndef STK_ENGINE_WINOGRAD_TRANSFORMS_H
#define STK_ENGINE_WINOGRAD_TRANSFORMS_H

#include "engine/winograd/winograd.h"

/* B': pixels to spots. */
static inline void input_line(const vf d[6], vf out[6])
{
    const vf a = vf_all(STK_WINOGRAD_A), b = vf_all(STK_WINOGRAD_B), a2 = vf_all(STK_WINOGRAD_A2),
             b2 = vf_all(STK_WINOGRAD_B2), a2b2 = vf_all(STK_WINOGRAD_A2B2), sum2 = vf_all(STK_WINOGRAD_SUM2);
    const vf even_a = vf_less(b2, d[2], d[4]), odd_a = vf_less(b2, d[1], d[3]);
    const vf even_b = vf_less(a2, d[2], d[4]), odd_b = vf_less(a2, d[1], d[3]);
    out[0] = vf_fma(a2b2, d[0], vf_less(sum2, d[2], d[4]));
    out[1] = vf_fma(a, odd_a, even_a);
    out[2] = vf_less(a, odd_a, even_a);
    out[3] = vf_fma(b, odd_b, even_b);
    out[4] = vf_less(b, odd_b, even_b);
    out[5] = vf_fma(a2b2, d[1], vf_less(sum2, d[3], d[5]));
}

/* A': spots to pixels. */
static inline void output_line(const vf d[6], vf out[4])
{
    const float a = STK_WINOGRAD_A, b = STK_WINOGRAD_B, a2 = STK_WINOGRAD_A2, b2 = STK_WINOGRAD_B2;
    const vf even_a = vf_add(d[1], d[2]), odd_a = vf_sub(d[1], d[2]);
    const vf even_b = vf_add(d[3], d[4]), odd_b = vf_sub(d[3], d[4]);
    out[0] = vf_add(d[0], vf_add(even_a, even_b));
    out[1] = vf_fma(vf_all(a), odd_a, vf_mul(vf_all(b), odd_b));
    out[2] = vf_fma(vf_all(a2), even_a, vf_mul(vf_all(b2), even_b));
    out[3] = vf_fma(vf_all(a * a2), odd_a, vf_fma(vf_all(b * b2), odd_b, d[5]));
}

/* A: pixels of the output's gradient to spots. */
static inline void gradient_line(const vf d[4], vf out[6])
{
    const float a = STK_WINOGRAD_A, b = STK_WINOGRAD_B, a2 = STK_WINOGRAD_A2, b2 = STK_WINOGRAD_B2;
    const vf even_a = vf_fma(vf_all(a2), d[2], d[0]), even_b = vf_fma(vf_all(b2), d[2], d[0]);
    const vf odd_a = vf_fma(vf_all(a * a2), d[3], vf_mul(vf_all(a), d[1]));
    const vf odd_b = vf_fma(vf_all(b * b2), d[3], vf_mul(vf_all(b), d[1]));
    out[0] = d[0];
    out[1] = vf_add(even_a, odd_a);
    out[2] = vf_sub(even_a, odd_a);
    out[3] = vf_add(even_b, odd_b);
    out[4] = vf_sub(even_b, odd_b);
    out[5] = d[3];
}

/* G: taps to spots. */
static inline void weight_line(const vf d[3], vf out[6])
{
    const float a = STK_WINOGRAD_A, b = STK_WINOGRAD_B, ga = STK_WINOGRAD_GA, gb = STK_WINOGRAD_GB;
    const vf even_a = vf_fma(vf_all(ga * a * a), d[2], vf_mul(vf_all(ga), d[0]));
    const vf even_b = vf_fma(vf_all(gb * b * b), d[2], vf_mul(vf_all(gb), d[0]));
    const vf odd_a = vf_mul(vf_all(ga * a), d[1]), odd_b = vf_mul(vf_all(gb * b), d[1]);
    out[0] = vf_mul(vf_all(STK_WINOGRAD_G0), d[0]);
    out[1] = vf_add(even_a, odd_a);
    out[2] = vf_sub(even_a, odd_a);
    out[3] = vf_add(even_b, odd_b);
    out[4] = vf_sub(even_b, odd_b);
    out[5] = d[2];
}

/* G': spots to taps. */
static inline void tap_line(const vf d[6], vf out[3])
{
    const float a = STK_WINOGRAD_A, b = STK_WINOGRAD_B, ga = STK_WINOGRAD_GA, gb = STK_WINOGRAD_GB;
    const vf even_a = vf_add(d[1], d[2]), odd_a = vf_sub(d[1], d[2]);
    const vf even_b = vf_add(d[3], d[4]), odd_b = vf_sub(d[3], d[4]);
    out[0] = vf_fma(vf_all(STK_WINOGRAD_G0), d[0], vf_fma(vf_all(ga), even_a, vf_mul(vf_all(gb), even_b)));
    out[1] = vf_fma(vf_all(ga * a), odd_a, vf_mul(vf_all(gb * b), odd_b));
    out[2] = vf_fma(vf_all(ga * a * a), even_a, vf_fma(vf_all(gb * b * b), even_b, d[5]));
}

#endif
