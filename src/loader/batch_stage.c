#include "loader/batch_stage.h"

#include "loader/mixing.h"

#include <string.h>

static stk_status augment(stk__slot *slot, const stk__recipe *recipe, stk__device *device, stk_error *error)
{
    const stk__layout *layout = &recipe->layout;
    const float *weights = stk__slot_weights(slot, layout);
    stk__augment_batch batch = {
        .count = slot->places,
        .blocks = stk__slot_block(slot, layout, 0),
        .arena = slot->memory.data + layout->arena_offset,
        .arena_bytes = atomic_load_explicit(&slot->spare_used, memory_order_relaxed),
        .images = stk__slot_views(slot, layout, STK_FIELD_IMAGE),
        .masks = layout->masks ? stk__slot_views(slot, layout, STK_FIELD_MASK) : NULL,
        .target = stk__slot_target(slot, layout, 0),
    };
    memcpy(batch.target.scale, recipe->scale, sizeof recipe->scale);
    memcpy(batch.target.bias, recipe->bias, sizeof recipe->bias);
    STK__TRY(stk__device_augment(device, &batch, error));
    for (uint64_t place = 0; place < slot->places; place++)
        if (weights[place] == 0) stk__slot_skip(slot, layout, place); /* the device has written there too */
    return STK_OK;
}

stk_status stk__batch_stage_run(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream,
                                stk__device *device, stk_error *error)
{
    if (device) STK__TRY(augment(slot, recipe, device, error));
    if (recipe->layout.store.mixed) stk__mixing_run(slot, recipe, stream);
    return STK_OK;
}
