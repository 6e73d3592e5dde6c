/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded memory for stkcheck: inputs end at a page that may not be touched, outputs lie between guard
 * bytes that are looked at afterwards. */
#include "check/check_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD_BYTES = 256 };

static void *or_stop(void *memory)
{
    if (memory && memory != MAP_FAILED) return memory;
    fprintf(stderr, "stkcheck: no memory\n");
    exit(1);
}

check_fence check_fence_create(size_t size_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (size_bytes + page - 1) / page * page;
    uint8_t *const all = or_stop(mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mprotect(all + page, inner, PROT_READ | PROT_WRITE)) or_stop(NULL);
    return (check_fence){all + page, inner};
}

void check_fence_destroy(check_fence *fence)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (fence->pages) munmap(fence->pages - page, fence->size_bytes + 2 * page);
    fence->pages = NULL;
}

uint8_t *check_fence_place(const check_fence *fence, size_t size_bytes, bool first)
{
    return first ? fence->pages : fence->pages + fence->size_bytes - size_bytes;
}

check_output check_output_create(size_t memory_bytes, uint8_t untouched)
{
    const size_t all = (memory_bytes + 2 * GUARD_BYTES + 63) / 64 * 64;
    return (check_output){
        .memory = or_stop(aligned_alloc(64, all)), .memory_bytes = all, .untouched = untouched};
}

void check_output_destroy(check_output *output)
{
    free(output->memory);
    output->memory = NULL;
}

void check_output_place(check_output *output, size_t size_bytes, size_t offset_bytes)
{
    if (size_bytes + offset_bytes + 2 * GUARD_BYTES > output->memory_bytes) or_stop(NULL);
    output->data = output->memory + GUARD_BYTES + offset_bytes;
    output->size_bytes = size_bytes;
    memset(output->data - GUARD_BYTES, output->untouched, size_bytes + 2 * GUARD_BYTES);
}

static bool is_untouched(const check_output *output, const uint8_t *guard)
{
    for (int i = 0; i < GUARD_BYTES; i++)
        if (guard[i] != output->untouched) return false;
    return true;
}

bool check_output_kept(const check_output *output)
{
    return is_untouched(output, output->data - GUARD_BYTES) &&
           is_untouched(output, output->data + output->size_bytes);
}
