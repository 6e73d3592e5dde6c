/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the storage for what will be needed soon, so that it is there when its turn comes. */
#include "loader/pump.h"

/* True when some sample of a run is not in the cache. */
static bool is_needed(const stk_loader *loader, const stk__id_block *run)
{
    for (uint64_t id = run->first; id <= run->last; id++)
        if (!stk__cache_has(loader->recipe.cache, id)) return true;
    return false;
}

/* Asks for a whole block, by few calls where its samples lie side by side. */
static void ask_for_block(const stk_loader *loader, const stk__order *order, uint64_t position)
{
    const stk__source *source = loader->source;
    const stk__id_block run = stk__stream_block(&loader->stream, order, position);
    const uint64_t width = run.last - run.first + 1;
    if (!is_needed(loader, &run)) return;
    if (width <= 2 * run.count) {
        source->ops->hint_run(source, run.first, width);
        return;
    }
    for (uint64_t i = 0; i < run.count; i++) /* a small part of a data set: most between is of the other */
        source->ops->hint(source, stk__stream_id(&loader->stream, order, run.position + i));
}

/* The block at a position, which may lie in the next epoch. */
static void ask_ahead(const stk_loader *loader, const stk__slot *slot, uint64_t position)
{
    const uint64_t count = loader->stream.count, next = slot->step.epoch + 1;
    if (position < count) {
        ask_for_block(loader, &slot->order, position);
    } else if (position - count < count && (!loader->epochs || next < loader->epochs)) {
        const stk__order order = stk__stream_order(&loader->stream, next);
        ask_for_block(loader, &order, position - count);
    }
}

/* Whoever comes to the beginning of a block asks for one that is at least a batch away, or for all up to
 * there when it is the first of the stream. */
static void read_blocks_ahead(const stk_loader *loader, const stk__slot *slot, uint64_t place)
{
    const stk__stream *stream = &loader->stream;
    if (place >= slot->step.count) return; /* a partner to mix with: its position is another one */
    const uint64_t position = slot->step.position + place, k = stream->block;
    const uint64_t ahead = (stream->batch_size + k - 1) / k;
    const bool first = position == stream->start_position && slot->step.epoch == stream->start_epoch;
    const uint64_t start = stk__order_block_at(&slot->order, position).position;
    if (position != start && !first) return;
    for (uint64_t i = first ? 0 : ahead; i <= ahead; i++)
        ask_ahead(loader, slot, start + i * k);
}

/* Slow storage only: asks for the sample that stands at the same place one step later. Blocks are asked for
 * as a whole wherever the source can, by a loader that reads all of them. */
void stk__read_ahead(const stk__worker *worker, const stk__slot *slot, uint64_t place)
{
    enum { SLOW_READ_NS = 300000 };
    const stk_loader *loader = worker->loader;
    const stk__source *source = loader->source;
    const stk__stream *stream = &loader->stream;
    if (source->ops->hint_run && stream->order == STK_ORDER_BLOCKS && stream->ranks == 1) {
        read_blocks_ahead(loader, slot, place);
        return;
    }
    if (worker->read_average_ns < SLOW_READ_NS || !source->ops->hint) return;
    const stk__step *step = &slot->step;
    const uint64_t position = step->position + stream->batch_size * stream->ranks + place;
    if (position >= stream->count) return;
    const uint64_t id = stk__stream_id(stream, &slot->order, position);
    if (!stk__cache_has(loader->recipe.cache, id)) source->ops->hint(source, id);
}
