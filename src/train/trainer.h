/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer: an engine, a network, its model and passes, and what one step or one evaluation does with
 * them. It knows no files, no folders and no screens: run.h adds those. One thread makes all calls.
 *
 *     stk__trainer_open(&trainer, &setup, &error);
 *     while (stk__trainer_step(trainer, &error) == STK_OK) …    // STK_END after each epoch
 *     stk__trainer_evaluate(trainer, &result, &error);
 *     stk__trainer_close(&trainer); */
#ifndef STK_TRAIN_TRAINER_H
#define STK_TRAIN_TRAINER_H

#include "train/feed.h"
#include "train/lr_schedule.h"
#include "train/pass/pass.h"
#include "train/stall.h"
#include "train/task.h"

#include <jansson.h>

typedef struct stk__trainer stk__trainer;

typedef struct stk__trainer_setup {
    const stk__model_settings *model;
    const stk__loss_settings *loss;
    const stk__train_settings *train;
    const stk__optimizer_settings *optimizer;
    const stk__run_settings *run;
    stk__feed feed, val; /* val.next NULL: nothing to evaluate on */
    stk__feed_facts facts;
    uint64_t seed;
    stk__engine *engine; /* the trainer's from now on; NULL: the one of stk__trainer_open_engine */
    bool evaluates_only; /* no gradients, no optimizer: `stoker eval` */
    bool has_checkpoint; /* whose weights will come: model.weights is not read */
    bool rough;          /* with a dry engine: see stk__pass_request */
    /* Asked when all sizes are known and nothing is allocated; a failure ends the opening. NULL: nobody. */
    stk_status (*admit)(void *context, const stk__trainer *trainer, stk_error *error);
    void *admit_context;
    /* Where a setting was asked for ("command line", "c.yaml:3:5"), for messages; NULL: unknown. */
    const char *(*place_of)(const void *context, const char *setting);
    const void *place_context;
} stk__trainer_setup;

/* How the engine that the settings ask for is opened; what they contradict in is refused. */
stk_status stk__trainer_engine_options(const stk__run_settings *run, const stk__train_settings *train,
                                       stk__engine_options *options, stk_error *error);
/* The engine that the settings ask for, for who must know its device before there are batches. */
stk_status stk__trainer_open_engine(stk__engine **engine, const stk__run_settings *run,
                                    const stk__train_settings *train, stk_error *error);

/* Opens the engine, reads the network, plans the passes and fills the weights; with an engine that is dry it
 * can only be described and closed, and has the one pass that is described. Settings need to live only during
 * the call; feeds live as long as the trainer. */
stk_status stk__trainer_open(stk__trainer **trainer, const stk__trainer_setup *setup, stk_error *error);
void stk__trainer_close(stk__trainer **trainer);

/* Measures the constants that standardise windows and values on the training set, which is then at its
 * beginning again. For networks with such layers, before the first step of a new run; others: does nothing.
 */
stk_status stk__trainer_standardise(stk__trainer *trainer, stk_error *error);

/* One change of the weights: as many batches as are accumulated. STK_END: the epoch was over before it. With
 * fp16 the step may be skipped: nothing changes but the place in the data. STK_ERROR_DATA: too many were, in
 * a row; or, with train.detect_nan, numbers of this step are not finite. */
stk_status stk__trainer_step(stk__trainer *trainer, stk_error *error);

/* The last step failed while it changed weights: they are of no use. */
bool stk__trainer_is_torn(const stk__trainer *trainer);

/* Loss and values (stk__task_info) over a part. */
typedef struct stk__score {
    double loss;    /* NAN: nothing counted */
    double counted; /* denominator of the loss: pixels, samples or points, weighted */
    double values[STK_TASK_VALUES];
    double per_class[STK_OP_CLASSES]; /* F-score of a segmentation, average precision of a multilabel
                                         evaluation; NAN: did not come up */
    uint64_t samples;                 /* of an evaluation; without bad ones … */
    uint64_t bad_samples;             /* … that were left out or replaced */
    bool finite; /* what loss and values are made of; a value may be NAN nevertheless: R2 of equal targets */
} stk__score;

/* What was counted since the last call, and forgets it. Waits for the engine. */
typedef struct stk__trainer_log {
    stk__score score;
    double grad_norm;  /* mean; NAN: no step */
    double step_count; /* that it is the mean of */
} stk__trainer_log;
stk_status stk__trainer_read(stk__trainer *trainer, stk__trainer_log *log, stk_error *error);

/* The same in two parts, for who does not want to wait: begin lets the numbers be copied and counting start
 * again, end hands them out. One at a time, and no evaluation in between. On engines in host memory they are
 * there at once. */
stk_status stk__trainer_read_begin(stk__trainer *trainer, stk_error *error);
stk_status stk__trainer_read_ask(const stk__trainer *trainer, bool *there, stk_error *error);
stk_status stk__trainer_read_end(stk__trainer *trainer, stk__trainer_log *log, stk_error *error);

/* The whole validation set, with the moving average of the weights (EMA) if there is one. */
stk_status stk__trainer_evaluate(stk__trainer *trainer, stk__score *score, stk_error *error);

/* What the last evaluation of a segmentation counted: pixels [classes][classes], row = truth, column =
 * prediction; NULL: there was none, or it is another task. Until the next evaluation. */
const int64_t *stk__trainer_confusion(const stk__trainer *trainer, int64_t *classes);

/* STK_ERROR_DATA, with the first bad layer and a hint, for a score of the validation part that is not finite
 * or in which nothing counted. Evaluates once more to find it. */
stk_status stk__trainer_check_score(stk__trainer *trainer, const stk__score *score, stk_error *error);
/* The same for numbers of the training part; what: "loss is". Takes the batches since the last log again. */
stk_status stk__trainer_refuse(stk__trainer *trainer, const char *what, int64_t step, stk_error *error);
/* … for weights that are not finite; named after this step. */
stk_status stk__trainer_check_weights(stk__trainer *trainer, int64_t step, stk_error *error);
/* … for an epoch in which nothing counted. */
stk_status stk__trainer_refuse_empty(stk__trainer *trainer, uint64_t epoch, stk_error *error);

/* Called with every batch that is evaluated and the network's prediction; NULL: none. */
typedef void (*stk__trainer_look)(void *context, const stk_batch *batch, const stk_tensor *prediction);
void stk__trainer_watch(stk__trainer *trainer, stk__trainer_look look, void *context);

/* Rows of the stall table and every layer go to trace from now on; NULL: no longer. */
void stk__trainer_trace(stk__trainer *trainer, stk__trace *trace);

/* Of the engine's device; -1: the host's, or unknown. */
stk__engine_memory stk__trainer_memory(stk__trainer *trainer);

bool stk__trainer_has_val(const stk__trainer *trainer);

/* What was counted since the last log is a finite loss (or nothing). Waits for the engine. */
bool stk__trainer_is_finite(stk__trainer *trainer);

/* Everything but tensors that is needed to resume: position, step, what was counted but not read. The caller
 * owns the object; NULL: out of memory. Seek takes what tell gave; with batches of another size an epoch that
 * was under way begins again. */
json_t *stk__trainer_tell(stk__trainer *trainer);
stk_status stk__trainer_seek(stk__trainer *trainer, const json_t *state, stk_error *error);

/* A setting that is in effect other than requested, or was left to the trainer. */
typedef struct stk__trainer_effect {
    const char *name;
    char in_effect[256]; /* empty: not in effect at all */
    char why[160];
    bool quiet; /* of interest only to someone who asked for it */
} stk__trainer_effect;
const stk__trainer_effect *stk__trainer_effects(const stk__trainer *trainer, int *count);

/* What was opened; belongs to the trainer. */
typedef struct stk__trainer_info {
    const stk__engine_info *engine;
    const stk__network *network;
    const stk__pass_report *report; /* of the pass that trains (or evaluates) full batches */
    const stk__pass *pass;
    int64_t
        pass_samples; /* of the batch that these two are of: all of the part, if that is less than a batch */
    stk_dtype half;   /* mixed precision: bf16 or f16; 0: f32 */
    stk__model *model;
    size_t model_bytes, pass_bytes; /* memory of its own */
    size_t library_bytes; /* of a dry one: on the host, for operations of all passes, by the engine's library
                             and the passes themselves */
    size_t inside_bytes, adding_bytes; /* as in stk__pass_report, most of all passes */
    int generating_ops;
    int value; /* of the task: decides which checkpoint is best */
    int64_t steps_per_epoch;
    bool starts_standardised; /* features and targets were measured on the training set */
    bool
        epoch_again; /* begun before the state that was sought, and begins again: batches have another size */
} stk__trainer_info;
const stk__trainer_info *stk__trainer_describe(const stk__trainer *trainer);

/* Where it stands. */
typedef struct stk__trainer_place {
    int64_t step;      /* changes of the weights so far */
    uint64_t epoch;    /* of the next batch */
    uint64_t batch;    /* in the epoch */
    uint64_t samples;  /* trained on since open */
    double lr;         /* of the last step */
    int64_t skipped;   /* steps that were left out, their gradients being no finite numbers; only with fp16 */
    double loss_scale; /* of the next step; 0: none */
} stk__trainer_place;
stk__trainer_place stk__trainer_where(const stk__trainer *trainer);
stk__stall *stk__trainer_stall(stk__trainer *trainer);

#endif
