/* SPDX-License-Identifier: Apache-2.0 */
/* Bits: logic, shifts (by the width or more: all bits are gone), fields, bytes; and predicates. */
#include "ptx/ptx_lanes.h"

#define PTX_LOGIC(T)                                                                                         \
    PTX_OP2(and_##T, T, T, T, a &b)                                                                          \
    PTX_OP2(or_##T, T, T, T, a | b)                                                                          \
    PTX_OP2(xor_##T, T, T, T, a ^ b)
PTX_LOGIC(pred)
PTX_LOGIC(b16)
PTX_LOGIC(b32)
PTX_LOGIC(b64)
PTX_OP1(not_pred, pred, pred, !a)
PTX_OP1(not_b16, b16, b16, ~a)
PTX_OP1(not_b32, b32, b32, ~a)
PTX_OP1(not_b64, b64, b64, ~a)

#define PTX_SHIFTS(bits)                                                                                     \
    PTX_OP2(shl_b##bits, u64, u##bits, u32, b < (bits) ? (type_u##bits)((uint64_t)a << b) : 0)               \
    PTX_OP2(shr_u##bits, u##bits, u##bits, u32, b < (bits) ? a >> b : 0)                                     \
    PTX_OP2(shr_s##bits, s##bits, s##bits, u32, a >> (b < (bits) ? b : (bits)-1))
PTX_SHIFTS(16)
PTX_SHIFTS(32)
PTX_SHIFTS(64)

/* Two registers as one of 64 bits, a the lower: l gives the upper half after a shift to the left. */
PTX_OP3(shf_l_wrap, b32, b32, b32, u32, ((uint64_t)b << 32 | a) << (c & 31) >> 32)
PTX_OP3(shf_r_wrap, b32, b32, b32, u32, ((uint64_t)b << 32 | a) >> (c & 31))
PTX_OP3(shf_l_clamp, b32, b32, b32, u32, c < 32 ? ((uint64_t)b << 32 | a) << c >> 32 : a)
PTX_OP3(shf_r_clamp, b32, b32, b32, u32, c < 32 ? ((uint64_t)b << 32 | a) >> c : b)

/* The `count` bits from `first` on of a register of `width` bits. */
static uint64_t field(uint32_t first, uint32_t count, uint32_t width)
{
    const uint64_t ones = count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
    const uint64_t all = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    return first >= width ? 0 : ones << first & all;
}

static uint64_t insert(uint64_t part, uint64_t into, uint64_t mask, uint32_t first)
{
    return (into & ~mask) | (first < 64 ? part << first & mask : 0);
}

/* The sign of a field that reaches beyond the register is the register's. */
static uint64_t extract(uint64_t v, uint32_t first, uint32_t count, uint32_t width, bool is_signed)
{
    const uint64_t taken = first < width ? (v & field(first, count, width)) >> first : 0;
    if (!is_signed || count == 0) return taken;
    const uint32_t sign_at = first + count - 1 < width - 1 ? first + count - 1 : width - 1;
    const uint32_t kept = first < width ? sign_at - first + 1 : 0;
    return v >> sign_at & 1 ? taken | ~field(0, kept, 64) : taken;
}

#define PTX_FIELDS(bits)                                                                                     \
    PTX_OP4(bfi_b##bits, b##bits, b##bits, b##bits, u32, u32,                                                \
            insert(a, b, field(c & 255, d & 255, bits), c & 255))                                            \
    PTX_OP3(bfe_u##bits, u##bits, u##bits, u32, u32, extract(a, b & 255, c & 255, bits, false))              \
    PTX_OP3(bfe_s##bits, u##bits, u##bits, u32, u32, extract(a, b & 255, c & 255, bits, true))
PTX_FIELDS(32)
PTX_FIELDS(64)

static uint32_t logic_of_three(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t out = 0;
    for (uint32_t row = 0; row < 8; row++)
        if (table >> row & 1) out |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return out;
}

/* Each digit of the selector names a byte of b:a; its upper bit spreads that byte's sign. */
static uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t out = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t digit = selector >> 4 * i & 15, byte = both >> 8 * (digit & 7) & 255;
        out |= (digit & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
    return out;
}

static uint32_t reverse(uint32_t v)
{
    uint32_t out = 0;
    for (int i = 0; i < 32; i++)
        out |= (v >> i & 1) << (31 - i);
    return out;
}

PTX_OP4(lop3, b32, b32, b32, b32, u32, logic_of_three(a, b, c, d))
PTX_OP3(prmt, b32, b32, b32, b32, permute(a, b, c))
PTX_OP1(brev, b32, b32, reverse(a))
PTX_OP1(popc_b32, u32, b32, __builtin_popcount(a))
PTX_OP1(popc_b64, u32, b64, __builtin_popcountll(a))
PTX_OP1(clz_b32, u32, b32, a ? __builtin_clz(a) : 32)
PTX_OP1(clz_b64, u32, b64, a ? __builtin_clzll(a) : 64)

#define ROW(name, operands, function)                                                                        \
    {                                                                                                        \
        name, operands, op_##function, PTX_CLASS_INTEGER, PTX_STRAIGHT                                       \
    }
#define LOGIC_ROWS(T, two, three)                                                                            \
    ROW("and." #T, three, and_##T), ROW("or." #T, three, or_##T), ROW("xor." #T, three, xor_##T),            \
        ROW("not." #T, two, not_##T)
#define PREDICATE_ROW(name, operands, function)                                                              \
    {                                                                                                        \
        name, operands, op_##function, PTX_CLASS_PREDICATE, PTX_STRAIGHT                                     \
    }
#define SHIFT_ROWS(bits, operands)                                                                           \
    ROW("shl.b" #bits, operands, shl_b##bits), ROW("shr.u" #bits, operands, shr_u##bits),                    \
        ROW("shr.s" #bits, operands, shr_s##bits), ROW("shr.b" #bits, operands, shr_u##bits)
#define FIELD_ROWS(bits, insertion, extraction)                                                              \
    ROW("bfi.b" #bits, insertion, bfi_b##bits), ROW("bfe.u" #bits, extraction, bfe_u##bits),                 \
        ROW("bfe.s" #bits, extraction, bfe_s##bits)

const ptx_op ptx_bit_ops[] = {
    PREDICATE_ROW("and.pred", "ppp", and_pred),
    PREDICATE_ROW("or.pred", "ppp", or_pred),
    PREDICATE_ROW("xor.pred", "ppp", xor_pred),
    PREDICATE_ROW("not.pred", "pp", not_pred),
    LOGIC_ROWS(b16, "22", "222"),
    LOGIC_ROWS(b32, "44", "444"),
    LOGIC_ROWS(b64, "88", "888"),
    SHIFT_ROWS(16, "224"),
    SHIFT_ROWS(32, "444"),
    SHIFT_ROWS(64, "884"),
    FIELD_ROWS(32, "44444", "4444"),
    FIELD_ROWS(64, "88844", "8844"),
    ROW("shf.l.wrap.b32", "4444", shf_l_wrap),
    ROW("shf.r.wrap.b32", "4444", shf_r_wrap),
    ROW("shf.l.clamp.b32", "4444", shf_l_clamp),
    ROW("shf.r.clamp.b32", "4444", shf_r_clamp),
    ROW("lop3.b32", "4444i", lop3),
    ROW("prmt.b32", "4444", prmt),
    ROW("brev.b32", "44", brev),
    ROW("popc.b32", "44", popc_b32),
    ROW("popc.b64", "48", popc_b64),
    ROW("clz.b32", "44", clz_b32),
    ROW("clz.b64", "48", clz_b64),
    {0},
};
