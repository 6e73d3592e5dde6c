/* SPDX-License-Identifier: Apache-2.0 */
/* Tar blocks in memory: POSIX ustar, pax where a name does not fit. The same members give the same bytes: no
 * owner, one time for all (source/shards/shard.h). */
#ifndef STK_PACK_TAR_BLOCKS_H
#define STK_PACK_TAR_BLOCKS_H

#include "core/memory.h"

enum { STK_TAR_BLOCKS_EACH_BYTES = 512, STK_TAR_BLOCKS_END_BYTES = 2 * STK_TAR_BLOCKS_EACH_BYTES };

/* The largest member that the header of ustar can hold. */
#define STK_TAR_BLOCKS_MEMBER_BYTES ((UINT64_C(1) << 33) - 1)

/* How a shard starts: a pax global header that says how keys are written. Appended, as all below. */
stk_status stk__tar_blocks_begin(stk__buffer *tar, stk_error *error);

/* One regular file. path is of any length; bytes at most STK_TAR_BLOCKS_MEMBER_BYTES. */
stk_status stk__tar_blocks_add(stk__buffer *tar, const char *path, const void *data, size_t size_bytes,
                               stk_error *error);

/* The two empty blocks at the end. */
stk_status stk__tar_blocks_end(stk__buffer *tar, stk_error *error);

#endif
