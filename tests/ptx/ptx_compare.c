/* SPDX-License-Identifier: Apache-2.0 */
/* setp: comparisons into a predicate, alone or joined with another predicate. Of floats, those that end in u
 * hold for a NaN, too. */
#include "ptx/ptx_lanes.h"

#define JOINED(name, T, holds)                                                                               \
    PTX_OP2(name##_##T, pred, T, T, holds)                                                                   \
    PTX_OP3(name##_and_##T, pred, T, T, pred, (holds) && c)                                                  \
    PTX_OP3(name##_or_##T, pred, T, T, pred, (holds) || c)

#define SAME(X, T)     X(eq, T, a == b) X(ne, T, a != b)
#define ORDER(X, T)    X(lt, T, a < b) X(le, T, a <= b) X(gt, T, a > b) X(ge, T, a >= b)
#define NATURAL(X, T)  SAME(X, T) ORDER(X, T)
#define UNSIGNED(X, T) NATURAL(X, T) X(lo, T, a < b) X(ls, T, a <= b) X(hi, T, a > b) X(hs, T, a >= b)
#define FLOATS(X, T)                                                                                         \
    X(eq, T, a == b)                                                                                         \
    X(ne, T, a<b || a> b)                                                                                    \
    ORDER(X, T)                                                                                              \
    X(equ, T, !(a < b || a > b))                                                                             \
    X(neu, T, a != b)                                                                                        \
    X(ltu, T, !(a >= b))                                                                                     \
    X(leu, T, !(a > b))                                                                                      \
    X(gtu, T, !(a <= b))                                                                                     \
    X(geu, T, !(a < b))                                                                                      \
    X(num, T, a == a && b == b)                                                                              \
    X(nan, T, a != a || b != b)

SAME(JOINED, b16)
SAME(JOINED, b32)
SAME(JOINED, b64)
NATURAL(JOINED, s16)
NATURAL(JOINED, s32)
NATURAL(JOINED, s64)
UNSIGNED(JOINED, u16)
UNSIGNED(JOINED, u32)
UNSIGNED(JOINED, u64)
FLOATS(JOINED, f32)

#define SIZE_u16 "2"
#define SIZE_s16 "2"
#define SIZE_b16 "2"
#define SIZE_u32 "4"
#define SIZE_s32 "4"
#define SIZE_b32 "4"
#define SIZE_f32 "4"
#define SIZE_u64 "8"
#define SIZE_s64 "8"
#define SIZE_b64 "8"
#define ROW(name, operands, function)                                                                        \
    {                                                                                                        \
        name, operands, op_##function, PTX_CLASS_COMPARE, PTX_STRAIGHT                                       \
    }
#define ROWS(name, T, holds)                                                                                 \
    ROW("setp." #name "." #T, "p" SIZE_##T SIZE_##T, name##_##T),                                            \
        ROW("setp." #name ".and." #T, "p" SIZE_##T SIZE_##T "p", name##_and_##T),                            \
        ROW("setp." #name ".or." #T, "p" SIZE_##T SIZE_##T "p", name##_or_##T),

const ptx_op ptx_compare_ops[] = {
    SAME(ROWS, b16) SAME(ROWS, b32) SAME(ROWS, b64) NATURAL(ROWS, s16) NATURAL(ROWS, s32) NATURAL(ROWS, s64)
        UNSIGNED(ROWS, u16) UNSIGNED(ROWS, u32) UNSIGNED(ROWS, u64) FLOATS(ROWS, f32){0},
};
