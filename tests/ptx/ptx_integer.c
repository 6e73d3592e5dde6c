/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers: sums, products, quotients, smallest and largest. They wrap around, as on a GPU. */
#include "ptx/ptx_lanes.h"

#include <stdio.h>

/* Types that only differ by sign share what does not look at it. */
#define PTX_WRAPPING(T, U)                                                                                   \
    PTX_OP2(add_##T, U, U, U, a + b)                                                                         \
    PTX_OP2(sub_##T, U, U, U, a - b)                                                                         \
    PTX_OP2(mul_lo_##T, U, U, U, (uint64_t)a *b)                                                             \
    PTX_OP3(mad_lo_##T, U, U, U, U, (uint64_t)a *b + c)
PTX_WRAPPING(b16, u16)
PTX_WRAPPING(b32, u32)
PTX_WRAPPING(b64, u64)

#define PTX_SIGNED(T, U)                                                                                     \
    PTX_OP1(neg_##T, U, U, 0 - (uint64_t)a)                                                                  \
    PTX_OP1(abs_##T, U, T, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)
PTX_SIGNED(s16, u16)
PTX_SIGNED(s32, u32)
PTX_SIGNED(s64, u64)

#define PTX_ORDERED(T)                                                                                       \
    PTX_OP2(min_##T, T, T, T, a < b ? a : b)                                                                 \
    PTX_OP2(max_##T, T, T, T, a > b ? a : b)
PTX_ORDERED(u16)
PTX_ORDERED(s16)
PTX_ORDERED(u32)
PTX_ORDERED(s32)
PTX_ORDERED(u64)
PTX_ORDERED(s64)

/* W is twice as wide as T. */
#define PTX_WIDE(T, W)                                                                                       \
    PTX_OP2(mul_wide_##T, W, T, T, (type_##W)a *(type_##W)b)                                                 \
    PTX_OP3(mad_wide_##T, W, T, T, W, (uint64_t)((type_##W)a * (type_##W)b) + (uint64_t)c)
PTX_WIDE(u16, u32)
PTX_WIDE(s16, s32)
PTX_WIDE(u32, u64)
PTX_WIDE(s32, s64)

__extension__ typedef __int128 wide_s128;
__extension__ typedef unsigned __int128 wide_u128;
PTX_OP2(mul_hi_u16, u16, u16, u16, (uint32_t)a *b >> 16)
PTX_OP2(mul_hi_s16, u16, s16, s16, (uint32_t)(a *b) >> 16)
PTX_OP2(mul_hi_u32, u32, u32, u32, (uint64_t)a *b >> 32)
PTX_OP2(mul_hi_s32, u32, s32, s32, (uint64_t)((int64_t)a *b) >> 32)
PTX_OP2(mul_hi_u64, u64, u64, u64, (wide_u128)a *b >> 64)
PTX_OP2(mul_hi_s64, u64, s64, s64, (wide_u128)((wide_s128)a *b) >> 64)
PTX_OP3(mad_hi_u32, u32, u32, u32, u32, ((uint64_t)a * b >> 32) + c)
PTX_OP3(mad_hi_s32, u32, s32, s32, u32, ((uint64_t)((int64_t)a * b) >> 32) + c)

/* What a quotient by 0 is, the manual leaves open: it ends the kernel here. */
static bool may_divide(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    PTX_EACH_LANE(mask)
    if (warp->reg[at->slot[2]][lane] == 0) snprintf(warp->fault, sizeof warp->fault, "division by 0");
    return !warp->fault[0];
}

#define PTX_DIVIDING(T)                                                                                      \
    PTX_OP2(div_##T, T, T, T, (wide_s128)a / b)                                                              \
    PTX_OP2(rem_##T, T, T, T, (wide_s128)a % b)                                                              \
    static void op_safe_div_##T(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)                    \
    {                                                                                                        \
        if (may_divide(at, warp, mask)) op_div_##T(at, warp, mask);                                          \
    }                                                                                                        \
    static void op_safe_rem_##T(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)                    \
    {                                                                                                        \
        if (may_divide(at, warp, mask)) op_rem_##T(at, warp, mask);                                          \
    }
PTX_DIVIDING(u16)
PTX_DIVIDING(s16)
PTX_DIVIDING(u32)
PTX_DIVIDING(s32)
PTX_DIVIDING(u64)
PTX_DIVIDING(s64)

#define ROW(name, operands, function)                                                                        \
    {                                                                                                        \
        name, operands, op_##function, PTX_CLASS_INTEGER, PTX_STRAIGHT                                       \
    }
#define ROWS(T, B, three, four)                                                                              \
    ROW("add." #T, three, add_##B), ROW("sub." #T, three, sub_##B), ROW("mul.lo." #T, three, mul_lo_##B),    \
        ROW("mad.lo." #T, four, mad_lo_##B), ROW("min." #T, three, min_##T), ROW("max." #T, three, max_##T), \
        ROW("mul.hi." #T, three, mul_hi_##T), ROW("div." #T, three, safe_div_##T),                           \
        ROW("rem." #T, three, safe_rem_##T)
#define SIGNED_ROWS(T, two) ROW("neg." #T, two, neg_##T), ROW("abs." #T, two, abs_##T)
#define WIDE_ROWS(T, three, four)                                                                            \
    ROW("mul.wide." #T, three, mul_wide_##T), ROW("mad.wide." #T, four, mad_wide_##T)

const ptx_op ptx_integer_ops[] = {
    ROWS(u16, b16, "222", "2222"),
    ROWS(s16, b16, "222", "2222"),
    ROWS(u32, b32, "444", "4444"),
    ROWS(s32, b32, "444", "4444"),
    ROWS(u64, b64, "888", "8888"),
    ROWS(s64, b64, "888", "8888"),
    SIGNED_ROWS(s16, "22"),
    SIGNED_ROWS(s32, "44"),
    SIGNED_ROWS(s64, "88"),
    WIDE_ROWS(u16, "422", "4224"),
    WIDE_ROWS(s16, "422", "4224"),
    WIDE_ROWS(u32, "844", "8448"),
    WIDE_ROWS(s32, "844", "8448"),
    ROW("mad.hi.u32", "4444", mad_hi_u32),
    ROW("mad.hi.s32", "4444", mad_hi_s32),
    {0},
};
