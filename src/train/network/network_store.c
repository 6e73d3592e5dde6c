/* SPDX-License-Identifier: Apache-2.0 */
/* An arena for small pieces that live equally long: chunks in a list, nothing is freed before the end. */
#include "train/network/network_store.h"

#include "core/align.h"

#include <string.h>

enum { CHUNK_BYTES = 16384, ALIGNMENT = 16 };

struct stk__store_chunk {
    struct stk__store_chunk *next;
    size_t size_bytes, used_bytes; /* of data */
    _Alignas(ALIGNMENT) uint8_t data[];
};

static stk_status add_chunk(stk__store *store, size_t size_bytes, stk_error *error)
{
    const size_t data_bytes = size_bytes > CHUNK_BYTES ? size_bytes : CHUNK_BYTES;
    struct stk__store_chunk *chunk = stk__alloc(sizeof *chunk + data_bytes);
    if (!chunk) return stk__fail_memory(error, data_bytes, "a network");
    chunk->size_bytes = data_bytes;
    chunk->next = store->chunks;
    store->chunks = chunk;
    return STK_OK;
}

void *stk__store_take(stk__store *store, size_t size_bytes, stk_error *error)
{
    const size_t rounded = stk__align_up(size_bytes, ALIGNMENT);
    struct stk__store_chunk *chunk = store->chunks;
    if (!chunk || chunk->size_bytes - chunk->used_bytes < rounded) {
        if (add_chunk(store, rounded, error) != STK_OK) return NULL;
        chunk = store->chunks;
    }
    void *memory = chunk->data + chunk->used_bytes;
    chunk->used_bytes += rounded;
    return memory;
}

const char *stk__store_text(stk__store *store, const char *text, size_t length, stk_error *error)
{
    char *copy = stk__store_take(store, length + 1, error);
    if (copy && length) memcpy(copy, text, length);
    return copy;
}

void stk__store_fini(stk__store *store)
{
    while (store->chunks) {
        struct stk__store_chunk *next = store->chunks->next;
        stk__free(store->chunks);
        store->chunks = next;
    }
}
