/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of single values: activations and dropout. */
#include "engine/reference/reference.h"

#include "engine/dropout.h"

#include <math.h>
#include <string.h>

typedef double (*curve)(double value);

static double relu(double x)
{
    return x < 0 ? 0 : x; /* NaN stays */
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double normal_share(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double gelu(double x)
{
    return x * normal_share(x);
}

/* Slopes of relu, sigmoid and tanh are those at the output, the others' at the input. */
static double relu_slope(double y)
{
    return y > 0 ? 1 : 0;
}

static double sigmoid_slope(double y)
{
    return y * (1 - y);
}

static double tanh_slope(double y)
{
    return 1 - y * y;
}

static double silu_slope(double x)
{
    return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
}

static double gelu_slope(double x)
{
    const double density = exp(-0.5 * x * x) * M_SQRT1_2 * M_2_SQRTPI / 2;
    return normal_share(x) + x * density;
}

static void map_values(const stk__op *op, const stk__op_io *io, curve value)
{
    const float *x = stk__reference_f32(io->x[0]);
    float *y = stk__reference_f32(io->y);
    for (int64_t i = 0, count = stk__shape_count(&op->form.output); i < count; i++)
        y[i] = (float)value(x[i]);
}

/* at: the tensor that the slope is a function of. */
static void map_slopes(const stk__op *op, const stk__op_io *io, const stk__tensor *at, curve slope)
{
    const float *point = stk__reference_f32(at), *dy = stk__reference_f32(io->dy);
    float *dx = stk__reference_dx(io, 0);
    for (int64_t i = 0, count = stk__shape_count(&op->form.output); dx && i < count; i++)
        dx[i] = (float)(dy[i] * slope(point[i]));
}

#define ACTIVATION(name, value, slope, at)                                                                   \
    static void name##_forward(const stk__op *op, const stk__op_io *io)                                      \
    {                                                                                                        \
        map_values(op, io, value);                                                                           \
    }                                                                                                        \
    static void name##_backward(const stk__op *op, const stk__op_io *io)                                     \
    {                                                                                                        \
        map_slopes(op, io, at, slope);                                                                       \
    }                                                                                                        \
    const stk__reference_kernel stk__reference_##name = {name##_forward, name##_backward, NULL};

ACTIVATION(relu, relu, relu_slope, io->y)
ACTIVATION(sigmoid, sigmoid, sigmoid_slope, io->y)
ACTIVATION(tanh, tanh, tanh_slope, io->y)
ACTIVATION(silu, silu, silu_slope, io->x[0])
ACTIVATION(gelu, gelu, gelu_slope, io->x[0])

/* to = from, or what the draws leave of it; both ways alike. */
static void drop(const stk__op *op, const stk__op_io *io, const float *from, float *to)
{
    const int64_t n = op->spec.input[0].dim[0], length = stk__shape_count(&op->spec.input[0]) / n;
    const stk__dropout dropout = stk__dropout_make(op->spec.drop, io->seed, io->epoch, op->spec.random_layer);
    if (!io->training) {
        memmove(to, from, (size_t)(n * length) * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < n * length; i++) {
        const int64_t id = ((const int64_t *)io->sample_ids->memory)[i / length], element = i % length;
        const stk__random draw = stk__dropout_draw(&dropout, id, (uint32_t)(element / 4));
        to[i] = from[i] * stk__dropout_factor(&dropout, draw.word[element % 4]);
    }
}

static void dropout_forward(const stk__op *op, const stk__op_io *io)
{
    drop(op, io, stk__reference_f32(io->x[0]), stk__reference_f32(io->y));
}

static void dropout_backward(const stk__op *op, const stk__op_io *io)
{
    float *dx = stk__reference_dx(io, 0);
    if (dx) drop(op, io, stk__reference_f32(io->dy), dx);
}

const stk__reference_kernel stk__reference_dropout = {dropout_forward, dropout_backward, NULL};
