/* SPDX-License-Identifier: Apache-2.0 */
/* A batch in GPU memory copied to the host, tensor by tensor, into one buffer. For digests, tests and
 * inspection; it waits for the copies. */
#include "loader/host_copy.h"

#include "core/align.h"

#include <stdbool.h>
#include <stddef.h>

static const size_t tensor_offsets[] = {
    offsetof(stk_batch, images),  offsetof(stk_batch, masks),   offsetof(stk_batch, labels),
    offsetof(stk_batch, masks2),  offsetof(stk_batch, labels2), offsetof(stk_batch, lambda),
    offsetof(stk_batch, points),  offsetof(stk_batch, windows), offsetof(stk_batch, sample_ids),
    offsetof(stk_batch, weights),
};
enum { TENSORS = sizeof tensor_offsets / sizeof tensor_offsets[0] };

static stk_tensor *tensor_of(stk_batch *batch, int i)
{
    return (stk_tensor *)(void *)((uint8_t *)batch + tensor_offsets[i]);
}

static bool is_away(const stk_batch *batch, const stk_tensor *tensor)
{
    return batch->ready && tensor->dtype != STK_DTYPE_NONE && tensor->device != STK_DEVICE_CPU;
}

static size_t room_for(const stk_tensor *tensor)
{
    return stk__align_up((size_t)stk_tensor_bytes(tensor), STK_LINE_BYTES);
}

stk_status stk__host_copy(const stk_batch *batch, stk__buffer *memory, stk_batch *copy, stk_error *error)
{
    size_t need = 0, used = 0;
    *copy = *batch;
    for (int i = 0; i < TENSORS; i++)
        if (is_away(batch, tensor_of(copy, i))) need += room_for(tensor_of(copy, i));
    STK__TRY(stk__buffer_reserve(memory, need, error));
    for (int i = 0; i < TENSORS; i++) {
        stk_tensor *tensor = tensor_of(copy, i);
        if (!is_away(batch, tensor)) continue;
        STK__TRY(stk_batch_fetch(batch, tensor, memory->data + used, error));
        tensor->data = memory->data + used;
        tensor->device = STK_DEVICE_CPU;
        tensor->device_index = 0;
        used += room_for(tensor);
    }
    copy->ready = NULL;
    return STK_OK;
}
