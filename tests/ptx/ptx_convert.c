/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions: whole numbers of any two sizes, floats from and to whole numbers, rounding to whole floats,
 * and the two 16-bit floats. */
#include "ptx/ptx_lanes.h"

#include <math.h>

/* The destination register may be wider than the type: the sign is spread as far as it goes. */
#define PTX_CONVERT(name, D, A, expr)                                                                        \
    PTX_BEGIN(name, D, A)                                                                                    \
    warp->reg[at->slot[0]][lane] = (uint64_t)(type_##D)(expr)&at->keep;                                      \
    }                                                                                                        \
    }

#define FROM_EACH(X, D) X(D, u8) X(D, s8) X(D, u16) X(D, s16) X(D, u32) X(D, s32) X(D, u64) X(D, s64)
#define TO_EACH(X)                                                                                           \
    FROM_EACH(X, u8)                                                                                         \
    FROM_EACH(X, s8)                                                                                         \
    FROM_EACH(X, u16)                                                                                        \
    FROM_EACH(X, s16)                                                                                        \
    FROM_EACH(X, u32)                                                                                        \
    FROM_EACH(X, s32)                                                                                        \
    FROM_EACH(X, u64)                                                                                        \
    FROM_EACH(X, s64)
#define WHOLE(D, A) PTX_CONVERT(D##_##A, D, A, a)
TO_EACH(WHOLE)

/* (float) rounds to nearest, ties to even. */
#define TO_FLOAT(ignored, A) PTX_OP1(f32_##A, f32, A, a)
FROM_EACH(TO_FLOAT, )

/* Too large or small: the nearest that there is. NaN: 0, in 64 bits only the sign. least and beyond are exact
 * in float. */
static int64_t to_signed(float whole, int bits)
{
    const float beyond = ldexpf(1, bits - 1);
    if (whole != whole) return bits == 64 ? INT64_MIN : 0;
    if (whole >= beyond) return (int64_t)(UINT64_MAX >> (65 - bits));
    if (whole < -beyond) return -(int64_t)(UINT64_MAX >> (65 - bits)) - 1;
    return (int64_t)whole;
}

static uint64_t to_unsigned(float whole, int bits)
{
    if (whole != whole) return bits == 64 ? UINT64_C(1) << 63 : 0;
    if (whole >= ldexpf(1, bits)) return UINT64_MAX >> (64 - bits);
    return whole > 0 ? (uint64_t)whole : 0;
}

#define ROUNDINGS(X, ...)                                                                                    \
    X(rni, rintf, __VA_ARGS__)                                                                               \
    X(rzi, truncf, __VA_ARGS__) X(rmi, floorf, __VA_ARGS__) X(rpi, ceilf, __VA_ARGS__)
#define TO_WHOLE(mode, function, D, to, bits) PTX_CONVERT(mode##_##D, D, f32, to(function(a), bits))
ROUNDINGS(TO_WHOLE, u8, to_unsigned, 8)
ROUNDINGS(TO_WHOLE, s8, to_signed, 8)
ROUNDINGS(TO_WHOLE, u16, to_unsigned, 16)
ROUNDINGS(TO_WHOLE, s16, to_signed, 16)
ROUNDINGS(TO_WHOLE, u32, to_unsigned, 32)
ROUNDINGS(TO_WHOLE, s32, to_signed, 32)
ROUNDINGS(TO_WHOLE, u64, to_unsigned, 64)
ROUNDINGS(TO_WHOLE, s64, to_signed, 64)
#define TO_WHOLE_FLOAT(mode, function, ignored) PTX_OP1(mode##_f32, f32, f32, function(a))
ROUNDINGS(TO_WHOLE_FLOAT, )

/* A float with `digits` bits behind its first and exponents from `least` to `most`, to nearest, as its bits.
 */
static uint32_t narrow(float v, int digits, int least, int most)
{
    const uint32_t sign = signbit(v) ? UINT32_C(1) << 15 : 0;
    const uint32_t infinite = (uint32_t)(most - least + 2) << digits;
    if (v != v) return 0x7fff;
    if (v == 0) return sign;
    if (isinf(v)) return sign | infinite;
    int exponent = ilogbf(v);
    if (exponent < least) exponent = least;
    const uint32_t size = (uint32_t)rint(ldexp(fabs((double)v), digits - exponent)); /* of the last digit */
    const uint32_t bits = ((uint32_t)(exponent - least) << digits) + size; /* the first digit adds 1 to it */
    return sign | (bits < infinite ? bits : infinite);
}

static float widen(uint32_t bits, int digits, int least, int most)
{
    const uint32_t size = bits & 0x7fff, part = size & ((1u << digits) - 1);
    const int exponent = (int)(size >> digits);
    float v = ldexpf((float)(exponent ? part | 1u << digits : part),
                     least + (exponent ? exponent - 1 : 0) - digits);
    if (exponent == most - least + 2) v = part ? NAN : INFINITY;
    return bits & 0x8000 ? -v : v;
}

#define HALF   10, -14, 15
#define BFLOAT 7, -126, 127
PTX_OP1(f16_f32, u16, f32, narrow(a, HALF))
PTX_OP1(bf16_f32, u16, f32, narrow(a, BFLOAT))
PTX_OP2(f16x2_f32, u32, f32, f32, narrow(a, HALF) << 16 | narrow(b, HALF))
PTX_OP2(bf16x2_f32, u32, f32, f32, narrow(a, BFLOAT) << 16 | narrow(b, BFLOAT))
PTX_OP1(f32_f16, f32, u16, widen(a, HALF))
PTX_OP1(f32_bf16, f32, u16, widen(a, BFLOAT))

#define ROW(name, operands, function)                                                                        \
    {                                                                                                        \
        name, operands, op_##function, PTX_CLASS_CONVERT, PTX_STRAIGHT                                       \
    }
#define WHOLE_ROW(D, A)                 ROW("cvt." #D "." #A, "xx", D##_##A),
#define TO_FLOAT_ROW(ignored, A)        ROW("cvt.rn.f32." #A, "4x", f32_##A),
#define TO_WHOLE_ROW(mode, function, D) ROW("cvt." #mode "." #D ".f32", "x4", mode##_##D),

const ptx_op ptx_convert_ops[] = {
    TO_EACH(WHOLE_ROW) FROM_EACH(TO_FLOAT_ROW, ) ROUNDINGS(TO_WHOLE_ROW, u8) ROUNDINGS(TO_WHOLE_ROW, s8)
        ROUNDINGS(TO_WHOLE_ROW, u16) ROUNDINGS(TO_WHOLE_ROW, s16) ROUNDINGS(TO_WHOLE_ROW, u32)
            ROUNDINGS(TO_WHOLE_ROW, s32) ROUNDINGS(TO_WHOLE_ROW, u64) ROUNDINGS(TO_WHOLE_ROW, s64)
                ROUNDINGS(TO_WHOLE_ROW, f32) ROW("cvt.rn.f16.f32", "24", f16_f32),
    ROW("cvt.rn.bf16.f32", "24", bf16_f32),
    ROW("cvt.rn.f16x2.f32", "444", f16x2_f32),
    ROW("cvt.rn.bf16x2.f32", "444", bf16x2_f32),
    ROW("cvt.f32.f16", "42", f32_f16),
    ROW("cvt.f32.bf16", "42", f32_bf16),
    {0},
};
