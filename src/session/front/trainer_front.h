/* SPDX-License-Identifier: Apache-2.0 */
/* The public trainer (stoker/train.h): what its files share. */
#ifndef STK_SESSION_TRAINER_FRONT_H
#define STK_SESSION_TRAINER_FRONT_H

#include "session/train_session.h"
#include "stoker/train.h"

#include <pthread.h>

struct stk_trainer {
    stk__config *config;
    stk__train_session train;
    stk_trainer_callbacks callbacks;
    char *run, *settings_file; /* copies of the options' texts */
    pthread_t thread;          /* that opened it */
    bool inside;               /* a call computes: what comes now comes from its callbacks; of that thread */
    atomic_bool stop;

    /* Constant from the end of open. */
    stk_trainer_info info;
    stk_trainer_effect *effects; /* texts belong to the config */
    int effect_count;

    stk_trainer_stall_row rows[STK_STALL_ROWS];
};

/* Fills info and effects of a trainer whose session has begun. */
stk_status stk__trainer_front_describe(stk_trainer *trainer, stk_error *error);
void stk__trainer_front_progress(const stk_trainer *trainer, stk_trainer_progress *progress);
stk__run_watch stk__trainer_front_watch(stk_trainer *trainer);
void stk__trainer_front_bad_sample(void *trainer, const stk_ledger_entry *entry);

/* The thread that opened it calls. what: the function, for the message. */
stk_status stk__trainer_front_check(const stk_trainer *trainer, const char *what, stk_error *error);

#endif
