/* SPDX-License-Identifier: Apache-2.0 */
/* What tells that files have not changed since they were read: a digest over sizes, inodes and times. No file
 * is opened. The time of change (ctime) is in it, which no program can set back. */
#ifndef STK_CORE_FILE_STAMP_H
#define STK_CORE_FILE_STAMP_H

#include "core/hash.h"

typedef struct stk__file_stamp {
    stk__digest digest;
    int64_t newest_s; /* the latest change of any of them */
    uint64_t newest_ns;
} stk__file_stamp; /* {0}: of no file */

/* Adds the file at path, links followed. False: it is no regular file, or cannot be asked. */
bool stk__file_stamp_add(stk__file_stamp *stamp, const char *path);

/* Is the latest change so long ago that another one has another time? Clocks of file systems tick. */
bool stk__file_stamp_is_settled(const stk__file_stamp *stamp);

#endif
