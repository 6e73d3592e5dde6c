/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of this process for work on whole batches: a loop over items, shared with whoever is idle. One
 * pool per process; its threads ("stk-pool-1", …) start when they are first needed and then stay. */
#ifndef STK_CORE_POOL_H
#define STK_CORE_POOL_H

#include <stddef.h>

enum { STK_POOL_WORKERS = 64 }; /* at most, the caller included */

typedef struct stk__pool_job {
    /* Any thread, any order, each item once. worker is below the limit and no two threads have the same at
     * one time: an index into memory of the job's own. */
    void (*run)(void *context, size_t item, int worker);
    void *context;
    size_t count; /* items 0 … count-1 */
    int workers;  /* at most so many threads, the caller included; 0: the CPU budget */
} stk__pool_job;

/* Returns when every item is done. The caller works too, so it also works where no thread can be started; a
 * call from inside a job runs on its own thread alone. Several threads may call at once and share the pool.
 * Nothing is allocated once the threads are there. Returns how many threads could take part. */
int stk__pool_run(const stk__pool_job *job);

/* How many workers 0 stands for: the CPU budget, read once. */
int stk__pool_default_workers(void);

/* Ends the threads, for leak checkers and tests; the next run starts them again. Not while a job runs. */
void stk__pool_stop(void);

#endif
