/* SPDX-License-Identifier: Apache-2.0 */
/* A train case, one case of `stoker bench train`: one network and one fixed batch. It is written to a folder,
 * from which everybody starts with the same numbers:
 *
 *     about.json            network, facts of the data, settings of loss and optimiser
 *     batch.safetensors     input and target
 *     weights.safetensors   of the network at the start, by PyTorch's names */
#ifndef STK_BENCH_TRAIN_CASE_H
#define STK_BENCH_TRAIN_CASE_H

#include "train/trainer.h"

enum { STK_TRAIN_CASES = 4 };

typedef struct stk__train_case {
    char network[16];
    int64_t count; /* samples of the batch */
    stk__feed_facts facts;
} stk__train_case;

extern const stk__train_case stk__train_cases[STK_TRAIN_CASES], stk__train_cases_quick[STK_TRAIN_CASES];

void stk__train_case_title(const stk__train_case *train_case, char *title,
                           size_t size); /* "unet, 4 x 256 x 256" */
stk_status stk__train_case_write(const stk__train_case *train_case, const char *folder, stk_error *error);

/* Ourselves at a train case: a trainer that gets its batch again and again. */
typedef struct stk__train_case_run { /* open/close */
    stk__train_case train_case;
    stk_batch batch;
    stk__trainer *trainer;
} stk__train_case_run;

/* engine: NULL: the best there is */
stk_status stk__train_case_open(stk__train_case_run *run, const char *folder, const char *engine,
                                stk_error *error);
stk_status stk__train_case_step(stk__train_case_run *run, stk_error *error);
/* The mean of the steps since the last call. */
stk_status stk__train_case_loss(stk__train_case_run *run, double *loss, stk_error *error);
void stk__train_case_close(stk__train_case_run *run);

/* --- for train_case.c and train_case_run.c ---------------------------------------------------------------
 */

#define STK_TRAIN_CASE_LR    1e-3
#define STK_TRAIN_CASE_DECAY 0.01
#define STK_TRAIN_CASE_NORM  1.0 /* gradients are clipped to */
enum { STK_TRAIN_CASE_IGNORED = 255 };

/* Numbers of the facts, by the names that networks use. */
typedef struct stk__train_case_fact {
    const char *name;
    size_t offset; /* of an int32_t */
} stk__train_case_fact;
extern const stk__train_case_fact stk__train_case_facts[]; /* ends with a name NULL */

typedef struct stk__train_case_tensors {
    stk_tensor input, target; /* data: NULL */
} stk__train_case_tensors;
stk__train_case_tensors stk__train_case_describe(const stk__train_case *train_case);

typedef struct stk__train_case_trainer {
    const stk__train_case *train_case;
    stk_batch *batch;    /* of every step; NULL: only weights are wanted, at the start */
    const char *weights; /* a file; NULL: none */
    const char *engine;  /* NULL: the best there is */
} stk__train_case_trainer;
stk_status stk__train_case_open_trainer(stk__trainer **trainer, const stk__train_case_trainer *options,
                                        stk_error *error);

#endif
