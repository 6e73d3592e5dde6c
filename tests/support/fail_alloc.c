/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator whose n-th allocation fails and that counts live blocks: a function is run once for each n
 * until it succeeds, and must leave nothing behind each time. */
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MOST_RUNS = 10000 };

static void *alloc(void *context, size_t size_bytes)
{
    fail_alloc *f = context;
    if (f->left == 0) return NULL;
    if (f->left > 0) f->left--;
    f->alive++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((fail_alloc *)context)->alive--;
    free(memory);
}

void fail_alloc_set(fail_alloc *f)
{
    const stk_allocator hook = {.alloc = alloc, .release = release, .context = f};
    stk_allocator_set(f ? &hook : NULL);
}

long fail_alloc_each(stk_status (*once)(void *context, stk_error *error), void *context)
{
    stk_status status = STK_ERROR_MEMORY;
    long n = 0;
    for (; status != STK_OK && n < MOST_RUNS; n++) {
        stk_error error = {0};
        fail_alloc f = {.left = n};
        fail_alloc_set(&f);
        status = once(context, n % 2 ? &error : NULL);
        fail_alloc_set(NULL);
        assert_int_equal(f.alive, 0);
        if (status == STK_OK) continue;
        assert_int_equal(status, STK_ERROR_MEMORY);
        if (n % 2) assert_int_equal(error.code, STK_ERROR_MEMORY);
    }
    assert_int_equal(status, STK_OK);
    return n;
}
