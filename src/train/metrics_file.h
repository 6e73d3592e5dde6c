/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.jsonl: lines that are added whole, and cut off when a run goes back. */
#ifndef STK_TRAIN_METRICS_FILE_H
#define STK_TRAIN_METRICS_FILE_H

#include "core/memory.h"

#include <jansson.h>

/* Steps of the last lines that stay: those of a log, and those of an evaluation (with val_loss). */
typedef struct stk__metrics_end {
    uint64_t logged, evaluated;
    uint64_t epoch; /* the first, counted from 1, whose evaluation goes, whatever its step: where steps are
                     * skipped, one step may have several. 0: steps decide */
} stk__metrics_end;

typedef struct stk__metrics_file { /* init/fini */
    const char *path;
    int file;         /* -1: nothing was added yet */
    stk__buffer line; /* reused */
} stk__metrics_file;

void stk__metrics_file_init(stk__metrics_file *metrics, const char *path); /* path must outlive it */
void stk__metrics_file_fini(stk__metrics_file *metrics);

/* As stk__run_folder_metric and stk__run_folder_cut. */
stk_status stk__metrics_file_add(stk__metrics_file *metrics, json_t *line, stk_error *error);
stk_status stk__metrics_file_cut(stk__metrics_file *metrics, stk__metrics_end end, stk_error *error);

#endif
