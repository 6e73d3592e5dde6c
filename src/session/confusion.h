/* SPDX-License-Identifier: Apache-2.0 */
/* What was taken for what in an evaluation: counts [classes][classes], row = truth, column = prediction.
 * Those of masks are counted by the engine (stk__trainer_confusion), those of labels here, from predictions
 * that are looked at anyway. */
#ifndef STK_SESSION_CONFUSION_H
#define STK_SESSION_CONFUSION_H

#include "session/session.h"

#include <jansson.h>

typedef struct stk__confusion { /* init/fini; zeroed: nothing is counted */
    const stk__session *session;
    stk__task task;
    int64_t classes;
    stk__buffer counts; /* int64_t, of a classification */
    bool counted;       /* an evaluation has begun */
} stk__confusion;

/* Does nothing for tasks without classes. */
stk_status stk__confusion_init(stk__confusion *confusion, const stk__session *session, stk_error *error);
void stk__confusion_fini(stk__confusion *confusion);

/* Another batch of an evaluation; the first one begins again. Allocates nothing. */
void stk__confusion_add(stk__confusion *confusion, const stk_batch *batch, const stk_tensor *prediction);

/* The value of "evaluation" in run.json (report/run_keys.h); null: there was none, or the task has no
 * classes. */
json_t *stk__confusion_json(const stk__confusion *confusion);

#endif
