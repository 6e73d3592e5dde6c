/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a slot for decoded images that have no place of their own. It begins with what is planned and
 * grows by a chunk when an image comes that does not fit, up to a limit: address space is taken for images
 * that there are, not for those that there might be. Before the next batch the chunks become one, so that
 * nothing is allocated after warm-up.
 *
 * Offsets count through all chunks, as if they were one behind the other. Threads: take from any, everything
 * else while nobody fills the slot. */
#ifndef STK_LOADER_SPARE_H
#define STK_LOADER_SPARE_H

#include "core/memory.h"
#include "device/host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { STK_SPARE_CHUNKS = 24 }; /* each is at least as large as all before it */

typedef struct stk__spare_chunk {
    stk__host_memory memory; /* data may be NULL in the first: a slot that plans none */
    uint64_t start;          /* offset of its first byte */
    bool owned;              /* false: a part of the slot's own memory */
} stk__spare_chunk;

typedef struct stk__spare {
    pthread_mutex_t lock; /* guards everything while the slot is filled */
    bool lock_made;
    stk__spare_chunk chunks[STK_SPARE_CHUNKS];
    int chunk_count;
    uint64_t end;         /* of what is in use, as an offset */
    uint64_t asked_bytes; /* by this batch */
    uint64_t limit_bytes;
    atomic_bool refused; /* the system has no more memory */
} stk__spare;

/* planned: the slot's own memory for it, which stays the slot's. */
stk_status stk__spare_init(stk__spare *spare, stk__host_memory planned, uint64_t limit_bytes,
                           stk_error *error);
void stk__spare_fini(stk__spare *spare);

/* Nothing is in use any more. */
void stk__spare_begin(stk__spare *spare);

/* NULL: more than the limit, or the system refuses (`refused` tells). Where it lies depends on the order of
 * the calls; whether all of a batch fits does not. */
uint8_t *stk__spare_take(stk__spare *spare, size_t size_bytes, uint64_t *offset);
uint8_t *stk__spare_at(stk__spare *spare, uint64_t offset);

/* Whether anything lies outside of the planned memory. */
bool stk__spare_has_grown(const stk__spare *spare);

/* Brings what is in use into one piece; offsets stay. NULL: no memory. */
const uint8_t *stk__spare_join(stk__spare *spare, stk_error *error);

#endif
