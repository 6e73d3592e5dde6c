/* SPDX-License-Identifier: Apache-2.0 */
/* Stream arithmetic: step number -> epoch and positions of this rank, position -> sample id, also with a
 * validation split and after a seek. Pure functions in O(1), which is why resuming costs nothing. */
#include "loader/stream.h"

#include "core/random.h"

uint64_t stk__stream_steps(const stk__stream *stream, uint64_t from_position)
{
    const uint64_t global = stream->batch_size * stream->ranks;
    const uint64_t left = from_position < stream->count ? stream->count - from_position : 0;
    return stream->drop_last ? left / global : (left + global - 1) / global;
}

/* A short last global batch is split over the ranks: the first ones take one more. */
static void take_share(const stk__stream *stream, stk__step *step)
{
    const uint64_t each = step->global_count / stream->ranks, more = step->global_count % stream->ranks;
    const uint64_t rank = stream->rank;
    step->count = each + (rank < more);
    step->position = step->global_position + rank * each + (rank < more ? rank : more);
}

stk__step stk__stream_step(const stk__stream *stream, uint64_t number)
{
    const uint64_t global = stream->batch_size * stream->ranks;
    const uint64_t first = stk__stream_steps(stream, stream->start_position),
                   later = stk__stream_steps(stream, 0);
    stk__step step = {.epoch = stream->start_epoch,
                      .global_position = stream->start_position + number * global};
    if (number >= first) {
        step.epoch += 1 + (number - first) / later;
        step.global_position = (number - first) % later * global;
    }
    const uint64_t left = stream->count - step.global_position;
    step.global_count = left < global ? left : global;
    take_share(stream, &step);
    return step;
}

stk__order stk__stream_order(const stk__stream *stream, uint64_t epoch)
{
    return stk__order_make(stream->order, stream->count, stream->block, stream->seed, (uint32_t)epoch);
}

static uint64_t id_of_index(const stk__stream *stream, uint64_t index)
{
    const uint64_t id = stream->take_held ? stk__split_held_at(&stream->split, index)
                                          : stk__split_rest_at(&stream->split, index);
    return stream->first_id + id;
}

uint64_t stk__stream_id(const stk__stream *stream, const stk__order *order, uint64_t position)
{
    return id_of_index(stream, stk__order_at(order, position));
}

stk__id_block stk__stream_block(const stk__stream *stream, const stk__order *order, uint64_t position)
{
    const stk__order_block block = stk__order_block_at(order, position);
    return (stk__id_block){.position = block.position,
                           .first = id_of_index(stream, block.first),
                           .last = id_of_index(stream, block.first + block.count - 1),
                           .count = block.count};
}

uint64_t stk__stream_substitute(const stk__stream *stream, uint64_t epoch, uint64_t position,
                                uint32_t attempt)
{
    const stk__random r = stk__random_draw((stk__random_at){.seed = stream->seed,
                                                            .epoch = (uint32_t)epoch,
                                                            .sample = (uint32_t)position,
                                                            .operation = STK_OPERATION_REPLACE,
                                                            .draw = attempt});
    return id_of_index(stream, stk__random_below(r.word[0], r.word[1], stream->count));
}
