/* SPDX-License-Identifier: Apache-2.0 */
/* Every instruction of the interpreter's tables that kernels may use, against a C expression: random numbers
   and those at the ends. */
#include "ptx/ptx_code.h"
#include "ptx/ptx_one.h"

#include "core/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static float f(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float v;
    memcpy(&v, &low, sizeof v);
    return v;
}

/* In double, rounded once: exact for +, -, * and / of floats. */
static uint64_t bits(double v)
{
    const float rounded = (float)v;
    uint32_t low;
    memcpy(&low, &rounded, sizeof low);
    return v != v ? 0x7fffffffu : low;
}

static int32_t s(uint64_t v)
{
    return (int32_t)(uint32_t)v;
}

static int64_t sl(uint64_t v)
{
    return (int64_t)v;
}

static int32_t sh(uint64_t v)
{
    return (int16_t)(uint16_t)v;
}

static uint32_t u(uint64_t v)
{
    return (uint32_t)v;
}

static uint64_t clamp_whole(double v, double least, double most)
{
    if (v != v) return 0;
    return (uint64_t)(int64_t)(v < least ? least : v > most ? most : v);
}

static double smaller(double a, double b)
{
    if (a != a) return b;
    if (b != b) return a;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

/* Half floats by their definition: the nearest of all of them, the even one of two. */
static uint64_t nearest_half(double v)
{
    double best = INFINITY;
    uint64_t found = 0;
    if (v != v) return 0x7fff;
    if (fabs(v) >= 65520) return signbit(v) ? 0xfc00 : 0x7c00;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        const int exponent = (int)(h >> 10);
        const double size = ldexp((double)(exponent ? (h & 1023) + 1024 : h), (exponent ? exponent : 1) - 25);
        const double off = fabs(size - fabs(v));
        if (off < best || (off == best && !(h & 1))) best = off, found = h;
        if (off > best) break;
    }
    return found | (signbit(v) ? 0x8000 : 0);
}

/* name, result, statement, expression of a, b, c, d (64 bits each) */
#define CASES(X)                                                                                             \
    X(add_s32, 'r', "add.s32 %ro, %ra, %rb;", u(a + b))                                                      \
    X(add_s64, 'l', "add.s64 %lo, %la, %lb;", a + b)                                                         \
    X(add_s16, 'h', "add.s16 %ho, %ha, %hb;", (uint16_t)(a + b))                                             \
    X(add_constant, 'r', "add.s32 %ro, %ra, -7;", u(a - 7))                                                  \
    X(sub_s32, 'r', "sub.s32 %ro, %ra, %rb;", u(a - b))                                                      \
    X(sub_s64, 'l', "sub.s64 %lo, %la, %lb;", a - b)                                                         \
    X(mul_lo_s32, 'r', "mul.lo.s32 %ro, %ra, %rb;", u(a *b))                                                 \
    X(mul_lo_s16, 'h', "mul.lo.s16 %ho, %ha, %hb;", (uint16_t)(a * b))                                       \
    X(mul_lo_s64, 'l', "mul.lo.s64 %lo, %la, %lb;", a *b)                                                    \
    X(mul_hi_u32, 'r', "mul.hi.u32 %ro, %ra, %rb;", (uint64_t)u(a) * u(b) >> 32)                             \
    X(mul_hi_s32, 'r', "mul.hi.s32 %ro, %ra, %rb;", u((uint64_t)((int64_t)s(a) * s(b)) >> 32))               \
    X(mul_wide_u32, 'l', "mul.wide.u32 %lo, %ra, %rb;", (uint64_t)u(a) * u(b))                               \
    X(mul_wide_s32, 'l', "mul.wide.s32 %lo, %ra, %rb;", (uint64_t)((int64_t)s(a) * s(b)))                    \
    X(mul_wide_u16, 'r', "mul.wide.u16 %ro, %ha, %hb;", (uint32_t)(uint16_t)a *(uint16_t)b)                  \
    X(mul_wide_s16, 'r', "mul.wide.s16 %ro, %ha, %hb;", u((uint64_t)((int64_t)sh(a) * sh(b))))               \
    X(mad_lo_s32, 'r', "mad.lo.s32 %ro, %ra, %rb, %rc;", u(a *b + c))                                        \
    X(mad_wide_u32, 'l', "mad.wide.u32 %lo, %ra, %rb, %lc;", (uint64_t)u(a) * u(b) + c)                      \
    X(mad_wide_s32, 'l', "mad.wide.s32 %lo, %ra, %rb, %lc;", (uint64_t)((int64_t)s(a) * s(b)) + c)           \
    X(mad_hi_u32, 'r', "mad.hi.u32 %ro, %ra, %rb, %rc;", u(((uint64_t)u(a) * u(b) >> 32) + c))               \
    X(div_u32, 'r', "or.b32 %rb, %rb, 1; div.u32 %ro, %ra, %rb;", u(a) / u(b | 1))                           \
    X(div_s32, 'r', "or.b32 %rb, %rb, 1; div.s32 %ro, %ra, %rb;", u((uint64_t)((int64_t)s(a) / s(b | 1))))   \
    X(rem_u32, 'r', "or.b32 %rb, %rb, 1; rem.u32 %ro, %ra, %rb;", u(a) % u(b | 1))                           \
    X(rem_s32, 'r', "or.b32 %rb, %rb, 1; rem.s32 %ro, %ra, %rb;", u((uint64_t)((int64_t)s(a) % s(b | 1))))   \
    X(neg_s32, 'r', "neg.s32 %ro, %ra;", u(0 - a))                                                           \
    X(neg_s64, 'l', "neg.s64 %lo, %la;", 0 - a)                                                              \
    X(abs_s32, 'r', "abs.s32 %ro, %ra;", s(a) < 0 ? u(0 - a) : u(a))                                         \
    X(min_s32, 'r', "min.s32 %ro, %ra, %rb;", u(s(a) < s(b) ? a : b))                                        \
    X(max_s32, 'r', "max.s32 %ro, %ra, %rb;", u(s(a) > s(b) ? a : b))                                        \
    X(min_u32, 'r', "min.u32 %ro, %ra, %rb;", u(a) < u(b) ? u(a) : u(b))                                     \
    X(max_u32, 'r', "max.u32 %ro, %ra, %rb;", u(a) > u(b) ? u(a) : u(b))                                     \
    X(max_s64, 'l', "max.s64 %lo, %la, %lb;", sl(a) > sl(b) ? a : b)                                         \
    X(and_b32, 'r', "and.b32 %ro, %ra, %rb;", u(a &b))                                                       \
    X(or_b32, 'r', "or.b32 %ro, %ra, %rb;", u(a | b))                                                        \
    X(xor_b32, 'r', "xor.b32 %ro, %ra, %rb;", u(a ^ b))                                                      \
    X(not_b32, 'r', "not.b32 %ro, %ra;", u(~a))                                                              \
    X(and_b64, 'l', "and.b64 %lo, %la, %lb;", a &b)                                                          \
    X(or_b16, 'h', "or.b16 %ho, %ha, %hb;", (uint16_t)(a | b))                                               \
    X(and_pred, 'p', "and.pred %po, %pa, %pb;", a &b & 1)                                                    \
    X(or_pred, 'p', "or.pred %po, %pa, %pb;", (a | b) & 1)                                                   \
    X(xor_pred, 'p', "xor.pred %po, %pa, %pb;", (a ^ b) & 1)                                                 \
    X(not_pred, 'p', "not.pred %po, %pa;", ~a & 1)                                                           \
    X(mov_pred, 'p', "mov.pred %po, -1; and.pred %po, %po, %pa;", a & 1)                                     \
    X(shl_b32, 'r', "and.b32 %rb, %rb, 63; shl.b32 %ro, %ra, %rb;", (b & 63) < 32 ? u(a << (b & 31)) : 0)    \
    X(shr_u32, 'r', "and.b32 %rb, %rb, 63; shr.u32 %ro, %ra, %rb;", (b & 63) < 32 ? u(a) >> (b & 31) : 0)    \
    X(shr_s32, 'r', "and.b32 %rb, %rb, 63; shr.s32 %ro, %ra, %rb;",                                          \
      u((uint64_t)((int64_t)s(a) >> ((b & 63) < 32 ? b & 63 : 31))))                                         \
    X(shl_b64, 'l', "and.b32 %rb, %rb, 127; shl.b64 %lo, %la, %rb;", (b & 127) < 64 ? a << (b & 63) : 0)     \
    X(shr_u64, 'l', "and.b32 %rb, %rb, 127; shr.u64 %lo, %la, %rb;", (b & 127) < 64 ? a >> (b & 63) : 0)     \
    X(shr_u16, 'h', "and.b32 %rb, %rb, 31; shr.u16 %ho, %ha, %rb;", (uint16_t)a >> (b & 31))                 \
    X(shf_l, 'r', "shf.l.wrap.b32 %ro, %ra, %rb, %rc;", u(b << (c & 31) | u(a) >> 1 >> (31 - (c & 31))))     \
    X(shf_r, 'r', "shf.r.wrap.b32 %ro, %ra, %rb, %rc;",                                                      \
      u((u(a) >> (c & 31)) | ((uint64_t)u(b) << 1 << (31 - (c & 31)))))                                      \
    X(bfi_b32, 'r', "bfi.b32 %ro, %ra, %rb, 5, 9;", u((b & ~(511ull << 5)) | (a & 511) << 5))                \
    X(bfi_edge, 'r', "bfi.b32 %ro, %ra, %rb, 27, 20;", u((b & ~(31ull << 27)) | (a & 31) << 27))             \
    X(bfi_b64, 'l', "bfi.b64 %lo, %la, %lb, 32, 32;", (b & UINT32_MAX) | a << 32)                            \
    X(bfi_none, 'r', "bfi.b32 %ro, %ra, %rb, 3, 0;", u(b))                                                   \
    X(bfe_u32, 'r', "bfe.u32 %ro, %ra, 7, 11;", a >> 7 & 2047)                                               \
    X(bfe_s32, 'r', "bfe.s32 %ro, %ra, 7, 11;", u((uint64_t)((int64_t)(a << 46) >> 53)))                     \
    X(bfe_edge, 'r', "bfe.s32 %ro, %ra, 24, 16;", u((uint64_t)((int64_t)s(a) >> 24)))                        \
    X(lop3, 'r', "lop3.b32 %ro, %ra, %rb, %rc, 0xCA;", u((a & b) | (~a & c)))                                \
    X(prmt, 'r', "prmt.b32 %ro, %ra, %rb, 0x6240;",                                                          \
      u((a & 255) | (b & 255) << 8 | (a >> 16 & 255) << 16 | (b >> 16 & 255) << 24))                         \
    X(popc, 'r', "popc.b32 %ro, %ra;", (uint64_t)__builtin_popcountll(u(a)))                                 \
    X(clz, 'r', "clz.b32 %ro, %ra;", u(a) ? (uint64_t)__builtin_clzll(u(a)) - 32 : 32)                       \
    X(add_f32, 'r', "add.rn.f32 %ro, %ra, %rb;", bits((double)f(a) + f(b)))                                  \
    X(sub_f32, 'r', "sub.rn.f32 %ro, %ra, %rb;", bits((double)f(a) - f(b)))                                  \
    X(mul_f32, 'r', "mul.rn.f32 %ro, %ra, %rb;", bits((double)f(a) * f(b)))                                  \
    X(div_f32, 'r', "div.rn.f32 %ro, %ra, %rb;", bits((double)f(a) / f(b)))                                  \
    X(fma_f32, 'r', "fma.rn.f32 %ro, %ra, %rb, %rc;", bits(fmaf(f(a), f(b), f(c))))                          \
    X(sqrt_f32, 'r', "sqrt.rn.f32 %ro, %ra;", bits(sqrt(f(a))))                                              \
    X(neg_f32, 'r', "neg.f32 %ro, %ra;", u(a ^ 0x80000000))                                                  \
    X(abs_f32, 'r', "abs.f32 %ro, %ra;", a & 0x7fffffff)                                                     \
    X(min_f32, 'r', "min.f32 %ro, %ra, %rb;", bits(smaller(f(a), f(b))))                                     \
    X(max_f32, 'r', "max.f32 %ro, %ra, %rb;", bits(-smaller(-f(a), -f(b))))                                  \
    X(floor_f32, 'r', "cvt.rmi.f32.f32 %ro, %ra;", bits(floor(f(a))))                                        \
    X(whole_f32, 'r', "cvt.rzi.f32.f32 %ro, %ra;", bits(trunc(f(a))))                                        \
    X(cvt_rzi_s32, 'r', "cvt.rzi.s32.f32 %ro, %ra;", u(clamp_whole(trunc(f(a)), INT32_MIN, INT32_MAX)))      \
    X(cvt_rzi_u32, 'r', "cvt.rzi.u32.f32 %ro, %ra;", clamp_whole(trunc(f(a)), 0, UINT32_MAX))                \
    X(cvt_rni_s32, 'r', "cvt.rni.s32.f32 %ro, %ra;", u(clamp_whole(nearbyint(f(a)), INT32_MIN, INT32_MAX)))  \
    X(cvt_rmi_s32, 'r', "cvt.rmi.s32.f32 %ro, %ra;", u(clamp_whole(floor(f(a)), INT32_MIN, INT32_MAX)))      \
    X(cvt_rpi_u16, 'h', "cvt.rpi.u16.f32 %ho, %ra;", clamp_whole(ceil(f(a)), 0, UINT16_MAX))                 \
    X(cvt_f32_s32, 'r', "cvt.rn.f32.s32 %ro, %ra;", bits(s(a)))                                              \
    X(cvt_f32_u32, 'r', "cvt.rn.f32.u32 %ro, %ra;", bits(u(a)))                                              \
    X(cvt_f32_u16, 'r', "cvt.rn.f32.u16 %ro, %ha;", bits((uint16_t)a))                                       \
    X(cvt_f32_u64, 'r', "shr.u64 %la, %la, 11; cvt.rn.f32.u64 %ro, %la;", bits((double)(a >> 11)))           \
    X(cvt_s64_s32, 'l', "cvt.s64.s32 %lo, %ra;", (uint64_t)s(a))                                             \
    X(cvt_u64_u32, 'l', "cvt.u64.u32 %lo, %ra;", u(a))                                                       \
    X(cvt_s32_s8, 'r', "cvt.s32.s8 %ro, %ra;", u((uint64_t)(int8_t)a))                                       \
    X(cvt_s16_s8, 'h', "cvt.s16.s8 %ho, %ha;", (uint16_t)(int8_t)a)                                          \
    X(cvt_u8_in_32, 'r', "cvt.u8.u32 %ro, %ra;", a & 255)                                                    \
    X(cvt_s8_in_32, 'r', "cvt.s8.s32 %ro, %ra;", u((uint64_t)(int8_t)a))                                     \
    X(cvt_f16, 'h', "cvt.rn.f16.f32 %ho, %ra;", nearest_half(f(a)))                                          \
    X(cvt_f16_back, 'r',                                                                                     \
      "cvt.rn.f16.f32 %ho, %ra; cvt.f32.f16 %ro, %ho; cvt.rn.f16.f32 %ho, %ro; cvt.u32.u16 %ro, %ho;",       \
      nearest_half(f(a)))                                                                                    \
    X(cvt_bf16, 'h', "cvt.rn.bf16.f32 %ho, %ra;",                                                            \
      f(a) != f(a) ? 0x7fff : (u(a) + 0x7fff + (a >> 16 & 1)) >> 16 & 0xffff)                                \
    X(setp_lt_s32, 'p', "setp.lt.s32 %po, %ra, %rb;", s(a) < s(b))                                           \
    X(setp_lt_u32, 'p', "setp.lt.u32 %po, %ra, %rb;", u(a) < u(b))                                           \
    X(setp_ge_s16, 'p', "setp.ge.s16 %po, %ha, %hb;", sh(a) >= sh(b))                                        \
    X(setp_hi_u64, 'p', "setp.hi.u64 %po, %la, %lb;", a > b)                                                 \
    X(setp_gt_s64, 'p', "setp.gt.s64 %po, %la, %lb;", sl(a) > sl(b))                                         \
    X(setp_eq_b32, 'p', "setp.eq.b32 %po, %ra, %rb;", u(a) == u(b))                                          \
    X(setp_ne_and, 'p', "setp.ne.and.s32 %po, %ra, %rb, %pc;", u(a) != u(b) && (c & 1))                      \
    X(setp_lt_or, 'p', "setp.lt.or.f32 %po, %ra, %rb, %pc;", f(a) < f(b) || (c & 1))                         \
    X(setp_lt_f32, 'p', "setp.lt.f32 %po, %ra, %rb;", f(a) < f(b))                                           \
    X(setp_ne_f32, 'p', "setp.ne.f32 %po, %ra, %rb;", f(a) < f(b) || f(a) > f(b))                            \
    X(setp_neu_f32, 'p', "setp.neu.f32 %po, %ra, %rb;", f(a) != f(b))                                        \
    X(setp_equ_f32, 'p', "setp.equ.f32 %po, %ra, %rb;", !(f(a) < f(b)) && !(f(a) > f(b)))                    \
    X(setp_leu_f32, 'p', "setp.leu.f32 %po, %ra, %rb;", !(f(a) > f(b)))                                      \
    X(setp_nan_f32, 'p', "setp.nan.f32 %po, %ra, %rb;", f(a) != f(a) || f(b) != f(b))                        \
    X(selp_b32, 'r', "selp.b32 %ro, %ra, %rb, %pc;", c & 1 ? u(a) : u(b))                                    \
    X(selp_f32, 'r', "selp.f32 %ro, 0f3F800000, %rb, %pc;", c & 1 ? 0x3f800000 : u(b))                       \
    X(mov_pack, 'l', "mov.b64 %lo, {%ra, %rb};", u(a) | b << 32)                                             \
    X(mov_unpack, 'r', "mov.b64 {%rx0, %rx1}, %la; sub.s32 %ro, %rx0, %rx1;", u(a - (a >> 32)))              \
    X(mov_unpack_b32, 'h', "{ mov.b32 {%ha, %hb}, %rc; sub.s16 %ho, %ha, %hb; }",                            \
      (uint16_t)(c - (u(c) >> 16)))                                                                          \
    X(guard, 'r', "mov.u32 %ro, 1; @%pa mov.u32 %ro, 2; @!%pb add.s32 %ro, %ro, 8;",                         \
      (a & 1 ? 2 : 1) + (b & 1 ? 0 : 8))

#define FUNCTION(name, result, text, expression)                                                             \
    static uint64_t expect_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d)                            \
    {                                                                                                        \
        (void)a, (void)b, (void)c, (void)d;                                                                  \
        return (uint64_t)(expression);                                                                       \
    }
CASES(FUNCTION)

static const struct op_case {
    const char *name, *statements;
    char result;
    uint64_t (*expect)(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
} cases[] = {
#define ROW(name, result, text, expression) {#name, text, result, expect_##name},
    CASES(ROW)};

/* All pairs of what lies at the ends first; then random bits, those of a float of some size, and the ends
 * again. */
static uint64_t draw_value(uint32_t round, uint32_t lane, uint32_t operand)
{
    static const uint64_t ends[] = {
        0,          1,          UINT64_MAX, 0x80000000, 0x7fffffff, UINT64_C(1) << 63, 0x7f800000, 0xff800000,
        0x7fc00000, 0x3f800000, 0x00000001, 0x80000001, 0x4f000000, 0xcf000000,        0x4f800000, 0x3f000000,
        0x477ff000, 0x33000000, 0x8000,     0x7fff,     0x007fffff};
    enum { ENDS = sizeof ends / sizeof ends[0] };
    const stk__random draw =
        stk__random_draw((stk__random_at){.seed = 3, .sample = round, .draw = lane, .operation = operand});
    const uint32_t pair = round * PTX_LANES + lane;
    if (pair < ENDS * ENDS && operand < 2) return ends[operand ? pair / ENDS : pair % ENDS];
    if (draw.word[0] % 3 == 0) return ends[draw.word[1] % ENDS];
    if (draw.word[0] % 3 == 1) return (uint64_t)draw.word[1] << 32 | draw.word[2];
    const uint32_t exponent = 110 + draw.word[1] % 40; /* floats from 2^-17 to 2^22 */
    return (draw.word[2] & 0x807fffff) | exponent << 23;
}

enum { ROUNDS = 40 };

static void instructions_are_what_c_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t round = 0; round < ROUNDS; round++) {
            ptx_one one = {0};
            stk_error error = {0};
            const ptx_one_text text = {.statements = cases[i].statements, .result = cases[i].result};
            for (uint32_t lane = 0; lane < PTX_LANES; lane++)
                for (uint32_t o = 0; o < 4; o++)
                    one.in[o][lane] = draw_value(round, lane, o);
            if (ptx_one_run(&one, &text, &error) != STK_OK) fail_msg("%s: %s", cases[i].name, error.message);
            for (uint32_t l = 0; l < PTX_LANES; l++) {
                const uint64_t expected =
                    cases[i].expect(one.in[0][l], one.in[1][l], one.in[2][l], one.in[3][l]);
                if (one.out[l] != expected)
                    fail_msg("%s of %llx, %llx, %llx: %llx instead of %llx", cases[i].name,
                             (unsigned long long)one.in[0][l], (unsigned long long)one.in[1][l],
                             (unsigned long long)one.in[2][l], (unsigned long long)one.out[l],
                             (unsigned long long)expected);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instructions_are_what_c_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
