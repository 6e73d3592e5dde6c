/* SPDX-License-Identifier: Apache-2.0 */
/* What the losses of the engine torch share. Everything stays on the device: no value is read by the host. */
#ifndef STK_ENGINE_TORCH_LOSS_H
#define STK_ENGINE_TORCH_LOSS_H

#include "engine/torch/torch_call.h"

/* Adds the sums (f64 of no dimension) of one call to y; returns what slopes of the numerator are multiplied
 * by, f64: 0 where no sample counts. */
stk__torch_handle stk__torch_finish(stk__torch_scope *scope, const stk__op_io *io,
                                    stk__torch_handle numerator, stk__torch_handle denominator);

/* [n] f32 seen as [n 1 .. 1] of ndim dimensions; NULL for NULL. */
stk__torch_handle stk__torch_per_sample(stk__torch_scope *scope, const stk__tensor *list, int ndim);
/* Values whose weight is 0 become 0, even NaN. weights may be broadcast; NULL: all stay.
 */
void stk__torch_leave_out(stk__torch_scope *scope, stk__torch_handle values, stk__torch_handle weights);

/* Smooth L1 (beta 1) of each error, and its slope. */
stk__torch_handle stk__torch_smooth(stk__torch_scope *scope, stk__torch_handle error);
stk__torch_handle stk__torch_smooth_slope(stk__torch_scope *scope, stk__torch_handle error);

/* A comparison that is an operator of two tensors: "aten::ge". */
stk__torch_handle stk__torch_compare(stk__torch_scope *scope, const char *name, stk__torch_handle values,
                                     stk__torch_handle with);
stk__torch_handle stk__torch_both(stk__torch_scope *scope, stk__torch_handle a, stk__torch_handle b);

/* Class ids in whole numbers, to be read only: where they are i64 as they lie, else a copy. */
stk__torch_handle stk__torch_ids(stk__torch_scope *scope, const stk__tensor *ids, const stk__shape *shape);

#endif
