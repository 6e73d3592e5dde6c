/* SPDX-License-Identifier: Apache-2.0 */
/* A batch that stays in GPU memory, as a loader's slot does it: pinned memory with random pixels, submit,
 * wait, and the comparison with the reference. */
#include "cuda_kept.h"

#include "core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static void take_trial(kept_slot *slot, uint64_t seed, int32_t most_side)
{
    assert_int_equal(stk__trial_make(&slot->trial, seed, most_side, NULL), STK_OK);
    slot->mask_at = round_up(slot->trial.image_bytes, 64);
    slot->mix = (stk__kernel_mix){.kind = STK_KERNEL_MIX_ALONE};
}

static size_t bytes_needed(const kept_slot *slot)
{
    return slot->mask_at + slot->trial.mask_bytes;
}

void kept_make(kept_slot *slot, uint64_t seed, int32_t most_side)
{
    *slot = (kept_slot){0};
    take_trial(slot, seed, most_side);
    slot->size_bytes = bytes_needed(slot);
    slot->arena_most = slot->trial.batch.arena_bytes;
    slot->count_most = slot->trial.batch.count;
    slot->host_bytes = round_up(slot->trial.batch.arena_bytes + 1, (size_t)sysconf(_SC_PAGESIZE));
    slot->host = mmap(NULL, slot->host_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(slot->host != MAP_FAILED);
    memcpy(slot->host, slot->trial.arena.data, slot->trial.batch.arena_bytes);
}

bool kept_remake(kept_slot *slot, uint64_t seed, int32_t most_side)
{
    take_trial(slot, seed, most_side);
    if (bytes_needed(slot) > slot->size_bytes || slot->trial.batch.arena_bytes > slot->arena_most ||
        slot->trial.batch.count > slot->count_most)
        return false;
    memcpy(slot->host, slot->trial.arena.data, slot->trial.batch.arena_bytes);
    return true;
}

void kept_fini(kept_slot *slot)
{
    if (slot->host) munmap(slot->host, slot->host_bytes);
    stk__trial_fini(&slot->trial);
    *slot = (kept_slot){0};
}

stk_status kept_create(kept_slot *slot, stk__device *device, stk_error *error)
{
    const stk__device_room room = {
        .host = slot->host, .host_bytes = slot->host_bytes, .size_bytes = slot->size_bytes, .places = 8};
    return stk__device_memory_create(device, &room, &slot->memory, error);
}

void kept_destroy(kept_slot *slot)
{
    if (!stk__device_memory_destroy(&slot->memory)) slot->host = NULL; /* left behind, as the contract says */
}

stk_status kept_submit(kept_slot *slot, stk_error *error)
{
    stk__device_task task = {.augment = slot->trial.batch, .mixes = &slot->mix, .mix_count = 1};
    task.augment.arena = slot->host;
    task.augment.pinned = true;
    task.augment.target.image = slot->memory->data;
    task.augment.target.mask = slot->trial.mask_bytes ? slot->memory->data + slot->mask_at : NULL;
    return stk__device_submit(slot->memory, &task, error);
}

stk_status kept_await(kept_slot *slot, stk_error *error)
{
    const uint64_t until_ns = stk__clock_ns() + 20 * STK_SECOND_NS;
    bool is_free = false;
    while (!is_free) {
        const stk_status status = stk__device_ask(slot->memory, &is_free, error);
        if (status != STK_OK) return status;
        if (stk__clock_ns() > until_ns) fail_msg("a slot is never free again");
        if (!is_free) usleep(50);
    }
    return STK_OK;
}

bool kept_is_right(const kept_slot *slot, const uint8_t *bytes)
{
    return memcmp(bytes, slot->trial.expected_image, slot->trial.image_bytes) == 0 &&
           memcmp(bytes + slot->mask_at, slot->trial.expected_mask, slot->trial.mask_bytes) == 0;
}
