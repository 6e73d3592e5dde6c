/* A command that is started, waits until it is watched, and runs to its end. */
#ifndef STK_CLI_MONITOR_CHILD_H
#define STK_CLI_MONITOR_CHILD_H

#include "cli.h"

#include "core/thread.h"

#include <sys/types.h>

typedef struct stk__child {
    pid_t pid;
    char *const *command;
    int gate;   /* a byte lets it go; -1: it runs */
    int told;   /* what went wrong when it was to run; -1: known */
    int status; /* of waitpid, once it has ended */
    stk__thread *waiter;
    void (*when_ended)(void *context); /* from the waiter's thread */
    void *context;
} stk__child;

/* It is there, with our standard streams, but does not run yet. */
stk_status stk__child_start(stk__child *child, char *const *command, stk_error *error);
/* Lets it run. From now on signals that this process gets are its affair: SIGTERM is passed on, and SIGINT
 * unless it came from the terminal, which told both. STK_ERROR_IO with the reason: it could not be run. */
stk_status stk__child_release(stk__child *child, void (*when_ended)(void *), void *context, stk_error *error);
/* Waits for its end, however long it takes, or ends it if it never ran. The exit status for ours: its own, or
 * 128 + the signal that killed it. */
int stk__child_finish(stk__child *child);

#endif
