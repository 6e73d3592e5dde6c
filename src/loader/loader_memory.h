/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader takes, by arithmetic: of one that is open, or configured only (stk__loader_setup.held), and
 * at any batch size. */
#ifndef STK_LOADER_LOADER_MEMORY_H
#define STK_LOADER_LOADER_MEMORY_H

#include "stoker/loader.h"

typedef struct stk__loader_memory {
    uint64_t batch_bytes;  /* of all slots on the host, as far as batches reach into them */
    uint64_t device_bytes; /* of all slots in a GPU's memory */
    uint64_t cache_bytes;  /* when it is full */
    uint64_t index_bytes;  /* of the list of samples */
    uint64_t worker_bytes; /* files, decoded pixels and stacks of all workers; an estimate */
} stk__loader_memory;

/* steps: batches that will be taken, over all epochs. */
stk__loader_memory stk__loader_plan_memory(const stk_loader *loader, int64_t batch_size, uint64_t steps);

/* An epoch in batches of a size. */
typedef struct stk__loader_epoch {
    uint64_t batches;
    int64_t last_batch_size; /* batch_size if it is full, or if a short one is left out */
} stk__loader_epoch;
stk__loader_epoch stk__loader_epoch_at(const stk_loader *loader, int64_t batch_size);
/* There are enough samples for a full batch. */
bool stk__loader_fills(const stk_loader *loader, int64_t batch_size);

/* Slots at a batch size: as many as are wanted, within limits.memory. */
typedef struct stk__slot_choice {
    uint64_t slot_bytes; /* when all samples have the common size */
    uint64_t wanted, affordable;
    int count;
} stk__slot_choice;
stk__slot_choice stk__loader_slots_at(const stk_loader *loader, int64_t batch_size);

#endif
