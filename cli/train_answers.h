/* What the network answers to a few samples of the last evaluation, kept for the report: predictions.json,
 * and predictions.png where there is something to see. */
#ifndef STK_CLI_TRAIN_ANSWERS_H
#define STK_CLI_TRAIN_ANSWERS_H

#include "eval_sheet.h"

enum { STK_ANSWERS_VALUES = 240, STK_ANSWERS_CLASSES = 12, STK_ANSWERS_PICTURES = 4 };

typedef struct stk__train_answers { /* init/fini; zeroed: keeps nothing */
    stk__task task;
    const stk_loader_info *data;
    stk__eval_sheet sheet; /* not of a regression */
    int count;             /* samples of the evaluation so far, as far as they are kept */
    int64_t truth_class[STK_ANSWERS_CLASSES], said_class[STK_ANSWERS_CLASSES];
    double said_share[STK_ANSWERS_CLASSES]; /* probability of what was said */
    double truth[STK_ANSWERS_VALUES], said[STK_ANSWERS_VALUES];
} stk__train_answers;

/* Watches the trainer of the session from now on; without a validation part it does nothing. */
stk_status stk__train_answers_init(stk__train_answers *answers, const stk__cli_session *session,
                                   stk_error *error);
void stk__train_answers_fini(stk__train_answers *answers);

/* Writes the files, if there was an evaluation. */
stk_status stk__train_answers_write(stk__train_answers *answers, stk__run_folder *folder, stk_error *error);

#endif
