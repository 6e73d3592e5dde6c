/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a run on samples without targets: what predict opens, in three steps, so that its caller can
 * look at each before the next. */
#ifndef STK_SESSION_PREDICT_SESSION_H
#define STK_SESSION_PREDICT_SESSION_H

#include "decode/decode.h"
#include "session/predict/predict_feed.h"
#include "session/predict/predict_source.h"
#include "session/session.h"
#include "session/trained_run.h"

typedef struct stk__predict_session { /* zeroed, config of session and run of choice set; then closed */
    stk__session session;             /* its val_loader reads the inputs */
    stk__run_choice choice;

    /* Filled in. */
    stk__run_data data;          /* what the run was trained on */
    stk__task task;              /* by the data, then of the network */
    stk_loader_options filled;   /* how inputs are loaded, all defaults in */
    stk__source *source;         /* the inputs */
    stk__checkpoint_found found; /* whose weights the network has */
    stk__predict_feed feed;
} stk__predict_session;

/* Reads settings and data of the run. */
stk_status stk__predict_session_read(stk__predict_session *predict, stk_error *error);
/* Opens what is to be predicted and its loader: all of it once, in order, and what is damaged is left out.
 * facts, windows and limit_bytes of inputs are filled in here. */
stk_status stk__predict_session_open_inputs(stk__predict_session *predict, stk__predict_inputs *inputs,
                                            stk_error *error);
/* The parts of it. Options: the inputs are loaded as the validation part was, but all once, in order, and
 * what is damaged is left out. Source: opened from inputs into predict->source. Loader: opened on that. */
stk_status stk__predict_session_set_options(stk__predict_session *predict, stk_error *error);
stk_status stk__predict_session_open_source(stk__predict_session *predict, stk__predict_inputs *inputs,
                                            stk_error *error);
stk_status stk__predict_session_open_loader(stk__predict_session *predict, stk_error *error);
/* Of files, when the options are set. */
stk__limits stk__predict_session_limits(const stk__predict_session *predict);

/* Opens the network of the run; its weights come with stk__run_checkpoint_load. */
stk_status stk__predict_session_open_network(stk__predict_session *predict, stk_error *error);

/* As stk__session_close. */
int stk__predict_session_close(stk__predict_session *predict);

#endif
