/* SPDX-License-Identifier: Apache-2.0 */
/* Training: what `stoker train` and `stoker predict` do, for programs.
 *
 *     const char *const settings[] = {"data.root=faces", "data.image_size=64", "train.epochs=2"};
 *     stk_trainer_options options = STK_TRAINER_OPTIONS_INIT;
 *     options.settings = settings;
 *     options.setting_count = 3;
 *     stk_trainer *trainer;
 *     stk_error error;
 *     if (stk_trainer_open(&trainer, &options, &error) != STK_OK) …
 *     if (stk_trainer_train(trainer, &error) != STK_OK) …     // logs, evaluations, checkpoints, report
 *     stk_trainer_close(&trainer);
 *
 * or step by step: stk_trainer_step until STK_END, which ends an epoch, then stk_trainer_evaluate and
 * stk_trainer_save as you like, and stk_trainer_finish at the end. Settings, run folders, checkpoints and
 * weights are those of the program, to the last bit.
 *
 * Threads: a trainer computes in the thread that opened it ("the opening thread" below); another one gets
 * STK_ERROR_ARGUMENT, because compute engines keep state per thread. Several trainers and predictors may be
 * open, each in a thread of its own or several in one thread, one call after the other: they share nothing
 * but the CPUs (give each its part: run.threads), and their results are what each alone would give. */
#ifndef STOKER_TRAIN_H
#define STOKER_TRAIN_H

#include "stoker/loader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stk_trainer stk_trainer;

/* Values that a network is scored by: for classes "top1", for masks "miou" … (stk_trainer_info.value_names).
 */
enum { STK_TRAINER_VALUES = 8 };

/* Where a run stands. Numbers that are not known (yet) are NaN. */
typedef struct stk_trainer_progress {
    size_t struct_size; /* sizeof(stk_trainer_progress): see STK_INIT (status.h) */
    int64_t step;       /* changes of the weights, of the whole run */
    uint64_t epoch;     /* completed, of the whole run */
    uint64_t epochs;    /* that the run is to have */
    uint64_t batch;     /* of the epoch that is under way, so many are done … */
    uint64_t batches;   /* … of so many */
    uint64_t samples;   /* trained on since open */
    double lr;          /* of the last step */

    /* Training part, over the last train.log_interval steps that were logged, which ended at logged_step. */
    int64_t logged_step; /* 0: nothing was logged since open; then the numbers are NaN */
    double loss, grad_norm;
    double values[STK_TRAINER_VALUES];
    double samples_per_s;
    double wait_share; /* of the time: waiting for data */

    /* Validation part, last evaluation since open. */
    double val_loss, val_values[STK_TRAINER_VALUES];
    double best_value;      /* best of the value that decides (stk_trainer_info.metric), of the whole run */
    int64_t best_step;      /* after which it was measured */
    bool best;              /* the last evaluation was the best so far */
    bool interrupted;       /* stk_trainer_interrupt ended stk_trainer_train … */
    bool stopped_early;     /* … or train.early_stop did */
    const char *checkpoint; /* the last one that was written or resumed from; "": none. Until the next call */
} stk_trainer_progress;

#define STK_TRAINER_PROGRESS_INIT STK_INIT(stk_trainer_progress)

/* Called from within stk_trainer_train, _step, _evaluate and _save, in their thread. Each may be NULL. They
 * may call stk_trainer_interrupt, _describe, _effects, _get_progress; others return STK_ERROR_ARGUMENT. What
 * they are given lives during the call. */
typedef struct stk_trainer_callbacks {
    size_t struct_size;                                                   /* sizeof(stk_trainer_callbacks) */
    void *context;                                                        /* goes to every call */
    void (*started)(void *context, const stk_trainer_progress *progress); /* before the first step */
    void (*stepped)(void *context, const stk_trainer_progress *progress); /* after each step */
    void (*logged)(void *context, const stk_trainer_progress *progress);  /* every train.log_interval steps */
    void (*evaluated)(void *context, const stk_trainer_progress *progress);
    void (*saved)(void *context, const stk_trainer_progress *progress); /* a checkpoint was written */
    void (*bad_sample)(void *context, const stk_ledger_entry *entry);   /* of either part */
} stk_trainer_callbacks;

#define STK_TRAINER_CALLBACKS_INIT STK_INIT(stk_trainer_callbacks)

typedef struct stk_trainer_options {
    size_t struct_size;          /* sizeof(stk_trainer_options): see STK_INIT (status.h) */
    const char *config;          /* settings file: YAML, or lines KEY = value; NULL: none */
    const char *const *settings; /* [setting_count] "section.key=value", or "key=value" where that is unique;
                                    they count more than the file. Names: `stoker train --help`, options.h */
    size_t setting_count;
    const char *run;     /* folder of the run; NULL: a new one in run.dir, as `stoker train` makes it */
    bool resume;         /* the run in `run` continues from its newest checkpoint, with its settings; the
                            settings given here count more */
    bool no_files;       /* no folder: no log, checkpoint or report is written. Not with run or resume */
    bool environment;    /* read settings from variables STOKER_SECTION_KEY, too, as the program does */
    int64_t stop_after;  /* stk_trainer_train returns after so many steps, with a checkpoint; 0: at the end */
    int64_t trace_steps; /* recorded in trace.json; each layer is waited for meanwhile; 0: none */
    const stk_trainer_callbacks *callbacks; /* NULL: none; copied */
} stk_trainer_options;

#define STK_TRAINER_OPTIONS_INIT STK_INIT(stk_trainer_options)

/* Opens data, engine and network, makes the folder of the run, and resumes. Memory is planned before: what
 * does not fit is STK_ERROR_MEMORY with settings that do. On failure *trainer is NULL and nothing is left
 * behind but the folder. What options point to needs to live only during the call, but for
 * callbacks->context. Threads: any; it becomes the opening thread. */
STK_API stk_status stk_trainer_open(stk_trainer **trainer, const stk_trainer_options *options,
                                    stk_error *error);

/* The rest of the run: steps, logs, evaluations and checkpoints by the settings, to the last epoch,
 * train.early_stop or stop_after; then stk_trainer_finish. Called again it continues (nothing is left after
 * the last epoch). STK_ERROR_INTERRUPTED: stk_trainer_interrupt; the checkpoint and the report are written,
 * and it can be called again. After other failures the checkpoints so far are good, and the report names the
 * failure. Threads: one, the opening one. */
STK_API stk_status stk_trainer_train(stk_trainer *trainer, stk_error *error);

/* One change of the weights (train.gradient_accumulation_steps batches). STK_END: the epoch was over before
 * it, and its log is written; the next call begins the next one, and after the last (train.epochs) it is
 * STK_ERROR_ARGUMENT. Neither evaluates nor saves. STK_ERROR_INTERRUPTED: stk_trainer_interrupt was called;
 * no step was made, the next call makes it. Threads: one, the opening one. */
STK_API stk_status stk_trainer_step(stk_trainer *trainer, stk_error *error);

/* Loss and values over the validation part. */
typedef struct stk_trainer_score {
    size_t struct_size; /* sizeof(stk_trainer_score): see STK_INIT (status.h) */
    double loss;
    double values[STK_TRAINER_VALUES]; /* stk_trainer_info.value_names; NaN: undefined, or not there */
    const double *per_class; /* [class_count] F-score of masks, average precision of several labels; NaN: the
                                class did not come up. NULL: not of this task. Until the next evaluation */
    uint64_t samples;        /* that were evaluated … */
    uint64_t bad_samples;    /* … and those that were left out or replaced */
    bool best;               /* the best so far, by stk_trainer_info.metric */
} stk_trainer_score;

#define STK_TRAINER_SCORE_INIT STK_INIT(stk_trainer_score)

/* Evaluates now, with the moving average of the weights if there is one, and writes the line of the log.
 * STK_ERROR_CONFIG: there is no validation part. Threads: one, the opening one. */
STK_API stk_status stk_trainer_evaluate(stk_trainer *trainer, stk_trainer_score *score, stk_error *error);

/* Writes a checkpoint now; of a step that was evaluated it may be the run's best. STK_ERROR_CONFIG: no_files.
 * Threads: one, the opening one. */
STK_API stk_status stk_trainer_save(stk_trainer *trainer, stk_error *error);

/* Writes run.json, predictions and report.html of what was trained since open; train calls it. The first call
 * ends the monitoring of GPUs. With no_files it does nothing. Threads: one, the opening one. */
STK_API stk_status stk_trainer_finish(stk_trainer *trainer, stk_error *error);

/* Ends stk_trainer_train after the step that is under way (an evaluation is finished first; reads that hang
 * end after data.timeout), with a checkpoint; or the next stk_trainer_step before it begins. Once for each
 * call. Does nothing with NULL. Threads: any; not from a signal handler. */
STK_API void stk_trainer_interrupt(stk_trainer *trainer);

/* Where it stands; after a resume that is the step of the checkpoint. Threads: one, the opening one. */
STK_API stk_status stk_trainer_get_progress(stk_trainer *trainer, stk_trainer_progress *progress,
                                            stk_error *error);

/* What was opened; belongs to the trainer. */
typedef struct stk_trainer_info {
    const char *run;            /* folder; NULL: no_files */
    const char *task;           /* "segmentation", "classification" … */
    const char *network;        /* "unet" */
    const char *engine;         /* "onednn" */
    const char *engine_version; /* "oneDNN 2.6.3, AVX2"; "": nothing to say */
    const char *device;         /* "cpu", "cuda:0" */
    const char *amp;            /* type of activations: "f32", "bf16", "f16" */
    int32_t threads;            /* of the engine */
    uint64_t parameter_count;
    uint64_t planned_bytes;                  /* at most of the host's memory; 0: not planned */
    uint64_t planned_device_bytes;           /* the same of a GPU, an estimate; 0: none */
    uint64_t sample_count, val_sample_count; /* 0: there is no validation part */
    uint64_t batches_per_epoch;
    int64_t batch_size;
    uint64_t epochs;
    int32_t image_h, image_w, image_c;           /* of the network's input; 0: it reads no images */
    int32_t window_rows, feature_count;          /* the same of a series */
    int32_t class_count, point_count;            /* 0: none */
    const char *const *class_names;              /* [class_count]; NULL: they have none */
    const char *const *point_names;              /* [point_count]; NULL: they have none */
    int32_t value_count, metric;                 /* metric: index of the value that decides which is best */
    const char *value_names[STK_TRAINER_VALUES]; /* "top1"; NULL from value_count on */
    bool resumed;                                /* a checkpoint was there */
    int64_t resumed_step;                        /* 0: from the beginning */
} stk_trainer_info;

/* NULL for NULL. Threads: any: it never changes. */
STK_API const stk_trainer_info *stk_trainer_describe(const stk_trainer *trainer);

/* A setting that was asked for, or that is worth knowing. */
typedef struct stk_trainer_effect {
    const char *name;      /* "train.amp" */
    const char *requested; /* as text; "": left to Stoker */
    const char *in_effect; /* "": not in effect at all */
    const char *why;       /* "": as requested */
    const char *place;     /* where it was requested: "c.yaml:3:5", "settings[2]"; "": nowhere */
    bool differs;          /* in value, not in spelling */
} stk_trainer_effect;

/* [*count], in the order of the sections; belongs to the trainer. NULL, and 0, if an argument is NULL.
 * Threads: any: they never change. */
STK_API const stk_trainer_effect *stk_trainer_effects(const stk_trainer *trainer, int *count);

/* A row of the stall table: where the time went since the first step. */
typedef struct stk_trainer_stall_row {
    const char *name; /* "read", "forward", "eval" …; "other" is the caller's time between steps, too */
    double ns;
    double share; /* of all rows: they add up to 1; NaN: there was no step */
} stk_trainer_stall_row;

/* [*count], as of now; belongs to the trainer, until the next call. NULL, and 0, if an argument is NULL, from
 * another thread, and from a callback. Threads: one, the opening one. */
STK_API const stk_trainer_stall_row *stk_trainer_stall(stk_trainer *trainer, int *count);

/* Ends the threads, as stk_loader_close, and returns how many hang and were given up (leave by _exit then).
 * Nothing is saved. Sets *trainer to NULL; does nothing, and returns 0, with NULL or NULL inside. Threads:
 * one, with no other call under way. */
STK_API int stk_trainer_close(stk_trainer **trainer);

#ifdef __cplusplus
}
#endif

#endif
