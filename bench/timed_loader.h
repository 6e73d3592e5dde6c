/* What a loader costs from open to the end of its epochs. */
#ifndef STK_BENCH_DRAIN_H
#define STK_BENCH_DRAIN_H

#include "loader/loader_open.h"

typedef struct stk__bench_cost {
    double wall_s, cpu_s, first_batch_s;
    uint64_t samples;
} stk__bench_cost;

stk_status stk__bench_drain(const stk_loader_options *options, stk__source *source, stk__bench_cost *cost,
                            stk_error *error);

#endif
