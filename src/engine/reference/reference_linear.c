/* SPDX-License-Identifier: Apache-2.0 */
/* Linear over the last dimension: y [rows, channels] = x [rows, in] weight' [in, channels] + bias. */
#include "engine/reference/reference.h"

static void linear_forward(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows in = stk__reference_split(&op->spec.input[0]);
    const int64_t channels = op->spec.channels;
    const float *x = stk__reference_f32(io->x[0]), *weight = stk__reference_f32(io->param[0]);
    const float *bias = op->spec.no_bias ? NULL : stk__reference_f32(io->param[1]);
    float *y = stk__reference_f32(io->y);
    for (int64_t row = 0; row < in.rows; row++)
        for (int64_t o = 0; o < channels; o++) {
            double sum = bias ? bias[o] : 0;
            for (int64_t i = 0; i < in.c; i++)
                sum += (double)x[row * in.c + i] * weight[o * in.c + i];
            y[row * channels + o] = (float)sum;
        }
}

static void learn_weight(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows in = stk__reference_split(&op->spec.input[0]);
    const int64_t channels = op->spec.channels;
    const float *x = stk__reference_f32(io->x[0]), *dy = stk__reference_f32(io->dy);
    float *dweight = stk__reference_dparam(io, 0);
    if (!dweight) return;
    for (int64_t o = 0; o < channels; o++)
        for (int64_t i = 0; i < in.c; i++) {
            double sum = 0;
            for (int64_t row = 0; row < in.rows; row++)
                sum += (double)x[row * in.c + i] * dy[row * channels + o];
            stk__reference_learn(io, &dweight[o * in.c + i], sum);
        }
}

static void linear_backward(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows in = stk__reference_split(&op->spec.input[0]);
    const int64_t channels = op->spec.channels;
    const float *weight = stk__reference_f32(io->param[0]), *dy = stk__reference_f32(io->dy);
    float *dx = stk__reference_dx(io, 0);
    for (int64_t row = 0; dx && row < in.rows; row++)
        for (int64_t i = 0; i < in.c; i++) {
            double sum = 0;
            for (int64_t o = 0; o < channels; o++)
                sum += (double)dy[row * channels + o] * weight[o * in.c + i];
            dx[row * in.c + i] = (float)sum;
        }
    learn_weight(op, io);
    stk__reference_learn_bias(op, io);
}

const stk__reference_kernel stk__reference_linear = {linear_forward, linear_backward, NULL};
