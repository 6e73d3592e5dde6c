/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: of devices, and pinned memory of the host.
 *
 * A device pointer points into a reserved range that nobody can read or write; its bytes are elsewhere, at
 * the end of pages with a guard page behind. Addresses are not used twice, so that old pointers are found
 * out. */
#include "fake_gpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN_BYTES = 256, CANARY = 0xC5 };
#define RANGE_BYTES (UINT64_C(1) << 40) /* of device addresses */

static fake_memory *abandoned;     /* lock: freed while work used it */
static fake_memory *memories;      /* lock */
static int64_t used[FAKE_GPUS];    /* lock: bytes of each GPU */
static uint64_t range, range_used; /* lock */

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Lock held. A gap behind each, so that a pointer that runs off its memory is in nobody's. */
static uint64_t take_addresses(size_t bytes)
{
    const uint64_t taken = round_up(bytes, 4096) + 65536;
    if (!range) {
        void *reserved =
            mmap(NULL, RANGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (reserved == MAP_FAILED) return 0;
        range = (uint64_t)(uintptr_t)reserved;
    }
    if (range_used + taken > RANGE_BYTES) range_used = 0;
    const uint64_t address = range + range_used;
    range_used += taken;
    return address;
}

/* Pages with a guard page before and behind. Device memory ends where its pages end (but for the alignment),
 * pinned memory begins where they begin. */
static bool map_pages(fake_memory *memory)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), body = round_up(memory->size_bytes, page);
    memory->map_bytes = body + 2 * page;
    uint8_t *map = mmap(NULL, memory->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return false;
    if (mprotect(map + page, body, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, memory->map_bytes);
        return false;
    }
    memset(map + page, CANARY, body);
    memory->map = map;
    memory->host = map + page + (memory->pinned ? 0 : body - round_up(memory->size_bytes, ALIGN_BYTES));
    memset(memory->host, FAKE_POISON, memory->size_bytes);
    return true;
}

static bool is_canary_whole(const fake_memory *memory)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (const uint8_t *at = memory->map + page; at < memory->map + memory->map_bytes - page; at++) {
        if (at == memory->host) at += memory->size_bytes;
        if (at < memory->map + memory->map_bytes - page && *at != CANARY) return false;
    }
    return true;
}

/* given: the program's own memory, which is only registered. */
static fake_memory *make_memory(size_t bytes, bool pinned, int gpu, void *given)
{
    fake_memory *memory = calloc(1, sizeof *memory);
    if (!memory) return NULL;
    *memory =
        (fake_memory){.gpu = gpu, .pinned = pinned, .size_bytes = bytes, .registered = given, .host = given};
    if (!given && !map_pages(memory)) {
        free(memory);
        return NULL;
    }
    pthread_mutex_lock(&fake_lock);
    memory->age = fake_age;
    memory->address = pinned ? (uint64_t)(uintptr_t)memory->host : take_addresses(bytes);
    memory->next = memories;
    memories = memory;
    if (!pinned) used[gpu] += (int64_t)bytes;
    fake_counts[pinned ? FAKE_PINNED : FAKE_MEMORIES]++;
    int64_t *sum = &fake_counts[pinned ? FAKE_PINNED_BYTES : FAKE_DEVICE_BYTES];
    *sum += (int64_t)bytes;
    if (!pinned && *sum > fake_counts[FAKE_PEAK_DEVICE_BYTES]) fake_counts[FAKE_PEAK_DEVICE_BYTES] = *sum;
    pthread_mutex_unlock(&fake_lock);
    return memory;
}

fake_memory *fake_find(uint64_t address, size_t bytes, bool pinned, int gpu)
{
    for (fake_memory *m = memories; m; m = m->next)
        if (m->pinned == pinned && (gpu == FAKE_ANY || m->gpu == gpu) && address >= m->address &&
            address - m->address < m->size_bytes && bytes <= m->size_bytes - (address - m->address))
            return m;
    return NULL;
}

bool fake_is_pinned(const void *host, size_t bytes)
{
    const uint8_t *start = host;
    for (const fake_memory *m = memories; m; m = m->next)
        if (m->pinned && start < m->host + m->size_bytes && m->host < start + bytes) return true;
    return false;
}

/* Lock held. Memory that work still uses stays where it is: to unmap it would end the program before it is
 * told. */
static void drop_memory(fake_memory *memory)
{
    fake_memory **at = &memories;
    while (*at != memory)
        at = &(*at)->next;
    *at = memory->next;
    if (!memory->pinned) used[memory->gpu] -= (int64_t)memory->size_bytes;
    fake_counts[memory->pinned ? FAKE_PINNED : FAKE_MEMORIES]--;
    fake_counts[memory->pinned ? FAKE_PINNED_BYTES : FAKE_DEVICE_BYTES] -= (int64_t)memory->size_bytes;
    if (!memory->registered && !is_canary_whole(memory))
        fake_blame("something was written beside %zu bytes of memory", memory->size_bytes);
    if (memory->uses) {
        fake_blame("%s memory is freed while work uses it", memory->pinned ? "pinned" : "device");
        memory->next = abandoned; /* never freed */
        abandoned = memory;
        return;
    }
    if (!memory->registered) munmap(memory->map, memory->map_bytes);
    free(memory);
}

void fake_free_all(void)
{
    while (memories)
        drop_memory(memories);
}

void *fake_cuda_host(uint64_t address)
{
    pthread_mutex_lock(&fake_lock);
    const fake_memory *memory = fake_find(address, 1, false, FAKE_ANY);
    void *host = memory ? memory->host + (address - memory->address) : NULL;
    pthread_mutex_unlock(&fake_lock);
    return host;
}

int fake_cuda_owner(uint64_t address)
{
    int device = -1;
    pthread_mutex_lock(&fake_lock);
    const fake_memory *memory = fake_find(address, 1, false, FAKE_ANY);
    for (int i = 0; memory && i < fake_visible_count; i++)
        if (fake_visible[i] == memory->gpu) device = i;
    pthread_mutex_unlock(&fake_lock);
    return device;
}

int fake_cuda_pinned(const void *host, size_t bytes)
{
    pthread_mutex_lock(&fake_lock);
    const bool pinned = fake_find((uint64_t)(uintptr_t)host, bytes, true, FAKE_ANY) != NULL;
    pthread_mutex_unlock(&fake_lock);
    return pinned;
}

static int64_t free_bytes(int gpu)
{
    pthread_mutex_lock(&fake_lock);
    const int64_t bytes = fake.gpus[gpu].memory_bytes - used[gpu];
    pthread_mutex_unlock(&fake_lock);
    return bytes > 0 ? bytes : 0;
}

int cuMemGetInfo_v2(size_t *free_now, size_t *total)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuMemGetInfo_v2, &gpu);
    FAKE_SPOIL(free_now), FAKE_SPOIL(total);
    if (code) return code;
    *free_now = (size_t)free_bytes(gpu);
    *total = (size_t)fake.gpus[gpu].memory_bytes;
    return CUDA_SUCCESS;
}

int cuMemAlloc_v2(stk__cu_pointer *pointer, size_t bytes)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuMemAlloc_v2, &gpu);
    FAKE_SPOIL(pointer);
    if (code) return code;
    if (bytes == 0) return FAKE_CUDA_ERROR_INVALID_VALUE;
    if (bytes > (uint64_t)free_bytes(gpu)) return CUDA_ERROR_OUT_OF_MEMORY;
    const fake_memory *memory = make_memory(bytes, false, gpu, NULL);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = memory->address;
    return CUDA_SUCCESS;
}

/* What a program gives back counts as given back, even where the context is lost. */
static int free_memory(uint64_t address, bool registered, int gpu, int code)
{
    const bool pinned = gpu == FAKE_ANY;
    pthread_mutex_lock(&fake_lock);
    fake_memory *memory = fake_find(address, 1, pinned, gpu);
    const bool good = memory && memory->address == address && memory->registered == registered;
    if (good)
        drop_memory(memory);
    else
        fake_blame("%s memory is freed that is not there", pinned ? "pinned" : "device");
    pthread_mutex_unlock(&fake_lock);
    return good || code ? code : FAKE_CUDA_ERROR_INVALID_VALUE;
}

int cuMemFree_v2(stk__cu_pointer pointer)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuMemFree_v2, &gpu);
    if (gpu < 0 || !pointer) return code; /* 0 is nothing */
    return free_memory(pointer, false, gpu, code);
}

static bool is_beyond_limit(size_t bytes)
{
    return fake.pinned_limit >= 0 && fake_cuda_count("pinned_bytes") + (int64_t)bytes > fake.pinned_limit;
}

int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuMemHostAlloc, &gpu);
    FAKE_SPOIL(pointer);
    if (code) return code;
    if (bytes == 0 || flags > 7) return FAKE_CUDA_ERROR_INVALID_VALUE;
    if (is_beyond_limit(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    const fake_memory *memory = make_memory(bytes, true, gpu, NULL);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = memory->host;
    return CUDA_SUCCESS;
}

int cuMemFreeHost(void *pointer)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuMemFreeHost, &gpu);
    if (gpu < 0) return code;
    return free_memory((uint64_t)(uintptr_t)pointer, false, FAKE_ANY, code);
}

int cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuMemHostRegister_v2, &gpu);
    if (code) return code;
    if (!pointer || bytes == 0 || flags > 15) return FAKE_CUDA_ERROR_INVALID_VALUE;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)pointer % page;
    const uint8_t *start = (const uint8_t *)pointer - before; /* the driver locks whole pages */
    const size_t whole = round_up(before + bytes, page);
    pthread_mutex_lock(&fake_lock);
    const bool already = fake_is_pinned(start, whole);
    if (whole != bytes) fake_blame("%zu bytes are registered that are not whole pages", bytes);
    pthread_mutex_unlock(&fake_lock);
    if (already) return FAKE_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (is_beyond_limit(bytes) || !make_memory(bytes, true, gpu, pointer)) return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

/* The pages must still be there: who unmaps them first leaves the driver with a hole. */
int cuMemHostUnregister(void *pointer)
{
    int gpu;
    unsigned char there;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int code = fake_enter_current(FAKE_cuMemHostUnregister, &gpu);
    if (gpu < 0) return code;
    if (mincore((void *)((uintptr_t)pointer / page * page), 1, &there) != 0) {
        pthread_mutex_lock(&fake_lock);
        fake_blame("registered memory is unmapped before it is unregistered");
        pthread_mutex_unlock(&fake_lock);
    }
    const int freed = free_memory((uint64_t)(uintptr_t)pointer, true, FAKE_ANY, code);
    return freed && !code ? FAKE_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : freed;
}
