/* A case of `stoker bench train`: one network and one fixed batch. It is written to a folder, from which
 * everybody starts with the same numbers:
 *
 *     about.json            network, facts of the data, settings of loss and optimiser
 *     batch.safetensors     input and target
 *     weights.safetensors   of the network at the start, by PyTorch's names */
#ifndef STK_BENCH_LESSON_H
#define STK_BENCH_LESSON_H

#include "cli.h"

#include "train/trainer.h"

enum { STK_LESSONS = 4 };

typedef struct stk__lesson {
    char network[16];
    int64_t count; /* samples of the batch */
    stk__feed_facts facts;
} stk__lesson;

extern const stk__lesson stk__lessons[STK_LESSONS], stk__lessons_quick[STK_LESSONS];

void stk__lesson_title(const stk__lesson *lesson, char *title, size_t size); /* "unet, 4 x 256 x 256" */
stk_status stk__lesson_write(const stk__lesson *lesson, const char *folder, stk_error *error);

/* Ourselves at a lesson: a trainer that gets its batch again and again. */
typedef struct stk__lesson_run { /* open/close */
    stk__lesson lesson;
    stk_batch batch;
    stk__trainer *trainer;
} stk__lesson_run;

/* engine: NULL: the best there is */
stk_status stk__lesson_open(stk__lesson_run *run, const char *folder, const char *engine, stk_error *error);
stk_status stk__lesson_step(stk__lesson_run *run, stk_error *error);
/* The mean of the steps since the last call. */
stk_status stk__lesson_loss(stk__lesson_run *run, double *loss, stk_error *error);
void stk__lesson_close(stk__lesson_run *run);

/* --- for bench_lesson.c and bench_lesson_run.c ------------------------------------------------------------
 */

#define STK_LESSON_LR    1e-3
#define STK_LESSON_DECAY 0.01
#define STK_LESSON_NORM  1.0 /* gradients are clipped to */
enum { STK_LESSON_IGNORED = 255 };

/* Numbers of the facts, by the names that networks use. */
typedef struct stk__lesson_fact {
    const char *name;
    size_t offset; /* of an int32_t */
} stk__lesson_fact;
extern const stk__lesson_fact stk__lesson_facts[]; /* ends with a name NULL */

typedef struct stk__lesson_tensors {
    stk_tensor input, target; /* data: NULL */
} stk__lesson_tensors;
stk__lesson_tensors stk__lesson_describe(const stk__lesson *lesson);

typedef struct stk__lesson_trainer {
    const stk__lesson *lesson;
    stk_batch *batch;    /* of every step; NULL: only weights are wanted, at the start */
    const char *weights; /* a file; NULL: none */
    const char *engine;  /* NULL: the best there is */
} stk__lesson_trainer;
stk_status stk__lesson_train(stk__trainer **trainer, const stk__lesson_trainer *options, stk_error *error);

#endif
