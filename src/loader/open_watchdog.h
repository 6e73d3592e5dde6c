/* SPDX-License-Identifier: Apache-2.0 */
/* A word of warning while something in the caller's own thread takes longer than it should. It cannot be
 * ended: a large folder may rightly take that long. */
#ifndef STK_LOADER_OPEN_WATCHDOG_H
#define STK_LOADER_OPEN_WATCHDOG_H

#include "core/thread.h"

typedef struct stk__open_watchdog {
    const char *what; /* "opening 'faces'": must outlive the watchdog */
    double patience_s;
    stk__thread *thread;
    pthread_mutex_t lock; /* guards done */
    pthread_cond_t end;
    bool done;
} stk__open_watchdog;

stk_status stk__open_watchdog_start(stk__open_watchdog *watchdog, const char *what, double patience_s,
                                    stk_error *error);
void stk__open_watchdog_stop(stk__open_watchdog *watchdog);

#endif
