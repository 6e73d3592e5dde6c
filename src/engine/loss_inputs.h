/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what a loss or metric is given; the front calls it for every engine. */
#ifndef STK_ENGINE_LOSS_INPUTS_H
#define STK_ENGINE_LOSS_INPUTS_H

#include "engine/engine.h"

/* x: [STK_LOSS_INPUTS]. STK_ERROR_ARGUMENT: a tensor is missing, or of another type or length than
 * stk__loss_input says. */
stk_status stk__loss_check(const stk__op_spec *spec, stk__tensor *const *x, stk_error *error);

#endif
