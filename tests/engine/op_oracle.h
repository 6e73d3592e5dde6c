/* SPDX-License-Identifier: Apache-2.0 */
/* The operations once more, in doubles and written another way than any engine: what the suite believes. */
#ifndef TESTS_ENGINE_OP_ORACLE_H
#define TESTS_ENGINE_OP_ORACLE_H

#include "op_trial.h"

/* Fills y and buffer[] of result. */
void op_oracle_forward(const op_trial *trial, op_result *result);

/* Of losses and metrics; adds to y. */
void op_oracle_judge(const op_trial *trial, double *y);

#endif
