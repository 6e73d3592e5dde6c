/* SPDX-License-Identifier: Apache-2.0 */
/* Threads with names, waits with deadlines. Nothing in Stoker waits without one. */
#ifndef STK_CORE_THREAD_H
#define STK_CORE_THREAD_H

#include "core/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A condition variable on the monotonic clock. */
stk_status stk__cond_init(pthread_cond_t *cond, stk_error *error);

/* False when deadline_ns (stk__clock_ns) passed first. */
bool stk__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns);

typedef struct stk__thread stk__thread;

typedef struct stk__thread_options {
    char name[16]; /* as in top -H */
    void (*run)(void *context);
    void *context;
    int nice; /* 0: as the caller; 1 to 19: yields to others, where the system lets threads differ */
} stk__thread_options;

stk_status stk__thread_start(stk__thread **thread, const stk__thread_options *options, stk_error *error);

/* True: it has ended and *thread is NULL. False: it still runs at deadline_ns and *thread stays. */
bool stk__thread_join(stk__thread **thread, uint64_t deadline_ns);

/* Gives up a thread that hangs: it is detached and its small control block stays allocated on purpose. */
void stk__thread_abandon(stk__thread **thread);

/* For failure tests: asked before each thread start; true makes that start fail. NULL: never. */
void stk__thread_fault_set(bool (*fault)(void));

#endif
