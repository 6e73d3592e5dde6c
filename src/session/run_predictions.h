/* SPDX-License-Identifier: Apache-2.0 */
/* What the network answers in the last evaluation, kept for the report: a few samples from all of the part,
 * the worst ones, and what was taken for what. predictions.json, and predictions.png where there is something
 * to see. */
#ifndef STK_SESSION_RUN_PREDICTIONS_H
#define STK_SESSION_RUN_PREDICTIONS_H

#include "session/confusion.h"
#include "session/sheet/eval_sheet.h"
#include "session/predict/prediction_stats.h"
#include "train/run_folder.h"

enum {
    STK_PREDICTIONS_VALUES = 240,
    STK_PREDICTIONS_CLASSES = 12,
    STK_PREDICTIONS_PICTURES = 4,
    STK_PREDICTIONS_WORST = 6
};

typedef struct stk__kept_prediction {
    int64_t id;                    /* of the sample */
    int32_t row;                   /* of the sheet, where there is one */
    double score;                  /* stk__sample_score; NAN: nothing counted */
    double truth, said;            /* classes or values */
    double probability;            /* of what was said; classes only */
    char truths[256], labels[256]; /* several labels: as texts, cut if they are longer */
} stk__kept_prediction;

typedef struct stk__run_predictions { /* init/fini; zeroed: keeps nothing */
    stk__task task;
    const stk_loader *loader;
    const stk_loader_info *data;
    stk__eval_sheet sheet; /* not of a regression: rows of samples, then of the worst ones */
    stk__confusion confusion;
    stk__prediction_stats stats; /* of all samples of the evaluation so far */
    int room, count;             /* samples of the evaluation so far, as far as they are kept */
    stk__kept_prediction samples[STK_PREDICTIONS_VALUES];
    int worst_count;
    stk__kept_prediction worst[STK_PREDICTIONS_WORST];
} stk__run_predictions;

/* Watches the trainer of the session from now on; without a validation part it does nothing. */
stk_status stk__run_predictions_init(stk__run_predictions *answers, const stk__session *session,
                                     stk_error *error);
void stk__run_predictions_fini(stk__run_predictions *answers);
/* What they take at most, also while they are written: of a session whose network has this task. */
uint64_t stk__run_predictions_bytes(const stk__session *session, stk__task task);

/* Writes the files, if there was an evaluation. */
stk_status stk__run_predictions_write(stk__run_predictions *answers, stk__run_folder *folder,
                                      stk_error *error);

#endif
