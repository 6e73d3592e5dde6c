/* SPDX-License-Identifier: Apache-2.0 */
/* What people see of a run: the block before step 1, the progress line, a line per evaluation, and at the end
 * where the time went and what would help most. */
#ifndef STK_CLI_TRAIN_OUTPUT_H
#define STK_CLI_TRAIN_OUTPUT_H

#include "cli.h"

#include "session/train_session.h"

typedef struct stk__train_output {
    stk__train_session *train;
    stk__progress progress;
    uint64_t shown_epoch; /* the progress line is of this one, counted from 1; 0: none */
} stk__train_output;

void stk__train_output_beginning(const stk__train_output *output);
stk_status stk__train_output_plan(const stk__train_output *output, stk_error *error); /* --plan */
stk__run_watch stk__train_output_watch(stk__train_output *output); /* lives as long as the run */
void stk__train_output_end(stk__train_output *output);

#endif
