/* SPDX-License-Identifier: Apache-2.0 */
/* How rows of the tables are written: a C expression over a, b, c and d, typed, for every lane in the mask.
 */
#ifndef PTX_LANES_H
#define PTX_LANES_H

#include "ptx/ptx_code.h"

#include <string.h>

typedef uint8_t type_u8, type_b8;
typedef int8_t type_s8;
typedef uint16_t type_u16, type_b16;
typedef int16_t type_s16;
typedef uint32_t type_u32, type_b32;
typedef int32_t type_s32;
typedef uint64_t type_u64, type_b64;
typedef int64_t type_s64;
typedef float type_f32;
typedef bool type_pred;

/* From and to a register, whose other bits are 0. */
#define PTX_ACCESS(type, bits)                                                                               \
    static inline type_##type get_##type(uint64_t r)                                                         \
    {                                                                                                        \
        return (type_##type)r;                                                                               \
    }                                                                                                        \
    static inline uint64_t put_##type(type_##type v)                                                         \
    {                                                                                                        \
        return (uint##bits##_t)v;                                                                            \
    }
PTX_ACCESS(u8, 8)
PTX_ACCESS(s8, 8)
PTX_ACCESS(u16, 16)
PTX_ACCESS(s16, 16)
PTX_ACCESS(b16, 16)
PTX_ACCESS(u32, 32)
PTX_ACCESS(s32, 32)
PTX_ACCESS(b32, 32)
PTX_ACCESS(u64, 64)
PTX_ACCESS(s64, 64)
PTX_ACCESS(b64, 64)

static inline bool get_pred(uint64_t r)
{
    return r != 0;
}

static inline uint64_t put_pred(bool v)
{
    return v;
}

static inline float get_f32(uint64_t r)
{
    const uint32_t bits = (uint32_t)r;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Arithmetic has one NaN on a GPU. */
static inline uint64_t put_f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return v != v ? 0x7fffffffu : bits;
}

#define PTX_EACH_LANE(mask)                                                                                  \
    for (uint32_t rest_ = (mask), lane = 0; rest_ && (lane = (uint32_t)__builtin_ctz(rest_), true);          \
         rest_ &= rest_ - 1)

/* op_NAME computes expr of type D; operands of types A, B, C, E are a, b, c, d. */
#define PTX_BEGIN(name, D, A)                                                                                \
    static void op_##name(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)                          \
    {                                                                                                        \
        PTX_EACH_LANE(mask)                                                                                  \
        {                                                                                                    \
            const type_##A a = get_##A(warp->reg[at->slot[1]][lane]);
#define PTX_TAKE(type, name, i) const type_##type name = get_##type(warp->reg[at->slot[i]][lane]);
#define PTX_FINISH(D, expr)                                                                                  \
    warp->reg[at->slot[0]][lane] = put_##D((type_##D)(expr));                                                \
    }                                                                                                        \
    }

#define PTX_OP1(name, D, A, expr)    PTX_BEGIN(name, D, A) PTX_FINISH(D, expr)
#define PTX_OP2(name, D, A, B, expr) PTX_BEGIN(name, D, A) PTX_TAKE(B, b, 2) PTX_FINISH(D, expr)
#define PTX_OP3(name, D, A, B, C, expr)                                                                      \
    PTX_BEGIN(name, D, A) PTX_TAKE(B, b, 2) PTX_TAKE(C, c, 3) PTX_FINISH(D, expr)
#define PTX_OP4(name, D, A, B, C, E, expr)                                                                   \
    PTX_BEGIN(name, D, A) PTX_TAKE(B, b, 2) PTX_TAKE(C, c, 3) PTX_TAKE(E, d, 4) PTX_FINISH(D, expr)

#endif
