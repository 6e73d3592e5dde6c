/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on 16-bit tensors for engines that compute in f32: the front's part of mixed precision. engine.h
 * says what comes out. In host memory the front rounds itself, elsewhere the engine does (tensor_round). */
#ifndef STK_ENGINE_HALF_OP_H
#define STK_ENGINE_HALF_OP_H

#include "engine/engine.h"

/* op has spec and form of a 16-bit operation; makes the f32 one inside and sets needs, method and half. */
stk_status stk__half_op_create(stk__op *op, stk_error *error);
void stk__half_op_destroy(stk__op *op);
bool stk__half_op_choose(stk__op *op, const char *method); /* see stk__op_choose */

stk_status stk__half_op_forward(stk__op *op, const stk__op_io *io, stk_error *error);
stk_status stk__half_op_backward(stk__op *op, const stk__op_io *io, stk_error *error);

/* Of f32 and 16-bit types, any two, in host memory. */
void stk__half_add(stk__tensor *target, const stk__tensor *source);
void stk__half_copy(stk__tensor *target, const stk__tensor *source);

#endif
