/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of tensors: zeros, and given by the kernel before anybody computes. */
#include "engine/host_arena.h"

#include "stoker/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static stk__arena *make(size_t size_bytes)
{
    stk__arena *arena;
    assert_int_equal(stk__host_arena_create_backed(NULL, size_bytes, &arena, NULL), STK_OK);
    return arena;
}

static size_t resident_pages(const stk__arena *arena, size_t pages)
{
    size_t count = 0;
    unsigned char *there = calloc(pages, 1);
    assert_non_null(there);
    assert_int_equal(mincore(arena->memory, arena->size_bytes, there), 0);
    for (size_t i = 0; i < pages; i++)
        count += there[i] & 1;
    free(there);
    return count;
}

static void it_holds_zeros(void **state)
{
    (void)state;
    stk__arena *arena = make(100000);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(((const char *)arena->memory)[i], 0);
    stk__host_arena_destroy(arena);
}

static void all_pages_are_there(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), sizes[] = {1, page, (20 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        stk__arena *arena = make(sizes[i]);
        const size_t pages = (sizes[i] + page - 1) / page;
        assert_int_equal(resident_pages(arena, pages), pages);
        stk__host_arena_destroy(arena);
    }
}

/* As of a caller's own allocator: no page begins there, so the kernel refuses to give them all at once. */
enum { SHIFT = 64 };

static void *map_beside(void *context, size_t size_bytes)
{
    (void)context;
    void *pages = mmap(NULL, size_bytes + SHIFT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : (char *)pages + SHIFT;
}

static void unmap_beside(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    munmap((char *)memory - SHIFT, size_bytes + SHIFT);
}

static void *alloc_plain(void *context, size_t size_bytes)
{
    (void)context;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void release_plain(void *context, void *memory, size_t size_bytes)
{
    (void)context, (void)size_bytes;
    free(memory);
}

static void also_where_no_page_begins(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 5000;
    const stk_allocator own = {alloc_plain, release_plain, map_beside, unmap_beside, NULL};
    stk_allocator_set(&own);
    stk__arena *arena = make(pages * page - SHIFT);
    stk__arena from_its_page = {.memory = (char *)arena->memory - SHIFT, .size_bytes = pages * page};
    assert_int_equal(resident_pages(&from_its_page, pages), pages);
    stk__host_arena_destroy(arena);
    stk_allocator_set(NULL);
}

/* For engines that leave much of it alone. */
static void or_when_they_are_written(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 100;
    stk__arena *arena;
    assert_int_equal(stk__host_arena_create(NULL, pages * page, &arena, NULL), STK_OK);
    assert_int_equal(resident_pages(arena, pages), 0);
    ((char *)arena->memory)[3 * page] = 1;
    assert_int_equal(resident_pages(arena, pages), 1);
    stk__host_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_zeros),
        cmocka_unit_test(all_pages_are_there),
        cmocka_unit_test(also_where_no_page_begins),
        cmocka_unit_test(or_when_they_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
