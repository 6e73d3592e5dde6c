/* SPDX-License-Identifier: Apache-2.0 */
/* Batches as the engine's tensors: used where they lie, or brought to the engine's memory. Nothing here
 * allocates after each slot has been seen once. */
#include "train/trainer_internal.h"

static stk__tensor **list_wraps(const stk__trainer *t, int *count)
{
    *count = (int)(t->wraps.size_bytes / sizeof(stk__tensor *));
    return (stk__tensor **)(void *)t->wraps.data;
}

/* The engine's tensor around one of a batch's; made when a slot comes by for the first time. */
static stk_status wrap(stk__trainer *t, const stk_tensor *memory, stk__tensor **tensor, stk_error *error)
{
    int count;
    stk__tensor **wraps = list_wraps(t, &count);
    for (int i = 0; i < count; i++)
        if (wraps[i]->memory == memory->data && wraps[i]->desc.shape.dim[0] == memory->shape[0]) {
            *tensor = wraps[i];
            return STK_OK;
        }
    STK__TRY(stk__buffer_reserve(&t->wraps, t->wraps.size_bytes + sizeof *tensor, error));
    STK__TRY(stk__tensor_wrap(t->engine, memory, tensor, error));
    return stk__buffer_append(&t->wraps, tensor, sizeof *tensor, error);
}

/* Room in the engine's memory for one part of a batch, which all batches of its size share: they come one
 * after the other on the engine's stream. */
static stk_status find_room(stk__trainer *t, const stk__tensor *like, int part, stk__tensor **tensor,
                            stk_error *error)
{
    int i = 0;
    for (; i < t->room_count; i++)
        if (t->rooms[i].part == part && stk__shape_equal(&t->rooms[i].tensor->desc.shape, &like->desc.shape))
            break;
    if (i == STK_TRAINER_ROOMS)
        return stk__fail(error, STK_ERROR_ARGUMENT, "batches of more than %d shapes", STK_TRAINER_ROOMS);
    stk__trainer_room *room = &t->rooms[i];
    if (i == t->room_count) {
        const size_t bytes = stk__tensor_size(t->engine, &like->desc);
        STK__TRY(stk__arena_create(t->engine, bytes, &room->arena, error));
        t->room_count++;
        room->part = part;
        STK__TRY(stk__tensor_create(t->engine, &like->desc, room->arena, 0, &room->tensor, error));
    }
    *tensor = room->tensor;
    return STK_OK;
}

/* part: tells the tensors of one batch apart. NULL: the batch has no such tensor. */
static stk_status bring(stk__trainer *t, const stk_tensor *memory, int part, stk__tensor **tensor,
                        stk_error *error)
{
    *tensor = NULL;
    if (memory->dtype == STK_DTYPE_NONE) return STK_OK;
    const stk__engine_info *engine = t->info.engine;
    if (memory->device != STK_DEVICE_CPU && memory->device != engine->device)
        return stk__fail(error, STK_ERROR_ARGUMENT,
                         "the batches are in a GPU's memory, the engine works in the host's");
    if (memory->device != STK_DEVICE_CPU && memory->device_index != engine->device_index)
        return stk__fail(error, STK_ERROR_ARGUMENT,
                         "the batches are in the memory of cuda:%d, the engine works in that of cuda:%d",
                         memory->device_index, engine->device_index);
    stk__tensor *there;
    STK__TRY(wrap(t, memory, &there, error));
    *tensor = there;
    if (!there->on_host) return STK_OK;
    STK__TRY(find_room(t, there, part, tensor, error));
    return stk__tensor_copy(*tensor, there, error);
}

/* Which of a batch's tensors are the targets depends on the task. */
static const stk_tensor *target_of(const stk__trainer *t, const stk_batch *batch, bool second)
{
    static const stk_tensor none;
    switch (t->network->task) {
    case STK_TASK_SEGMENTATION:
        return second ? &batch->masks2 : &batch->masks;
    case STK_TASK_POINTS:
        return second ? &none : &batch->points;
    case STK_TASK_CLASSIFICATION:
        return second ? &batch->labels2 : &batch->labels;
    default:
        break;
    }
    return second ? &none : &batch->labels; /* values are mixed themselves */
}

stk_status stk__trainer_feed(stk__trainer *t, const stk_batch *batch, stk__pass_feed *feed, stk_error *error)
{
    const bool windows = stk__task_reads_windows(t->network->task);
    void *stream;
    if (stk__engine_stream(t->engine, &stream)) STK__TRY(stk_batch_wait_on(batch, stream, error));
    *feed = (stk__pass_feed){.seed = t->seed, .epoch = (uint32_t)batch->epoch, .grad_scale = 1};
    STK__TRY(bring(t, windows ? &batch->windows : &batch->images, STK_LOSS_PREDICTION, &feed->input, error));
    STK__TRY(bring(t, target_of(t, batch, false), STK_LOSS_TARGET, &feed->target[STK_LOSS_TARGET], error));
    STK__TRY(bring(t, target_of(t, batch, true), STK_LOSS_TARGET2, &feed->target[STK_LOSS_TARGET2], error));
    STK__TRY(bring(t, &batch->weights, STK_LOSS_WEIGHTS, &feed->target[STK_LOSS_WEIGHTS], error));
    if (feed->target[STK_LOSS_TARGET2])
        STK__TRY(bring(t, &batch->lambda, STK_LOSS_LAMBDA, &feed->target[STK_LOSS_LAMBDA], error));
    feed->target[STK_LOSS_CLASS_WEIGHTS] = t->class_weights;
    if (!feed->input || !feed->target[STK_LOSS_TARGET])
        return stk__fail(error, STK_ERROR_DATA, "a batch has no %s",
                         feed->input ? stk__task_describe(t->network->task)->target
                                     : stk__task_describe(t->network->task)->input);
    return STK_OK;
}

stk_status stk__trainer_feed_ids(stk__trainer *t, const stk_batch *batch, stk__pass_feed *feed,
                                 stk_error *error)
{
    stk__tensor *ids = NULL;
    if (t->info.engine->draws)
        STK__TRY(bring(t, &batch->sample_ids, STK_TRAINER_IDS, &ids, error));
    else if (batch->sample_ids.dtype != STK_DTYPE_NONE) /* drawn from on the host */
        STK__TRY(wrap(t, &batch->sample_ids, &ids, error));
    feed->sample_ids = ids;
    return STK_OK;
}

/* The engine's stream may still read it. */
void stk__trainer_release(stk__trainer *t, const stk__feed *feed, stk_batch *batch)
{
    void *stream;
    if (feed->release_after && stk__engine_stream(t->engine, &stream))
        feed->release_after(feed->context, batch, stream);
    else
        feed->release(feed->context, batch);
}

void stk__trainer_forget(stk__trainer *t)
{
    int count;
    stk__tensor **wraps = list_wraps(t, &count);
    for (int i = 0; i < count; i++)
        stk__tensor_destroy(&wraps[i]);
    stk__buffer_fini(&t->wraps);
    for (int i = 0; i < t->room_count; i++) {
        stk__tensor_destroy(&t->rooms[i].tensor);
        stk__arena_destroy(&t->rooms[i].arena);
    }
}
