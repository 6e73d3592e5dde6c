/* SPDX-License-Identifier: Apache-2.0 */
/* Which values a dropout keeps: one formula for all engines, so that all drop the same ones. Value number
 * `element` of a sample takes word element % 4 of draw element / 4. */
#ifndef STK_ENGINE_DROPOUT_H
#define STK_ENGINE_DROPOUT_H

#include "core/random.h"

#include <math.h>
#include <stdbool.h>

typedef struct stk__dropout {
    uint64_t seed;
    uint32_t epoch, layer; /* layer: spec.random_layer */
    uint32_t threshold;    /* see stk__dropout_threshold */
    float scale;           /* of what is kept: 1 / (1 - drop) */
} stk__dropout;

/* In units of 2^-24: a word w is kept where (w >> 8) >= threshold, which is stk__random_unit(w) >= drop. */
static inline uint32_t stk__dropout_threshold(double drop)
{
    return (uint32_t)ceil(drop * 0x1p24);
}

static inline stk__dropout stk__dropout_make(double drop, uint64_t seed, uint32_t epoch, uint32_t layer)
{
    return (stk__dropout){seed, epoch, layer, stk__dropout_threshold(drop), (float)(1 / (1 - drop))};
}

/* The words of values 4 * draw … 4 * draw + 3 of a sample. */
static inline stk__random stk__dropout_draw(const stk__dropout *dropout, int64_t sample_id, uint32_t draw)
{
    return stk__random_draw((stk__random_at){.seed = dropout->seed,
                                             .epoch = dropout->epoch,
                                             .sample = (uint32_t)sample_id,
                                             .operation = (uint32_t)STK_OPERATION_DROPOUT + dropout->layer,
                                             .draw = draw});
}

/* What a value and its gradient are multiplied by: 0 or scale. */
static inline float stk__dropout_factor(const stk__dropout *dropout, uint32_t word)
{
    return (word >> 8) >= dropout->threshold ? dropout->scale : 0.0f;
}

#endif
