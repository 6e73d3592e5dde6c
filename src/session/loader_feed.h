/* SPDX-License-Identifier: Apache-2.0 */
/* A loader as the feed of a trainer: the one place where the two meet. */
#ifndef STK_SESSION_LOADER_FEED_H
#define STK_SESSION_LOADER_FEED_H

#include "train/feed.h"

/* The loader stays the caller's and must outlive the feed. NULL: a feed without a part (next is NULL). */
stk__feed stk__feed_of_loader(stk_loader *loader);
/* The same for plans, as it would be at another batch size. */
stk__feed stk__feed_at(const stk_loader *loader, int64_t batch_size);

/* What the trainer must know of the data. */
stk__feed_facts stk__feed_facts_of(const stk_loader_info *info);

#endif
