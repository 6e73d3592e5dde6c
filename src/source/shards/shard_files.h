/* SPDX-License-Identifier: Apache-2.0 */
/* Open files of shards, for all threads: as many as the process can afford, however many shards there are. No
 * lock is held while one is opened or read. */
#ifndef STK_SOURCE_SHARD_FILES_H
#define STK_SOURCE_SHARD_FILES_H

#include "core/memory.h"

typedef struct stk__shard_files stk__shard_files; /* create/destroy */

/* A file that is lent: belongs to the cache, or for once to the borrower alone. */
typedef struct stk__shard_loan {
    int file;
    int place; /* in the cache; -1: none */
} stk__shard_loan;

/* Shards are known by their numbers, below shard_count. most: files kept open; 0: a quarter of what the
 * process may have, at most 512. */
stk_status stk__shard_files_create(stk__shard_files **files, uint32_t shard_count, uint32_t most,
                                   stk_error *error);
void stk__shard_files_destroy(stk__shard_files **files); /* none may be lent; accepts NULL inside */

/* True: it was open. Else open it by the next. */
bool stk__shard_files_find(stk__shard_files *files, uint32_t shard, stk__shard_loan *loan);
stk_status stk__shard_files_open(stk__shard_files *files, uint32_t shard, const char *path,
                                 stk__shard_loan *loan, stk_error *error);
void stk__shard_files_return(stk__shard_files *files, stk__shard_loan loan);

#endif
