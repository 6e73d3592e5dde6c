/* SPDX-License-Identifier: Apache-2.0 */
/* The augmentation of a whole batch on the CPU: its samples are divided over the process's pool. */
#ifndef STK_DEVICE_AUGMENT_BATCH_H
#define STK_DEVICE_AUGMENT_BATCH_H

#include "core/pool.h"
#include "device/cpu/augment_pass.h"

/* The workers and their memory, which only grows. All zero: the fastest level that is allowed on all
 * CPUs of the budget. Used by one caller at a time. */
typedef struct stk__augment_crew {
    stk__augment_kernel kernel; /* NULL: of the stk__device_cpu_level */
    int workers;                /* 0: the CPU budget */
    stk__buffer scratch[STK_POOL_WORKERS];
    stk__buffer order; /* in which samples are handed out */
} stk__augment_crew;

/* What there is to do, when samples do not lie in one arena. */
typedef struct stk__augment_work {
    uint64_t count;
    const stk__augment_block *blocks; /* [count] */
    void *context;
    /* In any thread, before the pass of a sample: where it comes from and goes to. worker is an index into
     * memory of the context. */
    stk_status (*begin)(void *context, size_t item, int worker, stk__augment_source *source,
                        stk__augment_target *target, stk_error *error);
    /* After it; NULL: nothing. */
    void (*end)(void *context, size_t item, int worker);
} stk__augment_work;

void stk__augment_crew_fini(stk__augment_crew *crew);

/* The same bytes for every level and number of workers. A sample without pixels (w is 0) gets nothing
 * but fill and mask_fill. Fails only when out of memory. */
stk_status stk__augment_batch_run(const stk__augment_batch *batch, stk__augment_crew *crew, stk_error *error);

/* The same for samples that lie anywhere. If several fail, the error is that of the first in the batch. */
stk_status stk__augment_crew_run(const stk__augment_work *work, stk__augment_crew *crew, stk_error *error);

#endif
