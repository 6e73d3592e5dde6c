/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of classes and values: counts and sums that the caller divides when it shows them. */
#include "engine/reference/reference.h"

#include <math.h>

/* The class that counts as the truth of a row; -1: none. Top_k has no ignore_index: spec.ignores is false. */
static int64_t truth_of(const stk__op *op, const stk__op_io *io, int64_t row)
{
    const stk__op_spec *spec = &op->spec;
    const int64_t n = row / (stk__shape_count(&spec->input[0]) / spec->classes / spec->input[0].dim[0]);
    const bool second = io->x[STK_LOSS_TARGET2] && stk__reference_listed(io->x[STK_LOSS_LAMBDA], n) < 0.5;
    if (stk__reference_listed(io->x[STK_LOSS_WEIGHTS], n) == 0) return -1;
    return stk__reference_class(spec, io->x[second ? STK_LOSS_TARGET2 : STK_LOSS_TARGET], row);
}

static void confusion_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t classes = op->spec.classes, rows = stk__shape_count(&op->spec.input[0]) / classes;
    int64_t *y = io->y->memory;
    for (int64_t row = 0; row < rows; row++) {
        const float *logits = stk__reference_f32(io->x[0]) + row * classes;
        const int64_t truth = truth_of(op, io, row);
        int64_t seen = 0;
        for (int64_t c = 1; c < classes; c++)
            if (logits[c] > logits[seen]) seen = c;
        if (truth >= 0) y[truth * classes + seen]++;
    }
}

/* Classes that come before the truth. NaN logits rank before the truth. */
static int64_t rank_of(const float *logits, int64_t classes, int64_t truth)
{
    int64_t rank = 0;
    for (int64_t c = 0; c < classes; c++) {
        const bool behind = c < truth ? logits[c] < logits[truth] : logits[c] <= logits[truth];
        rank += c != truth && !behind;
    }
    return rank;
}

static void top_k_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t classes = op->spec.classes, rows = stk__shape_count(&op->spec.input[0]) / classes;
    int64_t *y = io->y->memory;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t truth = truth_of(op, io, row);
        if (truth < 0) continue;
        const int64_t rank = rank_of(stk__reference_f32(io->x[0]) + row * classes, classes, truth);
        y[0] += 1;
        y[1] += rank == 0;
        y[2] += rank < 5;
    }
}

static void value_error_forward(const stk__op *op, const stk__op_io *io)
{
    const float *x = stk__reference_f32(io->x[0]), *target = stk__reference_f32(io->x[STK_LOSS_TARGET]);
    double *y = io->y->memory;
    for (int64_t i = 0; i < op->spec.input[0].dim[0]; i++) {
        if (stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i) == 0) continue;
        const double truth = target[i], error = x[i] - truth;
        y[0] += 1;
        y[1] += fabs(error);
        y[2] += error * error;
        y[3] += truth;
        y[4] += truth * truth;
    }
}

static void label_hits_forward(const stk__op *op, const stk__op_io *io)
{
    const int64_t classes = op->spec.classes;
    const float *x = stk__reference_f32(io->x[0]), *target = stk__reference_f32(io->x[STK_LOSS_TARGET]);
    int64_t *y = io->y->memory;
    for (int64_t i = 0; i < op->spec.input[0].dim[0] * classes; i++) {
        if (stk__reference_listed(io->x[STK_LOSS_WEIGHTS], i / classes) == 0) continue;
        y[0] += x[i] > 0 && target[i] > 0.5F;
        y[1] += x[i] > 0;
        y[2] += target[i] > 0.5F;
    }
}

const stk__reference_kernel stk__reference_label_hits = {label_hits_forward, NULL, NULL};
const stk__reference_kernel stk__reference_confusion = {confusion_forward, NULL, NULL};
const stk__reference_kernel stk__reference_top_k = {top_k_forward, NULL, NULL};
const stk__reference_kernel stk__reference_value_error = {value_error_forward, NULL, NULL};
