/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that stay in the memory of a CUDA device: one of these for each slot of a loader. Everything is
 * enqueued on the device's own stream, so that buffers which all slots share are used one batch after the
 * other; events tell the consumer's stream when a batch is there, and us when the consumer is through. */
#include "core/logger.h"
#include "core/align.h"
#include "device/cuda/cuda_device.h"

#include <string.h>

enum { TABLE_BYTES = 256, WRONG_BYTES = 2 * sizeof(uint32_t) };

typedef struct slot_memory {
    stk__device_memory memory;
    uint8_t *host;                       /* the slot's own, pinned up to memory.pinned_bytes */
    stk__cuda_pinned numbers;            /* of the batch that is on its way; their order: number_places */
    stk__cu_handle marks[STK_CUDA_DONE]; /* begun, copied, made; the last is the fence of the batch */
    stk__cu_handle released;             /* on the consumer's stream */
    bool submitted;                      /* since it was free */
    bool has_release;                    /* written by who releases, before the slot is handed back */
} slot_memory;

static stk__cuda *cuda_of(const slot_memory *slot)
{
    return (stk__cuda *)slot->memory.device;
}

static stk_status create_event(stk__cuda *cuda, stk__cu_handle *event, unsigned flags, stk_error *error)
{
    stk__cu_handle made;
    STK__TRY(stk__cuda_check(cuda, cuda->api->cuEventCreate(&made, flags), "cuEventCreate", error));
    *event = made;
    return STK_OK;
}

/* Locked memory is limited on many machines; without it copies are slower, and that is all. */
static stk_status pin(slot_memory *slot, const stk__device_room *room, stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    stk_error own;
    slot->host = room->host;
    if (!room->host_bytes) return STK_OK;
    const int code = cuda->api->cuMemHostRegister_v2(room->host, room->host_bytes, 0);
    const stk_status status = stk__cuda_check(cuda, code, "cuMemHostRegister", &own);
    if (status == STK_OK)
        slot->memory.pinned_bytes = room->host_bytes;
    else if (!stk__cuda_has_lost(cuda))
        stk__log(STK_LOG_WARNING, "cannot pin a slot of %zu bytes of host memory: %s", room->host_bytes,
                 own.message);
    else if (error)
        *error = own;
    return stk__cuda_has_lost(cuda) ? status : STK_OK;
}

static stk_status create_all(slot_memory *slot, const stk__device_room *room, stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    STK__TRY(pin(slot, room, error));
    if (!room->size_bytes) return STK_OK;
    stk__cu_pointer at;
    STK__TRY(stk__cuda_alloc(cuda, &at, room->size_bytes, error));
    slot->memory.data = (uint8_t *)(uintptr_t)at;
    slot->memory.size_bytes = room->size_bytes;
    for (int i = 0; i < STK_CUDA_DONE; i++)
        STK__TRY(create_event(cuda, &slot->marks[i], CU_EVENT_DEFAULT, error));
    STK__TRY(create_event(cuda, &slot->released, CU_EVENT_DISABLE_TIMING, error));
    size_t each = sizeof(stk__kernel_sample) + sizeof(stk__kernel_mix), more = STK_LINE_BYTES;
    if (room->gathers) {
        each += sizeof(stk__kernel_gather) + WRONG_BYTES;
        more += STK_LINE_BYTES + TABLE_BYTES;
    }
    return stk__cuda_grow_pinned(cuda, &slot->numbers, (size_t)room->places * each + more, error);
}

static void release_all(slot_memory *slot)
{
    stk__cuda *cuda = cuda_of(slot);
    const stk__cuda_api *api = cuda->api;
    if (cuda->newest == slot->marks[STK_CUDA_MADE]) cuda->newest = NULL; /* it has been waited for */
    for (int i = 0; i < STK_CUDA_DONE; i++)
        if (slot->marks[i]) api->cuEventDestroy_v2(slot->marks[i]);
    if (slot->released) api->cuEventDestroy_v2(slot->released);
    if (slot->numbers.data) api->cuMemFreeHost(slot->numbers.data);
    if (slot->memory.data) api->cuMemFree_v2((stk__cu_pointer)(uintptr_t)slot->memory.data);
    if (slot->memory.pinned_bytes) api->cuMemHostUnregister(slot->host);
}

/* A wait that fails makes the device lost. */
static void wait_for_all(slot_memory *slot)
{
    stk__cuda *cuda = cuda_of(slot);
    if (slot->submitted &&
        stk__cuda_wait(cuda, STK_CUDA_WAIT_CLOSE, slot->marks[STK_CUDA_MADE], NULL) == STK_OK &&
        slot->has_release)
        stk__cuda_wait(cuda, STK_CUDA_WAIT_CLOSE, slot->released, NULL);
}

bool stk__cuda_memory_destroy(stk__device_memory *memory)
{
    slot_memory *slot = (slot_memory *)memory;
    stk__cuda *cuda = cuda_of(slot);
    if (stk__cuda_enter(cuda, NULL) == STK_OK) {
        wait_for_all(slot);
        if (!stk__cuda_has_lost(cuda)) release_all(slot);
        stk__cuda_leave(cuda);
    }
    const bool lost = stk__cuda_has_lost(cuda);
    stk__free(slot);
    return !lost;
}

stk_status stk__cuda_memory_create(stk__device *device, const stk__device_room *room,
                                   stk__device_memory **memory, stk_error *error)
{
    stk__cuda *cuda = (stk__cuda *)device;
    slot_memory *slot = stk__alloc(sizeof *slot);
    if (!slot) return stk__fail_memory(error, sizeof *slot, "a slot on a device");
    slot->memory.device = device;
    stk_status status = stk__cuda_enter(cuda, error);
    if (status == STK_OK) {
        status = create_all(slot, room, error);
        if (status != STK_OK && !stk__cuda_has_lost(cuda)) release_all(slot);
        stk__cuda_leave(cuda);
    }
    if (status == STK_OK)
        *memory = &slot->memory;
    else
        stk__free(slot);
    return status;
}

/* Where the numbers of a batch begin, in bytes: samples at 0, then these. */
typedef struct number_places {
    size_t mixes, sources, table, wrong, end;
} number_places;

static number_places place_numbers(const stk__device_task *task)
{
    const size_t count = (size_t)task->augment.count;
    number_places at = {.mixes = stk__align_up(count * sizeof(stk__kernel_sample), STK_LINE_BYTES)};
    at.end = at.mixes + (size_t)task->mix_count * sizeof(stk__kernel_mix);
    if (!task->sources) return at;
    at.sources = stk__align_up(at.end, STK_LINE_BYTES);
    at.table = at.sources + count * sizeof(stk__kernel_gather);
    at.wrong = at.table + TABLE_BYTES;
    at.end = at.wrong + count * WRONG_BYTES;
    return at;
}

/* But for the samples. */
static void write_numbers(const stk__device_task *task, const number_places *at, uint8_t *to)
{
    const size_t count = (size_t)task->augment.count;
    if (task->mix_count)
        memcpy(to + at->mixes, task->mixes, (size_t)task->mix_count * sizeof(stk__kernel_mix));
    if (!task->sources) return;
    memcpy(to + at->sources, task->sources, count * sizeof(stk__kernel_gather));
    memcpy(to + at->table, task->table, TABLE_BYTES);
    memset(to + at->wrong, 0xff, count * WRONG_BYTES); /* UINT32_MAX */
}

/* What lies behind the pinned part is copied on its own: the driver takes no range that is half of each. */
static stk_status copy_arena(slot_memory *slot, const stk__augment_batch *batch, stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    const uint8_t *pinned_end = slot->host + slot->memory.pinned_bytes;
    size_t first = 0;
    if (batch->arena >= slot->host && batch->arena < pinned_end) first = (size_t)(pinned_end - batch->arena);
    if (first > batch->arena_bytes) first = batch->arena_bytes;
    STK__TRY(stk__cuda_copy_in(cuda, cuda->arena.at, batch->arena, first, error));
    return stk__cuda_copy_in(cuda, cuda->arena.at + first, batch->arena + first, batch->arena_bytes - first,
                             error);
}

static stk_status enqueue_copies(slot_memory *slot, const stk__device_task *task, const number_places *at,
                                 stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    STK__TRY(stk__cuda_mark(cuda, slot->marks[STK_CUDA_BEGUN], error));
    for (int i = 0; i < STK_DEVICE_COPIES; i++)
        STK__TRY(stk__cuda_copy_in(cuda, (stk__cu_pointer)(uintptr_t)task->copies[i].to, task->copies[i].from,
                                   task->copies[i].bytes, error));
    if (!task->sources) STK__TRY(copy_arena(slot, &task->augment, error));
    STK__TRY(stk__cuda_copy_in(cuda, cuda->numbers.at, slot->numbers.data, at->end, error));
    return stk__cuda_mark(cuda, slot->marks[STK_CUDA_COPIED], error);
}

/* The arena from what lies on the device, and back what of it is no pixel. */
static stk_status enqueue_gather(slot_memory *slot, const stk__device_task *task, const number_places *at,
                                 stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    const stk__cu_pointer wrong = cuda->numbers.at + at->wrong;
    const size_t wrong_bytes = (size_t)task->augment.count * WRONG_BYTES;
    const stk__kernel_gather_work work = {
        .sources = (const stk__kernel_gather *)(uintptr_t)(cuda->numbers.at + at->sources),
        .table = (const unsigned char *)(uintptr_t)(cuda->numbers.at + at->table),
        .arena = (unsigned char *)(uintptr_t)cuda->arena.at,
        .wrong = (uint32_t *)(uintptr_t)wrong};
    uint32_t groups[3];
    stk__launch_gather_groups(task->sources, (uint32_t)task->augment.count, groups);
    STK__TRY(stk__cuda_launch(cuda, cuda->gather, groups, &work, error));
    slot->memory.wrong = (const uint32_t *)(void *)(slot->numbers.data + at->wrong);
    return stk__cuda_check(
        cuda,
        cuda->api->cuMemcpyDtoHAsync_v2(slot->numbers.data + at->wrong, wrong, wrong_bytes, cuda->stream),
        "cuMemcpyDtoHAsync", error);
}

/* Levels of all samples, as bytes where the target is. */
static stk_status enqueue_round(slot_memory *slot, const stk__device_task *task, stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    const stk__augment_target *target = &task->augment.target;
    const stk__kernel_round_work work = {.from = (const float *)(uintptr_t)cuda->image.at,
                                         .to = target->image,
                                         .length = (uint32_t)target->w * (uint32_t)target->h *
                                                   (uint32_t)target->channels};
    const uint32_t groups[3] = {(work.length + STK_KERNEL_ROUND_VALUES - 1) / STK_KERNEL_ROUND_VALUES, 1,
                                (uint32_t)task->augment.count};
    return stk__cuda_launch(cuda, cuda->round, groups, &work, error);
}

static stk_status enqueue_mix(slot_memory *slot, const stk__device_task *task, const stk__launch *launch,
                              const number_places *at, stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    const stk__augment_target *target = &task->augment.target;
    stk__kernel_mix_work mix = {.launch = launch->text,
                                .mixes = (const stk__kernel_mix *)(uintptr_t)(cuda->numbers.at + at->mixes),
                                .image = target->image,
                                .mask = target->mask,
                                .mask2 = task->mask2};
    const uint32_t groups[3] = {launch->columns, launch->rows, (uint32_t)task->mix_count};
    if (target->dtype == STK_DTYPE_U8) mix.launch.dtype = STK_KERNEL_U8;
    return stk__cuda_launch(cuda, cuda->mix, groups, &mix, error);
}

/* batch: what stk_augment makes of the task's. */
static stk_status enqueue_kernels(slot_memory *slot, const stk__device_task *task,
                                  const stk__augment_batch *batch, const stk__launch *launch,
                                  const number_places *at, stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    const stk__kernel_work work = {.launch = launch->text,
                                   .arena = (const unsigned char *)(uintptr_t)cuda->arena.at,
                                   .samples = (stk__kernel_sample *)(uintptr_t)cuda->numbers.at,
                                   .image = batch->target.image,
                                   .mask = batch->target.mask};
    if (task->sources) STK__TRY(enqueue_gather(slot, task, at, error));
    if (batch->count) STK__TRY(stk__cuda_launch_augment(cuda, launch, &work, error));
    if (batch->count && task->augment.target.dtype == STK_DTYPE_U8)
        STK__TRY(enqueue_round(slot, task, error));
    if (task->mix_count) STK__TRY(enqueue_mix(slot, task, launch, at, error));
    return stk__cuda_mark(cuda, slot->marks[STK_CUDA_MADE], error);
}

/* Bytes are made of levels as floats, which lie in a buffer of the device. */
static stk_status make_levels(stk__cuda *cuda, stk__augment_batch *batch, stk_error *error)
{
    stk__augment_target *target = &batch->target;
    const size_t values =
        (size_t)batch->count * (size_t)target->w * (size_t)target->h * (size_t)target->channels;
    STK__TRY(stk__cuda_grow(cuda, &cuda->image, values * sizeof(float), error));
    target->dtype = STK_DTYPE_F32;
    target->image = (void *)(uintptr_t)cuda->image.at;
    for (int c = 0; c < 3; c++) {
        target->scale[c] = 1;
        target->bias[c] = 0;
    }
    return STK_OK;
}

static stk_status submit(slot_memory *slot, const stk__device_task *task, stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    const number_places at = place_numbers(task);
    stk__augment_batch batch = task->augment;
    slot->memory.wrong = NULL;
    STK__TRY(stk__cuda_grow(cuda, &cuda->arena, task->augment.arena_bytes + 1, error));
    STK__TRY(stk__cuda_grow(cuda, &cuda->numbers, at.end, error));
    if (batch.count && batch.target.dtype == STK_DTYPE_U8) STK__TRY(make_levels(cuda, &batch, error));
    const stk__launch launch = stk__launch_make(&batch, (stk__kernel_sample *)(void *)slot->numbers.data);
    write_numbers(task, &at, slot->numbers.data);
    stk_status status = enqueue_copies(slot, task, &at, error);
    if (status == STK_OK) status = enqueue_kernels(slot, task, &batch, &launch, &at, error);
    if (status != STK_OK) {
        stk__cuda_drain(cuda, slot->marks[STK_CUDA_MADE]);
        return status;
    }
    slot->submitted = true;
    slot->has_release = false;
    cuda->newest = slot->marks[STK_CUDA_MADE];
    return STK_OK;
}

stk_status stk__cuda_memory_submit(stk__device_memory *memory, const stk__device_task *task, stk_error *error)
{
    slot_memory *slot = (slot_memory *)memory;
    STK__TRY(stk__cuda_enter(cuda_of(slot), error));
    const stk_status status = submit(slot, task, error);
    stk__cuda_leave(cuda_of(slot));
    return status;
}

stk_status stk__cuda_memory_ready(stk__device_memory *memory, stk_error *error)
{
    slot_memory *slot = (slot_memory *)memory;
    STK__TRY(stk__cuda_enter(cuda_of(slot), error));
    const stk_status status =
        stk__cuda_wait(cuda_of(slot), STK_CUDA_WAIT_READY, slot->marks[STK_CUDA_MADE], error);
    stk__cuda_leave(cuda_of(slot));
    return status;
}

stk_status stk__cuda_memory_ready_on(stk__device_memory *memory, void *stream, stk_error *error)
{
    slot_memory *slot = (slot_memory *)memory;
    stk__cuda *cuda = cuda_of(slot);
    if (stk__cuda_wait_skip == STK_CUDA_WAIT_STREAM) return STK_OK;
    STK__TRY(stk__cuda_enter(cuda, error));
    const stk_status status =
        stk__cuda_check(cuda, cuda->api->cuStreamWaitEvent(stream, slot->marks[STK_CUDA_MADE], 0),
                        "cuStreamWaitEvent", error);
    stk__cuda_leave(cuda);
    return status;
}

stk_status stk__cuda_memory_release_on(stk__device_memory *memory, void *stream, stk_error *error)
{
    slot_memory *slot = (slot_memory *)memory;
    stk__cuda *cuda = cuda_of(slot);
    STK__TRY(stk__cuda_enter(cuda, error));
    const stk_status status =
        stk__cuda_check(cuda, cuda->api->cuEventRecord(slot->released, stream), "cuEventRecord", error);
    stk__cuda_leave(cuda);
    slot->has_release = status == STK_OK;
    return status;
}

static stk_status ask(slot_memory *slot, bool *free, stk_error *error)
{
    stk__cuda *cuda = cuda_of(slot);
    const stk__cu_handle *const marks = slot->marks;
    STK__TRY(stk__cuda_ask(cuda, STK_CUDA_WAIT_FILLED, marks[STK_CUDA_MADE], free, error));
    if (*free && slot->has_release)
        STK__TRY(stk__cuda_ask(cuda, STK_CUDA_WAIT_REUSE, slot->released, free, error));
    if (!*free) return STK_OK;
    cuda->device.last_copy_ns = stk__cuda_time_ns(cuda, marks[STK_CUDA_BEGUN], marks[STK_CUDA_COPIED]);
    cuda->device.last_kernel_ns = stk__cuda_time_ns(cuda, marks[STK_CUDA_COPIED], marks[STK_CUDA_MADE]);
    slot->submitted = false;
    return STK_OK;
}

stk_status stk__cuda_memory_ask(stk__device_memory *memory, bool *free, stk_error *error)
{
    slot_memory *slot = (slot_memory *)memory;
    *free = !slot->submitted;
    if (*free) return STK_OK;
    STK__TRY(stk__cuda_enter(cuda_of(slot), error));
    const stk_status status = ask(slot, free, error);
    stk__cuda_leave(cuda_of(slot));
    return status;
}

static stk_status fetch_part(stk__cuda *cuda, const stk__device_copy *copy, stk_error *error)
{
    const stk__cu_pointer from = (stk__cu_pointer)(uintptr_t)copy->from;
    const stk__cu_handle done = cuda->marks[STK_CUDA_DONE];
    STK__TRY(stk__cuda_check(
        cuda, cuda->api->cuMemcpyDtoHAsync_v2(cuda->output_stage.data, from, copy->bytes, cuda->stream),
        "cuMemcpyDtoHAsync", error));
    const stk_status status = stk__cuda_mark(cuda, done, error);
    if (status != STK_OK) {
        stk__cuda_drain(cuda, done);
        return status;
    }
    STK__TRY(stk__cuda_wait(cuda, STK_CUDA_WAIT_FETCH, done, error));
    memcpy(copy->to, cuda->output_stage.data, copy->bytes);
    return STK_OK;
}

/* By way of pinned memory, in parts. */
stk_status stk__cuda_memory_fetch(stk__device_memory *memory, const stk__device_copy *copy, stk_error *error)
{
    enum { PART_BYTES = 4 << 20 };
    stk__cuda *cuda = (stk__cuda *)memory->device;
    STK__TRY(stk__cuda_enter(cuda, error));
    stk_status status = stk__cuda_grow_pinned(cuda, &cuda->output_stage, PART_BYTES, error);
    for (size_t at = 0; at < copy->bytes && status == STK_OK; at += PART_BYTES) {
        const size_t left = copy->bytes - at;
        const stk__device_copy part = {(uint8_t *)copy->to + at, (const uint8_t *)copy->from + at,
                                       left < PART_BYTES ? left : PART_BYTES};
        status = fetch_part(cuda, &part, error);
    }
    stk__cuda_leave(cuda);
    return status;
}
