/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps a feed: each batch is copied as a struct, and a tensor of zeros put where its targets
 * would be. The zeros are never written after init. One thread. */
#include "session/predict/predict_feed.h"

#include <string.h>

static stk_tensor target_of(const stk__feed_facts *f, stk__task task, int64_t n)
{
    switch (task) {
    case STK_TASK_SEGMENTATION:
        return (stk_tensor){.dtype = STK_DTYPE_U8, .ndim = 3, .shape = {n, f->image_h, f->image_w}};
    case STK_TASK_POINTS:
        return (stk_tensor){.dtype = STK_DTYPE_F32, .ndim = 3, .shape = {n, f->points, 3}};
    case STK_TASK_CLASSIFICATION:
        return (stk_tensor){.dtype = STK_DTYPE_I64, .ndim = 1, .shape = {n}};
    case STK_TASK_MULTILABEL:
        return (stk_tensor){.dtype = STK_DTYPE_F32, .ndim = 2, .shape = {n, f->num_classes}};
    default:
        break;
    }
    return (stk_tensor){.dtype = STK_DTYPE_F32, .ndim = 1, .shape = {n}};
}

stk_status stk__predict_feed_init(stk__predict_feed *feed, const stk__feed *inner,
                                  const stk__feed_facts *facts, stk_error *error)
{
    *feed = (stk__predict_feed){.inner = *inner, .task = stk__task_of_data(facts), .facts = *facts};
    static const stk__task tasks[] = {STK_TASK_SEGMENTATION, STK_TASK_POINTS, STK_TASK_CLASSIFICATION,
                                      STK_TASK_MULTILABEL};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        const stk_tensor target = target_of(facts, tasks[i], feed->inner.batch_size);
        const size_t needed = (size_t)stk_tensor_bytes(&target);
        bytes = needed > bytes ? needed : bytes;
    }
    STK__TRY(stk__buffer_reserve(&feed->zeros, bytes, error));
    memset(feed->zeros.data, 0, bytes);
    return STK_OK;
}

void stk__predict_feed_fini(stk__predict_feed *feed)
{
    stk__buffer_fini(&feed->zeros);
}

/* Dense memory that belongs to the feed. */
static stk_tensor zeros(const stk__predict_feed *feed, int64_t n)
{
    stk_tensor target = target_of(&feed->facts, feed->task, n);
    target.data = feed->zeros.data;
    int64_t stride = 1;
    for (int d = target.ndim; d-- > 0; stride *= target.shape[d])
        target.strides[d] = stride;
    return target;
}

static stk_status next(void *context, stk_batch **batch, stk_error *error)
{
    stk__predict_feed *feed = context;
    STK__TRY(feed->inner.next(feed->inner.context, &feed->lent, error));
    feed->batch = *feed->lent;
    const stk_tensor target = zeros(feed, feed->lent->count);
    if (feed->task == STK_TASK_SEGMENTATION)
        feed->batch.masks = target;
    else if (feed->task == STK_TASK_POINTS)
        feed->batch.points = target;
    else
        feed->batch.labels = target;
    *batch = &feed->batch;
    return STK_OK;
}

static void release(void *context, stk_batch *batch)
{
    stk__predict_feed *feed = context;
    (void)batch;
    feed->inner.release(feed->inner.context, feed->lent);
    feed->lent = NULL;
}

static void measure(void *context, stk_loader_stats *stats)
{
    const stk__feed *inner = &((stk__predict_feed *)context)->inner;
    inner->measure(inner->context, stats);
}

stk__feed stk__predict_feed_of(stk__predict_feed *feed)
{
    return (stk__feed){.context = feed,
                       .next = next,
                       .release = release,
                       .measure = measure,
                       .batches_per_epoch = feed->inner.batches_per_epoch,
                       .batch_size = feed->inner.batch_size,
                       .last_batch_size = feed->inner.last_batch_size};
}
