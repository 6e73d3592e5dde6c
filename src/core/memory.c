/* SPDX-License-Identifier: Apache-2.0 */
/* All memory of the library, through the allocator that the program may set. Blocks are zeroed, aligned to
 * 64 bytes and carry their size in front, so that the hook is told it on release. The hook is set before
 * threads start; after that it is only read. */
#include "core/memory.h"

#include "core/align.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Every block starts with its size, so that release can tell the hook. */
enum { HEADER_BYTES = 64 };

static _Thread_local int64_t held_bytes;

/* With the header and what the C library's heap takes for an aligned block. */
static int64_t cost_of(size_t size_bytes)
{
    return (int64_t)stk__align_up(size_bytes + HEADER_BYTES, HEADER_BYTES) + HEADER_BYTES;
}

int64_t stk__alloc_held_bytes(void)
{
    return held_bytes;
}

static void *heap_alloc(void *context, size_t size_bytes)
{
    (void)context;
    return aligned_alloc(HEADER_BYTES, stk__align_up(size_bytes, HEADER_BYTES));
}

static void heap_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

static void *heap_map(void *context, size_t size_bytes)
{
    (void)context;
    void *pages =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void heap_unmap(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    munmap(memory, size_bytes);
}

static const stk_allocator heap = {heap_alloc, heap_release, heap_map, heap_unmap, NULL};
static stk_allocator hook = {heap_alloc, heap_release, heap_map, heap_unmap, NULL};

stk_status stk_allocator_set(const stk_allocator *allocator)
{
    if (allocator && (!allocator->alloc || !allocator->release)) return STK_ERROR_ARGUMENT;
    hook = allocator ? *allocator : heap;
    if (!hook.map) hook.map = heap_map;
    if (!hook.unmap) hook.unmap = heap_unmap;
    return STK_OK;
}

void *stk__map(size_t size_bytes)
{
    return hook.map(hook.context, size_bytes);
}

void stk__unmap(void *memory, size_t size_bytes)
{
    if (memory) hook.unmap(hook.context, memory, size_bytes);
}

void *stk__alloc(size_t size_bytes)
{
    if (size_bytes == 0 || size_bytes > SIZE_MAX / 2) return NULL;
    uint8_t *block = hook.alloc(hook.context, size_bytes + HEADER_BYTES);
    if (!block) return NULL;
    memset(block, 0, size_bytes + HEADER_BYTES);
    memcpy(block, &size_bytes, sizeof size_bytes);
    held_bytes += cost_of(size_bytes);
    return block + HEADER_BYTES;
}

void stk__free(void *memory)
{
    if (!memory) return;
    uint8_t *block = (uint8_t *)memory - HEADER_BYTES;
    size_t size_bytes;
    memcpy(&size_bytes, block, sizeof size_bytes);
    held_bytes -= cost_of(size_bytes);
    hook.release(hook.context, block, size_bytes + HEADER_BYTES);
}

stk_status stk__buffer_reserve(stk__buffer *buffer, size_t capacity_bytes, stk_error *error)
{
    if (capacity_bytes <= buffer->capacity_bytes) return STK_OK;
    size_t capacity = buffer->capacity_bytes + buffer->capacity_bytes / 2;
    if (capacity < capacity_bytes) capacity = capacity_bytes;
    uint8_t *data = stk__alloc(capacity);
    if (!data) return stk__fail_memory(error, capacity, "a buffer");
    if (buffer->size_bytes) memcpy(data, buffer->data, buffer->size_bytes);
    stk__free(buffer->data);
    buffer->data = data;
    buffer->capacity_bytes = capacity;
    return STK_OK;
}

stk_status stk__buffer_append(stk__buffer *buffer, const void *data, size_t size_bytes, stk_error *error)
{
    if (size_bytes == 0) return STK_OK;
    STK__TRY(stk__buffer_reserve(buffer, buffer->size_bytes + size_bytes, error));
    memcpy(buffer->data + buffer->size_bytes, data, size_bytes);
    buffer->size_bytes += size_bytes;
    return STK_OK;
}

stk_status stk__buffer_text(stk__buffer *buffer, const char *text, size_t length, size_t *offset,
                            stk_error *error)
{
    const size_t start = buffer->size_bytes;
    STK__TRY(stk__buffer_reserve(buffer, start + length + 1, error));
    memcpy(buffer->data + start, text, length);
    buffer->data[start + length] = '\0';
    buffer->size_bytes = start + length + 1;
    if (offset) *offset = start;
    return STK_OK;
}

void stk__buffer_fini(stk__buffer *buffer)
{
    stk__free(buffer->data);
    *buffer = (stk__buffer){0};
}

char *stk__text_copy(const char *text)
{
    if (!text) return NULL;
    const size_t size = strlen(text) + 1;
    char *copy = stk__alloc(size);
    if (copy) memcpy(copy, text, size);
    return copy;
}
