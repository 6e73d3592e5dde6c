/* SPDX-License-Identifier: Apache-2.0 */
/* Where batches come from. Loader and trainer meet in a batch, not in each other: whoever joins them (the
 * program, a test) fills this in. Functions are those of stoker/loader.h, with a context instead of a loader.
 */
#ifndef STK_TRAIN_FEED_H
#define STK_TRAIN_FEED_H

#include "stoker/loader.h"

typedef struct stk__feed {
    void *context;
    stk_status (*next)(void *context, stk_batch **batch, stk_error *error); /* NULL: there is no such part */
    void (*release)(void *context, stk_batch *batch);
    /* The same when work on a GPU's stream may still read it; NULL: batches are in host memory. */
    void (*release_after)(void *context, stk_batch *batch, void *stream);
    void (*measure)(void *context, stk_loader_stats *stats);
    /* Both NULL: it is not gone back in, and nothing of it is saved. */
    void (*tell)(void *context, stk_loader_state *state);
    stk_status (*seek)(void *context, const stk_loader_state *state, stk_error *error);
    /* Where a sample lies, for messages; NULL: only its id is known. */
    stk_status (*locate)(void *context, int64_t id, char *text, size_t size);
    /* Mean and deviation of the values of images, without loading any; NAN: unknown. NULL: not known here. */
    void (*measure_values)(void *context, double *mean, double *deviation);

    bool resident, pinned; /* batches lie in a GPU's memory; they came there from pinned memory */
    uint64_t batches_per_epoch;
    int64_t batch_size;
    int64_t last_batch_size; /* of an epoch; batch_size if it is full */
} stk__feed;

/* What the data is; 0 or false: not that. */
typedef struct stk__feed_facts {
    int32_t image_h, image_w, image_c;
    int32_t window, features; /* rows and columns of a window */
    bool masks, classes, values, label_sets;
    int32_t num_classes, points;
} stk__feed_facts;

#endif
