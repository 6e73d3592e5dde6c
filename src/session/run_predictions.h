/* SPDX-License-Identifier: Apache-2.0 */
/* What the network answers to a few samples of the last evaluation, kept for the report: predictions.json,
 * and predictions.png where there is something to see. */
#ifndef STK_SESSION_RUN_PREDICTIONS_H
#define STK_SESSION_RUN_PREDICTIONS_H

#include "session/eval_sheet.h"
#include "session/prediction_stats.h"
#include "train/run_folder.h"

enum { STK_PREDICTIONS_VALUES = 240, STK_PREDICTIONS_CLASSES = 12, STK_PREDICTIONS_PICTURES = 4 };

typedef struct stk__run_predictions { /* init/fini; zeroed: keeps nothing */
    stk__task task;
    const stk_loader_info *data;
    stk__eval_sheet sheet;       /* not of a regression */
    stk__prediction_stats stats; /* of all samples of the evaluation so far */
    int count;                   /* samples of the evaluation so far, as far as they are kept */
    int64_t truth_class[STK_PREDICTIONS_CLASSES], said_class[STK_PREDICTIONS_CLASSES];
    double said_share[STK_PREDICTIONS_CLASSES]; /* probability of what was said */
    double truth[STK_PREDICTIONS_VALUES], said[STK_PREDICTIONS_VALUES];
} stk__run_predictions;

/* Watches the trainer of the session from now on; without a validation part it does nothing. */
stk_status stk__run_predictions_init(stk__run_predictions *answers, const stk__session *session,
                                     stk_error *error);
void stk__run_predictions_fini(stk__run_predictions *answers);

/* Writes the files, if there was an evaluation. */
stk_status stk__run_predictions_write(stk__run_predictions *answers, stk__run_folder *folder,
                                      stk_error *error);

#endif
