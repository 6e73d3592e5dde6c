/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a feed are those of stoker/loader.h with a context in the place of the loader, so each of
 * them only passes the call on. Called by the thread that trains. */
#include "session/loader_feed.h"

#include "loader/loader_memory.h"
#include "loader/loader_open.h"

#include <stddef.h>

static stk_status feed_next(void *loader, stk_batch **batch, stk_error *error)
{
    return stk_loader_next(loader, batch, error);
}

static void feed_release(void *loader, stk_batch *batch)
{
    (void)loader; /* the batch knows it */
    stk_batch_release(batch);
}

static void feed_release_after(void *loader, stk_batch *batch, void *stream)
{
    (void)loader;
    stk_batch_release_after(batch, stream);
}

static void feed_measure(void *loader, stk_loader_stats *stats)
{
    stk_loader_get_stats(loader, stats);
}

static void feed_tell(void *loader, stk_loader_state *state)
{
    stk_loader_tell(loader, state);
}

static stk_status feed_seek(void *loader, const stk_loader_state *state, stk_error *error)
{
    return stk_loader_seek(loader, state, error);
}

static stk_status feed_locate(void *loader, int64_t id, char *text, size_t size)
{
    return stk_loader_sample_path(loader, id, text, size, NULL);
}

static void feed_measure_values(void *loader, double *mean, double *deviation)
{
    stk__loader_measure_values(loader, mean, deviation);
}

/* Of an epoch; batch_size if it is full, or if a short one is left out. */
static int64_t last_batch_size(const stk_loader_info *info)
{
    const uint64_t size = (uint64_t)info->batch_size, full = info->sample_count / size;
    return info->batches_per_epoch > full ? (int64_t)(info->sample_count % size) : info->batch_size;
}

stk__feed stk__feed_of_loader(stk_loader *loader)
{
    if (!loader) return (stk__feed){.next = NULL};
    const stk_loader_info *info = stk_loader_describe(loader);
    return (stk__feed){.context = loader,
                       .next = feed_next,
                       .release = feed_release,
                       .release_after = feed_release_after,
                       .measure = feed_measure,
                       .tell = feed_tell,
                       .seek = feed_seek,
                       .locate = feed_locate,
                       .measure_values = feed_measure_values,
                       .resident = info->resident,
                       .pinned = info->pinned,
                       .batches_per_epoch = info->batches_per_epoch,
                       .batch_size = info->batch_size,
                       .last_batch_size = last_batch_size(info)};
}

stk__feed stk__feed_at(const stk_loader *loader, int64_t batch_size)
{
    const stk__loader_epoch epoch = stk__loader_epoch_at(loader, batch_size);
    stk__feed feed = stk__feed_of_loader((stk_loader *)(uintptr_t)loader);
    feed.batch_size = batch_size;
    feed.batches_per_epoch = epoch.batches;
    feed.last_batch_size = epoch.last_batch_size;
    return feed;
}

stk__feed_facts stk__feed_facts_of(const stk_loader_info *info)
{
    return (stk__feed_facts){.image_h = info->h,
                             .image_w = info->w,
                             .image_c = info->channels,
                             .window = info->window_rows,
                             .features = info->feature_count,
                             .masks = info->masks,
                             .classes = info->classes,
                             .values = info->values,
                             .label_sets = info->label_sets,
                             .num_classes = info->class_count,
                             .points = info->point_count};
}
