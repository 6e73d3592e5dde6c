/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of what stoker train prints at its end. */
#ifndef STK_CLI_TRAIN_END_H
#define STK_CLI_TRAIN_END_H

#include "session/train_session.h"

/* A line for each row of the stall table, with a bar. */
void stk__train_print_stall(stk__run *run, const stk__stall *stall);
/* Copies and kernels of a device that makes batches; nothing without one. */
void stk__train_print_device_batches(const stk__session *session);
/* A finished run was resumed. */
void stk__train_print_nothing(const stk__train_session *train);

#endif
