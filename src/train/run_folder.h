/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a run: config.yaml, run.json, metrics.jsonl, events.out.tfevents.*, checkpoints/,
 * ledger.jsonl, lock. */
#ifndef STK_TRAIN_RUN_FOLDER_H
#define STK_TRAIN_RUN_FOLDER_H

#include "core/memory.h"
#include "train/metrics_file.h"

#include <jansson.h>

typedef struct stk__run_folder stk__run_folder; /* open/close */

typedef struct stk__run_folder_options {
    const char *path;   /* NULL: a new one, PARENT/NAME-0001, the lowest number that is free */
    const char *parent; /* NULL: "runs" */
    const char *name;   /* "unet-faces"; with a path it may be NULL */
    bool resume;        /* must be there; else it must be new or empty */
} stk__run_folder_options;

/* Takes the lock: a second process is refused with the first one's id. A lock of a dead process is taken
 * over. Then what crashes have left over is removed, that of checkpoints too. */
stk_status stk__run_folder_open(stk__run_folder **folder, const stk__run_folder_options *options,
                                stk_error *error);
void stk__run_folder_close(stk__run_folder **folder);
const char *stk__run_folder_path(const stk__run_folder *folder);
/* "RUN/name" into text; cut off when size is too small. */
void stk__run_folder_file(const stk__run_folder *folder, const char *name, char *text, size_t size);

/* Adds a line to metrics.jsonl, whole or not at all, and its numbers to the events of TensorBoard; takes the
 * reference. */
stk_status stk__run_folder_metric(stk__run_folder *folder, json_t *line, stk_error *error);
/* On resume: removes the lines of metrics.jsonl whose "step" is beyond the end, those without a step that
 * follow them, and invalid JSON. */
stk_status stk__run_folder_cut(stk__run_folder *folder, stk__metrics_end end, stk_error *error);
/* Writes a whole file, durably. */
stk_status stk__run_folder_write(stk__run_folder *folder, const char *name, stk__buffer data,
                                 stk_error *error);
/* Dumps json with sorted keys and indent; takes the reference. */
stk_status stk__run_folder_write_json(stk__run_folder *folder, const char *name, json_t *json,
                                      stk_error *error);

#endif
