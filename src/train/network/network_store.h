/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is taken in small pieces, stays where it is, and is given back all at once. */
#ifndef STK_TRAIN_NETWORK_STORE_H
#define STK_TRAIN_NETWORK_STORE_H

#include "core/memory.h"

typedef struct stk__store { /* {0} is empty */
    struct stk__store_chunk *chunks;
} stk__store;

/* Zeroed, aligned to 16 bytes; NULL, with the error filled in, when there is none. */
void *stk__store_take(stk__store *store, size_t size_bytes, stk_error *error);

/* A zero-terminated copy. */
const char *stk__store_text(stk__store *store, const char *text, size_t length, stk_error *error);

void stk__store_fini(stk__store *store);

#endif
