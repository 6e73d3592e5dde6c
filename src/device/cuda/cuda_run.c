/* SPDX-License-Identifier: Apache-2.0 */
/* One batch on a CUDA device and back into host memory, in parts: while the results of one part are copied
 * out on a stream of their own, the next one is copied in and made. Memory of the host that is not pinned is
 * copied by way of memory that is, part by part, too. */
#include "device/cuda/cuda_device.h"

#include "core/align.h"

#include <string.h>

stk_status stk__cuda_alloc(stk__cuda *cuda, stk__cu_pointer *at, size_t bytes, stk_error *error)
{
    stk__cu_pointer made;
    size_t free_bytes = 0, all_bytes = 0;
    const int code = cuda->api->cuMemAlloc_v2(&made, bytes);
    const stk_status status = stk__cuda_check(cuda, code, "cuMemAlloc", error);
    if (status == STK_OK) *at = made;
    if (code != CUDA_ERROR_OUT_OF_MEMORY || !error ||
        cuda->api->cuMemGetInfo_v2(&free_bytes, &all_bytes) != CUDA_SUCCESS)
        return status;
    const stk_error plain = *error;
    stk__fail(error, status, "%.300s: requested %.1f MB on '%s', %.1f of %.1f MB are free", plain.message,
              (double)bytes * 1e-6, cuda->device.info.name, (double)free_bytes * 1e-6,
              (double)all_bytes * 1e-6);
    stk__error_hint(error, "%s", plain.hint);
    return status;
}

/* Nothing that was enqueued before may still use the memory that is given back. */
stk_status stk__cuda_grow(stk__cuda *cuda, stk__cuda_buffer *buffer, size_t bytes, stk_error *error)
{
    if (bytes <= buffer->capacity_bytes) return STK_OK;
    size_t capacity = buffer->capacity_bytes + buffer->capacity_bytes / 2;
    if (capacity < bytes) capacity = bytes;
    if (cuda->newest) STK__TRY(stk__cuda_wait(cuda, STK_CUDA_WAIT_GROW, cuda->newest, error));
    const stk__cu_pointer before = buffer->at;
    *buffer = (stk__cuda_buffer){0};
    if (before) STK__TRY(stk__cuda_check(cuda, cuda->api->cuMemFree_v2(before), "cuMemFree", error));
    stk__cu_pointer at = 0;
    STK__TRY(stk__cuda_alloc(cuda, &at, capacity, error));
    *buffer = (stk__cuda_buffer){at, capacity};
    return STK_OK;
}

stk_status stk__cuda_grow_pinned(stk__cuda *cuda, stk__cuda_pinned *pinned, size_t bytes, stk_error *error)
{
    if (bytes <= pinned->capacity_bytes) return STK_OK;
    size_t capacity = pinned->capacity_bytes + pinned->capacity_bytes / 2;
    if (capacity < bytes) capacity = bytes;
    void *const before = pinned->data;
    *pinned = (stk__cuda_pinned){0};
    if (before) STK__TRY(stk__cuda_check(cuda, cuda->api->cuMemFreeHost(before), "cuMemFreeHost", error));
    void *data = NULL;
    STK__TRY(stk__cuda_check(cuda, cuda->api->cuMemHostAlloc(&data, capacity, 0), "cuMemHostAlloc", error));
    *pinned = (stk__cuda_pinned){data, capacity};
    return STK_OK;
}

stk_status stk__cuda_copy_in(stk__cuda *cuda, stk__cu_pointer to, const void *from, size_t bytes,
                             stk_error *error)
{
    if (bytes == 0) return STK_OK;
    return stk__cuda_check(cuda, cuda->api->cuMemcpyHtoDAsync_v2(to, from, bytes, cuda->stream),
                           "cuMemcpyHtoDAsync", error);
}

stk_status stk__cuda_launch(stk__cuda *cuda, stk__cu_handle kernel, const uint32_t groups[3],
                            const void *work, stk_error *error)
{
    void *parameters[] = {(void *)(uintptr_t)work}; /* read during the call only */
    return stk__cuda_check(cuda,
                           cuda->api->cuLaunchKernel(kernel, groups[0], groups[1], groups[2],
                                                     STK_KERNEL_GROUP, 1, 1, 0, cuda->stream, parameters,
                                                     NULL),
                           "cuLaunchKernel", error);
}

stk_status stk__cuda_launch_augment(stk__cuda *cuda, const stk__launch *launch, const stk__kernel_work *work,
                                    stk_error *error)
{
    const uint32_t groups[3] = {launch->columns, launch->rows, launch->samples};
    if (launch->grey) STK__TRY(stk__cuda_launch(cuda, cuda->grey, groups, work, error));
    return stk__cuda_launch(cuda, cuda->augment, groups, work, error);
}

static stk_status mark_on(stk__cuda *cuda, stk__cu_handle stream, stk__cu_handle event, stk_error *error)
{
    return stk__cuda_check(cuda, cuda->api->cuEventRecord(event, stream), "cuEventRecord", error);
}

stk_status stk__cuda_mark(stk__cuda *cuda, stk__cu_handle event, stk_error *error)
{
    return mark_on(cuda, cuda->stream, event, error);
}

static stk_status wait_on(stk__cuda *cuda, stk__cu_handle stream, stk__cu_handle event, stk_error *error)
{
    return stk__cuda_check(cuda, cuda->api->cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent", error);
}

void stk__cuda_drain(stk__cuda *cuda, stk__cu_handle event)
{
    stk_error error;
    if (stk__cuda_has_lost(cuda)) return;
    if (stk__cuda_mark(cuda, event, &error) == STK_OK &&
        stk__cuda_wait(cuda, STK_CUDA_WAIT_DRAIN, event, &error) == STK_OK)
        return;
    stk__cuda_lose(cuda, &error); /* it cannot be known what still runs */
}

/* Where a batch that goes back to the host lies meanwhile. */
typedef struct transfer {
    const stk__augment_batch *batch;
    stk__launch launch;
    uint8_t *arena, *image, *mask;               /* pinned: the batch's own, or the stages */
    size_t numbers_bytes, image_each, mask_each; /* bytes; those of one sample */
    uint64_t parts;
    bool split; /* the arena is copied part by part */
} transfer;

typedef struct range {
    size_t from, to;
} range;

static uint64_t first_of(const transfer *t, uint64_t part)
{
    return t->batch->count * part / t->parts;
}

static void widen(range *r, const stk_view *view)
{
    if (view->w == 0) return;
    const size_t from = (size_t)view->offset_bytes, to = from +
                                                         (size_t)(view->h - 1) * (size_t)view->pitch_bytes +
                                                         (size_t)view->w * (size_t)view->channels;
    if (r->to == 0 || from < r->from) r->from = from;
    if (to > r->to) r->to = to;
}

/* What a part reads of the arena. */
static range range_of(const transfer *t, uint64_t part)
{
    range r = {0, 0};
    if (!t->split) return part == 0 ? (range){0, t->batch->arena_bytes} : r;
    for (uint64_t i = first_of(t, part); i < first_of(t, part + 1); i++) {
        widen(&r, &t->batch->images[i]);
        if (t->batch->masks) widen(&r, &t->batch->masks[i]);
    }
    return r;
}

/* Parts, and whether it pays to copy the arena in them: not where samples do not lie in their order. */
static void divide(transfer *t)
{
    size_t bytes = 0;
    t->parts = t->batch->count < STK_CUDA_PARTS ? t->batch->count : STK_CUDA_PARTS;
    t->split = true;
    for (uint64_t part = 0; part < t->parts; part++) {
        const range r = range_of(t, part);
        bytes += r.to - r.from;
    }
    t->split = bytes <= t->batch->arena_bytes;
}

static stk_status make_room(stk__cuda *cuda, transfer *t, stk_error *error)
{
    const stk__augment_batch *batch = t->batch;
    const stk__augment_target *target = &batch->target;
    const size_t pixels = (size_t)target->w * (size_t)target->h, count = (size_t)batch->count;
    t->image_each = pixels * (size_t)target->channels * (size_t)stk_dtype_bytes(target->dtype);
    t->mask_each = target->mask ? pixels * (size_t)stk_dtype_bytes(target->mask_dtype) : 0;
    t->numbers_bytes = count * sizeof(stk__kernel_sample);
    const size_t mask_at = stk__align_up(count * t->image_each, STK_LINE_BYTES);
    STK__TRY(stk__cuda_grow(cuda, &cuda->arena, batch->arena_bytes + 1, error));
    STK__TRY(stk__cuda_grow(cuda, &cuda->numbers, t->numbers_bytes, error));
    STK__TRY(stk__cuda_grow(cuda, &cuda->image, count * t->image_each, error));
    STK__TRY(stk__cuda_grow(cuda, &cuda->mask, count * t->mask_each + 1, error));
    STK__TRY(stk__cuda_grow_pinned(cuda, &cuda->numbers_stage, t->numbers_bytes, error));
    t->arena = (uint8_t *)(uintptr_t)batch->arena;
    t->image = target->image;
    t->mask = target->mask;
    if (batch->pinned) return STK_OK;
    STK__TRY(stk__cuda_grow_pinned(cuda, &cuda->arena_stage, batch->arena_bytes + 1, error));
    STK__TRY(stk__cuda_grow_pinned(cuda, &cuda->output_stage, mask_at + count * t->mask_each, error));
    t->arena = cuda->arena_stage.data;
    t->image = cuda->output_stage.data;
    t->mask = cuda->output_stage.data + mask_at;
    return STK_OK;
}

static stk_status copy_part_in(stk__cuda *cuda, const transfer *t, uint64_t part, stk_error *error)
{
    const range r = range_of(t, part);
    const size_t bytes = r.to - r.from;
    STK__TRY(stk__cuda_mark(cuda, cuda->parts[part][STK_CUDA_BEGUN], error));
    if (bytes && !t->batch->pinned) memcpy(t->arena + r.from, t->batch->arena + r.from, bytes);
    STK__TRY(stk__cuda_copy_in(cuda, cuda->arena.at + r.from, t->arena + r.from, bytes, error));
    if (part == 0)
        STK__TRY(
            stk__cuda_copy_in(cuda, cuda->numbers.at, cuda->numbers_stage.data, t->numbers_bytes, error));
    return stk__cuda_mark(cuda, cuda->parts[part][STK_CUDA_COPIED], error);
}

static stk_status make_part(stk__cuda *cuda, const transfer *t, uint64_t part, stk_error *error)
{
    const uint64_t first = first_of(t, part);
    const stk__kernel_work work = {
        .launch = t->launch.text,
        .arena = (const unsigned char *)(uintptr_t)cuda->arena.at,
        .samples = (stk__kernel_sample *)(uintptr_t)(cuda->numbers.at + first * sizeof(stk__kernel_sample)),
        .image = (unsigned char *)(uintptr_t)(cuda->image.at + first * t->image_each),
        .mask = (unsigned char *)(uintptr_t)(cuda->mask.at + first * t->mask_each)};
    stk__launch launch = t->launch;
    launch.samples = (uint32_t)(first_of(t, part + 1) - first);
    STK__TRY(stk__cuda_launch_augment(cuda, &launch, &work, error));
    return stk__cuda_mark(cuda, cuda->parts[part][STK_CUDA_MADE], error);
}

static stk_status copy_out(stk__cuda *cuda, void *to, stk__cu_pointer from, size_t bytes, stk_error *error)
{
    if (bytes == 0) return STK_OK;
    return stk__cuda_check(cuda, cuda->api->cuMemcpyDtoHAsync_v2(to, from, bytes, cuda->back),
                           "cuMemcpyDtoHAsync", error);
}

static stk_status copy_part_out(stk__cuda *cuda, const transfer *t, uint64_t part, stk_error *error)
{
    const size_t first = (size_t)first_of(t, part), count = (size_t)first_of(t, part + 1) - first;
    const size_t image_at = first * t->image_each, mask_at = first * t->mask_each;
    if (stk__cuda_wait_skip != STK_CUDA_WAIT_PART)
        STK__TRY(wait_on(cuda, cuda->back, cuda->parts[part][STK_CUDA_MADE], error));
    STK__TRY(copy_out(cuda, t->image + image_at, cuda->image.at + image_at, count * t->image_each, error));
    if (t->mask_each)
        STK__TRY(copy_out(cuda, t->mask + mask_at, cuda->mask.at + mask_at, count * t->mask_each, error));
    return mark_on(cuda, cuda->back, cuda->parts[part][STK_CUDA_DONE], error);
}

static stk_status enqueue(stk__cuda *cuda, const transfer *t, stk_error *error)
{
    for (uint64_t part = 0; part < t->parts; part++) {
        STK__TRY(copy_part_in(cuda, t, part, error));
        STK__TRY(make_part(cuda, t, part, error));
        STK__TRY(copy_part_out(cuda, t, part, error));
    }
    return STK_OK;
}

/* Both streams, the second by way of the first. */
static void drain_both(stk__cuda *cuda)
{
    stk_error error;
    const stk__cu_handle begun = cuda->marks[STK_CUDA_BEGUN];
    if (!stk__cuda_has_lost(cuda) && (mark_on(cuda, cuda->back, begun, &error) != STK_OK ||
                                      wait_on(cuda, cuda->stream, begun, &error) != STK_OK))
        stk__cuda_lose(cuda, &error); /* it cannot be known what still runs */
    stk__cuda_drain(cuda, cuda->marks[STK_CUDA_DONE]);
}

/* Copies are all that is not kernels; what of them overlaps is not counted twice. */
static void note_times(stk__cuda *cuda, uint64_t parts)
{
    uint64_t kernels_ns = 0;
    for (uint64_t part = 0; part < parts; part++)
        kernels_ns +=
            stk__cuda_time_ns(cuda, cuda->parts[part][STK_CUDA_COPIED], cuda->parts[part][STK_CUDA_MADE]);
    const uint64_t all_ns =
        stk__cuda_time_ns(cuda, cuda->parts[0][STK_CUDA_BEGUN], cuda->parts[parts - 1][STK_CUDA_DONE]);
    cuda->device.last_kernel_ns = kernels_ns;
    cuda->device.last_copy_ns = all_ns > kernels_ns ? all_ns - kernels_ns : 0;
}

static stk_status take_part(stk__cuda *cuda, const transfer *t, uint64_t part, stk_error *error)
{
    const size_t first = (size_t)first_of(t, part), count = (size_t)first_of(t, part + 1) - first;
    const size_t image_at = first * t->image_each, mask_at = first * t->mask_each;
    STK__TRY(stk__cuda_wait(cuda, STK_CUDA_WAIT_BATCH, cuda->parts[part][STK_CUDA_DONE], error));
    if (t->batch->pinned) return STK_OK;
    memcpy((uint8_t *)t->batch->target.image + image_at, t->image + image_at, count * t->image_each);
    if (t->mask_each)
        memcpy((uint8_t *)t->batch->target.mask + mask_at, t->mask + mask_at, count * t->mask_each);
    return STK_OK;
}

static stk_status run_batch(stk__cuda *cuda, const stk__augment_batch *batch, stk_error *error)
{
    transfer t = {.batch = batch};
    STK__TRY(make_room(cuda, &t, error));
    divide(&t);
    t.launch = stk__launch_make(batch, (stk__kernel_sample *)(void *)cuda->numbers_stage.data);
    const stk_status status = enqueue(cuda, &t, error);
    if (status != STK_OK) {
        drain_both(cuda);
        return status;
    }
    for (uint64_t part = 0; part < t.parts; part++)
        STK__TRY(take_part(cuda, &t, part, error));
    note_times(cuda, t.parts);
    return STK_OK;
}

stk_status stk__cuda_run(stk__cuda *cuda, const stk__augment_batch *batch, stk_error *error)
{
    STK__TRY(stk__cuda_enter(cuda, error));
    const stk_status status = run_batch(cuda, batch, error);
    stk__cuda_leave(cuda);
    return status;
}
