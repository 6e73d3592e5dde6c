/* SPDX-License-Identifier: Apache-2.0 */
/* Each batch is copied into memory of the feed's own, which the engine wraps once; places behind its end keep
 * what they had and get weight 0, so that they count for nothing. One thread. */
#include "session/front/places_feed.h"

#include <string.h>

static size_t floats_of(const stk__places_feed *feed)
{
    size_t count = 1;
    for (int d = 0; d < feed->ndim; d++)
        count *= (size_t)feed->shape[d];
    return count;
}

stk_status stk__places_feed_init(stk__places_feed *feed, const stk__feed_facts *f, int64_t places,
                                 stk_error *error)
{
    *feed = (stk__places_feed){.places = places, .windows = f->window > 0, .ndim = f->window > 0 ? 2 : 3};
    const int64_t window[3] = {f->window, f->features, 1}, image[3] = {f->image_h, f->image_w, f->image_c};
    memcpy(feed->shape, feed->windows ? window : image, sizeof feed->shape);
    const struct {
        stk__buffer *buffer;
        size_t bytes;
    } parts[] = {{&feed->input, floats_of(feed) * sizeof(float)},
                 {&feed->weights, sizeof(float)},
                 {&feed->ids, sizeof(int64_t)}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        STK__TRY(stk__buffer_reserve(parts[i].buffer, (size_t)places * parts[i].bytes, error));
        memset(parts[i].buffer->data, 0, (size_t)places * parts[i].bytes);
    }
    return STK_OK;
}

void stk__places_feed_fini(stk__places_feed *feed)
{
    stk__buffer_fini(&feed->input);
    stk__buffer_fini(&feed->weights);
    stk__buffer_fini(&feed->ids);
}

/* Dense: [n] and one input behind it, or [n] alone. */
static stk_tensor tensor_of(const stk__buffer *memory, stk_dtype dtype, int64_t n, const int64_t *shape,
                            int ndim)
{
    stk_tensor t = {.data = memory->data, .dtype = dtype, .ndim = ndim + 1, .shape = {n}};
    int64_t stride = 1;
    for (int d = ndim; d > 0; d--) {
        t.shape[d] = shape[d - 1];
        t.strides[d] = stride;
        stride *= t.shape[d];
    }
    t.strides[0] = stride;
    return t;
}

static void fill(stk__places_feed *feed, const stk_batch *from)
{
    const size_t count = (size_t)from->count;
    const int64_t n = from->count == 1 ? 1 : feed->places;
    const stk_tensor *input = feed->windows ? &from->windows : &from->images;
    float *weights = (float *)(void *)feed->weights.data;
    memcpy(feed->input.data, input->data, count * floats_of(feed) * sizeof(float));
    memcpy(feed->ids.data, from->sample_ids.data, count * sizeof(int64_t));
    memcpy(weights, from->weights.data, count * sizeof *weights);
    memset(weights + count, 0, ((size_t)feed->places - count) * sizeof *weights);
    feed->batch = (stk_batch){.count = n,
                              .epoch = from->epoch,
                              .position = from->position,
                              .sample_ids = tensor_of(&feed->ids, STK_DTYPE_I64, n, NULL, 0),
                              .weights = tensor_of(&feed->weights, STK_DTYPE_F32, n, NULL, 0)};
    *(feed->windows ? &feed->batch.windows : &feed->batch.images) =
        tensor_of(&feed->input, STK_DTYPE_F32, n, feed->shape, feed->ndim);
}

static stk_status next(void *context, stk_batch **batch, stk_error *error)
{
    stk__places_feed *feed = context;
    stk_batch *lent;
    if (feed->stop && atomic_load(feed->stop)) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    STK__TRY(feed->inner.next(feed->inner.context, &lent, error));
    fill(feed, lent);
    feed->inner.release(feed->inner.context, lent);
    *batch = &feed->batch;
    return STK_OK;
}

static void release(void *context, stk_batch *batch)
{
    (void)context;
    (void)batch;
}

static void measure(void *context, stk_loader_stats *stats)
{
    const stk__places_feed *feed = context;
    feed->inner.measure(feed->inner.context, stats);
}

stk__feed stk__places_feed_of(stk__places_feed *feed)
{
    return (stk__feed){.context = feed,
                       .next = next,
                       .release = release,
                       .measure = measure,
                       .batches_per_epoch = 2,
                       .batch_size = feed->places,
                       .last_batch_size = 1};
}
