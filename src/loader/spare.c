/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of memory behind each other in one range of offsets. Growing maps a chunk and moves nothing, because
 * other workers are writing into those that are there. */
#include "loader/spare.h"

#include "core/align.h"

#include <string.h>

enum { LEAST_BYTES = 1 << 20 }; /* of a chunk, unless the limit is lower */

stk_status stk__spare_init(stk__spare *spare, stk__host_memory planned, uint64_t limit_bytes,
                           stk_error *error)
{
    if (pthread_mutex_init(&spare->lock, NULL) != 0)
        return stk__fail(error, STK_ERROR_MEMORY, "no mutex for a batch slot");
    spare->lock_made = true;
    spare->limit_bytes = limit_bytes;
    spare->chunks[0] = (stk__spare_chunk){.memory = planned};
    spare->chunk_count = 1;
    return STK_OK;
}

static void release_chunks(stk__spare *spare)
{
    for (int i = 0; i < spare->chunk_count; i++)
        if (spare->chunks[i].owned) stk__host_release(&spare->chunks[i].memory);
    spare->chunk_count = 0;
}

void stk__spare_fini(stk__spare *spare)
{
    if (!spare->lock_made) return;
    release_chunks(spare);
    pthread_mutex_destroy(&spare->lock);
    spare->lock_made = false;
}

static const stk__spare_chunk *last_chunk(const stk__spare *spare)
{
    return &spare->chunks[spare->chunk_count - 1];
}

static uint64_t room_of(const stk__spare *spare)
{
    return last_chunk(spare)->start + last_chunk(spare)->memory.size_bytes;
}

/* One chunk with the room of all takes their place. The planned memory is not used again. */
static bool replace_chunks(stk__spare *spare, stk_error *error)
{
    stk__host_memory whole;
    if (stk__host_reserve(&whole, room_of(spare), 0, error) != STK_OK) return false;
    for (int i = 0; i < spare->chunk_count; i++) {
        const stk__spare_chunk *chunk = &spare->chunks[i];
        if (spare->end <= chunk->start) break;
        const uint64_t used = spare->end - chunk->start;
        const size_t bytes = used < chunk->memory.size_bytes ? used : chunk->memory.size_bytes;
        if (bytes) memcpy(whole.data + chunk->start, chunk->memory.data, bytes);
    }
    release_chunks(spare);
    spare->chunks[0] = (stk__spare_chunk){.memory = whole, .owned = true};
    spare->chunk_count = 1;
    return true;
}

void stk__spare_begin(stk__spare *spare)
{
    spare->end = spare->asked_bytes = 0;
    atomic_store(&spare->refused, false);
    if (spare->chunk_count > 1) replace_chunks(spare, NULL); /* if it fails, they serve as they are */
}

/* A chunk as large as all before it: there are few of them. (lock) */
static bool grow(stk__spare *spare, uint64_t need)
{
    const uint64_t room = room_of(spare);
    uint64_t wanted = room > LEAST_BYTES ? room : LEAST_BYTES;
    if (wanted > spare->limit_bytes) wanted = spare->limit_bytes;
    if (wanted < need) wanted = need;
    stk__host_memory memory;
    if (spare->chunk_count == STK_SPARE_CHUNKS) return false;
    if (stk__host_reserve(&memory, wanted, 0, NULL) != STK_OK &&
        stk__host_reserve(&memory, need, 0, NULL) != STK_OK)
        return false;
    spare->chunks[spare->chunk_count++] = (stk__spare_chunk){.memory = memory, .start = room, .owned = true};
    return true;
}

/* The first chunk from where the end is that has room; what is left of those before it stays unused. (lock)
 */
static bool take_chunk(stk__spare *spare, uint64_t need, uint64_t *offset)
{
    for (int i = 0; i < spare->chunk_count; i++) {
        const stk__spare_chunk *chunk = &spare->chunks[i];
        const uint64_t start = spare->end > chunk->start ? spare->end : chunk->start,
                       chunk_end = chunk->start + chunk->memory.size_bytes;
        if (start > chunk_end || need > chunk_end - start) continue;
        *offset = start;
        spare->end = start + need;
        return true;
    }
    return false;
}

/* (lock) */
static uint8_t *find(const stk__spare *spare, uint64_t offset)
{
    int i = spare->chunk_count - 1;
    while (i > 0 && offset < spare->chunks[i].start)
        i--;
    return spare->chunks[i].memory.data + (offset - spare->chunks[i].start);
}

uint8_t *stk__spare_take(stk__spare *spare, size_t size_bytes, uint64_t *offset)
{
    const uint64_t need = stk__align_up(size_bytes, STK_LINE_BYTES);
    pthread_mutex_lock(&spare->lock);
    spare->asked_bytes += need;
    bool found = spare->asked_bytes <= spare->limit_bytes;
    if (found && !take_chunk(spare, need, offset)) {
        found = grow(spare, need) && take_chunk(spare, need, offset);
        if (!found) atomic_store(&spare->refused, true);
    }
    uint8_t *data = found ? find(spare, *offset) : NULL;
    pthread_mutex_unlock(&spare->lock);
    return data;
}

uint8_t *stk__spare_at(stk__spare *spare, uint64_t offset)
{
    pthread_mutex_lock(&spare->lock);
    uint8_t *data = find(spare, offset);
    pthread_mutex_unlock(&spare->lock);
    return data;
}

bool stk__spare_has_grown(const stk__spare *spare)
{
    return spare->chunk_count > 1 || spare->chunks[0].owned;
}

const uint8_t *stk__spare_join(stk__spare *spare, stk_error *error)
{
    const bool one = spare->end <= spare->chunks[0].memory.size_bytes;
    return one || replace_chunks(spare, error) ? spare->chunks[0].memory.data : NULL;
}
