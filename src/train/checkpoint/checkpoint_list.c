/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkpoints a folder contains: names are parsed strictly, sorted from the newest to the
 * oldest, and their states read where the metric is needed. */
#include "train/checkpoint/checkpoint_list.h"

#include "core/durable.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stk__checkpoint_entry_name(stk__checkpoint_entry *entry)
{
    const int length = snprintf(entry->name, sizeof entry->name, "epoch-%04llu-step-%06llu",
                                (unsigned long long)entry->epoch, (unsigned long long)entry->step);
    if (entry->again > 1)
        snprintf(entry->name + length, sizeof entry->name - (size_t)length, "-%llu",
                 (unsigned long long)entry->again);
}

/* False: not a checkpoint's name, exactly as it would be printed. */
static bool parse_name(const char *name, stk__checkpoint_entry *entry)
{
    unsigned long long epoch, step, again = 1;
    *entry = (stk__checkpoint_entry){.metric = NAN};
    if (sscanf(name, "epoch-%llu-step-%llu-%llu", &epoch, &step, &again) < 2) return false;
    entry->epoch = epoch;
    entry->step = step;
    entry->again = again;
    stk__checkpoint_entry_name(entry);
    return strcmp(entry->name, name) == 0;
}

static int compare_age(const stk__checkpoint_entry *a, const stk__checkpoint_entry *b)
{
    if (a->step != b->step) return a->step > b->step ? -1 : 1;
    if (a->epoch != b->epoch) return a->epoch > b->epoch ? -1 : 1;
    return (a->again < b->again) - (a->again > b->again);
}

static int compare_entries(const void *left, const void *right)
{
    return compare_age(left, right);
}

bool stk__checkpoint_newer(const stk__checkpoint_entry *a, const stk__checkpoint_entry *b)
{
    return compare_age(a, b) < 0;
}

bool stk__checkpoint_better(const stk__checkpoint_entry *a, const stk__checkpoint_entry *b, bool best_is_low)
{
    if (isnan(a->metric) != isnan(b->metric)) return isnan(b->metric);
    if (a->metric < b->metric || a->metric > b->metric) return (a->metric < b->metric) == best_is_low;
    if (isnan(a->metric) || (a->step == b->step && a->epoch == b->epoch)) return stk__checkpoint_newer(a, b);
    return stk__checkpoint_newer(b, a);
}

static stk_status collect(stk__checkpoint_list *list, DIR *entries, stk_error *error)
{
    stk__checkpoint_entry entry;
    for (const struct dirent *found; (found = readdir(entries));)
        if (parse_name(found->d_name, &entry))
            STK__TRY(stk__buffer_append(&list->memory, &entry, sizeof entry, error));
    return STK_OK;
}

stk_status stk__checkpoint_list_read(stk__checkpoint_list *list, const char *folder, stk_error *error)
{
    *list = (stk__checkpoint_list){0};
    DIR *entries = opendir(folder);
    if (!entries && errno == ENOENT) return STK_OK;
    if (!entries) return stk__fail_errno(error, errno, "cannot list '%s'", folder);
    const stk_status status = collect(list, entries, error);
    closedir(entries);
    list->entries = (stk__checkpoint_entry *)(void *)list->memory.data;
    list->count = (int)(list->memory.size_bytes / sizeof list->entries[0]);
    if (list->count > 1) qsort(list->entries, (size_t)list->count, sizeof list->entries[0], compare_entries);
    return status;
}

stk_status stk__checkpoint_list_states(stk__checkpoint_list *list, const char *folder, stk_error *error)
{
    char path[PATH_MAX];
    for (int i = 0; i < list->count; i++) {
        stk__checkpoint_entry *entry = &list->entries[i];
        stk__checkpoint_state state;
        STK__TRY(stk__durable_join(path, sizeof path, folder, entry->name, error));
        const stk_status status = stk__checkpoint_read_state(path, &state, NULL);
        if (status == STK_ERROR_MEMORY) return stk__fail(error, status, "out of memory for the states");
        entry->readable = status == STK_OK;
        if (entry->readable) entry->metric = state.metric;
        if (entry->readable) json_decref(state.json);
    }
    return STK_OK;
}
