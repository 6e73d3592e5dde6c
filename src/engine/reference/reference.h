/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the reference engine: one pair of functions for each operation, on dense host memory. */
#ifndef STK_ENGINE_REFERENCE_H
#define STK_ENGINE_REFERENCE_H

#include "engine/engine.h"

/* NULL for an absent tensor. */
static inline float *stk__reference_f32(const stk__tensor *tensor)
{
    return tensor ? tensor->memory : NULL;
}

/* Where the gradient of input i goes; NULL: not wanted. */
static inline float *stk__reference_dx(const stk__op_io *io, int i)
{
    return io->dx ? stk__reference_f32(io->dx[i]) : NULL;
}

static inline float *stk__reference_dparam(const stk__op_io *io, int i)
{
    return io->dparam ? stk__reference_f32(io->dparam[i]) : NULL;
}

/* Writes the gradient of one parameter value, or adds it. */
static inline void stk__reference_learn(const stk__op_io *io, float *dparam, double gradient)
{
    *dparam = (float)(io->add_dparam ? *dparam + gradient : gradient);
}

/* The last dimension, and how many of it there are. */
typedef struct stk__reference_rows {
    int64_t rows, c;
} stk__reference_rows;

static inline stk__reference_rows stk__reference_split(const stk__shape *shape)
{
    const int64_t c = shape->dim[shape->ndim - 1];
    return (stk__reference_rows){stk__shape_count(shape) / c, c};
}

/* forward(op, io) and backward(op, io) trust what the front has checked and cannot fail. */
typedef void (*stk__reference_run)(const stk__op *op, const stk__op_io *io);

typedef struct stk__reference_kernel {
    stk__reference_run forward, backward;      /* losses and metrics: no backward */
    stk__op_needs (*needs)(const stk__op *op); /* NULL: none */
} stk__reference_kernel;

extern const stk__reference_kernel stk__reference_conv, stk__reference_conv_transpose, stk__reference_linear,
    stk__reference_batch_norm, stk__reference_affine, stk__reference_relu, stk__reference_silu,
    stk__reference_gelu, stk__reference_sigmoid, stk__reference_tanh, stk__reference_dropout,
    stk__reference_max_pool, stk__reference_avg_pool, stk__reference_global_pool, stk__reference_resize,
    stk__reference_add, stk__reference_concat, stk__reference_lstm, stk__reference_cross_entropy,
    stk__reference_values, stk__reference_bce, stk__reference_label_hits, stk__reference_points,
    stk__reference_confusion, stk__reference_top_k, stk__reference_point_error, stk__reference_value_error;

stk_status stk__reference_update(stk__engine *engine, const stk__update *update, stk_error *error);
stk_status stk__reference_average(stk__engine *engine, const stk__tensor_list *average,
                                  const stk__tensor_list *value, double decay, stk_error *error);

/* Bias of conv, conv_transpose and linear: dparam[1] from dy. */
void stk__reference_learn_bias(const stk__op *op, const stk__op_io *io);

/* Value i of a list of weights or shares; 1 without a list. */
double stk__reference_listed(const stk__tensor *list, int64_t i);

/* Adds the sums of one call of a loss to y; returns what slopes of its numerator are multiplied by. */
double stk__reference_finish(const stk__op_io *io, const double sums[STK_LOSS_SUMS]);

/* beta 1 */
double stk__reference_smooth_l1(double error);
double stk__reference_smooth_l1_slope(double error);

/* Class of one prediction, from a mask or labels; -1: none, or ignored. */
int64_t stk__reference_class(const stk__op_spec *spec, const stk__tensor *target, int64_t row);

/* Where a point lies on its heat map. */
typedef struct stk__reference_coord {
    int64_t cell;     /* y * w + x */
    double offset[2]; /* (x, y) in cells from the cell's centre */
} stk__reference_coord;

/* False: not visible, or outside. point: x, y in px, visible. */
bool stk__reference_coord_find(const stk__op_spec *spec, const float point[3], stk__reference_coord *coord);

#endif
