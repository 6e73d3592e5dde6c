/* SPDX-License-Identifier: Apache-2.0 */
/* A training command, or a process that already runs, watched until it ends: evidence for the rules. */
#ifndef STK_CLI_DOCTOR_WATCH_H
#define STK_CLI_DOCTOR_WATCH_H

#include "child.h"

#include "doctor/evidence.h"
#include "doctor/process_watch.h"
#include "stoker/monitor.h"

#include <limits.h>

typedef struct stk__doctor_watch {
    char *const *command; /* NULL: pid */
    int32_t pid;
    double duration_s; /* 0: to the end */

    char folder[PATH_MAX]; /* of the hook; "": none */
    stk__child child;
    int job; /* descriptor of the process --pid names; -1: none */
    stk_monitor *monitor;
    stk__process_watch *processes;
    atomic_bool ended; /* the command */
} stk__doctor_watch;

/* Runs the command, or watches the process, and fills the initialized evidence with what was seen, also when
 * it was interrupted. A failure means that there was nothing to watch. Texts and summaries in the evidence
 * live until close. */
stk_status stk__doctor_watch_run(stk__doctor_watch *watch, stk__evidence *evidence, stk_error *error);
/* Removes the hook's folder. Returns the number of threads that hang in a driver (stk_monitor_close). */
int stk__doctor_watch_close(stk__doctor_watch *watch);

#endif
