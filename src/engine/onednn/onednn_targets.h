/* SPDX-License-Identifier: Apache-2.0 */
/* What losses and metrics read beside the prediction. */
#ifndef STK_ENGINE_ONEDNN_TARGETS_H
#define STK_ENGINE_ONEDNN_TARGETS_H

#include "engine/onednn/onednn_engine.h"

typedef struct stk__targets {
    const stk__op_spec *spec;
    const stk__tensor *a, *b;                      /* first and second target; b NULL: unmixed */
    const float *lambda, *weights, *class_weights; /* NULL: 1 */
    int64_t rows;                                  /* of a sample: pixels, or 1 */
} stk__targets;

static inline stk__targets stk__targets_of(const stk__op *op, const stk__op_io *io)
{
    const stk__shape *x = &op->spec.input[0];
    return (stk__targets){
        .spec = &op->spec,
        .a = io->x[STK_LOSS_TARGET],
        .b = io->x[STK_LOSS_TARGET2],
        .lambda = io->x[STK_LOSS_TARGET2] ? stk__floats(io->x[STK_LOSS_LAMBDA]) : NULL,
        .weights = stk__floats(io->x[STK_LOSS_WEIGHTS]),
        .class_weights = stk__floats(io->x[STK_LOSS_CLASS_WEIGHTS]),
        .rows = stk__shape_count(x) / (x->dim[0] * x->dim[x->ndim - 1]),
    };
}

/* The class of a row, or -1: none, ignored. */
static inline int64_t stk__target_class(const stk__targets *targets, const stk__tensor *target, int64_t row)
{
    const int64_t id = target->desc.dtype == STK_DTYPE_U8 ? ((const uint8_t *)target->memory)[row]
                                                          : ((const int64_t *)target->memory)[row];
    const stk__op_spec *spec = targets->spec;
    const bool counts = id >= 0 && id < spec->classes && !(spec->ignores && id == spec->ignore_index);
    return counts ? id : -1;
}

static inline float stk__target_weight(const stk__targets *targets, int64_t n)
{
    return targets->weights ? targets->weights[n] : 1;
}

/* The target that counts for metrics. */
static inline const stk__tensor *stk__target_main(const stk__targets *targets, int64_t n)
{
    return targets->b && targets->lambda && targets->lambda[n] < 0.5f ? targets->b : targets->a;
}

#endif
