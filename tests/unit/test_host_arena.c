/* Memory of tensors: zeros, and given by the kernel before anybody computes. */
#include "engine/host_arena.h"

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
    assert_int_equal(stk__host_arena_create(NULL, size_bytes, &arena, NULL), STK_OK);
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
#ifdef MADV_POPULATE_WRITE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), sizes[] = {1, page, (20 << 20) + 1};
    stk__arena *probe = make(page);
    const int known = madvise(probe->memory, page, MADV_POPULATE_WRITE);
    stk__host_arena_destroy(probe);
    if (known != 0) skip(); /* before Linux 5.14 */
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        stk__arena *arena = make(sizes[i]);
        const size_t pages = (sizes[i] + page - 1) / page;
        assert_int_equal(resident_pages(arena, pages), pages);
        stk__host_arena_destroy(arena);
    }
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_zeros),
        cmocka_unit_test(all_pages_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
