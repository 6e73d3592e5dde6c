/* SPDX-License-Identifier: Apache-2.0 */
/* Images and masks of a call. On the CPU each sample is read, resized and swapped by the worker that runs its
 * pass, just before, so that its pixels are still in the cache; bytes as results are rounded from the floats
 * of that worker just after. A device gets all samples in one arena, filled the same way, unless they lie in
 * its memory (augmenter_resident.c). Pairs are mixed at last. Threads: the process's pool; calls of the
 * device are the caller's. */
#include "augmenter/augmenter.h"

#include "core/align.h"
#include "core/pool.h"
#include "image/resize.h"

#include <string.h>

/* The caller's pixels as the pass reads them. */
static stk_status read_image(const stk__augmenter_sample *sample, stk__augmenter_worker *worker,
                             stk__pixels *pixels, stk_error *error)
{
    stk__pixels whole;
    const stk__extent size = sample->resized;
    STK__TRY(stk__pixel_source_read(&sample->image, false, &worker->image, &whole, error));
    *pixels = whole;
    if (whole.w == size.w && whole.h == size.h) return STK_OK;
    *pixels = stk__pixels_dense(NULL, size.w, size.h, whole.channels);
    STK__TRY(stk__buffer_reserve(&worker->small_image, pixels->pitch_bytes * (size_t)size.h, error));
    pixels->data = worker->small_image.data;
    return stk__resize_image(whole, *pixels, &worker->resizing, error);
}

/* Ids that change sides are changed in a copy. */
static stk_status read_mask(const stk__augmenter_call *call, const stk__augmenter_sample *sample,
                            stk__augmenter_worker *worker, stk__pixels *pixels, stk_error *error)
{
    const stk__flip *flip = &call->augmenter->flip;
    const stk__extent size = sample->resized;
    const bool small = sample->mask.w != size.w || sample->mask.h != size.h,
               swaps = sample->swaps && flip->masks.count;
    stk__pixels whole;
    STK__TRY(stk__pixel_source_read(&sample->mask, swaps && !small, &worker->mask, &whole, error));
    *pixels = whole;
    if (small) {
        *pixels = stk__pixels_dense(NULL, size.w, size.h, 1);
        STK__TRY(stk__buffer_reserve(&worker->small_mask, pixels->pitch_bytes * (size_t)size.h, error));
        pixels->data = worker->small_mask.data;
        stk__resize_mask(whole, *pixels);
    }
    if (swaps) stk__flip_mask(flip, *pixels, *pixels);
    return STK_OK;
}

static stk_status read_sample(const stk__augmenter_call *call, size_t item, int number,
                              stk__augment_source *source, stk_error *error)
{
    const stk__augmenter_sample *sample = &call->samples[item];
    stk__augmenter_worker *worker = &call->augmenter->workers[number];
    *source = (stk__augment_source){.mask = {.channels = 1}};
    STK__TRY(read_image(sample, worker, &source->image, error));
    return call->masks ? read_mask(call, sample, worker, &source->mask, error) : STK_OK;
}

/* ---- on the CPU ---- */

static size_t value_count(const stk__augment_target *target)
{
    return (size_t)target->w * (size_t)target->h * (size_t)target->channels;
}

static uint8_t *image_at(const stk__augmenter_call *call, size_t item)
{
    const stk__augment_target *target = &call->target;
    return (uint8_t *)target->image + item * value_count(target) * (size_t)stk_dtype_bytes(target->dtype);
}

static stk_status begin_pass(void *context, size_t item, int number, stk__augment_source *source,
                             stk__augment_target *target, stk_error *error)
{
    const stk__augmenter_call *call = context;
    *target = call->target;
    target->image = image_at(call, item);
    if (target->mask)
        target->mask = (uint8_t *)target->mask + item * (size_t)target->w * (size_t)target->h *
                                                     (size_t)stk_dtype_bytes(target->mask_dtype);
    if (target->dtype == STK_DTYPE_U8) { /* levels as floats first */
        stk__buffer *values = &call->augmenter->workers[number].values;
        STK__TRY(stk__buffer_reserve(values, value_count(target) * sizeof(float), error));
        target->image = values->data;
        target->dtype = STK_DTYPE_F32;
        for (int c = 0; c < 3; c++) {
            target->scale[c] = 1;
            target->bias[c] = 0;
        }
    }
    return read_sample(call, item, number, source, error);
}

static void round_values(void *context, size_t item, int number)
{
    const stk__augmenter_call *call = context;
    const float *values = (const float *)(const void *)call->augmenter->workers[number].values.data;
    uint8_t *bytes = image_at(call, item);
    const size_t count = value_count(&call->target);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(int)(values[i] + 0.5f);
}

/* Pairs of samples in host memory. */
typedef struct mix_run {
    stk__mix_batch batch;
    const stk__kernel_mix *mixes;
} mix_run;

static void mix_entry(void *context, size_t item, int worker)
{
    const mix_run *run = context;
    (void)worker;
    stk__mix_run(&run->mixes[item], &run->batch);
}

static void mix_on_host(const stk__augmenter_call *call)
{
    mix_run run = {.batch = {.first = call->target, .mask2 = call->mask2}, .mixes = call->mixes};
    stk__pool_run(&(stk__pool_job){.run = mix_entry,
                                   .context = &run,
                                   .count = call->mix_count,
                                   .workers = call->augmenter->crew.workers});
}

static stk_status run_on_pool(stk__augmenter_call *call, stk_error *error)
{
    const stk__augment_work work = {.count = call->count,
                                    .blocks = call->blocks,
                                    .context = call,
                                    .begin = begin_pass,
                                    .end = call->target.dtype == STK_DTYPE_U8 ? round_values : NULL};
    STK__TRY(stk__augment_crew_run(&work, &call->augmenter->crew, error));
    mix_on_host(call);
    return STK_OK;
}

/* ---- on a device ---- */

static size_t lay_out(stk__augmenter_call *call, stk_view *images, stk_view *masks)
{
    const int32_t channels = call->target.channels;
    size_t end = 0;
    for (size_t i = 0; i < call->count; i++) {
        stk__augmenter_sample *sample = &call->samples[i];
        const int32_t w = sample->resized.w, h = sample->resized.h;
        const size_t area = (size_t)w * (size_t)h;
        sample->image_offset = end;
        images[i] = (stk_view){end, (uint64_t)w * (uint64_t)channels, w, h, channels};
        end = stk__align_up(end + area * (size_t)channels, STK_LINE_BYTES);
        sample->mask_offset = end;
        masks[i] = (stk_view){end, (uint64_t)w, w, h, 1};
        if (call->masks) end = stk__align_up(end + area, STK_LINE_BYTES);
    }
    return end;
}

static stk_status begin_copy(void *context, size_t item, int number, stk__augment_source *source,
                             stk__augment_target *target, stk_error *error)
{
    const stk__augmenter_call *call = context;
    const stk__augmenter_sample *sample = &call->samples[item];
    uint8_t *arena = call->augmenter->arena.data;
    *target = (stk__augment_target){.image = arena + sample->image_offset,
                                    .mask = call->masks ? arena + sample->mask_offset : NULL};
    return read_sample(call, item, number, source, error);
}

static void copy_pixels(const stk__pixels *from, uint8_t *to)
{
    const size_t row_bytes = (size_t)from->w * (size_t)from->channels;
    for (int32_t y = 0; y < from->h; y++)
        memcpy(to + (size_t)y * row_bytes, stk__pixels_row(*from, y), row_bytes);
}

/* In the place of a kernel: a sample into the arena as it is. */
static stk_status copy_sample(const stk__augment_block *block, const stk__augment_source *source,
                              const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    (void)block, (void)scratch, (void)error;
    copy_pixels(&source->image, target->image);
    if (target->mask) copy_pixels(&source->mask, target->mask);
    return STK_OK;
}

/* Everything but the arena's bytes. */
static stk_status make_batch(stk__augmenter_call *call, stk__augment_batch *batch, stk_error *error)
{
    stk_augmenter *augmenter = call->augmenter;
    STK__TRY(stk__buffer_reserve(&augmenter->views, 2 * call->count * sizeof(stk_view), error));
    stk_view *images = (stk_view *)(void *)augmenter->views.data, *masks = images + call->count;
    *batch = (stk__augment_batch){.count = call->count,
                                  .blocks = call->blocks,
                                  .arena_bytes = lay_out(call, images, masks),
                                  .images = images,
                                  .masks = call->masks ? masks : NULL,
                                  .target = call->target};
    return STK_OK;
}

static stk_status fill_arena(stk__augmenter_call *call, stk__augment_batch *batch, stk_error *error)
{
    stk_augmenter *augmenter = call->augmenter;
    STK__TRY(stk__buffer_reserve(&augmenter->arena, batch->arena_bytes, error));
    augmenter->crew.kernel = copy_sample;
    const stk__augment_work work = {
        .count = call->count, .blocks = call->blocks, .context = call, .begin = begin_copy};
    batch->arena = augmenter->arena.data;
    return stk__augment_crew_run(&work, &augmenter->crew, error);
}

/* The events of a batch that stays on the device; its results are in the caller's memory there. */
static stk_status keep_events(stk_augmenter *augmenter, uint64_t places, stk_error *error)
{
    enum { LEAST_BYTES = 64 };
    const stk__device_room room = {.size_bytes = LEAST_BYTES, .places = places, .gathers = true};
    if (augmenter->kept && augmenter->kept_places >= places) return STK_OK;
    if (!stk__device_memory_destroy(&augmenter->kept)) augmenter->lost = true;
    STK__TRY(stk__device_memory_create(augmenter->device, &room, &augmenter->kept, error));
    augmenter->kept_places = places;
    return STK_OK;
}

static stk_status run_into_device(stk__augmenter_call *call, const stk__augment_batch *batch,
                                  stk_error *error)
{
    stk_augmenter *augmenter = call->augmenter;
    stk__device_task task = {.augment = *batch,
                             .table = augmenter->flip.ids,
                             .mixes = call->mixes,
                             .mix_count = call->mix_count,
                             .mask2 = call->mask2};
    bool free;
    if (call->resident) STK__TRY(stk__augmenter_sources(call, &task.sources, error));
    STK__TRY(keep_events(augmenter, call->count, error));
    STK__TRY(stk__device_submit(augmenter->kept, &task, error));
    STK__TRY(stk__device_ready(augmenter->kept, error));
    STK__TRY(stk__device_ask(augmenter->kept, &free, error));
    return call->resident ? stk__augmenter_judge_sources(call, error) : STK_OK;
}

static stk_status run_on_device(stk__augmenter_call *call, stk_error *error)
{
    stk__augment_batch batch;
    STK__TRY(make_batch(call, &batch, error));
    if (!call->resident) STK__TRY(fill_arena(call, &batch, error));
    if (call->io->out_images.device != STK_DEVICE_CPU) return run_into_device(call, &batch, error);
    STK__TRY(stk__device_augment(call->augmenter->device, &batch, error));
    mix_on_host(call);
    return STK_OK;
}

stk_status stk__augmenter_run(stk__augmenter_call *call, stk_error *error)
{
    stk_augmenter *augmenter = call->augmenter;
    if (!augmenter->device) return run_on_pool(call, error);
    const stk_status status = run_on_device(call, error);
    if (status == STK_ERROR_TIMEOUT) augmenter->lost = true;
    return status;
}
