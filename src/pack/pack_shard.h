/* SPDX-License-Identifier: Apache-2.0 */
/* Shards on disk: written under a temporary name; the final name is given to whole ones only, with their
 * index.
 *
 *   .tmp-shard-000007.tar  ->  shard-000007.tar  and  shard-000007.tar.index */
#ifndef STK_PACK_PACK_SHARD_H
#define STK_PACK_PACK_SHARD_H

#include "core/hash.h"
#include "core/memory.h"

#include <limits.h>

enum { STK_PACK_SHARDS_MOST = 1000000 };

typedef struct stk__pack_shard {
    const char *folder; /* must outlive it */
    int file;           /* -1: none is open */
    bool unfinished;    /* there is a temporary file */
    uint64_t bytes, samples;
    int64_t time_s;  /* of the finished file */
    stk__hash *hash; /* of all that was written; NULL while there is no temporary file */
    char temporary[PATH_MAX], final[PATH_MAX];
} stk__pack_shard;

void stk__pack_shard_init(stk__pack_shard *shard, const char *folder);

/* Opens shard `number` and writes how it begins; what stood under the temporary name is gone. */
stk_status stk__pack_shard_open(stk__pack_shard *shard, uint64_t number, stk_error *error);

/* One sample. */
stk_status stk__pack_shard_append(stk__pack_shard *shard, const stk__buffer *tar, stk_error *error);

/* End, fsync, index, names, fsync of the folder. bytes is then the size of the file. After a failure the
 * caller abandons it. */
stk_status stk__pack_shard_finish(stk__pack_shard *shard, stk_error *error);

/* Closes and removes an unfinished one; nothing happens when there is none. */
void stk__pack_shard_abandon(stk__pack_shard *shard);

/* The time that a shard with this content has: the same whenever it is packed, another one for another
 * content. */
int64_t stk__pack_shard_time(stk__digest content);

/* "folder/shard-000007.tar"; false when that is too long. */
bool stk__pack_shard_path(char path[PATH_MAX], const char *folder, uint64_t number);

/* The number of "shard-000007.tar" or its index; false for every other name. */
bool stk__pack_shard_number(const char *name, uint64_t *number);

/* Removes what an interrupted start can have left: temporary files, and the shard of number `next`, which may
 * have got its name just before the end. */
stk_status stk__pack_shard_tidy(const char *folder, uint64_t next, stk_error *error);

/* STK_ERROR_IO "cannot write 'path': …"; says how to resume when the disk is full. */
stk_status stk__pack_write_fail(stk_error *error, int error_number, const char *path);

#endif
