/* SPDX-License-Identifier: Apache-2.0 */
/* The timed loader: our loader from open to the end of its epochs, and the null source, with which nothing
 * but the loader's own cost is left. */
#include "timed_loader.h"

#include "core/clock.h"
#include "core/process.h"

#include <stdio.h>

static stk_status take_batches(stk_loader *loader, uint64_t start, stk__loader_cost *cost, stk_error *error)
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

stk_status stk__timed_loader_run(const stk_loader_options *options, stk__source *source,
                                 stk__loader_cost *cost, stk_error *error)
{
    *cost = (stk__loader_cost){0};
    stk_loader *loader;
    const uint64_t start = stk__clock_ns();
    const double cpu = stk__process_cpu_s();
    STK__TRY(stk__loader_open(&loader, &(stk__loader_setup){.options = options, .source = source}, error));
    const stk_status status = take_batches(loader, start, cost, error);
    cost->wall_s = (double)(stk__clock_ns() - start) * 1e-9;
    stk_loader_close(&loader);
    cost->cpu_s = stk__process_cpu_s() - cpu;
    return status;
}

void stk__loader_cost_add(const stk__loader_cost *cost, stk__contestant *c, double cpu_unit_s)
{
    stk__bench_add(&c->rows[STK_COLUMN_VALUE], (double)cost->samples / cost->wall_s);
    stk__bench_add(&c->rows[STK_COLUMN_CPU], cost->cpu_s / ((double)cost->samples * cpu_unit_s));
}

/* --- null source -------------------------------------------------------------------------------------------
 */

static stk_status null_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                             stk_error *error)
{
    (void)source;
    (void)id;
    (void)facts;
    (void)error;
    return STK_OK;
}

static void null_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "%llu", (unsigned long long)id);
}

static void null_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    (void)field;
    null_key(source, id, text, size);
}

stk__source stk__bench_null_source(uint64_t count)
{
    static const stk__source_ops ops = {
        .name = "null", .facts = null_facts, .key = null_key, .where = null_where};
    return (stk__source){.ops = &ops, .info = {.layout = "nothing", .count = count}};
}
