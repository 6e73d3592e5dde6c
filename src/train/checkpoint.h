/* Checkpoints: a directory each, complete or not there. The order of system calls is fixed and tested: a
 * temporary name, write, fsync of files and directory, rename, fsync of the parent. Every bit is covered by
 * SUMS.
 *
 *     RUN/checkpoints/epoch-0003-step-000120/{model.safetensors, optimizer.safetensors, average.safetensors,
 *                                             state.json, SUMS}
 * One writer: the run's lock (stk__run_lock). */
#ifndef STK_TRAIN_CHECKPOINT_H
#define STK_TRAIN_CHECKPOINT_H

#include "train/model.h"

#include <jansson.h>

/* What is saved beside the model's tensors. */
typedef struct stk__checkpoint_state {
    json_t *json; /* everything that is needed to go on: position, schedule, best metric, engine, threads */
    uint64_t epoch, step;
    double metric; /* of this state; NAN: not evaluated */
} stk__checkpoint_state;

typedef struct stk__checkpoint_options {
    const char *folder; /* RUN/checkpoints */
    int keep;           /* newest ones that stay; 0: all */
    bool best_is_low;   /* the metric is better when it is lower */
    bool optimizer;     /* write first and second moments */
} stk__checkpoint_options;

/* Writes one and deletes those that are not needed any more: the best by metric and the newest `keep` stay,
 * and nothing is deleted before the new one is durable. *path (of size bytes) gets its name. On failure (full
 * disk) the older ones are untouched and nothing of the new one is left over. */
stk_status stk__checkpoint_write(const stk__checkpoint_options *options, stk__model *model,
                                 const stk__checkpoint_state *state, char *path, size_t size,
                                 stk_error *error);

/* Removes what crashes have left over: temporary names and trash. Returns how many. */
int stk__checkpoint_clean(const char *folder);

/* The newest valid checkpoint of the folder, or the best by metric; every file is verified against SUMS.
 * *skipped counts invalid ones that were passed over and first_reason (may be NULL) says what was wrong with
 * the newest of them. STK_ERROR_DATA: none is valid; STK_END: there is none. */
typedef struct stk__checkpoint_found {
    char path[512];
    int skipped;
    char first_reason[256];
} stk__checkpoint_found;
stk_status stk__checkpoint_newest(const char *folder, stk__checkpoint_found *found, stk_error *error);
stk_status stk__checkpoint_best(const char *folder, bool best_is_low, stk__checkpoint_found *found,
                                stk_error *error);

stk_status stk__checkpoint_verify(const char *path, stk_error *error);
/* state->json is the caller's (json_decref). */
stk_status stk__checkpoint_read_state(const char *path, stk__checkpoint_state *state, stk_error *error);
/* Tensors into the model: all must be there and fit. with_optimizer: moments too. average: weights come from
 * the moving average where there is one. */
stk_status stk__checkpoint_read_model(const char *path, stk__model *model, bool with_optimizer,
                                      stk_error *error);

/* Starting weights from any safetensors file (or a checkpoint's directory): what fits by name and shape is
 * loaded, the rest is reported. STK_ERROR_DATA when nothing fits. */
typedef struct stk__weights_report {
    int loaded, missing, unknown, misfits;
    char first_missing[96], first_unknown[96], first_misfit[160];
} stk__weights_report;
stk_status stk__weights_load(const char *path, stk__model *model, stk__weights_report *report,
                             stk_error *error);

#endif
