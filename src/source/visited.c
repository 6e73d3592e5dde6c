/* SPDX-License-Identifier: Apache-2.0 */
/* A set of (device, inode) pairs: open addressing, doubled when half full, so that a scan enters no folder
 * twice however links run. */
#include "source/visited.h"

struct stk__visit {
    uint64_t device, inode;
    bool used;
};

enum { FIRST_ROOM = 64 };

static struct stk__visit *find_place(struct stk__visit *table, size_t room, uint64_t device, uint64_t inode)
{
    uint64_t mixed = (inode ^ device << 32 ^ device >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(mixed >> 20) & (room - 1);
    while (table[at].used && (table[at].device != device || table[at].inode != inode))
        at = (at + 1) & (room - 1);
    return &table[at];
}

static stk_status grow(stk__visited *visited, stk_error *error)
{
    const size_t room = visited->room ? visited->room * 2 : FIRST_ROOM;
    struct stk__visit *table = stk__alloc(room * sizeof *table);
    if (!table) return stk__fail_memory(error, room * sizeof *table, "the folders that were read");
    for (size_t i = 0; i < visited->room; i++) {
        const struct stk__visit *old = &visited->table[i];
        if (old->used) *find_place(table, room, old->device, old->inode) = *old;
    }
    stk__free(visited->table);
    visited->table = table;
    visited->room = room;
    return STK_OK;
}

stk_status stk__visited_add(stk__visited *visited, dev_t device, ino_t inode, bool *first, stk_error *error)
{
    if (visited->count * 2 >= visited->room) STK__TRY(grow(visited, error));
    struct stk__visit *place = find_place(visited->table, visited->room, device, inode);
    *first = !place->used;
    if (place->used) return STK_OK;
    *place = (struct stk__visit){device, inode, true};
    visited->count++;
    return STK_OK;
}

void stk__visited_fini(stk__visited *visited)
{
    stk__free(visited->table);
    *visited = (stk__visited){0};
}
