/* SPDX-License-Identifier: Apache-2.0 */
/* A child command of monitor and doctor: started, held until watching has begun, then run to its end. */
#ifndef STK_CLI_CHILD_H
#define STK_CLI_CHILD_H

#include "cli.h"

#include "core/thread.h"

#include <sys/types.h>

typedef struct stk__child {
    pid_t pid;
    char *const *command;
    int gate;             /* a byte releases it; -1: it runs */
    int told;             /* errno of a failed exec; -1: already read */
    int status;           /* of waitpid, once it has ended */
    atomic_bool signaled; /* it got a signal, from the terminal or from here */
    stk__thread *waiter;
    void (*when_ended)(void *context); /* from the waiter's thread */
    void *context;
} stk__child;

/* Forks the child, with our standard streams, but does not run the command yet. */
stk_status stk__child_start(stk__child *child, char *const *command, stk_error *error);
/* Runs the command. From now on signals are forwarded to it: SIGTERM, and SIGINT unless it came from the
 * terminal, which sent it to both. STK_ERROR_IO with the reason: it could not be run. */
stk_status stk__child_release(stk__child *child, void (*when_ended)(void *), void *context, stk_error *error);
/* Waits for its end, however long it takes, or ends it if it never ran. Returns its exit status, or 128 + the
 * signal that killed it. */
int stk__child_finish(stk__child *child);

#endif
