/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader costs from open to the end of its epochs. */
#ifndef STK_BENCH_TIMED_LOADER_H
#define STK_BENCH_TIMED_LOADER_H

#include "contestant.h"

#include "loader/loader_open.h"

typedef struct stk__loader_cost {
    double wall_s, cpu_s, first_batch_s;
    uint64_t samples;
} stk__loader_cost;

/* source NULL: the one that the options name. */
stk_status stk__timed_loader_run(const stk_loader_options *options, stk__source *source,
                                 stk__loader_cost *cost, stk_error *error);
/* Rate and CPU time of a sample, to the two rows of a contestant; cpu_unit_s: 1e-3 for ms/sample. */
void stk__loader_cost_add(const stk__loader_cost *cost, stk__contestant *c, double cpu_unit_s);

/* A source that has nothing: what is left of a loader on it is the loader's own cost. */
stk__source stk__bench_null_source(uint64_t count);

#endif
