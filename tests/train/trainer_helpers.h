/* SPDX-License-Identifier: Apache-2.0 */
/* A feed made here, and everything that is needed to train on it. */
#ifndef TRAINER_HELPERS_H
#define TRAINER_HELPERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "train/trainer.h"

enum { BATCH = 4, WINDOW = 6, FEATURES = 3, BATCHES = 5, LAST = 2 };
enum { SIDE = 8, COLOURS = 3, PIXELS = SIDE * SIDE * COLOURS, CLASSES = 4 };

/* A feed of windows whose target is the mean of their first feature, or of pictures (of a class, which means
 * nothing); batch b of an epoch is a function of (epoch, b). */
typedef struct made_feed {
    uint64_t epoch, batch;
    stk_batch out;
    float windows[BATCH * WINDOW * FEATURES], labels[BATCH], weights[BATCH];
    float images[BATCH * PIXELS];
    int64_t ids[BATCH], classes[BATCH];
    int lent;
    bool pictures;
    bool small; /* targets near 0, whose gradients fp16 can hold */
    int far;    /* this batch of each epoch has a target far off; -1: none */
} made_feed;

static inline float pattern(uint64_t at)
{
    uint64_t x = at * UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 29;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return (float)((double)(x >> 40) / (1 << 24)) * 4 + 3;
}

static inline stk_tensor dense(void *data, stk_dtype dtype, int ndim, const int64_t *shape)
{
    stk_tensor t = {.data = data, .dtype = dtype, .ndim = ndim};
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        t.shape[i] = shape[i];
        t.strides[i] = stride;
        stride *= shape[i];
    }
    return t;
}

static inline void add_pictures(made_feed *f, int64_t n)
{
    for (int64_t i = 0; i < n * PIXELS; i++)
        f->images[i] = pattern(((f->epoch * BATCHES + f->batch) * BATCH * PIXELS) + (uint64_t)i) - 5;
    for (int64_t i = 0; i < n; i++)
        f->classes[i] = i % CLASSES;
    f->out.windows = (stk_tensor){0};
    f->out.images = dense(f->images, STK_DTYPE_F32, 4, (int64_t[]){n, SIDE, SIDE, COLOURS});
    f->out.labels = dense(f->classes, STK_DTYPE_I64, 1, &n);
}

static inline stk_status next(void *context, stk_batch **batch, stk_error *error)
{
    (void)error;
    made_feed *f = context;
    if (f->batch == BATCHES) {
        f->batch = 0;
        f->epoch++;
        return STK_END;
    }
    assert_int_equal(f->lent, 0);
    const int64_t n = f->batch + 1 == BATCHES ? LAST : BATCH;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < WINDOW * FEATURES; k++) {
            const float v =
                pattern(((f->epoch * BATCHES + f->batch) * BATCH + (uint64_t)i) * 64 + (uint64_t)k);
            f->windows[i * WINDOW * FEATURES + k] = v;
            if (k % FEATURES == 0) sum += v;
        }
        f->labels[i] = (int)f->batch == f->far ? 1e5F : (float)(sum / WINDOW) * (f->small ? 1e-3F : 1);
        f->weights[i] = 1;
        f->ids[i] = (int64_t)(f->batch * BATCH) + i;
    }
    f->out = (stk_batch){.count = n, .epoch = f->epoch};
    f->out.windows = dense(f->windows, STK_DTYPE_F32, 3, (int64_t[]){n, WINDOW, FEATURES});
    f->out.labels = dense(f->labels, STK_DTYPE_F32, 1, &n);
    f->out.weights = dense(f->weights, STK_DTYPE_F32, 1, &n);
    f->out.sample_ids = dense(f->ids, STK_DTYPE_I64, 1, &n);
    if (f->pictures) add_pictures(f, n);
    f->batch++;
    f->lent++;
    *batch = &f->out;
    return STK_OK;
}

static inline void release(void *context, stk_batch *batch)
{
    made_feed *f = context;
    assert_ptr_equal(batch, &f->out);
    f->lent--;
}

static inline void measure(void *context, stk_loader_stats *stats)
{
    (void)context;
    *stats = (stk_loader_stats){.samples = 0};
}

static inline void tell(void *context, stk_loader_state *state)
{
    const made_feed *f = context;
    *state = (stk_loader_state){.epoch = f->epoch, .position = f->batch * BATCH};
}

static inline stk_status seek(void *context, const stk_loader_state *state, stk_error *error)
{
    (void)error;
    made_feed *f = context;
    const bool at_end = state->position >= BATCHES * BATCH; /* then the loader is in the next epoch already */
    f->epoch = state->epoch + at_end;
    f->batch = at_end ? 0 : state->position / BATCH;
    return STK_OK;
}

static inline stk__feed feed_of(made_feed *f)
{
    return (stk__feed){.context = f,
                       .next = next,
                       .release = release,
                       .measure = measure,
                       .tell = tell,
                       .seek = seek,
                       .batches_per_epoch = BATCHES,
                       .batch_size = BATCH,
                       .last_batch_size = LAST};
}

static const char *engine_name = "reference"; /* or the one on the command line */

typedef struct fixture {
    made_feed train, val;
    stk__model_settings model;
    stk__loss_settings loss;
    stk__train_settings settings;
    stk__optimizer_settings optimizer;
    stk__run_settings run;
    stk__trainer_setup setup;
    stk__trainer *trainer;
    stk_error error;
} fixture;

static inline void prepare(fixture *f)
{
    *f = (fixture){.train = {.far = -1},
                   .val = {.far = -1},
                   .model = {.hidden = 5, .layers = 1},
                   .run = {.engine = engine_name}};
    assert_int_equal(stk__options_fill(&stk__train_options_table, &f->settings, NULL), STK_OK);
    assert_int_equal(stk__options_fill(&stk__loss_options_table, &f->loss, NULL), STK_OK);
    assert_int_equal(stk__options_fill(&stk__optimizer_options_table, &f->optimizer, NULL), STK_OK);
    f->optimizer.lr = 0.02;
    f->setup = (stk__trainer_setup){.model = &f->model,
                                    .loss = &f->loss,
                                    .train = &f->settings,
                                    .optimizer = &f->optimizer,
                                    .run = &f->run,
                                    .feed = feed_of(&f->train),
                                    .val = feed_of(&f->val),
                                    .facts = {.window = WINDOW, .features = FEATURES, .values = true},
                                    .seed = 7};
}

static inline void open_it(fixture *f)
{
    const stk_status status = stk__trainer_open(&f->trainer, &f->setup, &f->error);
    if (status != STK_OK) fail_msg("%s (%s)", f->error.message, f->error.hint);
    assert_int_equal(stk__trainer_standardise(f->trainer, &f->error), STK_OK);
}

static inline int train_epoch(fixture *f)
{
    int steps = 0;
    stk_status status;
    while ((status = stk__trainer_step(f->trainer, &f->error)) == STK_OK)
        steps++;
    if (status != STK_END) fail_msg("%s", f->error.message);
    return steps;
}

static inline double loss_of(fixture *f)
{
    stk__trainer_log log;
    assert_int_equal(stk__trainer_read(f->trainer, &log, &f->error), STK_OK);
    return log.score.loss;
}

enum { MODEL_BYTES = 1 << 17 };

/* Everything a checkpoint would hold. */
static inline size_t copy_model(fixture *f, char *memory, bool load)
{
    stk__model *model = stk__trainer_describe(f->trainer)->model;
    char *at = memory;
    for (int i = 0; i < model->count; i++) {
        stk__model_tensor *t = &model->tensors[i];
        stk__tensor *const all[] = {t->value, t->first, t->second, t->average};
        for (int k = 0; k < 4; k++) {
            if (!all[k]) continue;
            const size_t size = (size_t)(stk__shape_count(&t->desc.shape) * stk_dtype_bytes(t->desc.dtype));
            assert_int_equal(load ? stk__tensor_write(all[k], at, size, NULL)
                                  : stk__tensor_read(all[k], at, size, NULL),
                             STK_OK);
            at += size;
        }
    }
    assert_true(at - memory < MODEL_BYTES);
    return (size_t)(at - memory);
}

static inline void step_over_epochs(fixture *f)
{
    stk_status status = stk__trainer_step(f->trainer, &f->error);
    if (status == STK_END) status = stk__trainer_step(f->trainer, &f->error);
    assert_int_equal(status, STK_OK);
}

/* Exit status 77: that engine is not available here. */
static inline int look_for_engine(void)
{
    stk_error error = {0};
    stk__engine *engine;
    const stk_status status = stk__engine_open(&engine, &(stk__engine_options){.name = engine_name}, &error);
    stk__engine_close(&engine);
    if (status == STK_ERROR_UNSUPPORTED) printf("skipped: %s\n", error.message);
    return status == STK_ERROR_UNSUPPORTED ? 77 : 0;
}

#endif
