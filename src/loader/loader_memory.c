/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a loader by arithmetic, with the layout that its slots have (layout.c). Nothing is allocated;
 * the loader is only read, so that any thread may ask. */
#include "loader/loader_memory.h"

#include "core/align.h"
#include "loader/pump.h"
#include "loader/sample_plan.h"

enum {
    PAGE_BYTES = 4096,
    HUGE_BYTES = 2 << 20, /* pixels of slots lie in pages of this size, where the kernel has them (host.c) */
    SLOT_ARRAYS = 12,     /* parts of a slot that begin on lines of their own */
    WORKER_BYTES =
        400 << 10, /* stack, heap of the thread, tables of the decoders; measured with plan_check.py */
};

static stk__layout layout_at(const stk_loader *loader, int64_t batch_size)
{
    const stk__layout *now = &loader->recipe.layout;
    const stk__layout_options options = {.batch_size = batch_size,
                                         .common = stk__pixels_dense(NULL, now->w, now->h, now->channels),
                                         .store = now->store};
    return stk__layout_make(&loader->source->info, &options);
}

stk__slot_choice stk__loader_slots_at(const stk_loader *loader, int64_t batch_size)
{
    const stk__layout layout = layout_at(loader, batch_size);
    const uint64_t threads = loader->thread_count ? (uint64_t)loader->thread_count : 1;
    stk__slot_choice choice = {.slot_bytes = layout.total_bytes + layout.device_bytes,
                               .wanted = (uint64_t)loader->prefetch_factor * threads};
    choice.affordable = loader->limit_memory_bytes / choice.slot_bytes;
    const uint64_t waiting = choice.affordable < choice.wanted ? choice.affordable : choice.wanted;
    choice.count = (int)(waiting < 1 ? 1 : waiting) + 1;
    return choice;
}

/* Decoded pixels for a device that finishes batches: images of the common size. */
static uint64_t staged_bytes(const stk_loader *loader, int64_t samples)
{
    const stk__layout *layout = &loader->recipe.layout;
    if (!layout->store.staged) return 0;
    const stk__extent decoded =
        stk__decoded_extent(&loader->recipe, (stk__extent){loader->common.w, loader->common.h});
    return (uint64_t)samples * (uint64_t)decoded.w * (uint64_t)decoded.h *
           ((uint64_t)layout->channels + layout->masks);
}

static uint64_t epoch_samples(const stk_loader *loader)
{
    return loader->stream.count / loader->stream.ranks;
}

bool stk__loader_fills(const stk_loader *loader, int64_t batch_size)
{
    return epoch_samples(loader) >= (uint64_t)batch_size;
}

/* The rest of the last large page of an array of which only the first samples are used. */
static uint64_t huge_rest(uint64_t sample_bytes, int64_t batch_size, int64_t samples)
{
    const uint64_t all = (uint64_t)batch_size * sample_bytes, used = (uint64_t)samples * sample_bytes;
    const uint64_t end = stk__align_up(used, HUGE_BYTES);
    return (end < all ? end : all) - used;
}

/* Host memory of a slot for batch_size samples that has held `samples` at most: the first places of each of
 * its arrays, and of all places the views and weights. */
static uint64_t touched_bytes(const stk_loader *loader, int64_t batch_size, int64_t samples)
{
    const uint64_t each = 2 * sizeof(stk_view) + sizeof(float);
    const stk__layout layout = layout_at(loader, samples);
    uint64_t bytes = layout.total_bytes + staged_bytes(loader, samples) + PAGE_BYTES;
    if (samples == batch_size) return bytes;
    if (!layout.store.remote && stk__loader_fills(loader, batch_size) &&
        layout_at(loader, batch_size).view_offset >= HUGE_BYTES) {
        const uint64_t masks = layout.store.mixed ? 2 : 1;
        bytes += huge_rest(layout.image_bytes, batch_size, samples) +
                 masks * huge_rest(layout.mask_bytes, batch_size, samples);
    }
    return bytes + each * (uint64_t)(batch_size - samples) + SLOT_ARRAYS * (uint64_t)PAGE_BYTES;
}

/* Slots are filled in turn, also ahead of the last step: a full batch reaches slot s if one of its steps is
 * not the last, shorter one of an epoch. */
static bool sees_full_batch(uint64_t slot, uint64_t slots, uint64_t epoch_steps, uint64_t steps)
{
    const uint64_t end = steps + slots;
    for (uint64_t step = slot, turns = 0; step < end && turns <= epoch_steps; step += slots, turns++)
        if (step % epoch_steps + 1 < epoch_steps) return true;
    return false;
}

stk__loader_epoch stk__loader_epoch_at(const stk_loader *loader, int64_t batch_size)
{
    const uint64_t size = (uint64_t)batch_size, count = epoch_samples(loader);
    const int64_t rest = loader->stream.drop_last ? 0 : (int64_t)(count % size);
    return (stk__loader_epoch){count / size + (rest > 0), rest ? rest : batch_size};
}

static uint64_t slots_bytes(const stk_loader *loader, int64_t batch_size, uint64_t steps)
{
    const stk__loader_epoch epoch = stk__loader_epoch_at(loader, batch_size);
    const uint64_t slots = (uint64_t)stk__loader_slots_at(loader, batch_size).count;
    const int64_t last = epoch.last_batch_size;
    uint64_t bytes = 0;
    for (uint64_t slot = 0; slot < slots; slot++) {
        const bool full = last == batch_size || sees_full_batch(slot, slots, epoch.batches, steps);
        bytes += touched_bytes(loader, batch_size, full ? batch_size : last);
    }
    return bytes;
}

/* A file, pixels as stored and as decoded, and the fused pass's. */
static uint64_t worker_bytes(const stk_loader *loader)
{
    const stk__layout *layout = &loader->recipe.layout;
    const stk__extent common = {loader->common.w, loader->common.h},
                      size = stk__decoded_extent(&loader->recipe, common);
    if (!layout->images) return WORKER_BYTES;
    const uint64_t stored = (uint64_t)common.w * (uint64_t)common.h,
                   planes = (uint64_t)layout->channels + layout->masks,
                   decoded = (uint64_t)size.w * (uint64_t)size.h,
                   target = (uint64_t)layout->w * (uint64_t)layout->h;
    const uint64_t resized = decoded < stored ? stored * (uint64_t)layout->channels : 0;
    return WORKER_BYTES + loader->read_bytes + resized + decoded * planes +
           2 * target * (uint64_t)layout->channels * sizeof(float);
}

stk__loader_memory stk__loader_plan_memory(const stk_loader *loader, int64_t batch_size, uint64_t steps)
{
    const stk__slot_choice slots = stk__loader_slots_at(loader, batch_size);
    const uint64_t workers = loader->thread_count ? (uint64_t)loader->thread_count : 1;
    return (stk__loader_memory){.batch_bytes = slots_bytes(loader, batch_size, steps),
                                .device_bytes =
                                    layout_at(loader, batch_size).device_bytes * (uint64_t)slots.count,
                                .cache_bytes = loader->info.cache_bytes,
                                .index_bytes = loader->index_bytes,
                                .worker_bytes = workers * worker_bytes(loader)};
}
