/* A word of warning while something in the caller's own thread takes longer than it should. It cannot be
 * ended: a large folder may rightly take that long. */
#ifndef STK_LOADER_GUARD_H
#define STK_LOADER_GUARD_H

#include "core/thread.h"

typedef struct stk__guard {
    const char *what; /* "opening 'faces'": must outlive the guard */
    double patience_s;
    stk__thread *thread;
    pthread_mutex_t lock; /* guards done */
    pthread_cond_t end;
    bool done;
} stk__guard;

stk_status stk__guard_start(stk__guard *guard, const char *what, double patience_s, stk_error *error);
void stk__guard_stop(stk__guard *guard);

#endif
