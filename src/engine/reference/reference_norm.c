/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm and affine, both over the last dimension. */
#include "engine/reference/reference.h"

#include <math.h>

/* saved: [c] of these; the statistics that the forward pass divided by. */
typedef struct moments {
    double mean, inverse_std;
} moments;

static stk__op_needs norm_needs(const stk__op *op)
{
    return (stk__op_needs){.saved_bytes =
                               (size_t)stk__reference_split(&op->spec.input[0]).c * sizeof(moments)};
}

/* Mean and variance (not the unbiased one) of one channel of this batch. */
static void measure(const stk__reference_rows *in, const float *x, int64_t c, double *mean, double *variance)
{
    double sum = 0, squares = 0;
    for (int64_t row = 0; row < in->rows; row++)
        sum += x[row * in->c + c];
    *mean = sum / (double)in->rows;
    for (int64_t row = 0; row < in->rows; row++) {
        const double away = x[row * in->c + c] - *mean;
        squares += away * away;
    }
    *variance = squares / (double)in->rows;
}

/* PyTorch refuses to train on a single value per channel; here its variance counts as 0. */
static void track(const stk__op *op, const stk__op_io *io, int64_t c, double mean, double variance)
{
    const int64_t rows = stk__reference_split(&op->spec.input[0]).rows;
    const double momentum = op->spec.momentum;
    const double unbiased = rows > 1 ? variance * (double)rows / (double)(rows - 1) : variance;
    float *running_mean = stk__reference_f32(io->buffer[0]), *running_var = stk__reference_f32(io->buffer[1]);
    running_mean[c] = (float)((1 - momentum) * running_mean[c] + momentum * mean);
    running_var[c] = (float)((1 - momentum) * running_var[c] + momentum * unbiased);
}

static moments find_moments(const stk__op *op, const stk__op_io *io, int64_t c)
{
    const stk__reference_rows in = stk__reference_split(&op->spec.input[0]);
    double mean = stk__reference_f32(io->buffer[0])[c], variance = stk__reference_f32(io->buffer[1])[c];
    if (io->training) measure(&in, stk__reference_f32(io->x[0]), c, &mean, &variance);
    if (io->training && !io->again) track(op, io, c, mean, variance);
    return (moments){mean, 1 / sqrt(variance + op->spec.eps)};
}

static float normalise(const stk__op_io *io, const moments *m, int64_t c, float x)
{
    const double normal = (x - m->mean) * m->inverse_std;
    return (float)(normal * stk__reference_f32(io->param[0])[c] + stk__reference_f32(io->param[1])[c]);
}

/* dy, or what a relu behind lets through of it */
static double slope_behind(const stk__op *op, const stk__op_io *io, const moments *m, int64_t at)
{
    const int64_t c = at % stk__reference_split(&op->spec.input[0]).c;
    const bool stopped = op->spec.relu && !(normalise(io, m, c, stk__reference_f32(io->x[0])[at]) > 0);
    return stopped ? 0 : stk__reference_f32(io->dy)[at];
}

static void norm_forward(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows in = stk__reference_split(&op->spec.input[0]);
    const float *x = stk__reference_f32(io->x[0]);
    float *y = stk__reference_f32(io->y);
    for (int64_t c = 0; c < in.c; c++) {
        const moments m = find_moments(op, io, c);
        ((moments *)io->saved->memory)[c] = m;
        for (int64_t at = c; at < in.rows * in.c; at += in.c) {
            y[at] = normalise(io, &m, c, x[at]);
            if (op->spec.relu && y[at] < 0) y[at] = 0;
        }
    }
    if (io->training && !io->again) ++*(int64_t *)io->buffer[2]->memory;
}

static void norm_backward(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows in = stk__reference_split(&op->spec.input[0]);
    const double rows = (double)in.rows;
    const float *x = stk__reference_f32(io->x[0]);
    const float *weight = stk__reference_f32(io->param[0]);
    float *dx = stk__reference_dx(io, 0);
    float *dweight = stk__reference_dparam(io, 0), *dbias = stk__reference_dparam(io, 1);
    for (int64_t c = 0; c < in.c; c++) {
        const moments m = ((const moments *)io->saved->memory)[c];
        double sum = 0, product = 0; /* of dy, and of dy with the normalised x */
        for (int64_t at = c; at < in.rows * in.c; at += in.c) {
            const double dy = slope_behind(op, io, &m, at);
            sum += dy;
            product += dy * (x[at] - m.mean) * m.inverse_std;
        }
        if (dbias) stk__reference_learn(io, &dbias[c], sum);
        if (dweight) stk__reference_learn(io, &dweight[c], product);
        for (int64_t at = c; dx && at < in.rows * in.c; at += in.c) {
            const double normal = (x[at] - m.mean) * m.inverse_std;
            const double through = io->training ? (sum + normal * product) / rows : 0;
            dx[at] = (float)(weight[c] * m.inverse_std * (slope_behind(op, io, &m, at) - through));
        }
    }
}

static void affine_forward(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows in = stk__reference_split(&op->spec.input[0]);
    const float *x = stk__reference_f32(io->x[0]);
    const float *scale = stk__reference_f32(io->buffer[0]), *shift = stk__reference_f32(io->buffer[1]);
    float *y = stk__reference_f32(io->y);
    for (int64_t at = 0; at < in.rows * in.c; at++)
        y[at] = (float)((double)x[at] * scale[at % in.c] + shift[at % in.c]);
}

static void affine_backward(const stk__op *op, const stk__op_io *io)
{
    const stk__reference_rows in = stk__reference_split(&op->spec.input[0]);
    const float *dy = stk__reference_f32(io->dy), *scale = stk__reference_f32(io->buffer[0]);
    float *dx = stk__reference_dx(io, 0);
    for (int64_t at = 0; dx && at < in.rows * in.c; at++)
        dx[at] = dy[at] * scale[at % in.c];
}

const stk__reference_kernel stk__reference_batch_norm = {norm_forward, norm_backward, norm_needs};
const stk__reference_kernel stk__reference_affine = {affine_forward, affine_backward, NULL};
