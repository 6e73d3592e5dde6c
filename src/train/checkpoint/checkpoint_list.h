/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkpoints a folder has, from the newest to the oldest, and which of them are removed. */
#ifndef STK_TRAIN_CHECKPOINT_LIST_H
#define STK_TRAIN_CHECKPOINT_LIST_H

#include "train/checkpoint/checkpoint.h"

enum { STK_CHECKPOINT_NAME_BYTES = 96 };

typedef struct stk__checkpoint_entry {
    char name[STK_CHECKPOINT_NAME_BYTES];
    uint64_t epoch, step;
    uint64_t again; /* 1; 2, 3, … of one that replaces another */
    bool readable;  /* its state.json makes sense; says nothing about the other files */
    double metric;  /* NAN: none */
} stk__checkpoint_entry;

void stk__checkpoint_entry_name(stk__checkpoint_entry *entry); /* from epoch, step and again */

typedef struct stk__checkpoint_list {
    stk__buffer memory; /* owner: whoever embeds it, also after a failure */
    stk__checkpoint_entry *entries;
    int count;
} stk__checkpoint_list;

/* All of a folder by their names, newest first; none when there is no such folder. */
stk_status stk__checkpoint_list_read(stk__checkpoint_list *list, const char *folder, stk_error *error);
/* Fills readable and metric in. */
stk_status stk__checkpoint_list_states(stk__checkpoint_list *list, const char *folder, stk_error *error);
bool stk__checkpoint_newer(const stk__checkpoint_entry *a, const stk__checkpoint_entry *b);
/* Whether a is better than b by metric. Of equal ones the first that was reached, as the run prints it; of
 * the same moment, or without a metric, the newer. */
bool stk__checkpoint_better(const stk__checkpoint_entry *a, const stk__checkpoint_entry *b, bool best_is_low);

/* Fills names ([list->count]) with the checkpoints to remove after `written`, an entry of the list; returns
 * how many. The rule: checkpoint_retention.c. */
int stk__checkpoint_choose_removed(const stk__checkpoint_list *list, const stk__checkpoint_entry *written,
                                   const stk__checkpoint_options *options, const char **names);
/* Removes them, with the name of the one just written. What fails is logged. */
void stk__checkpoint_remove_old(const stk__checkpoint_options *options, const char *written);

#endif
