/* SPDX-License-Identifier: Apache-2.0 */
/* The augmentation of a whole batch on the CPU: its samples are divided over the process's pool. */
#ifndef STK_DEVICE_AUGMENT_BATCH_H
#define STK_DEVICE_AUGMENT_BATCH_H

#include "core/pool.h"
#include "device/cpu/augment.h"

/* The workers and their memory, which only grows. All zero: the fastest level that is allowed on all
 * CPUs of the budget. Used by one caller at a time. */
typedef struct stk__augment_crew {
    stk__augment_kernel kernel; /* NULL: of the stk__device_cpu_level */
    int workers;                /* 0: the CPU budget */
    stk__buffer scratch[STK_POOL_WORKERS];
    stk__buffer order; /* in which samples are handed out */
} stk__augment_crew;

void stk__augment_crew_fini(stk__augment_crew *crew);

/* The same bytes for every level and number of workers. A sample without pixels (w is 0) gets nothing
 * but fill and mask_fill. Fails only when out of memory. */
stk_status stk__augment_batch_run(const stk__augment_batch *batch, stk__augment_crew *crew, stk_error *error);

#endif
