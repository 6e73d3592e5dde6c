/* SPDX-License-Identifier: Apache-2.0 */
/* What predict is given, as one source: files, folders, lists, shards and series, one after the other. There
 * are no targets: masks, labels and points that a data set may have are not looked at. */
#ifndef STK_SESSION_PREDICT_SOURCE_H
#define STK_SESSION_PREDICT_SOURCE_H

#include "source/source.h"
#include "train/feed.h"

/* Told of an input that cannot be used; the others go on. */
typedef void (*stk__predict_refusal)(void *context, const char *name, const stk_error *error);

typedef struct stk__predict_inputs {
    const char *const *names;
    size_t count;
    const stk__feed_facts *facts; /* of the run */
    bool windows;                 /* the network reads series */
    bool all;                     /* every window, not the last one of each series */
    uint64_t limit_bytes;         /* of a file; 0: none */
    stk__predict_refusal refuse;
    void *context;
} stk__predict_inputs;

/* STK_ERROR_DATA: none of the inputs can be used; all have been told. */
stk_status stk__predict_source_open(stk__source **source, const stk__predict_inputs *inputs,
                                    stk_error *error);

/* Where a sample belongs: of a series the last row of its window, counted from 1. */
uint64_t stk__predict_row(const stk__source *source, uint64_t id);

#endif
