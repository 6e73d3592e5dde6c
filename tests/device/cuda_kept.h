/* SPDX-License-Identifier: Apache-2.0 */
/* A slot of a loader as a test's own: random pixels in pinned memory, a batch that stays in device memory,
 * and what the reference makes of it. */
#ifndef TEST_CUDA_KEPT_H
#define TEST_CUDA_KEPT_H

#include "device/device.h"
#include "device/trial.h"

typedef struct kept_slot {
    stk__trial trial;
    uint8_t *host; /* [host_bytes] the arena, page-aligned */
    size_t host_bytes, mask_at, size_bytes;
    size_t arena_most; /* bytes and samples of the first batch */
    uint64_t count_most;
    stk__device_memory *memory;
    stk__kernel_mix mix; /* one that changes nothing, so that every kernel runs */
} kept_slot;

/* Of trial number seed, with pixels and without masks or with them, as it comes. No device yet. */
void kept_make(kept_slot *slot, uint64_t seed, int32_t most_side);
/* Another trial in the same slot; false: it is larger than the first. */
bool kept_remake(kept_slot *slot, uint64_t seed, int32_t most_side);
void kept_fini(kept_slot *slot); /* after kept_destroy */

stk_status kept_create(kept_slot *slot, stk__device *device, stk_error *error);
void kept_destroy(kept_slot *slot);
stk_status kept_submit(kept_slot *slot, stk_error *error);
/* Until it is free: at most 20 s. */
stk_status kept_await(kept_slot *slot, stk_error *error);
/* Have these bytes (size_bytes, as on the device) the reference's bits? */
bool kept_is_right(const kept_slot *slot, const uint8_t *bytes);

#endif
