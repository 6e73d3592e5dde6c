/* SPDX-License-Identifier: Apache-2.0 */
/* The stream's digest: a chain of XXH3-128 over the samples' ids, pixels, labels and weights of each
 * batch, in their order. Padding between images does not count. */
#include "loader/digest.h"

#include <stdbool.h>

static void add_pixels(stk__hash *hash, const stk_batch *batch, const stk_view *view)
{
    const bool skipped = !view->w && view->channels; /* then its empty place counts, in the common size */
    const int32_t w = skipped ? (int32_t)view->pitch_bytes / view->channels : view->w;
    const int32_t shape[3] = {w, view->h, view->channels};
    stk__hash_update(hash, shape, sizeof shape);
    const size_t row_bytes = (size_t)w * (size_t)view->channels;
    const uint8_t *row = batch->arena + view->offset_bytes;
    if (view->pitch_bytes == row_bytes) {
        stk__hash_update(hash, row, row_bytes * (size_t)view->h);
        return;
    }
    for (int32_t y = 0; y < view->h; y++, row += view->pitch_bytes)
        stk__hash_update(hash, row, row_bytes);
}

static void add_tensor(stk__hash *hash, const stk_tensor *tensor)
{
    const int32_t kind = tensor->dtype;
    stk__hash_update(hash, &kind, sizeof kind);
    if (tensor->dtype != STK_DTYPE_NONE)
        stk__hash_update(hash, tensor->data, (size_t)stk_tensor_bytes(tensor));
}

stk__digest stk__digest_chain(stk__hash *hash, stk__digest before, const stk_batch *batch)
{
    stk__hash_reset(hash);
    stk__hash_update(hash, &before, sizeof before);
    stk__hash_update(hash, &batch->count, sizeof batch->count);
    for (int64_t i = 0; i < batch->count; i++) {
        if (batch->image_views) add_pixels(hash, batch, &batch->image_views[i]);
        if (batch->mask_views) add_pixels(hash, batch, &batch->mask_views[i]);
    }
    const stk_tensor *const tensors[] = {&batch->sample_ids, &batch->labels, &batch->points, &batch->windows,
                                         &batch->weights};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++)
        add_tensor(hash, tensors[i]);
    const stk_tensor *const finished[] = {&batch->images, &batch->masks, &batch->masks2, &batch->labels2,
                                          &batch->lambda};
    for (size_t i = 0; i < sizeof finished / sizeof finished[0]; i++)
        if (finished[i]->dtype != STK_DTYPE_NONE && !batch->image_views) add_tensor(hash, finished[i]);
    return stk__hash_digest(hash);
}
