/* SPDX-License-Identifier: Apache-2.0 */
/* A process with all its descendants, also those whose parents have ended meanwhile. */
#ifndef STK_MONITOR_PROCESS_TREE_H
#define STK_MONITOR_PROCESS_TREE_H

#include "core/clock.h"
#include "monitor/host/process_stat.h"

enum { STK_TREE_PROCESSES = 512 };

typedef struct stk__tree_process {
    int32_t pid;
    bool alive; /* in this look */
    stk__process_stat stat;
} stk__tree_process;

/* Zero but for what the caller sets. One thread at a time. */
typedef struct stk__process_tree {
    const char *root;     /* of /proc; "" for the real one. Lives as long as the tree */
    int32_t pid;          /* where it begins */
    const char *stray;    /* processes of this name whose parent is 1 belong to it, too; NULL: none */
    uint64_t walk_gap_ns; /* all processes of the machine are looked at so often, never more of the time than
                             a fiftieth */
    bool begun;           /* it was looked at: a later process with that pid is not the first one */
    uint64_t walked_ns, walk_ns; /* when all were looked at; how long that took */
    int count;
    stk__tree_process members[STK_TREE_PROCESSES];
} stk__process_tree;

/* Reads all members again, and finds new ones: children of main threads at once, others by looking at all
 * processes. text: STK_HOST_TEXT_BYTES of room. */
void stk__process_tree_look(stk__process_tree *tree, char *text, uint64_t now_ns);

#endif
