/* SPDX-License-Identifier: Apache-2.0 */
/* Which folders a scan has entered, by device and inode: a hash table with open addressing. */
#ifndef STK_SOURCE_VISITED_H
#define STK_SOURCE_VISITED_H

#include "core/memory.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct stk__visited {
    struct stk__visit *table; /* [room], room a power of two; NULL: empty */
    size_t room, count;
} stk__visited;

/* *first: it was not yet there. */
stk_status stk__visited_add(stk__visited *visited, dev_t device, ino_t inode, bool *first, stk_error *error);
void stk__visited_fini(stk__visited *visited);

#endif
