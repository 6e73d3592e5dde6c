/* SPDX-License-Identifier: Apache-2.0 */
/* A session: settings in, open loaders and trainer out. Whoever wants to train or evaluate (the program, a
 * test, later Python) fills a config, opens a session on it, and reads from the config what is in effect. The
 * session prints nothing and changes nothing of the process; failures come back as a status with a hint. */
#ifndef STK_SESSION_SESSION_H
#define STK_SESSION_SESSION_H

#include "core/config.h"
#include "session/memory_plan.h"
#include "stoker/loader.h"
#include "train/checkpoint/checkpoint.h"
#include "train/trainer.h"

/* The settings of a session, for stk__config_create: data, data.val, augment, model, loss, train, optimizer,
 * run. */
enum { STK_SESSION_TABLES = 8 };
const stk__option_table *const *stk__session_tables(void);

typedef struct stk__session { /* zeroed, config set, then open and close */
    stk__config *config;      /* the caller's; texts of the settings lie in it */
    bool evaluates_only;
    const stk__feed_facts *trained; /* … what its run was trained on; NULL: unknown, then the data decides */
    bool has_checkpoint;            /* whose weights are read afterwards */
    bool started;                   /* the loaders have their slots, or have begun to allocate them */
    bool plan_only; /* `--plan`: loaders and trainer are there to be described; nothing can be loaded or
                       trained */

    /* Filled in by open; all defaults are in. */
    stk__model_settings model;
    stk__loss_settings loss;
    stk__train_settings train;
    stk__optimizer_settings optimizer;
    stk__run_settings run;
    stk_loader_options data, val_data;
    stk_loader *loader, *val_loader; /* NULL: there is no such part */
    stk__checkpoint_found weights;   /* of the run that model.weights names */
    struct stk__mask_survey *masks;  /* what was found in the training masks; NULL: nobody looked */
    stk__engine *engine;             /* until it is the trainer's */
    char device[16]; /* where batches of the training part end: "cuda:0"; empty: the host's memory */
    stk__trainer *trainer;
    stk__memory_plan plan;       /* of a session that trains */
    stk__memory_verdict verdict; /* … whether it fits */
} stk__session;

/* Puts the values of run.preset below everything that was asked for. Before anything is applied. */
stk_status stk__session_apply_preset(stk__config *config, stk_error *error);

/* Reads the settings of all sections but data; open does it too. */
stk_status stk__session_read(stk__session *session, stk_error *error);
/* Reads the settings and opens loaders and trainer; the effects are listed in the config. After a failure,
 * too, the session is to be closed. */
stk_status stk__session_open(stk__session *session, stk_error *error);
/* What a trainer is made from; without an engine, which the trainer owns. */
stk__trainer_setup stk__session_trainer_setup(const stk__session *session);

/* The number of threads that hang and were given up: memory they may still use is not freed, and the program
 * should end without waiting for them. Accepts a session that failed to open, or was closed. */
int stk__session_close(stk__session *session);

#endif
