/* SPDX-License-Identifier: Apache-2.0 */
/* A training run from settings to run.json: a session, the run's folder with its ledger, recording and
 * artifacts, and the loop over epochs. In order: open, train, finish (after a failure, too), close. */
#ifndef STK_SESSION_TRAIN_SESSION_H
#define STK_SESSION_TRAIN_SESSION_H

#include "session/ledger_file.h"
#include "session/run_artifacts.h"
#include "session/run_monitor.h"
#include "session/run_start.h"
#include "session/session.h"
#include "train/run.h"

typedef struct stk__train_session { /* zeroed, then … */
    /* … set by the caller. */
    stk__session session; /* its config; plan_only */
    stk__run_start start;
    int64_t stop_after;  /* steps; 0: to the end */
    int64_t trace_steps; /* 0: no trace */
    bool no_files;       /* no folder: nothing is written, nor is there anything to finish */
    stk__run_watch watch;
    const atomic_bool *stop;                                           /* see stk__run; may be NULL */
    void (*tell_sample)(void *context, const stk_ledger_entry *entry); /* each corrupt sample; may be NULL */
    void *tell_context;

    /* Filled in. */
    stk__run_folder *folder;
    stk__buffer settings; /* config.yaml */
    stk__run run;
    stk__run_artifacts artifacts;
    stk__run_monitor *monitor;           /* NULL: none */
    stk__ledger_file ledger, val_ledger; /* one file: both add to it */
    char ledger_path[1024];
} stk__train_session;

/* Reads the settings, opens loaders and trainer; unless session.plan_only also the run's folder and all that
 * is written there. Effects are listed in the config. */
stk_status stk__train_session_open(stk__train_session *t, stk_error *error);
/* Resumes, or measures what the network wants to know of the data; then the functions of t->run (run.h) may
 * be called. Train does it if nobody has. */
stk_status stk__train_session_begin(stk__train_session *t, stk_error *error);
stk_status stk__train_session_train(stk__train_session *t, stk_error *error);

/* Writes run.json if there were steps, or if the file does not describe this end of the run yet. *report: it;
 * the caller's; NULL: nothing was written. monitor_note: why monitoring GPUs ended before the run, or empty.
 */
typedef struct stk__train_outcome {
    json_t *report;
    char monitor_note[256];
} stk__train_outcome;
stk_status stk__train_session_finish(stk__train_session *t, const stk_error *failure,
                                     stk__train_outcome *result, stk_error *error);
/* Writes trace.json, predictions and report.html, which reads run.json. */
stk_status stk__train_session_write_artifacts(stk__train_session *t, stk_error *error);

/* False: ledger.jsonl is incomplete. */
bool stk__train_session_close_ledgers(stk__train_session *t);
/* The number of threads that hang and were given up, as stk__session_close. */
int stk__train_session_close(stk__train_session *t);

#endif
