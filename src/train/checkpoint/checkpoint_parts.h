/* Shared by the files that write and read checkpoints: which there are, and which tensors lie in which file.
 */
#ifndef STK_TRAIN_CHECKPOINT_PARTS_H
#define STK_TRAIN_CHECKPOINT_PARTS_H

#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"

#define STK_CHECKPOINT_STATE "state.json"

typedef enum stk__checkpoint_part {
    STK_CHECKPOINT_MODEL,
    STK_CHECKPOINT_OPTIMIZER,
    STK_CHECKPOINT_AVERAGE,
    STK_CHECKPOINT_PARTS
} stk__checkpoint_part;

extern const char *const stk__checkpoint_files[STK_CHECKPOINT_PARTS]; /* "model.safetensors" … */

/* The tensors of one file, those with large elements first. */
typedef struct stk__checkpoint_tensors { /* init/fini */
    stk__safetensor *facts;              /* [count]: name, dtype and shape */
    stk__tensor **tensors;               /* [count]: the model's */
    int count;                           /* 0: the model has nothing for this part */
    char *names;                         /* those of moments, one behind the other */
} stk__checkpoint_tensors;

/* Fini is due also after a failure. */
stk_status stk__checkpoint_tensors_init(stk__checkpoint_tensors *tensors, const stk__model *model,
                                        stk__checkpoint_part part, stk_error *error);
void stk__checkpoint_tensors_fini(stk__checkpoint_tensors *tensors);

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
/* Whether a is better than b by metric; when neither is, whether it is newer. */
bool stk__checkpoint_better(const stk__checkpoint_entry *a, const stk__checkpoint_entry *b, bool best_is_low);

/* Fills names ([list->count]) with the checkpoints to remove after `written`, an entry of the list; returns
 * how many. The rule: checkpoint_retention.c. */
int stk__checkpoint_choose_removed(const stk__checkpoint_list *list, const stk__checkpoint_entry *written,
                                   const stk__checkpoint_options *options, const char **names);
/* Removes them, with the name of the one just written. What fails is logged. */
void stk__checkpoint_remove_old(const stk__checkpoint_options *options, const char *written);

#endif
