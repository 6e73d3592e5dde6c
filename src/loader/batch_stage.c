/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a whole batch after its last sample was decoded: a device augments it, pairs are mixed,
 * and where batches end in a GPU's memory the copies and kernels are enqueued. Called by the device's
 * thread, or by the worker that filled the last place; the slot is theirs alone meanwhile. */
#include "loader/batch_stage.h"

#include "loader/mixing.h"

#include <string.h>

static stk_status describe(stk__slot *slot, const stk__recipe *recipe, stk__augment_batch *batch,
                           stk_error *error)
{
    const stk__layout *layout = &recipe->layout;
    const uint8_t *arena = stk__spare_join(&slot->spare, error);
    if (!arena) return STK_ERROR_MEMORY;
    *batch = (stk__augment_batch){
        .count = slot->places,
        .blocks = stk__slot_block(slot, layout, 0),
        .arena = arena,
        .arena_bytes = slot->spare.end,
        .images = stk__slot_views(slot, layout, STK_FIELD_IMAGE),
        .masks = layout->masks ? stk__slot_views(slot, layout, STK_FIELD_MASK) : NULL,
        .target = stk__slot_target(slot, layout, 0),
    };
    const size_t end = layout->arena_offset + batch->arena_bytes;
    batch->pinned = slot->device && !stk__spare_has_grown(&slot->spare) && end <= slot->device->pinned_bytes;
    memcpy(batch->target.scale, recipe->scale, sizeof recipe->scale);
    memcpy(batch->target.bias, recipe->bias, sizeof recipe->bias);
    return STK_OK;
}

static stk_status augment(stk__slot *slot, const stk__recipe *recipe, stk__device *device, stk_error *error)
{
    const stk__layout *layout = &recipe->layout;
    const float *weights = stk__slot_weights(slot, layout);
    stk__augment_batch batch;
    STK__TRY(describe(slot, recipe, &batch, error));
    if (slot->device && slot->device->device != device) batch.pinned = false; /* by another one */
    STK__TRY(stk__device_augment(device, &batch, error));
    for (uint64_t place = 0; place < slot->places; place++)
        if (weights[place] == 0) stk__slot_skip(slot, layout, place); /* the device has written there too */
    return STK_OK;
}

static stk__device_copy copy_up(const stk__slot *slot, size_t to, size_t from, size_t bytes)
{
    return (stk__device_copy){slot->device->data + to, slot->memory.data + from, bytes};
}

/* The batch begins its way to the device's memory: finished there from decoded pixels, or as it is. */
static stk_status submit(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream,
                         stk_error *error)
{
    const stk__layout *layout = &recipe->layout;
    stk__device_task task = {
        .copies = {copy_up(slot, layout->device_fact_offset, layout->label_offset, layout->fact_bytes)}};
    if (layout->store.remote) {
        stk__kernel_mix *mixes = (stk__kernel_mix *)(void *)(slot->memory.data + layout->mix_offset);
        STK__TRY(describe(slot, recipe, &task.augment, error));
        task.mixes = mixes;
        task.mix_count = stk__mixing_list(slot, recipe, stream, mixes);
        if (layout->masks && layout->store.mixed) task.mask2 = slot->device->data + layout->mask2_offset;
    } else {
        task.copies[1] = copy_up(slot, 0, 0, layout->pixel_bytes);
    }
    return stk__device_submit(slot->device, &task, error);
}

stk_status stk__batch_stage_run(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream,
                                stk__device *device, stk_error *error)
{
    const stk__storage *store = &recipe->layout.store;
    if (store->remote) return submit(slot, recipe, stream, error);
    if (device) STK__TRY(augment(slot, recipe, device, error));
    if (store->mixed) stk__mixing_run(slot, recipe, stream);
    return store->resident ? submit(slot, recipe, stream, error) : STK_OK;
}
