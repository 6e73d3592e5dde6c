/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions: what the network of a run says of images or series, in terms of the originals. The network is
 * opened once and predicts as often as you like.
 *
 *     stk_predictor *predictor;
 *     stk_error error;
 *     if (stk_predictor_open(&predictor, "runs/faces", NULL, &error) != STK_OK) …
 *     if (stk_predictor_predict(predictor, "photos", show, NULL, &error) != STK_OK) …
 *     stk_predictor_close(&predictor);
 *
 * Threads: as in train.h, a predictor computes in the thread that opened it; another one gets
 * STK_ERROR_ARGUMENT. */
#ifndef STOKER_PREDICT_H
#define STOKER_PREDICT_H

#include "stoker/batch.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stk_predictor stk_predictor;

typedef struct stk_predictor_options {
    size_t struct_size;          /* sizeof(stk_predictor_options): see STK_INIT (status.h) */
    const char *checkpoint;      /* NULL: the best of the run, or its newest if none was evaluated */
    bool newest;                 /* the newest instead of the best */
    const char *const *settings; /* [setting_count] "key=value", on top of the run's settings: run.device,
                                    run.engine, run.threads, data.batch_size, data.num_workers … */
    size_t setting_count;
    bool environment; /* read settings from variables STOKER_SECTION_KEY, too */
    bool all_windows; /* of a series every window, not the last one alone */
} stk_predictor_options;

#define STK_PREDICTOR_OPTIONS_INIT STK_INIT(stk_predictor_options)

/* Opens the network of a run with its weights. options NULL: all defaults. On failure *predictor is NULL and
 * nothing is left behind. Texts need to live only during the call. Threads: any; the network computes in it
 * from then on. */
STK_API stk_status stk_predictor_open(stk_predictor **predictor, const char *run,
                                      const stk_predictor_options *options, stk_error *error);

/* What was opened; belongs to the predictor. */
typedef struct stk_predictor_info {
    const char *task;                   /* "segmentation", "classification" … */
    const char *network;                /* "unet" */
    const char *engine;                 /* "onednn" */
    const char *checkpoint;             /* whose weights it has */
    int32_t skipped_checkpoints;        /* invalid ones that were passed over */
    int32_t image_h, image_w, image_c;  /* of the network's input; 0: it reads no images */
    int32_t window_rows, feature_count; /* the same of a series */
    int32_t class_count, point_count;   /* 0: none */
    const char *const *class_names;     /* [class_count]; NULL: they have none */
    const char *const *point_names;     /* [point_count]; NULL: they have none */
    int64_t batch_size;
} stk_predictor_info;

/* NULL for NULL. Threads: any: it never changes. */
STK_API const stk_predictor_info *stk_predictor_describe(const stk_predictor *predictor);

/* What the network says of one sample; by the task all but a few fields are empty. */
typedef struct stk_prediction {
    int64_t index;    /* of the sample in this call: 0, 1, … */
    const char *path; /* where it lies; "" for pixels of the caller's */
    /* NULL: it was predicted. Else why it cannot be used; the rest is empty then. */
    const char *detail;
    stk_damage damage; /* class of damage; STK_DAMAGE_NONE: not known */

    int32_t w, h; /* of the original (upright if the network saw it so): masks and points */
    /* Classes: softmax; several labels: one sigmoid for each. */
    const float *probabilities; /* [class_count] */
    const uint8_t *mask;        /* [h w]: class ids */
    const float *points;        /* [point_count 2]: x, y in pixels of the original, centres at +0.5 */
    double value;               /* of a regression; else NaN */
    uint64_t row;               /* of a series: the window's last row, from 1; else 0 */
} stk_prediction;

/* Called for each sample in the order of the inputs, from within the functions below; those that cannot be
 * used may come earlier than others of their batch. What it points to lives during the call. */
typedef void (*stk_prediction_sink)(void *context, const stk_prediction *prediction);

/* Predicts a file, a folder, a list, shards or a series, as `stoker predict` takes them. That a sample is
 * damaged is told to the sink, and no failure. context goes to every call of the sink and may be NULL.
 * Threads: one, the opening one. */
STK_API stk_status stk_predictor_predict(stk_predictor *predictor, const char *path, stk_prediction_sink sink,
                                         void *context, stk_error *error);

/* The same for pixels in host memory: images [n h w c], u8, c = 1 or 3, of any size; as files with these
 * pixels; context may be NULL. STK_ERROR_CONFIG: the network reads series. Threads: one, the opening one. */
STK_API stk_status stk_predictor_predict_images(stk_predictor *predictor, const stk_tensor *images,
                                                stk_prediction_sink sink, void *context, stk_error *error);

/* Ends the call that is under way after its batch, or the next one at once: STK_ERROR_INTERRUPTED. Does
 * nothing with NULL. Threads: any, also from within a sink; not a signal handler's business. */
STK_API void stk_predictor_interrupt(stk_predictor *predictor);

/* As stk_loader_close: the number of threads that hang and were given up. Sets *predictor to NULL; does
 * nothing, and returns 0, with NULL or NULL inside. Threads: one, with no other call under way. */
STK_API int stk_predictor_close(stk_predictor **predictor);

#ifdef __cplusplus
}
#endif

#endif
