/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts of a run, besides run.json: a trace of some steps, predictions for a few samples, and the report
 * that shows it all. */
#ifndef STK_SESSION_RUN_ARTIFACTS_H
#define STK_SESSION_RUN_ARTIFACTS_H

#include "session/run_predictions.h"
#include "train/run.h"

enum { STK_TRACE_MOST_STEPS = 1000 };

typedef struct stk__run_artifacts { /* open/close; zeroed: nothing to close */
    const stk__session *session;
    stk__trace trace; /* without room: none was asked for */
    int64_t trace_steps;
    stk__run_predictions predictions;
    bool too_short; /* there is no trace.json: the run ended before step STK_RUN_UNTRACED + 1 */
} stk__run_artifacts;

/* Makes room for the trace (trace_steps 0: none) and begins to look at what is evaluated. */
stk_status stk__run_artifacts_open(stk__run_artifacts *artifacts, const stk__session *session,
                                   int64_t trace_steps, stk_error *error);
void stk__run_artifacts_close(stk__run_artifacts *artifacts);

/* For the run: where its trace goes; NULL: nowhere. */
stk__trace *stk__run_artifacts_trace(stk__run_artifacts *artifacts);

/* Writes trace.json, predictions.* and report.html; run.json is there already. Sets too_short; trace.lost has
 * the spans for which there was no room. */
stk_status stk__run_artifacts_write(stk__run_artifacts *artifacts, stk__run *run, stk_error *error);

#endif
