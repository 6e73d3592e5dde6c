/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of classes and values. Each call first finds its own sums, then the gradient of their quotient. */
#include "engine/reference/reference.h"

#include <math.h>

double stk__reference_finish(const stk__op_io *io, const double sums[STK_LOSS_SUMS])
{
    double *y = io->y->memory;
    for (int i = 0; i < STK_LOSS_SUMS; i++)
        y[i] += sums[i];
    return sums[STK_LOSS_DENOMINATOR] > 0 ? io->grad_scale / sums[STK_LOSS_DENOMINATOR] : 0;
}

double stk__reference_listed(const stk__tensor *list, int64_t i)
{
    return list ? ((const float *)list->memory)[i] : 1;
}

int64_t stk__reference_class(const stk__op_spec *spec, const stk__tensor *target, int64_t row)
{
    const int64_t id = target->desc.dtype == STK_DTYPE_U8 ? ((const uint8_t *)target->memory)[row]
                                                          : ((const int64_t *)target->memory)[row];
    if (id < 0 || id >= spec->classes) return -1;
    return spec->ignores && id == spec->ignore_index ? -1 : id;
}

/* One prediction against its one or two targets. */
typedef struct judged {
    const float *logits; /* [classes] */
    double log_total;    /* log of the sum of all exp(logit) */
    int64_t target[2];   /* -1: left out */
    double share[2];     /* lambda x weight, (1 - lambda) x weight */
} judged;

static judged judge(const stk__op *op, const stk__op_io *io, int64_t row)
{
    const stk__op_spec *spec = &op->spec;
    const int64_t n = row / (stk__shape_count(&spec->input[0]) / spec->classes / spec->input[0].dim[0]);
    const stk__tensor *second = io->x[STK_LOSS_TARGET2];
    const double lambda = second ? stk__reference_listed(io->x[STK_LOSS_LAMBDA], n) : 1;
    const double weight = stk__reference_listed(io->x[STK_LOSS_WEIGHTS], n);
    judged j = {.logits = stk__reference_f32(io->x[0]) + row * spec->classes,
                .target = {-1, -1},
                .share = {lambda * weight, (1 - lambda) * weight}};
    if (weight != 0) j.target[0] = stk__reference_class(spec, io->x[STK_LOSS_TARGET], row);
    if (weight != 0 && second) j.target[1] = stk__reference_class(spec, second, row);
    double most = j.logits[0], total = 0;
    for (int64_t c = 1; c < spec->classes; c++)
        most = fmax(most, j.logits[c]);
    for (int64_t c = 0; c < spec->classes; c++)
        total += exp(j.logits[c] - most);
    j.log_total = most + log(total);
    return j;
}

/* What class c counts in the cross-entropy with a target: loss = sum over c of this x (log_total - logit). */
static double pull(const stk__op *op, const stk__op_io *io, int64_t target, int64_t c)
{
    const double smoothing = op->spec.label_smoothing;
    const double part = (c == target ? 1 - smoothing : 0) + smoothing / (double)op->spec.classes;
    return part * stk__reference_listed(io->x[STK_LOSS_CLASS_WEIGHTS], c);
}

static void sum_row(const stk__op *op, const stk__op_io *io, const judged *j, double sums[STK_LOSS_SUMS])
{
    for (int a = 0; a < 2; a++) {
        if (j->target[a] < 0) continue;
        double loss = 0;
        for (int64_t c = 0; c < op->spec.classes; c++)
            loss += pull(op, io, j->target[a], c) * (j->log_total - j->logits[c]);
        sums[STK_LOSS_NUMERATOR] += j->share[a] * loss;
        sums[STK_LOSS_DENOMINATOR] +=
            j->share[a] * stk__reference_listed(io->x[STK_LOSS_CLASS_WEIGHTS], j->target[a]);
    }
}

static void slope_row(const stk__op *op, const stk__op_io *io, const judged *j, double factor, float *dx)
{
    const int64_t classes = op->spec.classes;
    double all[2] = {0}; /* sum of the pulls of a target */
    for (int a = 0; a < 2; a++)
        for (int64_t c = 0; c < classes && j->target[a] >= 0; c++)
            all[a] += pull(op, io, j->target[a], c);
    for (int64_t c = 0; c < classes; c++) {
        const double probability = exp(j->logits[c] - j->log_total);
        double slope = 0;
        for (int a = 0; a < 2; a++)
            if (j->target[a] >= 0)
                slope += j->share[a] * (all[a] * probability - pull(op, io, j->target[a], c));
        dx[c] = (float)(slope * factor);
    }
}

static void cross_entropy_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t classes = op->spec.classes, rows = stk__shape_count(&op->spec.input[0]) / classes;
    float *dx = stk__reference_dx(io, 0);
    double sums[STK_LOSS_SUMS] = {0};
    for (int64_t row = 0; row < rows; row++) {
        const judged j = judge(op, io, row);
        sum_row(op, io, &j, sums);
    }
    const double factor = stk__reference_finish(io, sums);
    for (int64_t row = 0; dx && row < rows; row++) {
        const judged j = judge(op, io, row);
        slope_row(op, io, &j, factor, dx + row * classes);
    }
}

static double value_loss(stk__op_kind kind, double error)
{
    if (kind == STK_OP_L1) return fabs(error);
    if (kind == STK_OP_MSE) return error * error;
    return stk__reference_smooth_l1(error);
}

static double value_slope(stk__op_kind kind, double error)
{
    if (kind == STK_OP_L1) return (error > 0) - (error < 0);
    if (kind == STK_OP_MSE) return 2 * error;
    return stk__reference_smooth_l1_slope(error);
}

static void values_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t n = op->spec.input[0].dim[0];
    const float *x = stk__reference_f32(io->x[0]), *target = stk__reference_f32(io->x[STK_LOSS_TARGET]);
    float *dx = stk__reference_dx(io, 0);
    double sums[STK_LOSS_SUMS] = {0};
    for (int64_t i = 0; i < n; i++) {
        const double weight = stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i);
        if (weight == 0) continue; /* even if there is no number in it */
        sums[STK_LOSS_NUMERATOR] += weight * value_loss(op->spec.kind, (double)x[i] - target[i]);
        sums[STK_LOSS_DENOMINATOR] += weight;
    }
    const double factor = stk__reference_finish(io, sums);
    for (int64_t i = 0; dx && i < n; i++) {
        const double weight = stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i);
        dx[i] = 0;
        if (weight != 0)
            dx[i] = (float)(factor * weight * value_slope(op->spec.kind, (double)x[i] - target[i]));
    }
}

static double bce_loss(double x, double t)
{
    return fmax(x, 0) - x * t + log1p(exp(-fabs(x)));
}

static double sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static void bce_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t classes = op->spec.classes, count = op->spec.input[0].dim[0] * classes;
    const float *x = stk__reference_f32(io->x[0]), *target = stk__reference_f32(io->x[STK_LOSS_TARGET]);
    float *dx = stk__reference_dx(io, 0);
    double sums[STK_LOSS_SUMS] = {0};
    for (int64_t i = 0; i < count; i++) {
        const double weight = stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i / classes);
        if (weight == 0) continue;
        sums[STK_LOSS_NUMERATOR] += weight * bce_loss(x[i], target[i]);
        sums[STK_LOSS_DENOMINATOR] += weight;
    }
    const double factor = stk__reference_finish(io, sums);
    for (int64_t i = 0; dx && i < count; i++) {
        const double weight = stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i / classes);
        dx[i] = 0;
        if (weight != 0) dx[i] = (float)(factor * weight * (sigmoid(x[i]) - target[i]));
    }
}

const stk__reference_kernel stk__reference_bce = {bce_forward, NULL, NULL};
const stk__reference_kernel stk__reference_cross_entropy = {cross_entropy_forward, NULL, NULL};
const stk__reference_kernel stk__reference_values = {values_forward, NULL, NULL};
