/* SPDX-License-Identifier: Apache-2.0 */
/* A data set of your own: samples come from your functions instead of a folder.
 *
 *     static stk_status read_sample(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
 *                                   stk_error *error)
 *     {
 *         const record *found = find_record(context, index, field);
 *         void *room = stk_sample_sink_bytes(sink, found->size);     // a JPEG, PNG or .npy file
 *         if (room) memcpy(room, found->data, found->size);
 *         return STK_OK;                                             // no room: the loader knows why
 *     }
 *
 *     stk_dataset dataset = STK_DATASET_INIT;
 *     dataset.count = 1000;
 *     dataset.read = read_sample;
 *     options.dataset = &dataset;                                    // instead of options.root
 *
 * Everything else is as with files: order, validation split, resuming, ranks, workers, cache, augmentation,
 * limits, policies for corrupt samples. The same keys with the same content give the same batches, and states
 * are interchangeable with those of a folder.
 *
 * The functions are called from many threads at once: from the loader's workers, and while a loader opens,
 * from threads that look at some samples. They may be called for the same sample more than once. No lock of
 * the library is held that its public functions take. One that does not return within data.timeout is named
 * with its sample, and loading fails. */
#ifndef STOKER_DATASET_H
#define STOKER_DATASET_H

#include "stoker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stk_field { STK_FIELD_IMAGE, STK_FIELD_MASK } stk_field;

/* The label of a sample: one class, a value, or any number of classes. */
typedef enum stk_label_kind {
    STK_LABEL_NONE,
    STK_LABEL_CLASS,
    STK_LABEL_VALUE,
    STK_LABEL_SET
} stk_label_kind;

/* Where a read function puts a sample; lives during its call. */
typedef struct stk_sample_sink stk_sample_sink;

/* Room for a file of size bytes: JPEG, PNG or .npy, recognized by its content. Called again it is realloc:
 * what was written stays as far as it fits, and the last call counts, so the size need not be known before.
 * NULL: more than limits.bytes, no memory, or sink is NULL; then return, the loader knows why.
 * Threads: one, that of the call which got the sink. */
STK_API void *stk_sample_sink_bytes(stk_sample_sink *sink, size_t size);

/* Room for pixels as they are: u8 [h w channels], channels 1 or 3 (RGB); of masks [h w], class ids. Costs a
 * copy and no decoder. NULL as above, or if there are no such pixels. Threads: one, as above. */
STK_API void *stk_sample_sink_pixels(stk_sample_sink *sink, int32_t h, int32_t w, int32_t channels);

/* What a facts function tells of a sample. The arrays are the loader's, filled with 0, to be written to. */
typedef struct stk_sample_facts {
    double label;        /* class number or value; of a set it is not used */
    uint8_t *const set;  /* [class_count]: 1 for each class of STK_LABEL_SET; else NULL */
    float *const points; /* [point_count][3]: x, y in pixels, visible 0 or 1; NULL without points */
    float *const window; /* [window_rows][window_columns]; NULL without */
} stk_sample_facts;

/* Zero means "not there" everywhere; count, and read or facts, must be set. Samples have an image each,
 * unless they are windows. */
typedef struct stk_dataset {
    size_t struct_size; /* sizeof(stk_dataset): see STK_INIT (status.h) */
    void *context;      /* goes to every function below and may be NULL */
    uint64_t count;     /* samples; the functions know them as 0 to count - 1 */
    bool masks;         /* each sample has one */
    stk_label_kind label;
    int32_t class_count;            /* of labels; without class labels, of masks */
    const char *const *class_names; /* [class_count]; NULL: they have none */
    int32_t point_count;
    const char *const *point_names; /* [point_count]; NULL: they have none */
    /* Windows of a series, or rows of a table, instead of images. In the order of keys they follow each other
     * in time and may overlap: data.val_split holds the last ones back, window_rows samples apart. */
    int32_t window_rows, window_columns;

    /* The sample's name, written like snprintf does, zero-terminated: what a folder has as path without
     * extension. Keys are unique, not empty, and shorter than size - 1. Their bytewise order gives the ids
     * (stk_batch.sample_ids), they identify the data set in states, and the ledger has "dataset!KEY".
     * Called while a loader opens, from its thread. NULL: the index, with leading zeros. */
    void (*key)(void *context, uint64_t index, char *text, size_t size);

    /* Asks the sink for room and fills it. Not needed for windows.
     *
     * Returns STK_OK, or a status with details in *error, which is empty and never NULL:
     *   STK_ERROR_SAMPLE   this sample is damaged: error->damage and message; data.on_bad_sample decides
     *   another error      loading fails; STK_ERROR_TIMEOUT, which is the loader's own, as STK_ERROR_IO
     * error->place may name a file; empty, it is "dataset!KEY". STK_OK without room asked for: damage
     * "missing", of masks "mask_missing". */
    stk_status (*read)(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                       stk_error *error);

    /* Label, points and window of a sample, if the data set has such. Returns as read does. A class that
     * there is not, NaN and infinity are damage of the sample. */
    stk_status (*facts)(void *context, uint64_t index, stk_sample_facts *facts, stk_error *error);

    /* Called once for each loader that was opened with the data set, by stk_loader_close, when no other
     * function is called any more. Not called when opening fails, nor when a thread that hangs was given up:
     * it may still come back and use context. May be NULL. */
    void (*close)(void *context);
} stk_dataset;

#define STK_DATASET_INIT STK_INIT(stk_dataset)

#ifdef __cplusplus
}
#endif

#endif
