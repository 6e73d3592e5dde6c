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

static bool is_on_host(const stk_batch *batch)
{
    const stk_tensor *const tensors[] = {&batch->images,     &batch->masks,  &batch->labels, &batch->masks2,
                                         &batch->labels2,    &batch->lambda, &batch->points, &batch->windows,
                                         &batch->sample_ids, &batch->weights};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++)
        if (tensors[i]->dtype != STK_DTYPE_NONE && tensors[i]->device != STK_DEVICE_CPU) return false;
    return true;
}

stk_status stk_digest_add(stk_digest *digest, const stk_batch *batch, stk_error *error)
{
    if (!digest || !batch)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_digest_add needs a digest and a batch");
    if (!is_on_host(batch)) {
        stk__fail(error, STK_ERROR_UNSUPPORTED, "the batch lies in a GPU's memory: it has no digest");
        stk__error_hint(error, "open the loader without stk_loader_options.device");
        return STK_ERROR_UNSUPPORTED;
    }
    stk__hash *hash;
    STK__TRY(stk__hash_create(&hash, error));
    *digest = stk__digest_chain(hash, *digest, batch);
    stk__hash_destroy(&hash);
    return STK_OK;
}

stk_status stk_digest_print(const stk_digest *digest, char *text, size_t size, stk_error *error)
{
    if (text && size) *text = '\0';
    if (!digest || !text)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_digest_print needs a digest and a text");
    if (size < STK_DIGEST_TEXT_BYTES)
        return stk__fail(error, STK_ERROR_ARGUMENT, "a digest takes %d bytes, not %zu", STK_DIGEST_TEXT_BYTES,
                         size);
    stk__digest_print(*digest, text);
    return STK_OK;
}
