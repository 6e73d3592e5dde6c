/* SPDX-License-Identifier: Apache-2.0 */
/* Known members are read each time; children of their main threads are found at once, others by scanning all
 * processes now and then, which is expensive. A pid that was given to another process is noticed by its start
 * time. One thread at a time. */
#include "monitor/host/process_tree.h"

#include "monitor/host/host_proc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WALK_REST = 50, WALK_TURNS = 4, INIT = 1 };

static bool read_stat(const stk__process_tree *tree, int32_t pid, char *text, stk__process_stat *stat)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/stat", tree->root, (int)pid);
    const char *got = stk__host_text(&file, text);
    stk__host_file_close(&file);
    return got && stk__process_stat_parse(got, stat);
}

static bool is_member(const stk__process_tree *tree, int32_t pid)
{
    for (int i = 0; i < tree->count; i++)
        if (tree->members[i].pid == pid) return true;
    return false;
}

static bool add_member(stk__process_tree *tree, int32_t pid)
{
    if (pid <= 0 || tree->count == STK_TREE_PROCESSES || is_member(tree, pid)) return false;
    tree->members[tree->count++] = (stk__tree_process){.pid = pid};
    return true;
}

static void add_children(stk__process_tree *tree, int32_t pid, char *text)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/task/%d/children", tree->root, (int)pid, (int)pid);
    const char *at = stk__host_text(&file, text);
    stk__host_file_close(&file);
    uint64_t child;
    while (at && stk__host_number(&at, &child))
        add_member(tree, (int32_t)child);
}

static bool belongs(const stk__process_tree *tree, const stk__process_stat *stat)
{
    return is_member(tree, stat->parent) ||
           (tree->stray && stat->parent == INIT && strcmp(stat->name, tree->stray) == 0);
}

/* Until no process is found that belongs to the tree. A child has a higher number than its parent, nearly
 * always: so mostly twice. */
static void walk_all(stk__process_tree *tree, char *text)
{
    char path[STK_HOST_PATH_BYTES + 16];
    bool found = true;
    snprintf(path, sizeof path, "%s/proc", tree->root);
    for (int turn = 0; found && turn < WALK_TURNS; turn++) {
        DIR *folder = opendir(path);
        if (!folder) return;
        found = false;
        for (const struct dirent *entry; (entry = readdir(folder));) {
            const int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
            stk__process_stat stat;
            if (pid > 0 && !is_member(tree, pid) && read_stat(tree, pid, text, &stat) && belongs(tree, &stat))
                found = add_member(tree, pid) || found;
        }
        closedir(folder);
    }
}

static void drop_dead(stk__process_tree *tree)
{
    int kept = 0;
    for (int i = 0; i < tree->count; i++)
        if (tree->members[i].alive) tree->members[kept++] = tree->members[i];
    tree->count = kept;
}

static void read_member(const stk__process_tree *tree, stk__tree_process *member, char *text)
{
    stk__process_stat stat;
    member->alive = read_stat(tree, member->pid, text, &stat) &&
                    (!member->stat.start_ticks || member->stat.start_ticks == stat.start_ticks);
    if (member->alive) member->stat = stat;
}

void stk__process_tree_look(stk__process_tree *tree, char *text, uint64_t now_ns)
{
    if (!tree->begun) tree->begun = add_member(tree, tree->pid);
    const uint64_t rest_ns = WALK_REST * tree->walk_ns;
    if (!tree->walked_ns ||
        now_ns > tree->walked_ns + (rest_ns > tree->walk_gap_ns ? rest_ns : tree->walk_gap_ns)) {
        const uint64_t begin_ns = stk__clock_ns();
        walk_all(tree, text);
        tree->walk_ns = stk__clock_ns() - begin_ns;
        tree->walked_ns = now_ns;
    }
    for (int i = 0; i < tree->count; i++)
        read_member(tree, &tree->members[i], text);
    drop_dead(tree);                        /* they leave their room to others */
    for (int i = 0; i < tree->count; i++) { /* grows during the loop */
        if (!tree->members[i].alive) read_member(tree, &tree->members[i], text);
        if (tree->members[i].alive) add_children(tree, tree->members[i].pid, text);
    }
    drop_dead(tree);
}
