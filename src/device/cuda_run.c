/* One batch on a CUDA device and back into host memory: two copies in, one or two launches, one or two copies
 * out, one wait. */
#include "core/clock.h"
#include "device/cuda_device.h"

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
    stk__fail(error, status, "%.300s: %.1f MB of '%s' are asked for, %.1f of %.1f MB are free", plain.message,
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

static stk_status copy_out(stk__cuda *cuda, void *to, stk__cu_pointer from, size_t bytes, stk_error *error)
{
    if (bytes == 0) return STK_OK;
    return stk__cuda_check(cuda, cuda->api->cuMemcpyDtoHAsync_v2(to, from, bytes, cuda->stream),
                           "cuMemcpyDtoHAsync", error);
}

stk_status stk__cuda_launch(stk__cuda *cuda, stk__cu_handle kernel, const uint32_t groups[3],
                            const void *work, stk_error *error)
{
    void *parameters[] = {(void *)(uintptr_t)work}; /* read during the call only */
    return stk__cuda_check(cuda,
                           cuda->api->cuLaunchKernel(kernel, groups[0], groups[1], groups[2], STK_TEXT_GROUP,
                                                     1, 1, 0, cuda->stream, parameters, NULL),
                           "cuLaunchKernel", error);
}

stk_status stk__cuda_launch_augment(stk__cuda *cuda, const stk__launch *launch, const stk__text_work *work,
                                    stk_error *error)
{
    const uint32_t groups[3] = {launch->columns, launch->rows, launch->samples};
    if (launch->grey) STK__TRY(stk__cuda_launch(cuda, cuda->grey, groups, work, error));
    return stk__cuda_launch(cuda, cuda->augment, groups, work, error);
}

stk_status stk__cuda_mark(stk__cuda *cuda, stk__cu_handle event, stk_error *error)
{
    return stk__cuda_check(cuda, cuda->api->cuEventRecord(event, cuda->stream), "cuEventRecord", error);
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
typedef struct trip {
    const stk__augment_batch *batch;
    stk__launch launch;
    const void *arena; /* pinned: the batch's own, or the stage */
    void *image, *mask;
    size_t numbers_bytes;
} trip;

static stk_status make_room(stk__cuda *cuda, trip *t, stk_error *error)
{
    const stk__augment_batch *batch = t->batch;
    const stk__augment_target *target = &batch->target;
    const size_t pixels = (size_t)batch->count * (size_t)target->w * (size_t)target->h;
    const size_t image_bytes = pixels * (size_t)target->channels * (size_t)stk_dtype_bytes(target->dtype),
                 mask_bytes = target->mask ? pixels * (size_t)stk_dtype_bytes(target->mask_dtype) : 0;
    const size_t mask_at = (image_bytes + 63) / 64 * 64;
    t->numbers_bytes = (size_t)batch->count * sizeof(stk__text_sample);
    STK__TRY(stk__cuda_grow(cuda, &cuda->arena, batch->arena_bytes + 1, error));
    STK__TRY(stk__cuda_grow(cuda, &cuda->numbers, t->numbers_bytes, error));
    STK__TRY(stk__cuda_grow(cuda, &cuda->image, image_bytes, error));
    STK__TRY(stk__cuda_grow(cuda, &cuda->mask, mask_bytes + 1, error));
    STK__TRY(stk__cuda_grow_pinned(cuda, &cuda->numbers_stage, t->numbers_bytes, error));
    t->arena = batch->arena;
    t->image = target->image;
    t->mask = target->mask;
    if (batch->pinned) return STK_OK;
    STK__TRY(stk__cuda_grow_pinned(cuda, &cuda->arena_stage, batch->arena_bytes + 1, error));
    STK__TRY(stk__cuda_grow_pinned(cuda, &cuda->output_stage, mask_at + mask_bytes, error));
    if (batch->arena_bytes) memcpy(cuda->arena_stage.data, batch->arena, batch->arena_bytes);
    t->arena = cuda->arena_stage.data;
    t->image = cuda->output_stage.data;
    t->mask = cuda->output_stage.data + mask_at;
    return STK_OK;
}

static stk_status enqueue(stk__cuda *cuda, const trip *t, stk_error *error)
{
    const stk__text_work work = {.launch = t->launch.text,
                                 .arena = (const unsigned char *)(uintptr_t)cuda->arena.at,
                                 .samples = (stk__text_sample *)(uintptr_t)cuda->numbers.at,
                                 .image = (unsigned char *)(uintptr_t)cuda->image.at,
                                 .mask = (unsigned char *)(uintptr_t)cuda->mask.at};
    STK__TRY(stk__cuda_mark(cuda, cuda->marks[STK_CUDA_BEGUN], error));
    STK__TRY(stk__cuda_copy_in(cuda, cuda->arena.at, t->arena, t->batch->arena_bytes, error));
    STK__TRY(stk__cuda_copy_in(cuda, cuda->numbers.at, cuda->numbers_stage.data, t->numbers_bytes, error));
    STK__TRY(stk__cuda_mark(cuda, cuda->marks[STK_CUDA_COPIED], error));
    STK__TRY(stk__cuda_launch_augment(cuda, &t->launch, &work, error));
    STK__TRY(stk__cuda_mark(cuda, cuda->marks[STK_CUDA_MADE], error));
    STK__TRY(copy_out(cuda, t->image, cuda->image.at, t->launch.image_bytes, error));
    STK__TRY(copy_out(cuda, t->mask, cuda->mask.at, t->launch.mask_bytes, error));
    return stk__cuda_mark(cuda, cuda->marks[STK_CUDA_DONE], error);
}

static void note_times(stk__cuda *cuda)
{
    const stk__cu_handle *const marks = cuda->marks;
    cuda->device.last_kernel_ns = stk__cuda_time_ns(cuda, marks[STK_CUDA_COPIED], marks[STK_CUDA_MADE]);
    cuda->device.last_copy_ns = stk__cuda_time_ns(cuda, marks[STK_CUDA_BEGUN], marks[STK_CUDA_COPIED]) +
                                stk__cuda_time_ns(cuda, marks[STK_CUDA_MADE], marks[STK_CUDA_DONE]);
}

static stk_status run_batch(stk__cuda *cuda, const stk__augment_batch *batch, stk_error *error)
{
    trip t = {.batch = batch};
    STK__TRY(make_room(cuda, &t, error));
    t.launch = stk__launch_make(batch, (stk__text_sample *)(void *)cuda->numbers_stage.data);
    const stk_status status = enqueue(cuda, &t, error);
    if (status != STK_OK) {
        stk__cuda_drain(cuda, cuda->marks[STK_CUDA_DONE]);
        return status;
    }
    STK__TRY(stk__cuda_wait(cuda, STK_CUDA_WAIT_BATCH, cuda->marks[STK_CUDA_DONE], error));
    note_times(cuda);
    if (batch->pinned) return STK_OK;
    memcpy(batch->target.image, t.image, t.launch.image_bytes);
    if (t.launch.mask_bytes) memcpy(batch->target.mask, t.mask, t.launch.mask_bytes);
    return STK_OK;
}

stk_status stk__cuda_run(stk__cuda *cuda, const stk__augment_batch *batch, stk_error *error)
{
    STK__TRY(stk__cuda_enter(cuda, error));
    const stk_status status = run_batch(cuda, batch, error);
    stk__cuda_leave(cuda);
    return status;
}
