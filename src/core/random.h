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
    STK_OPERATION_HORIZONTAL_FLIP = 65,
    STK_OPERATION_VERTICAL_FLIP = 66,
    STK_OPERATION_ROTATION = 67,
    STK_OPERATION_SCALE = 68,
    STK_OPERATION_TRANSLATE = 69,
    STK_OPERATION_SHEAR = 70,
    STK_OPERATION_CROP = 71,
    STK_OPERATION_JITTER = 72, /* whether at all, and in which order */
    STK_OPERATION_BRIGHTNESS = 73,
    STK_OPERATION_CONTRAST = 74,
    STK_OPERATION_SATURATION = 75,
    STK_OPERATION_HUE = 76,
    STK_OPERATION_GRAY = 77,
    STK_OPERATION_GAMMA = 78,
    STK_OPERATION_BLUR = 79,
    STK_OPERATION_NOISE = 80,
    STK_OPERATION_ERASE = 81,
    STK_OPERATION_MIXUP = 82,
    STK_OPERATION_CUTMIX = 83
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
