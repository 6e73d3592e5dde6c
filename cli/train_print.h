/* SPDX-License-Identifier: Apache-2.0 */
/* What people see of a run: the block before step 1, a bar, a line an evaluation, and at the end where the
 * time went and what would help most. */
#ifndef STK_CLI_TRAIN_PRINT_H
#define STK_CLI_TRAIN_PRINT_H

#include "train_monitor.h"
#include "verb_loader.h"

#include "train/run.h"

typedef struct stk__train_screen {
    const stk__session *session;
    stk__run *run;
    const stk__run_folder *folder;
    stk__train_monitor *monitor; /* NULL: none */
    stk__progress progress;
    uint64_t shown_epoch; /* the bar is of this one, counted from 1; 0: none */
    int lines;            /* of evaluations so far */
} stk__train_screen;

void stk__train_print_beginning(const stk__train_screen *screen);
stk__run_watch stk__train_watch(stk__train_screen *screen);
void stk__train_print_end(stk__train_screen *screen);

/* The values of a score in one line: "mIoU 0.812  F-score 0.887". */
void stk__train_print_score(FILE *file, stk__task task, const stk__score *score);

/* Checkpoints that are not valid were passed over, unless there were none; reason: of the first. */
void stk__train_print_skipped(int count, const char *reason);

#endif
