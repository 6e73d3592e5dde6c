/* SPDX-License-Identifier: Apache-2.0 */
/* Advice after a run: rules over a few facts, each with the numbers that it follows from. A rule never asks
 * for what the settings already have, and says nothing about a run that is too short to judge. */
#ifndef STK_SESSION_RUN_ADVICE_H
#define STK_SESSION_RUN_ADVICE_H

#include "session/run_json.h"

enum { STK_ADVICE_MOST = 3, STK_ADVICE_TEXT_BYTES = 320, STK_ADVICE_RULES = 11 };

typedef struct stk__advice {
    const char *id; /* of the rule */
    char text[STK_ADVICE_TEXT_BYTES];
} stk__advice;

/* What rules look at. Shares are of wall_s. */
typedef struct stk__advice_facts {
    stk__task task;
    double wall_s;
    uint64_t steps; /* of this call */
    int64_t classes;
    int32_t image_h, image_w;

    double wait_share, eval_share, checkpoint_share, optimizer_share;
    stk__stall_row slowest; /* stage of loading: read, decode or augment */
    bool made;              /* samples are generated */
    int64_t workers, cpus;  /* workers 0: loaded in the training thread */
    bool cached, in_blocks, augments, class_weights;
    int64_t eval_interval, checkpoint_interval, epochs, early_stop;
    double lr, max_grad_norm;
    uint64_t batch_size, samples, val_samples; /* batch_size: of a step, accumulated */

    bool has_val, evaluated;
    const char *metric; /* the task's first value: top1, miou, r2, error_px */
    stk__score score;   /* of the last evaluation */
    stk__trainer_log log;
    stk__run_trend trend;
    stk__prediction_stats predictions;
    const char *const *class_names; /* NULL: ids are named */
} stk__advice_facts;

/* Long enough for advice: 2 s and some steps. */
bool stk__run_is_judged(const stk__run *run);

/* The facts of a run that is over; texts are the session's. */
void stk__advice_gather(const stk__run_result *result, stk__advice_facts *facts);

/* The rules that apply, the most important first, at most STK_ADVICE_MOST; returns how many. */
int stk__advise(const stk__advice_facts *facts, stk__advice list[STK_ADVICE_MOST]);
/* Both. */
int stk__run_advise(const stk__run_result *result, stk__advice list[STK_ADVICE_MOST]);

/* One rule by its number, 0 to STK_ADVICE_RULES - 1, for tests: false: it does not apply, text is empty. */
bool stk__advice_rule(int rule, const stk__advice_facts *facts, stk__advice *advice);

#endif
