/* SPDX-License-Identifier: Apache-2.0 */
/* A run: a trainer, its folder, and the loop over epochs with logs, evaluations, checkpoints and early stop.
 * It prints nothing: whoever watches is called back, from the thread that runs. */
#ifndef STK_TRAIN_RUN_H
#define STK_TRAIN_RUN_H

#include "train/run_folder.h"
#include "train/trainer.h"

#include <stdatomic.h>

enum {
    STK_RUN_STEPS_KEPT = 4096, /* times of the last steps, for a median */
    STK_RUN_UNTRACED = 2       /* steps that touch memory for the first time */
};

/* How it went so far, in this call: what advice is made of. */
typedef struct stk__run_trend {
    int64_t logs, evaluations;
    double first_loss, first_norm; /* of the first log */
    double top_norm;               /* largest of a log */
    int64_t top_norm_step;
    double low_val_loss, low_train_loss; /* lowest of an evaluation, and the log before it */
    int64_t low_step;
    double top_value; /* best of the task's first value, by evaluations */
} stk__run_trend;

typedef struct stk__run_report {
    stk__trainer_place at;
    uint64_t epochs;           /* of the whole run */
    uint64_t batches;          /* of an epoch */
    stk__trainer_log log;      /* of the last log_interval that was read */
    stk__trainer_place log_at; /* its end */
    double epoch_loss;         /* training loss of the last epoch; NAN: none */
    stk__score score;          /* of the last evaluation */
    bool logged, evaluated;    /* the two above are there */
    double samples_per_s;      /* of the last log_interval */
    double wait_share;         /* of it: waiting for data */
    bool best;                 /* the last evaluation was the best so far */
    double best_value;         /* NAN: none yet */
    int64_t best_step;
    stk__run_trend trend;
    int64_t worse_count;    /* evaluations since */
    char checkpoint[512];   /* the last one written; empty: none */
    double wall_s;          /* of all steps, evaluations and checkpoints, by a clock of its own */
    uint64_t first_step_ns; /* clock at the end of step 1; 0: not yet */
    bool interrupted, stopped_early, resumed;
    int64_t resumed_step;
    int skipped_checkpoints; /* invalid ones that were passed over on resume */
    char skipped_reason[256];
} stk__run_report;

typedef struct stk__run_watch {
    void *context;
    /* Each may be NULL. */
    void (*started)(void *context, const stk__run_report *report); /* before the first step */
    void (*stepped)(void *context, const stk__run_report *report);
    void (*logged)(void *context, const stk__run_report *report);
    void (*evaluated)(void *context, const stk__run_report *report);
    void (*saved)(void *context, const stk__run_report *report);
} stk__run_watch;

typedef struct stk__run { /* the caller's memory, zeroed; set the first fields, then stk__run_train */
    stk__trainer *trainer;
    stk__run_folder *folder;          /* NULL: nothing is written */
    const stk__train_settings *train; /* filled */
    bool resume;
    const stk__buffer *settings; /* config.yaml of a resumed run, written when it resumes; NULL: it stays */
    int64_t stop_after;          /* steps of one stk__run_train; 0: to the end */
    stk__run_watch watch;
    const atomic_bool *stop; /* set by someone else: finish the step, save, end; may be NULL */
    stk__trace *trace;       /* gets trace_steps steps, after the first STK_RUN_UNTRACED; may be NULL */
    int64_t trace_steps;

    stk__run_report report;
    bool begun;     /* stk__run_begin went well */
    double start_s; /* wall clock of the first step or evaluation; 0: there was none */
    uint64_t step_ns[STK_RUN_STEPS_KEPT];
    uint64_t step_count;   /* since it was begun */
    uint64_t log_start_ns; /* of the interval that is under way */
    uint64_t log_samples;
    int64_t logged_step;    /* up to which loss and metric were read, or are on their way */
    bool log_is_due;        /* they are on their way */
    int64_t evaluated_step; /* of the last evaluation; 0: none; negative: unknown */
    int64_t checked_step;   /* after which the weights were found finite; -1: none */
    double epoch_counted;   /* denominators of the loss of the epoch so far … */
    double epoch_loss;      /* … and its numerators */
    int64_t epoch_skipped;  /* steps, before it */
    bool epoch_is_whole;    /* its sums are of all its steps */
    double log_wait_ns;
} stk__run;

/* Trains until the epochs are over, the metric stops getting better, or someone asks to stop; the last state
 * is in a checkpoint then. After a failure the checkpoints written so far are good. */
stk_status stk__run_train(stk__run *run, stk_error *error);

/* The parts of it, for who steps by itself. Begin: resumes, or measures what the network wants to know of the
 * data; once, and before the others (train does it if nobody has). Step: one step with what belongs to its
 * log; STK_END: the epoch is over, and its log is written. Evaluate and save are not called by it. After a
 * step stk__run_train continues from there. */
stk_status stk__run_begin(stk__run *run, stk_error *error);
stk_status stk__run_step(stk__run *run, stk_error *error);
stk_status stk__run_evaluate(stk__run *run, stk_error *error); /* there is a validation part */
stk_status stk__run_save(stk__run *run, stk_error *error);
/* Wall time and place in the report, as of now. */
void stk__run_settle(stk__run *run);

/* Median time of the steps, in ms; NAN without. Sorts them: after the end only. */
double stk__run_step_ms(stk__run *run);

#endif
