/* What is left when a run is over, besides its numbers: a trace of some steps, answers of the network, and
 * the report that shows it all. */
#ifndef STK_CLI_TRAIN_AFTER_H
#define STK_CLI_TRAIN_AFTER_H

#include "train_answers.h"

enum { STK_TRACE_MOST_STEPS = 1000 };

typedef struct stk__train_after { /* open/close; zeroed: nothing to close */
    const stk__cli_session *session;
    stk__trace trace; /* without room: none was asked for */
    int64_t trace_steps;
    stk__train_answers answers;
} stk__train_after;

/* Makes room for the trace (trace_steps 0: none) and begins to look at what is evaluated. */
stk_status stk__train_after_open(stk__train_after *after, const stk__cli_session *session,
                                 int64_t trace_steps, stk_error *error);
void stk__train_after_close(stk__train_after *after);

/* For the run: where its trace goes; NULL: nowhere. */
stk__trace *stk__train_after_trace(stk__train_after *after);

/* Adds to run.json what the report needs besides: data, date, steps of this call, layers, the trace. */
void stk__train_after_tell(const stk__train_after *after, const stk__run *run, json_t *report);

/* Writes trace.json, predictions.* and report.html; run.json is there already. */
stk_status stk__train_after_write(stk__train_after *after, stk__run *run, stk_error *error);

#endif
