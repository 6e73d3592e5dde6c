/* SPDX-License-Identifier: Apache-2.0 */
/* A run in numbers: run.json when it is over, the plan before it begins. */
#ifndef STK_SESSION_RUN_JSON_H
#define STK_SESSION_RUN_JSON_H

#include "session/run_artifacts.h"
#include "train/run.h"

/* What run.json is made of, after the last step. */
typedef struct stk__run_result {
    const stk__session *session;
    stk__run *run; /* whose step times are sorted for their median */
    const stk__run_artifacts *artifacts;
    const stk_error *failure; /* NULL: it did not fail */
    json_t *monitor; /* the judgement on GPUs that were watched: its reference is taken; NULL: none were */
} stk__run_result;

/* run.json (report/run_keys.h); the caller owns it. NULL: no memory. */
json_t *stk__run_json(const stk__run_result *result);
/* What would be computed and what memory it takes, before any step. NULL: no memory. */
json_t *stk__plan_json(const stk__session *session);

/* run.json in the folder already describes this end of the run: a resumed run had no steps left. */
bool stk__run_json_is_current(const stk__run *run);

#endif
