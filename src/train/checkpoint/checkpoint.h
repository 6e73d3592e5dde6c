/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: a directory each, complete or not there. The order of system calls is fixed and tested: a
 * temporary name, write, fsync of files and directory, rename, fsync of the parent. Every bit is covered by
 * SUMS.
 *
 *     RUN/checkpoints/epoch-0003-step-000120/{model.safetensors, optimizer.safetensors, average.safetensors,
 *                                             state.json, SUMS}
 *
 * PyTorch reads the safetensors: names, shapes and dtypes are those of a state_dict; average.safetensors is
 * such a one too, and optimizer.safetensors has "NAME.exp_avg", "NAME.exp_avg_sq" or "NAME.momentum_buffer".
 * One writer: whoever holds the run's lock (run_folder.h). */
#ifndef STK_TRAIN_CHECKPOINT_H
#define STK_TRAIN_CHECKPOINT_H

#include "train/model.h"

#include <jansson.h>

/* What is saved beside the model's tensors. */
typedef struct stk__checkpoint_state {
    json_t *json; /* everything that is needed to resume: position, schedule, best metric, engine, threads */
    uint64_t epoch, step;
    double metric; /* of this state; NAN: not evaluated */
} stk__checkpoint_state;

typedef struct stk__checkpoint_options {
    const char *folder; /* RUN/checkpoints; made if it is not there */
    int keep;           /* newest ones that stay; 0: all */
    bool best_is_low;   /* the metric is better when it is lower */
    bool optimizer;     /* write first and second moments */
} stk__checkpoint_options;

/* Writes one and deletes those that are not needed any more: the best by metric and the newest `keep` stay,
 * and nothing is deleted before the new one is durable; that some could not be deleted is only logged. path
 * (may be NULL) gets its name, size bytes at most, if there is one then. One of the same epoch and step is
 * replaced: the new name ends in -2, -3, … On failure (full disk) the older ones are untouched and nothing of
 * the new one is left over; only when the very last step, the fsync of the parent, fails the new one stays:
 * it is complete. */
stk_status stk__checkpoint_write(const stk__checkpoint_options *options, stk__model *model,
                                 const stk__checkpoint_state *state, char *path, size_t size,
                                 stk_error *error);

/* Removes what crashes have left over: temporary names and trash. Returns how many. */
int stk__checkpoint_clean(const char *folder);

/* On resume, with the path of the newest valid one: removes the older ones that `keep` does not ask for but
 * that could not be removed when they should have been, and newer ones, which are damaged. What fails is
 * logged. */
void stk__checkpoint_tidy(const stk__checkpoint_options *options, const char *newest);

/* The newest valid checkpoint of the folder, or the best by metric (those without one come last); every file
 * is verified against SUMS. STK_ERROR_DATA: none is valid; STK_END: there is none. */
typedef struct stk__checkpoint_found {
    char path[512];
    int skipped;            /* invalid ones that were passed over: say so */
    char first_reason[256]; /* what is wrong with the first of them; empty: none was skipped */
} stk__checkpoint_found;
stk_status stk__checkpoint_newest(const char *folder, stk__checkpoint_found *found, stk_error *error);
stk_status stk__checkpoint_best(const char *folder, bool best_is_low, stk__checkpoint_found *found,
                                stk_error *error);

/* Any, valid or not. */
bool stk__checkpoint_is_there(const char *folder);

/* Compares every file with SUMS. STK_ERROR_DATA says what is wrong. */
stk_status stk__checkpoint_verify(const char *path, stk_error *error);

/* What follows does not verify: it is given what was found above. */

/* state->json is the caller's (json_decref). */
stk_status stk__checkpoint_read_state(const char *path, stk__checkpoint_state *state, stk_error *error);
/* Tensors into the model. to_go_on: weights, moments and the moving average as they were; else, to evaluate,
 * weights alone, from the moving average where there is one. All must be there and fit, and there may be no
 * others (STK_ERROR_STATE); the model is not touched before that is known. */
stk_status stk__checkpoint_read_model(const char *path, stk__model *model, bool to_go_on, stk_error *error);

/* Starting weights from any safetensors file (or a checkpoint's directory): what fits by name and shape is
 * loaded, F16, BF16 and F64 too, and becomes the start of the moving average; the rest is reported.
 * STK_ERROR_DATA when nothing fits. */
typedef struct stk__weights_report {
    int loaded;
    int missing; /* tensors of the model that the file does not have */
    int unknown; /* tensors of the file that the model does not have */
    int misfits; /* in both, but of another shape or kind */
    char first_missing[96], first_unknown[96], first_misfit[160];
} stk__weights_report;
stk_status stk__weights_load(const char *path, stk__model *model, stk__weights_report *report,
                             stk_error *error);

#endif
