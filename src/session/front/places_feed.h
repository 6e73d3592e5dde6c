/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of two sizes only, full and 1, out of those of any loader: a network that is opened for these two
 * predicts any number of samples. */
#ifndef STK_SESSION_PLACES_FEED_H
#define STK_SESSION_PLACES_FEED_H

#include "core/memory.h"
#include "train/feed.h"

#include <stdatomic.h>

typedef struct stk__places_feed {
    stk__feed inner; /* set before batches are taken: its batches have `places` samples at most, f32 [n h w c]
                        or windows, in host memory */
    const atomic_bool *stop; /* set by someone else: no more batches; may be NULL */
    int64_t places;
    bool windows;
    int64_t shape[3]; /* of one input */
    int ndim;
    stk_batch batch;
    stk__buffer input, weights, ids;
} stk__places_feed;

stk_status stk__places_feed_init(stk__places_feed *feed, const stk__feed_facts *facts, int64_t places,
                                 stk_error *error);
void stk__places_feed_fini(stk__places_feed *feed);
stk__feed stk__places_feed_of(stk__places_feed *feed);

#endif
