/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of random numbers for one generated sample, and a sine that is the same on every machine. */
#ifndef STK_MAKE_DICE_H
#define STK_MAKE_DICE_H

#include "core/random.h"

#include <stdbool.h>

typedef struct stk__dice {
    stk__random_at at;
    stk__random drawn;
    unsigned used; /* words of `drawn` that were handed out */
} stk__dice;

static inline stk__dice stk__dice_make(uint64_t seed, uint64_t index, uint32_t operation)
{
    return (stk__dice){{seed, (uint32_t)(index >> 32), (uint32_t)index, operation, 0}, {{0}}, 4};
}

static inline uint32_t stk__dice_word(stk__dice *dice)
{
    if (dice->used == 4) {
        dice->drawn = stk__random_draw(dice->at);
        dice->at.draw++;
        dice->used = 0;
    }
    return dice->drawn.word[dice->used++];
}

static inline float stk__dice_range(stk__dice *dice, float low, float high)
{
    return low + (high - low) * stk__random_unit(stk__dice_word(dice));
}

static inline int32_t stk__dice_below(stk__dice *dice, int32_t bound)
{
    return (int32_t)((uint64_t)stk__dice_word(dice) * (uint64_t)bound >> 32);
}

static inline bool stk__dice_chance(stk__dice *dice, float probability)
{
    return stk__random_unit(stk__dice_word(dice)) < probability;
}

/* Nearly normal: mean 0, variance 1, within ±3.5. */
static inline float stk__dice_bell(stk__dice *dice)
{
    float sum = -2;
    for (int i = 0; i < 4; i++)
        sum += stk__random_unit(stk__dice_word(dice));
    return sum * 1.7320508f;
}

/* Sine of a whole turn * `turns`, error below 1e-5. Own polynomial: the digits of libm differ by version. */
static inline float stk__turn_sin(float turns)
{
    turns -= (float)(int32_t)turns;
    if (turns < 0) turns += 1;
    float x = turns < 0.25f ? turns : turns < 0.75f ? 0.5f - turns : turns - 1;
    x *= 6.2831853f;
    const float q = x * x;
    return x * (1 - q * (0.16666667f - q * (0.0083333333f - q * (0.00019841270f - q * 0.0000027557f))));
}

static inline float stk__turn_cos(float turns)
{
    return stk__turn_sin(turns + 0.25f);
}

#endif
