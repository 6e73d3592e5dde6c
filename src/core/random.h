/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10: random numbers as a pure function of (seed, epoch, sample, operation, draw). */
#ifndef STK_CORE_RANDOM_H
#define STK_CORE_RANDOM_H

#include <stdint.h>

/* Frozen numbers: never change or reuse one, or old runs cannot be repeated. Augmentations start at 64. */
typedef enum stk__operation_id {
    STK_OPERATION_ORDER = 1,   /* permutation of an epoch */
    STK_OPERATION_SPLIT = 2,   /* train/validation split */
    STK_OPERATION_REPLACE = 3, /* substitute of a bad sample */
    STK_OPERATION_BLOCK = 4,   /* permutation inside a block */
    /* generated data sets: 16 to 31 */
    STK_OPERATION_MAKE_NOISE = 16,
    STK_OPERATION_MAKE_FACES = 17,
    STK_OPERATION_MAKE_CAPTCHA = 18,
    STK_OPERATION_MAKE_GRAY = 19,
    STK_OPERATION_MAKE_SERIES = 20,
    /* augmentation: from 64 on */
    STK_OPERATION_NOISE_PIXELS = 64,
    /* 65 to 127: one for each line of src/augment/operations.list */
    STK_OPERATION_MIX = 128,      /* whether and how two samples are mixed */
    STK_OPERATION_WEIGHTS = 256,  /* of a network at the start; sample = number of the tensor */
    STK_OPERATION_DROPOUT = 65536 /* + number of the layer */
} stk__operation_id;

typedef struct stk__random {
    uint32_t word[4];
} stk__random;

typedef struct stk__random_at {
    uint64_t seed;
    uint32_t epoch, sample, operation, draw;
} stk__random_at;

stk__random stk__random_draw(stk__random_at at);

/* [0, 1) with 24 bits, exact in float. */
static inline float stk__random_unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Whole number below bound (> 0), bias below 2^-32 bound. */
static inline uint64_t stk__random_below(uint32_t high, uint32_t low, uint64_t bound)
{
    const uint64_t word = (uint64_t)high << 32 | low;
    return (uint64_t)(((unsigned __int128)word * bound) >> 64);
}

#endif
