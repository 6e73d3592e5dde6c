/* SPDX-License-Identifier: Apache-2.0 */
/* What eval and predict take from the folder of a run, and train leaves there for them: settings, the facts
 * of its data, a checkpoint. */
#ifndef STK_SESSION_TRAINED_RUN_H
#define STK_SESSION_TRAINED_RUN_H

#include "core/config.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run.h"

/* What a run was trained on (data.json): enough to use its network where the data set is not. */
typedef struct stk__run_data { /* init or read, then fini; zeroed: unknown */
    const char *name;          /* of the data set or the run, for messages; not owned */
    stk__feed_facts facts;
    json_t *json; /* owned */
} stk__run_data;

stk_status stk__run_data_init(stk__run_data *data, const char *name, const stk_loader_info *info,
                              stk_error *error);
/* Writes data.json, unless it is there. */
stk_status stk__run_data_write(stk__run_folder *folder, const stk_loader_info *info, stk_error *error);
bool stk__run_has_data(const char *run); /* a data.json */
stk_status stk__run_data_read(stk__run_data *data, const char *run, stk_error *error);
void stk__run_data_fini(stk__run_data *data);
const char *stk__run_class_name(const stk__run_data *data, int64_t class_number); /* NULL: it has none */
const char *stk__run_point_name(const stk__run_data *data, int64_t point);        /* likewise */

/* config.yaml of the run into the config. */
stk_status stk__run_settings_read(stk__config *config, const char *run, stk_error *error);

/* Valid or not. */
bool stk__run_has_checkpoint(const char *run);
/* Which checkpoint: the one that is named (NULL: the best, or the newest). */
typedef struct stk__run_choice {
    const char *run, *checkpoint;
    bool newest;
} stk__run_choice;
/* Finds it and gives its weights to the network of the trainer. found->skipped: so many others are not valid
 * and were passed over. */
stk_status stk__run_checkpoint_load(const stk__run_choice *choice, const stk__trainer *trainer,
                                    stk__checkpoint_found *found, stk_error *error);

/* *weights (model.weights, may be NULL) that names the folder of a run becomes the path of its best
 * checkpoint, or of its newest if none was evaluated. found: room for the path; found->skipped as above. */
stk_status stk__run_weights_find(const char **weights, stk__checkpoint_found *found, stk_error *error);

#endif
