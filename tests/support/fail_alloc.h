/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator whose n-th allocation fails, and that counts what is alive. */
#ifndef FAIL_ALLOC_H
#define FAIL_ALLOC_H

#include "stoker/runtime.h"

#include <stdbool.h>

typedef struct fail_alloc {
    long left; /* allocations that still succeed; negative: all */
    long alive;
} fail_alloc;

void fail_alloc_set(fail_alloc *f); /* NULL: back to the usual one */

/* Runs `once` with 0, 1, 2, … allocations that succeed, until it does: every failure before that must be
 * STK_ERROR_MEMORY, and nothing may stay allocated. Returns how many runs it took. */
long fail_alloc_each(stk_status (*once)(void *context, stk_error *error), void *context);

#endif
