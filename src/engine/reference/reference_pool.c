/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of pictures [n h w c]. */
#include "engine/reference/reference.h"

#include <math.h>

typedef struct window {
    int64_t top, bottom, left, right; /* of the input, ends excluded, padding cut off */
} window;

static int64_t clamp(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

static window window_of(const stk__op_spec *spec, int64_t h, int64_t w)
{
    const int64_t top = h * spec->stride[0] - spec->pad[0], left = w * spec->stride[1] - spec->pad[1];
    const int64_t *x = spec->input[0].dim;
    return (window){clamp(top, x[1]), clamp(top + spec->kernel[0], x[1]), clamp(left, x[2]),
                    clamp(left + spec->kernel[1], x[2])};
}

static int64_t x_at(const stk__op_spec *spec, int64_t n, int64_t h, int64_t w, int64_t c)
{
    const int64_t *x = spec->input[0].dim;
    return ((n * x[1] + h) * x[2] + w) * x[3] + c;
}

typedef void (*window_function)(const stk__op *op, const stk__op_io *io, const int64_t at[4], int64_t i);

/* For each output value: its place (n, h, w, c) and number i. */
static void for_each_output(const stk__op *op, const stk__op_io *io, window_function each)
{
    const int64_t *y = op->form.output.dim;
    int64_t i = 0;
    for (int64_t n = 0; n < y[0]; n++)
        for (int64_t h = 0; h < y[1]; h++)
            for (int64_t w = 0; w < y[2]; w++)
                for (int64_t c = 0; c < y[3]; c++)
                    each(op, io, (const int64_t[]){n, h, w, c}, i++);
}

static void clear_dx(const stk__op *op, const stk__op_io *io)
{
    float *dx = stk__reference_dx(io, 0);
    for (int64_t i = 0, count = stk__shape_count(&op->spec.input[0]); i < count; i++)
        dx[i] = 0;
}

/* saved: for each output value the number of the input value it came from, i64. */
static stk__op_needs max_needs(const stk__op *op)
{
    return (stk__op_needs){.saved_bytes = (size_t)stk__shape_count(&op->form.output) * sizeof(int64_t)};
}

/* The first of equals wins; a NaN wins over everything, as in PyTorch. */
static void take_max(const stk__op *op, const stk__op_io *io, const int64_t at[4], int64_t i)
{
    const float *x = stk__reference_f32(io->x[0]);
    const window in = window_of(&op->spec, at[1], at[2]);
    int64_t best = x_at(&op->spec, at[0], in.top, in.left, at[3]);
    for (int64_t h = in.top; h < in.bottom; h++)
        for (int64_t w = in.left; w < in.right; w++) {
            const int64_t from = x_at(&op->spec, at[0], h, w, at[3]);
            if (x[from] > x[best] || isnan(x[from])) best = from;
        }
    stk__reference_f32(io->y)[i] = x[best];
    ((int64_t *)io->saved->memory)[i] = best;
}

static void give_max(const stk__op *op, const stk__op_io *io, const int64_t at[4], int64_t i)
{
    (void)op, (void)at;
    stk__reference_dx(io, 0)[((const int64_t *)io->saved->memory)[i]] += stk__reference_f32(io->dy)[i];
}

/* Padding counts as zeros: the divisor is always the whole kernel. */
static void take_mean(const stk__op *op, const stk__op_io *io, const int64_t at[4], int64_t i)
{
    const float *x = stk__reference_f32(io->x[0]);
    const window in = window_of(&op->spec, at[1], at[2]);
    double sum = 0;
    for (int64_t h = in.top; h < in.bottom; h++)
        for (int64_t w = in.left; w < in.right; w++)
            sum += x[x_at(&op->spec, at[0], h, w, at[3])];
    stk__reference_f32(io->y)[i] = (float)(sum / op->spec.kernel[0] / op->spec.kernel[1]);
}

static void give_mean(const stk__op *op, const stk__op_io *io, const int64_t at[4], int64_t i)
{
    float *dx = stk__reference_dx(io, 0);
    const window in = window_of(&op->spec, at[1], at[2]);
    const double part = (double)stk__reference_f32(io->dy)[i] / op->spec.kernel[0] / op->spec.kernel[1];
    for (int64_t h = in.top; h < in.bottom; h++)
        for (int64_t w = in.left; w < in.right; w++)
            dx[x_at(&op->spec, at[0], h, w, at[3])] += (float)part;
}

static void max_forward(const stk__op *op, const stk__op_io *io)
{
    for_each_output(op, io, take_max);
}

static void max_backward(const stk__op *op, const stk__op_io *io)
{
    if (!stk__reference_dx(io, 0)) return;
    clear_dx(op, io);
    for_each_output(op, io, give_max);
}

static void avg_forward(const stk__op *op, const stk__op_io *io)
{
    for_each_output(op, io, take_mean);
}

static void avg_backward(const stk__op *op, const stk__op_io *io)
{
    if (!stk__reference_dx(io, 0)) return;
    clear_dx(op, io);
    for_each_output(op, io, give_mean);
}

static void global_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t *dim = op->spec.input[0].dim, pixels = dim[1] * dim[2], c = dim[3];
    const float *x = stk__reference_f32(io->x[0]);
    float *y = stk__reference_f32(io->y);
    for (int64_t i = 0; i < dim[0] * c; i++) {
        double sum = 0;
        for (int64_t p = 0; p < pixels; p++)
            sum += x[(i / c * pixels + p) * c + i % c];
        y[i] = (float)(sum / (double)pixels);
    }
}

static void global_backward(const stk__op *op, const stk__op_io *io)
{
    const int64_t *dim = op->spec.input[0].dim, pixels = dim[1] * dim[2], c = dim[3];
    const float *dy = stk__reference_f32(io->dy);
    float *dx = stk__reference_dx(io, 0);
    for (int64_t i = 0; dx && i < dim[0] * pixels * c; i++)
        dx[i] = (float)(dy[i / (pixels * c) * c + i % c] / (double)pixels);
}

const stk__reference_kernel stk__reference_max_pool = {max_forward, max_backward, max_needs};
const stk__reference_kernel stk__reference_avg_pool = {avg_forward, avg_backward, NULL};
const stk__reference_kernel stk__reference_global_pool = {global_forward, global_backward, NULL};
