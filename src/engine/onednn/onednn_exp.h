/* SPDX-License-Identifier: Apache-2.0 */
/* exp and its relatives for loops that the compiler turns into vector code: no branches, no calls. */
#ifndef STK_ENGINE_ONEDNN_EXP_H
#define STK_ENGINE_ONEDNN_EXP_H

#include <stdint.h>
#include <string.h>

/* Before a loop whose turns touch different values, where the compiler cannot see that. */
#if defined(__clang__)
#define STK__INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define STK__INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Within 2 ulp for x in -87 … 88; outside as at the border (1.6e-38, 1.7e38); NaN stays: a network that has
 * diverged must not look right. */
static inline float stk__exp(float x)
{
    const float bounded_below = x < -87.0f ? -87.0f : x;
    const float bounded = bounded_below > 88.0f ? 88.0f : bounded_below;
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    const float shifted = bounded * 1.44269504f + magic;
    const float whole = shifted - magic;
    const float r = (bounded - whole * 0.693359375f) - whole * -2.12194440e-4f; /* ln 2 in two parts */
    float p = 1.0f / 5040;                                                      /* |r| <= 0.347: Taylor */
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * (r * r) + r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4b400000u + 127u) << 23; /* 2^whole */
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline float stk__sigmoid(float x)
{
    return 1.0f / (1.0f + stk__exp(-x));
}

static inline float stk__tanh(float x)
{
    const float size = x < 0 ? -x : x, square = x * x;
    const float large = 1.0f - 2.0f / (stk__exp(2 * size) + 1.0f);
    float p = -5.70498872745e-3f; /* minimax of (tanh(x) - x) / x^3 below 0.625 */
    p = p * square + 2.06390887954e-2f;
    p = p * square + -5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square + -3.33332819422e-1f;
    const float small = p * square * x + x;
    const float signed_large = x < 0 ? -large : large;
    return size < 0.625f ? small : signed_large;
}

#endif
