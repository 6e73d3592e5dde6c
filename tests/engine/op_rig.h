/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of one engine with all its tensors, for one trial. Checks on the way: nothing is allocated
 * while it runs, nothing is written beside the tensors, nothing is read that need not be there. */
#ifndef TESTS_ENGINE_OP_RIG_H
#define TESTS_ENGINE_OP_RIG_H

#include "engine/engine.h"
#include "op_trial.h"

enum { RIG_TENSORS = 128 };

typedef struct op_rig {
    const op_trial *trial;
    stk__engine *engine;
    stk__arena *arena;
    stk__op *op;
    size_t used_bytes;
    stk__tensor *made[RIG_TENSORS]; /* everything, for the end */
    int made_count;
    stk__tensor *guard[RIG_TENSORS];
    int guard_count;
    stk__tensor *x[STK_OP_INPUTS], *dx[STK_OP_INPUTS], *param[STK_OP_PARAMS], *dparam[STK_OP_PARAMS];
    stk__tensor *buffer[STK_OP_BUFFERS], *y, *dy, *saved, *scratch, *sample_ids;
} op_rig;

void op_rig_open(op_rig *rig, stk__engine *engine, const op_trial *trial);
void op_rig_close(op_rig *rig);

/* Puts the trial's numbers in; what is to be written is filled with rubbish. */
void op_rig_load(op_rig *rig);
void op_rig_forward(op_rig *rig);
stk__op_io op_rig_io(const op_rig *rig); /* what the passes are given */
/* What the backward pass has no right to (x and y where form does not say so, scratch) is spoilt before. */
void op_rig_backward(op_rig *rig);
/* Fills what result has. */
void op_rig_fetch(op_rig *rig, op_result *result);

/* All of the above at once. */
void op_rig_run(stk__engine *engine, const op_trial *trial, op_result *result);

void rig_write(stk__tensor *tensor, const sheet *from);
void rig_read(stk__tensor *tensor, sheet *to);

/* Allocations through the library's hook so far. */
long rig_allocations(void);
void rig_count_allocations(void); /* before anything is allocated */
void rig_refuse_allocations(bool refuse);

#endif
