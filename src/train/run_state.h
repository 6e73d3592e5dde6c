/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run in its checkpoints; for run.c. */
#ifndef STK_TRAIN_RUN_STATE_H
#define STK_TRAIN_RUN_STATE_H

#include "train/checkpoint/checkpoint.h"
#include "train/run.h"

enum { STK_RUN_CHECKPOINTS_BYTES = 512 };

/* Where and how; folder: memory for the path. */
stk__checkpoint_options stk__run_checkpoints(const stk__run *run, char folder[STK_RUN_CHECKPOINTS_BYTES]);
/* The caller's; NULL: no memory. */
json_t *stk__run_state_json(const stk__run *run);
/* From the newest valid checkpoint. STK_END: there is none yet. */
stk_status stk__run_resume(stk__run *run, stk_error *error);

/* The sums of the epoch that is under way, as a state has them; NULL: they begin here. */
void stk__run_resume_epoch(stk__run *run, const json_t *epoch);

#endif
