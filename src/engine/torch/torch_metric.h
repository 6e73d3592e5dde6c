/* SPDX-License-Identifier: Apache-2.0 */
/* What the metrics of the engine torch share. */
#ifndef STK_ENGINE_TORCH_METRIC_H
#define STK_ENGINE_TORCH_METRIC_H

#include "engine/torch/torch_loss.h"

/* As i64 or f64. */
stk__torch_handle stk__torch_as(stk__torch_scope *scope, stk__torch_handle values, stk_dtype dtype);
/* Whether a sample counts, bool [n 1 ..] of ndim dimensions; NULL: all do. */
stk__torch_handle stk__torch_has_weight(stk__torch_scope *scope, const stk__op_io *io, int ndim);
/* Adds all values to sum i of y. */
void stk__torch_tally(stk__torch_scope *scope, const stk__op_io *io, int64_t i, stk__torch_handle values);
/* The first largest of each row, i64 [a b 1] of [a b c]; NaN is the smallest. */
stk__torch_handle stk__torch_best(stk__torch_scope *scope, stk__torch_handle values);

/* torch_metric_points.c */
stk_status stk__torch_point_error(stk__op *op, const stk__op_io *io, stk_error *error);

#endif
