/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of a stream of batches: equal digests mean the same samples with the same bytes in the same order.
 */
#ifndef STK_LOADER_DIGEST_H
#define STK_LOADER_DIGEST_H

#include "core/hash.h"
#include "stoker/batch.h"

/* Digest of all that before stands for, followed by this batch. hash is scratch. */
stk__digest stk__digest_chain(stk__hash *hash, stk__digest before, const stk_batch *batch);

#endif
