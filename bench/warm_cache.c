/* SPDX-License-Identifier: Apache-2.0 */
/* Batches from a warm cache, beside a plain memcpy of as many bytes in as many threads: the second epoch of a
 * loader with data.cache is run again and again, interleaved with the copy. */
#include "warm_cache.h"

#include "timed_loader.h"

#include "core/clock.h"
#include "core/process.h"
#include "core/thread.h"
#include "device/host.h"
#include "stoker/loader.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MOST_THREADS = 64, LINE_BYTES = 64 };
enum { EPOCHS = 2 };       /* the first fills the cache, the second is measured again and again */
enum { SLOTS_IN_USE = 3 }; /* when batches are given back at once: more are there, but stay untouched */

/* Memory to copy from, like the cache, and to, like the slots: both in pieces of one sample. */
typedef struct copying {
    stk__host_memory from, to;
    size_t sample_bytes;
    size_t stride_bytes; /* a line more: addresses that agree in their last 12 bits are slower to copy */
    uint64_t count, places;
    atomic_uint_fast64_t next;
} copying;

static void copy_samples(void *argument)
{
    copying *c = argument;
    for (uint64_t i; (i = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed)) < c->count;)
        memcpy(c->to.data + i % c->places * c->sample_bytes, c->from.data + i * c->stride_bytes,
               c->sample_bytes);
}

static stk_status copy_all(copying *c, int threads, stk__loader_cost *cost, stk_error *error)
{
    stk__thread *running[MOST_THREADS] = {0};
    const stk__thread_options options = {.name = "copy", .run = copy_samples, .context = c};
    const uint64_t start = stk__clock_ns();
    const double cpu = stk__process_cpu_s();
    stk_status status = STK_OK;
    atomic_store(&c->next, 0);
    for (int i = 0; i < threads && status == STK_OK; i++)
        status = stk__thread_start(&running[i], &options, error);
    for (int i = 0; i < threads; i++)
        while (!stk__thread_join(&running[i], stk__clock_ns() + STK_SECOND_NS))
            continue;
    *cost =
        (stk__loader_cost){(double)(stk__clock_ns() - start) * 1e-9, stk__process_cpu_s() - cpu, 0, c->count};
    return status;
}

static stk_status make_copying(copying *c, const stk_loader_info *info, stk_error *error)
{
    c->count = info->sample_count;
    const int64_t slots = info->slot_count < SLOTS_IN_USE ? info->slot_count : SLOTS_IN_USE;
    c->stride_bytes = c->sample_bytes + LINE_BYTES;
    c->places = (uint64_t)(slots * info->batch_size);
    const size_t from = c->count * c->stride_bytes, to = c->places * c->sample_bytes;
    STK__TRY(stk__host_reserve(&c->from, from, 0, error));
    STK__TRY(stk__host_reserve(&c->to, to, to, error));
    memset(c->from.data, 1, from); /* pages that were never written are all the same one */
    memset(c->to.data, 1, to);
    return STK_OK;
}

static stk_status run_epoch(stk_loader *loader, uint64_t *samples, stk_error *error)
{
    stk_batch *batch;
    stk_status status;
    *samples = 0;
    while ((status = stk_loader_next(loader, &batch, error)) == STK_OK) {
        *samples += (uint64_t)batch->count;
        stk_batch_release(batch);
    }
    return status == STK_END ? STK_OK : status;
}

/* From no batch that is ready to the last one of the epoch. */
static stk_status run_warm(stk_loader *loader, stk__loader_cost *cost, stk_error *error)
{
    stk_loader_state second;
    uint64_t samples;
    stk_loader_tell(loader, &second);
    second.epoch = EPOCHS - 1;
    second.position = 0;
    const uint64_t start = stk__clock_ns();
    const double cpu = stk__process_cpu_s();
    STK__TRY(stk_loader_seek(loader, &second, error));
    STK__TRY(run_epoch(loader, &samples, error));
    *cost =
        (stk__loader_cost){(double)(stk__clock_ns() - start) * 1e-9, stk__process_cpu_s() - cpu, 0, samples};
    return STK_OK;
}

static const char ratio_name[] = "warm cache: rate / memcpy of the same bytes";

static void skip(stk__bench *bench)
{
    stk__contestant ours = {.name = "stoker", .setting = "image + mask", .ours = true};
    stk__contestant_enter_rows(&ours, bench, "warm cache", "samples/s", NULL);
    stk__contestant_give_up(&ours, "too little memory for a cache of all samples");
    stk__bench_judge(bench, ratio_name, NAN, true, 0.8);
}

static stk_status measure(const stk__warm_cache *cache, stk_loader *loader, copying *c, stk_error *error)
{
    stk__bench *bench = cache->bench;
    stk__contestant baseline = {.name = "memcpy", .setting = "as many bytes and threads"},
                    ours = {.name = "stoker", .setting = "image + mask, no augmentation", .ours = true};
    stk__contestant_enter_rows(&baseline, bench, "warm cache", "samples/s", "us/sample");
    stk__contestant_enter_rows(&ours, bench, "warm cache", "samples/s", "us/sample");
    stk__loader_cost cost;
    uint64_t samples;
    STK__TRY(run_epoch(loader, &samples, error));
    for (int64_t round = 0; round < 3 * cache->rounds; round++) {
        STK__TRY(copy_all(c, cache->threads, &cost, error));
        stk__loader_cost_add(&cost, &baseline, 1e-6);
        STK__TRY(run_warm(loader, &cost, error));
        stk__loader_cost_add(&cost, &ours, 1e-6);
    }
    stk_loader_stats stats;
    stk_loader_get_stats(loader, &stats);
    if (stats.cache_samples != samples)
        return stk__fail(error, STK_ERROR_DATA, "the cache holds %llu of %llu samples",
                         (unsigned long long)stats.cache_samples, (unsigned long long)samples);
    stk__bench_judge(bench, ratio_name, stk__bench_median(ours.rows) / stk__bench_median(baseline.rows), true,
                     0.8);
    return STK_OK;
}

stk_status stk__warm_cache_run(const stk__warm_cache *cache, stk_error *error)
{
    stk_loader *loader;
    copying c = {.count = 0};
    if (cache->threads > MOST_THREADS)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%d threads, the most is %d", cache->threads,
                         MOST_THREADS);
    const stk_loader_options options = {.root = cache->folder,
                                        .batch_size = cache->batch_size,
                                        .num_workers = cache->threads,
                                        .epochs = EPOCHS,
                                        .cache = "auto"};
    STK__TRY(stk_loader_open(&loader, &options, error));
    const stk_loader_info *info = stk_loader_describe(loader);
    c.sample_bytes = (size_t)info->w * (size_t)info->h * ((size_t)info->channels + info->masks);
    stk_status status = STK_OK;
    if (info->cache_bytes < info->sample_count * c.sample_bytes) {
        skip(cache->bench);
    } else {
        status = make_copying(&c, info, error);
        if (status == STK_OK) status = measure(cache, loader, &c, error);
    }
    stk_loader_close(&loader);
    stk__host_release(&c.from);
    stk__host_release(&c.to);
    return status;
}
