/* SPDX-License-Identifier: Apache-2.0 */
/* 32-bit floats, rounded to nearest, subnormal numbers kept: what IEEE 754 says, which C does too here.
 *
 * Only instructions whose result is one certain number: no approximations, no flush to zero, and no product
 * or sum without .rn, which the assembler may fuse. */
#include "ptx/ptx_lanes.h"

#include <math.h>

/* This file is compiled with -ffp-contract=off. */
PTX_OP2(add, f32, f32, f32, a + b)
PTX_OP2(sub, f32, f32, f32, a - b)
PTX_OP2(mul, f32, f32, f32, a *b)
PTX_OP2(div, f32, f32, f32, a / b)
PTX_OP3(fma, f32, f32, f32, f32, fmaf(a, b, c))
PTX_OP1(sqrt, f32, f32, sqrtf(a))
PTX_OP1(rcp, f32, f32, 1 / a)
PTX_OP1(neg, u32, u32, a ^ 0x80000000u)
PTX_OP1(abs, u32, u32, a & 0x7fffffffu)

/* One that is not a NaN; -0 is below +0. */
static float smaller(float a, float b)
{
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static float larger(float a, float b)
{
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

PTX_OP2(min, f32, f32, f32, smaller(a, b))
PTX_OP2(max, f32, f32, f32, larger(a, b))
PTX_OP2(min_nan, f32, f32, f32, a != a || b != b ? a + b : smaller(a, b))
PTX_OP2(max_nan, f32, f32, f32, a != a || b != b ? a + b : larger(a, b))
PTX_OP1(saturate, f32, f32, a > 0 ? (a < 1 ? a : 1.0f) : 0.0f)

#define ROW(name, operands, function)                                                                        \
    {                                                                                                        \
        name, operands, op_##function, PTX_CLASS_FLOAT, PTX_STRAIGHT                                         \
    }

const ptx_op ptx_float_ops[] = {
    ROW("add.rn.f32", "444", add),
    ROW("sub.rn.f32", "444", sub),
    ROW("mul.rn.f32", "444", mul),
    ROW("div.rn.f32", "444", div),
    ROW("fma.rn.f32", "4444", fma),
    ROW("sqrt.rn.f32", "44", sqrt),
    ROW("rcp.rn.f32", "44", rcp),
    ROW("neg.f32", "44", neg),
    ROW("abs.f32", "44", abs),
    ROW("min.f32", "444", min),
    ROW("max.f32", "444", max),
    ROW("min.NaN.f32", "444", min_nan),
    ROW("max.NaN.f32", "444", max_nan),
    ROW("cvt.sat.f32.f32", "44", saturate),
    {0},
};

const char *ptx_float_refusal(const char *name)
{
    static const char *const fusing[] = {"add.f32", "sub.f32", "mul.f32"};
    for (size_t i = 0; i < sizeof fusing / sizeof fusing[0]; i++)
        if (strcmp(name, fusing[i]) == 0) return "without .rn it may be fused with another one";
    if (strstr(name, ".ftz")) return "subnormal numbers would become 0";
    return strstr(name, ".approx") ? "its result is not one certain number" : NULL;
}
