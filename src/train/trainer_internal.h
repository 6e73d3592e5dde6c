/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the trainer share. */
#ifndef STK_TRAIN_TRAINER_INTERNAL_H
#define STK_TRAIN_TRAINER_INTERNAL_H

#include "core/memory.h"
#include "train/average_precision.h"
#include "train/loss_scale.h"
#include "train/trainer.h"

enum {
    STK_TRAINER_ROOMS = 32,            /* up to 6 a batch size */
    STK_TRAINER_IDS = STK_LOSS_INPUTS, /* a part of batches beside those of losses */
    STK_TRAINER_EFFECTS = 48,
    STK_TRAINER_GRAPHS = 256, /* slots of batches, for each pass and for added gradients */
    STK_TRAINER_FETCHES = 3
};

typedef enum stk__trainer_pass {
    STK_PASS_TRAIN,
    STK_PASS_TRAIN_LAST, /* the last, shorter batch of an epoch */
    STK_PASS_EVAL,
    STK_PASS_EVAL_LAST,
    STK_PASS_COUNT
} stk__trainer_pass;

/* Memory of the engine for batches that come in the host's. */
typedef struct stk__trainer_room {
    int part;
    stk__arena *arena;
    stk__tensor *tensor;
} stk__trainer_room;

/* What was captured, on what. Places that are not used are zeros. */
typedef struct stk__trainer_graph {
    const stk__pass *pass;
    stk__pass_feed feed;
    bool seen; /* trained once without */
    stk__graph *graph;
} stk__trainer_graph;

/* The beginning of a step, to go back to. */
typedef struct stk__trainer_mark {
    stk_loader_state feed;
    stk__trainer_place at;
    uint64_t batches; /* of stk__trainer */
} stk__trainer_mark;

struct stk__trainer {
    stk__feed feed, val;
    stk__feed_facts facts;
    uint64_t seed;
    bool evaluates_only;
    int64_t held_bytes; /* of stk__alloc_held_bytes, before it was opened */

    stk__engine *engine;
    stk__network *network;
    stk__model *model;
    stk__pass *passes[STK_PASS_COUNT]; /* NULL: no such batch */
    int64_t pass_n[STK_PASS_COUNT];    /* its batch size */
    stk__arena *pass_arena;            /* of all passes, one at a time */

    stk__arena *sum_arena;
    stk__tensor *loss_sums, *metric_sums, *norm_sums; /* of training */
    stk__tensor *eval_loss_sums, *eval_metric_sums;
    stk__tensor *kept_loss_sums, *kept_metric_sums; /* those of training before the step under way */
    stk__tensor *class_weights;                     /* NULL: none */
    void *metric_host;                              /* a copy of metric sums to score */
    void *eval_metric_host;                         /* the same of the last evaluation, kept; */
    stk__label_scores label_scores;                 /* of the evaluation under way; multilabel only */
    bool evaluated;                                 /* there has been one */
    size_t metric_bytes;
    double loss_host[STK_LOSS_SUMS], norm_host[2]; /* copies of the others */
    stk__fetch fetches[STK_TRAINER_FETCHES];       /* of these three, under way between two calls */

    stk__buffer
        wraps; /* of stk__tensor *: around memory of slots, made once; up to 9 a slot and batch size */
    stk__trainer_room rooms[STK_TRAINER_ROOMS];
    int room_count;

    stk__update update; /* all but step, lr and grad_scale is fixed */
    stk__loss_scale scale;
    stk__tensor *skipped;  /* of fp16: what the last update says; NULL: no scale */
    stk__pass_fault fault; /* of the step or evaluation under way, if it is looked for */
    stk__lr_schedule schedule;
    int64_t accumulation;
    double ema;
    int64_t classes;

    bool captures; /* CUDA graphs, see trainer_passes.c */
    stk__trainer_graph graphs[STK_TRAINER_GRAPHS];
    int graph_next;      /* place for the next new one */
    int64_t graph_epoch; /* + 1: that dropout in graphs draws with; 0: none yet */

    stk__trainer_look look; /* at predictions; NULL: none */
    void *look_context;

    stk__trainer_place at;
    uint64_t batches;               /* trained on since open */
    stk__trainer_mark last;         /* of the last step that had a batch, for who looks at it again */
    stk__trainer_mark intervals[2]; /* the first steps since the last two stk__trainer_read_begin */
    bool interval_ended;            /* the next step is such a first one */
    bool detects;                   /* train.detect_nan */
    bool forced;                    /* run.force */
    bool searches;                  /* every pass looks for what is not finite, see stk__pass_feed.fault */

    bool tunes;      /* see stk__train_tunes */
    bool torn;       /* see stk__trainer_is_torn */
    bool end_is_due; /* a saved place was the end of an epoch, which the feed has passed */
    stk__trainer_info info;
    stk__stall stall;
    stk__trainer_effect effects[STK_TRAINER_EFFECTS];
    int effect_count;
};

/* compile_mode is max-autotune, and compile is not switched off. */
static inline bool stk__train_tunes(const stk__train_settings *train)
{
    return train->compile_mode == STK_COMPILE_MAX_AUTOTUNE && train->compile != STK_SWITCH_OFF;
}

/* compile_mode is reduce-overhead, and compile is not switched off. */
static inline bool stk__train_captures(const stk__train_settings *train)
{
    return train->compile_mode == STK_COMPILE_REDUCE_OVERHEAD && train->compile != STK_SWITCH_OFF;
}

/* trainer_passes.c. Forward and backward of a training batch. */
stk_status stk__trainer_run_passes(stk__trainer *trainer, stk__pass *pass, const stk__pass_feed *feed,
                                   stk_error *error);
void stk__trainer_drop_graphs(stk__trainer *trainer);
/* For who asked for reduce-overhead: whether there are graphs, and what the effects say. */
void stk__trainer_choose_graphs(stk__trainer *trainer, const stk__train_settings *train);

stk_status stk__trainer_feed(stk__trainer *trainer, const stk_batch *batch, stk__pass_feed *feed,
                             stk_error *error);
/* What only training needs: dropout draws by them. */
stk_status stk__trainer_feed_ids(stk__trainer *trainer, const stk_batch *batch, stk__pass_feed *feed,
                                 stk_error *error);
/* From train.amp to info.half and the loss scale. */
stk_status stk__trainer_choose_amp(stk__trainer *trainer, const stk__train_settings *train, stk_error *error);
void stk__trainer_tell_amp(stk__trainer *trainer, const stk__train_settings *train);
/* After an update. *skipped: it was left out, and everything is as before the step. Fails when that happened
 * too often in a row. Without a scale: false. */
stk_status stk__trainer_judge_step(stk__trainer *trainer, bool *skipped, stk_error *error);

/* trainer.c: the batches of the last step again, forward and backward, for t->fault; weights stay. */
stk_status stk__trainer_repeat_step(stk__trainer *trainer, stk_error *error);
/* … all batches of the validation part. */
stk_status stk__trainer_evaluate_all(stk__trainer *trainer, stk__score *score, stk_error *error);

/* trainer_check.c, for train.detect_nan: loss and gradients before an update, weights after it. */
stk_status stk__trainer_check_step(stk__trainer *trainer, stk_error *error);
stk_status stk__trainer_check_update(stk__trainer *trainer, stk_error *error);
/* ": first in the output of layer 'x'", or "" if nothing was found. */
void stk__trainer_fault_text(const stk__pass_fault *fault, char *text, size_t size);

/* Hands a batch back that was fed. */
void stk__trainer_release(stk__trainer *trainer, const stk__feed *feed, stk_batch *batch);
void stk__trainer_forget(stk__trainer *trainer); /* all tensors of batches */
/* A shortage of the GPU's memory: what was planned, what is free, and which batch size would fit. */
stk_status stk__trainer_explain_shortage(const stk__trainer *trainer, stk_status status, stk_error *error);
stk_status stk__trainer_read_network(stk__trainer *trainer, const stk__trainer_setup *setup,
                                     stk_error *error);
void stk__trainer_note(stk__trainer *trainer, const char *name, const char *in_effect, const char *why);
/* The same, but shown only if that setting was requested. */
void stk__trainer_note_if_asked(stk__trainer *trainer, const char *name, const char *in_effect,
                                const char *why);
/* What of the settings cannot be as asked for on this engine. */
void stk__trainer_tell_effects(stk__trainer *trainer, const stk__trainer_setup *setup);

#endif
