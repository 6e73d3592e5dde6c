/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and metrics of values (one a sample) and of labels (one a class and sample): so few numbers that one
 * thread is best. */
#include "engine/onednn/onednn_targets.h"

#include <math.h>

static double value_loss(stk__op_kind kind, double error)
{
    const double size = fabs(error);
    if (kind == STK_OP_L1) return size;
    if (kind == STK_OP_MSE) return error * error;
    return size < 1 ? 0.5 * error * error : size - 0.5;
}

static double value_slope(stk__op_kind kind, double error)
{
    if (kind == STK_OP_MSE) return 2 * error;
    if (kind == STK_OP_SMOOTH_L1 && fabs(error) < 1) return error;
    return (error > 0) - (error < 0);
}

static void measure(const stk__op *op, const stk__op_io *io, const stk__targets *targets)
{
    const float *x = stk__floats(io->x[0]), *target = stk__floats(targets->a);
    double *y = io->y->memory;
    for (int64_t n = 0; n < op->spec.input[0].dim[0]; n++) {
        if (stk__target_weight(targets, n) == 0) continue;
        const double truth = (double)target[n], error = (double)x[n] - truth;
        const double parts[STK_METRIC_VALUE_SUMS] = {1, fabs(error), error * error, truth, truth * truth};
        for (int i = 0; i < STK_METRIC_VALUE_SUMS; i++)
            y[i] += parts[i];
    }
}

static stk_status forward_values(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const stk__targets targets = stk__targets_of(op, io);
    const stk__op_kind kind = op->spec.kind;
    const int64_t count = op->spec.input[0].dim[0];
    const float *x = stk__floats(io->x[0]), *target = stk__floats(targets.a);
    float *dx = stk__floats_at(io->dx, 0);
    if (kind == STK_OP_VALUE_ERROR) {
        measure(op, io, &targets);
        return STK_OK;
    }
    double sums[STK_LOSS_SUMS] = {0}, *y = io->y->memory;
    for (int64_t n = 0; n < count; n++) {
        const double weight = (double)stk__target_weight(&targets, n);
        if (weight == 0) continue;
        sums[STK_LOSS_NUMERATOR] += weight * value_loss(kind, (double)x[n] - (double)target[n]);
        sums[STK_LOSS_DENOMINATOR] += weight;
    }
    const double scale = sums[STK_LOSS_DENOMINATOR] > 0 ? io->grad_scale / sums[STK_LOSS_DENOMINATOR] : 0;
    for (int64_t n = 0; dx && n < count; n++) {
        const double weight = (double)stk__target_weight(&targets, n);
        dx[n] = 0;
        if (weight != 0)
            dx[n] = (float)(scale * weight * value_slope(kind, (double)x[n] - (double)target[n]));
    }
    for (int i = 0; i < STK_LOSS_SUMS; i++)
        y[i] += sums[i];
    return STK_OK;
}

static double label_loss(double x, double t)
{
    return fmax(x, 0) - x * t + log1p(exp(-fabs(x)));
}

/* exp(-|x|) is at most 1: nothing overflows. */
static double label_slope(double x, double t)
{
    const double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e) - t;
}

static void count_hits(const stk__op *op, const stk__op_io *io, const stk__targets *targets)
{
    const int64_t classes = op->spec.classes, count = op->spec.input[0].dim[0] * classes;
    const float *x = stk__floats(io->x[0]), *target = stk__floats(targets->a);
    int64_t *y = io->y->memory;
    for (int64_t i = 0; i < count; i++) {
        if (stk__target_weight(targets, i / classes) == 0) continue;
        y[0] += x[i] > 0 && target[i] > 0.5F;
        y[1] += x[i] > 0;
        y[2] += target[i] > 0.5F;
    }
}

static stk_status forward_labels(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const stk__targets targets = stk__targets_of(op, io);
    const int64_t classes = op->spec.classes, count = op->spec.input[0].dim[0] * classes;
    const float *x = stk__floats(io->x[0]), *target = stk__floats(targets.a);
    float *dx = stk__floats_at(io->dx, 0);
    if (op->spec.kind == STK_OP_LABEL_HITS) {
        count_hits(op, io, &targets);
        return STK_OK;
    }
    double sums[STK_LOSS_SUMS] = {0}, *y = io->y->memory;
    for (int64_t i = 0; i < count; i++) {
        const double weight = (double)stk__target_weight(&targets, i / classes);
        if (weight == 0) continue;
        sums[STK_LOSS_NUMERATOR] += weight * label_loss((double)x[i], (double)target[i]);
        sums[STK_LOSS_DENOMINATOR] += weight;
    }
    const double scale = sums[STK_LOSS_DENOMINATOR] > 0 ? io->grad_scale / sums[STK_LOSS_DENOMINATOR] : 0;
    for (int64_t i = 0; dx && i < count; i++) {
        const double weight = (double)stk__target_weight(&targets, i / classes);
        dx[i] = 0;
        if (weight != 0) dx[i] = (float)(scale * weight * label_slope((double)x[i], (double)target[i]));
    }
    for (int i = 0; i < STK_LOSS_SUMS; i++)
        y[i] += sums[i];
    return STK_OK;
}

const stk__onednn_kind stk__onednn_labels = {.forward = forward_labels};
const stk__onednn_kind stk__onednn_values = {.forward = forward_values};
