/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkpoints of a run stay and which are removed after a new one was written. Nothing here can harm
 * the new checkpoint: whatever fails is logged. One thread. */
#include "train/checkpoint/checkpoint_list.h"

#include "core/logger.h"
#include "train/checkpoint/checkpoint_atomic.h"

#include <math.h>
#include <string.h>

/* By metric, of those that are not newer than the one just written; NULL: none has a metric. */
static const stk__checkpoint_entry *find_best(const stk__checkpoint_list *list,
                                              const stk__checkpoint_entry *written, bool best_is_low)
{
    const stk__checkpoint_entry *best = NULL;
    for (int i = 0; i < list->count; i++) {
        const stk__checkpoint_entry *entry = &list->entries[i];
        if (stk__checkpoint_newer(entry, written) || !entry->readable || isnan(entry->metric)) continue;
        if (!best || stk__checkpoint_better(entry, best, best_is_low)) best = entry;
    }
    return best;
}

static bool is_same_moment(const stk__checkpoint_entry *a, const stk__checkpoint_entry *b)
{
    return a && a->step == b->step && a->epoch == b->epoch;
}

/* The retention rule. From the newest checkpoint to the oldest, the first line that applies decides:
 *
 *     abandoned   newer than the one just written: the run resumed before it, it is damaged   goes
 *     best        by its metric, as far as it is known                                        stays
 *     replaced    there is a newer one of the same epoch and step ("…-2" replaces "…")        goes
 *     surplus     `keep` newer ones count already (keep 0: no limit)                          goes
 *     otherwise                                                                               stays
 *
 * Those with a readable state count that are neither abandoned nor replaced. The one just written is the
 * first to count, so it always stays.
 *
 * Example, keep = 2: of step 10 (the best), 20, 30 and 40, which was just written, 20 goes. */
int stk__checkpoint_choose_removed(const stk__checkpoint_list *list, const stk__checkpoint_entry *written,
                                   const stk__checkpoint_options *options, const char **names)
{
    const stk__checkpoint_entry *const best = find_best(list, written, options->best_is_low);
    const stk__checkpoint_entry *before = NULL; /* the last that was neither abandoned nor replaced */
    int counted = 0, removed = 0;
    for (int i = 0; i < list->count; i++) {
        const stk__checkpoint_entry *entry = &list->entries[i];
        const bool abandoned = stk__checkpoint_newer(entry, written);
        const bool replaced = is_same_moment(before, entry);
        const bool surplus = options->keep > 0 && counted >= options->keep;
        if (abandoned || (entry != best && (replaced || surplus))) names[removed++] = entry->name;
        if (abandoned || replaced) continue;
        counted += entry->readable;
        before = entry;
    }
    return removed;
}

static const stk__checkpoint_entry *find_entry(const stk__checkpoint_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].name, name) == 0) return &list->entries[i];
    return NULL;
}

void stk__checkpoint_remove_old(const stk__checkpoint_options *options, const char *written)
{
    stk_error error = {0};
    stk__checkpoint_list list;
    const char **names = NULL;
    stk_status status = stk__checkpoint_list_read(&list, options->folder, &error);
    if (status == STK_OK) status = stk__checkpoint_list_states(&list, options->folder, &error);
    if (status == STK_OK && !(names = stk__alloc((size_t)(list.count + 1) * sizeof names[0])))
        status = stk__fail_memory(&error, (size_t)(list.count + 1) * sizeof names[0], "names");
    const stk__checkpoint_entry *entry = status == STK_OK ? find_entry(&list, written) : NULL;
    if (entry)
        status = stk__checkpoint_atomic_discard(
            options->folder, names, stk__checkpoint_choose_removed(&list, entry, options, names), &error);
    if (status != STK_OK)
        stk__log(STK_LOG_WARNING, "old checkpoints could not be removed: %s", error.message);
    stk__free(names);
    stk__buffer_fini(&list.memory);
}

void stk__checkpoint_tidy(const stk__checkpoint_options *options, const char *newest)
{
    const char *slash = strrchr(newest, '/');
    stk__checkpoint_remove_old(options, slash ? slash + 1 : newest);
}
