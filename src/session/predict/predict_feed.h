/* SPDX-License-Identifier: Apache-2.0 */
/* Batches without targets for a trainer that wants some: those of another feed, with zeros in their place. */
#ifndef STK_SESSION_PREDICT_FEED_H
#define STK_SESSION_PREDICT_FEED_H

#include "core/memory.h"
#include "train/feed.h"
#include "train/task.h"

typedef struct stk__predict_feed {
    stk__feed inner;
    stk_batch *lent; /* the inner batch behind `batch` */
    stk_batch batch;
    stk__task task; /* may be set before the first batch: what the network is for */
    stk__feed_facts facts;
    stk__buffer zeros;
} stk__predict_feed;

stk_status stk__predict_feed_init(stk__predict_feed *feed, const stk__feed *inner,
                                  const stk__feed_facts *facts, stk_error *error);
void stk__predict_feed_fini(stk__predict_feed *feed);
stk__feed stk__predict_feed_of(stk__predict_feed *feed);

#endif
