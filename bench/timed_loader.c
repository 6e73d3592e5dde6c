#include "timed_loader.h"

#include "cli.h"
#include "core/clock.h"

static stk_status take_batches(stk_loader *loader, uint64_t start, stk__bench_cost *cost, stk_error *error)
{
    stk_batch *batch;
    stk_status status;
    while ((status = stk_loader_next(loader, &batch, error)) == STK_OK) {
        if (cost->first_batch_s == 0) cost->first_batch_s = (double)(stk__clock_ns() - start) * 1e-9;
        cost->samples += (uint64_t)batch->count;
        stk_batch_release(batch);
    }
    return status == STK_END ? STK_OK : status;
}

stk_status stk__bench_drain(const stk_loader_options *options, stk__source *source, stk__bench_cost *cost,
                            stk_error *error)
{
    *cost = (stk__bench_cost){0};
    stk_loader *loader;
    const uint64_t start = stk__clock_ns();
    const double cpu = stk__cli_cpu_seconds();
    STK__TRY(stk__loader_open(&loader, &(stk__loader_setup){.options = options, .source = source}, error));
    const stk_status status = take_batches(loader, start, cost, error);
    cost->wall_s = (double)(stk__clock_ns() - start) * 1e-9;
    stk_loader_close(&loader);
    cost->cpu_s = stk__cli_cpu_seconds() - cpu;
    return status;
}
