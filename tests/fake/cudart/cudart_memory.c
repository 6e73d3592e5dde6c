/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: the fake driver's. Copies and fills are done, at once; a copy of pageable memory makes the host
 * wait on a GPU, and is counted as that. New memory is zeros, so that what is never computed is finite. */
#include "cudart_api.h"

#include <stdbool.h>
#include <string.h>

enum { SYMBOL_BYTES = 1 << 16 };

static uint64_t number_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

int cudaMalloc(void **pointer, size_t bytes)
{
    uint64_t at = 0;
    const dry_driver *driver = dry_driver_enter();
    const int code = driver->allocate(&at, bytes);
    dry_count(DRY_allocations);
    *pointer = code ? NULL : (void *)(uintptr_t)at;
    if (!code) memset(driver->host(at), 0, bytes);
    return dry_driver_leave(code);
}

int cudaFree(void *pointer)
{
    return pointer ? dry_driver_leave(dry_driver_enter()->release(number_of(pointer))) : 0;
}

int cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    dry_count(DRY_pinnings);
    return dry_driver_leave(dry_driver_enter()->pin(pointer, bytes, flags & 7));
}

int cudaMallocHost(void **pointer, size_t bytes)
{
    return cudaHostAlloc(pointer, bytes, 0);
}

int cudaFreeHost(void *pointer)
{
    return dry_driver_leave(dry_driver_enter()->unpin(pointer));
}

int cudaHostRegister(void *pointer, size_t bytes, unsigned flags)
{
    dry_count(DRY_pinnings);
    return dry_driver_leave(dry_driver_enter()->lock(pointer, bytes, flags & 7));
}

int cudaHostUnregister(void *pointer)
{
    return dry_driver_leave(dry_driver_enter()->unlock(pointer));
}

int cudaMemGetInfo(size_t *now, size_t *total)
{
    return dry_driver_leave(dry_driver_enter()->info(now, total));
}

int cudaPointerGetAttributes(cudart_pointer *attributes, const void *pointer)
{
    const dry_driver *driver = dry_driver_open();
    const int owner = driver->owner(number_of(pointer));
    const bool pinned = owner < 0 && driver->pinned(pointer, 1);
    dry_count(DRY_questions);
    *attributes = (cudart_pointer){.type = owner >= 0 ? CUDART_MEMORY_DEVICE
                                           : pinned   ? CUDART_MEMORY_HOST
                                                      : CUDART_MEMORY_UNREGISTERED,
                                   .device = owner >= 0 ? owner
                                             : pinned   ? 0
                                                        : -2,
                                   .device_pointer = owner >= 0 || pinned ? (void *)(uintptr_t)pointer : NULL,
                                   .host_pointer = pinned ? (void *)(uintptr_t)pointer : NULL};
    return 0;
}

/* Variables of device code: each question has its own answer, never freed. */
int cudaGetSymbolAddress(void **pointer, const void *symbol)
{
    (void)symbol;
    return cudaMalloc(pointer, SYMBOL_BYTES);
}

typedef struct route {
    dry_word word;
    const char *name;
    bool pageable;
} route;

static route find_route(void *to, const void *from, size_t bytes)
{
    const dry_driver *driver = dry_driver_open();
    const bool in = driver->owner(number_of(to)) >= 0, out = driver->owner(number_of(from)) >= 0;
    if (in && out) return (route){DRY_copies_within, "copy within", false};
    if (in) return (route){DRY_copies_in, "copy in", !driver->pinned(from, bytes)};
    return (route){DRY_copies_out, "copy out", !driver->pinned(to, bytes)};
}

static int copy(void *to, const void *from, size_t bytes, void *stream, bool waits)
{
    const route way = find_route(to, from, bytes);
    if (waits || way.pageable) {
        dry_count(DRY_copy_waits);
        dry_trace("wait %s", waits ? "cudaMemcpy" : "copy of pageable memory");
        const int code = dry_driver_open()->unsafe();
        if (code) return code;
    }
    return dry_submit(stream, &(dry_task){.word = way.word,
                                          .part = way.word,
                                          .name = way.name,
                                          .to = to,
                                          .from = from,
                                          .bytes = bytes,
                                          .fill = -1});
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    (void)kind;
    return copy(to, from, bytes, stream, false);
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    return copy(to, from, bytes, NULL, true);
}

int cudaMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
    return dry_submit(stream, &(dry_task){.word = DRY_memsets,
                                          .part = DRY_memsets,
                                          .name = "memset",
                                          .to = to,
                                          .bytes = bytes,
                                          .fill = value & 255});
}

int cudaMemset(void *to, int value, size_t bytes)
{
    return cudaMemsetAsync(to, value, bytes, NULL);
}
