/* SPDX-License-Identifier: Apache-2.0 */
/* One shard: a tar file in WebDataset's manner. Members whose paths agree up to the first dot of the base
 * name are the fields of one sample; what follows the dot names the field. A side index lists the samples of
 * a shard, so that any of them can be read at once; it is built on first use, stored, and shared between
 * runs.
 *
 *   jpg jpeg png npy                    the image
 *   mask.png seg.png mask.npy …         the mask (and png or npy beside a jpg)
 *   cls                                 number of the class, in decimal digits
 *   value                               a number to learn
 *   points.json                         [[x, y, visible], …] in pixels of the image
 *
 * Upper and lower case are alike. Other fields are passed over, as are hidden members, folders and members
 * without a dot. Shards written by `stoker pack` say in a pax global header that keys are written with '.' as
 * %2E and '%' as %25. docs/shards.md tells it to users. */
#ifndef STK_SOURCE_SHARD_H
#define STK_SOURCE_SHARD_H

#include "source/shards/shard_index.h"

/* Record of the pax global header, and its value, by which a shard says that its keys are escaped. */
#define STK_SHARD_KEYS_RECORD  "STOKER.keys"
#define STK_SHARD_KEYS_ESCAPED "percent"

/* Time of modification of members of shards written by pack: the same bytes, whenever they are made. That of
 * the shards themselves is up to 20 years later, always in the past, and depends on their bytes. */
#define STK_SHARD_TIME_S       946684800 /* 2000-01-01 */
#define STK_SHARD_TIME_RANGE_S 631152000

#define STK_SHARD_INDEX_SUFFIX ".index"

/* For who wrote the shard at path: builds its index from the shard itself and stores it beside it (path +
 * ".index"), on the disk when the call returns. STK_ERROR_DATA when not all of its samples can be read back;
 * nothing is stored then. */
stk_status stk__shard_index_make(const char *path, uint64_t samples, stk_error *error);

typedef enum stk__shard_origin {
    STK_SHARD_FOUND,   /* it was there, and is fresh */
    STK_SHARD_STORED,  /* built now, and stored beside the shard or in the user's cache */
    STK_SHARD_UNSTORED /* built now, and could not be stored anywhere */
} stk__shard_origin;

/* The index of the shard at path, found or built. bytes: the caller's, holds what index points to. Fails when
 * the shard itself cannot be read, with place; damage inside of it is in the index. */
stk_status stk__shard_index_get(const char *path, stk__buffer *bytes, stk__shard_index *index,
                                stk__shard_origin *origin, stk_error *error);

/* Size and time of an open file; false when it is not a regular file. */
bool stk__shard_stamp_read(int file, stk__shard_stamp *stamp);
bool stk__shard_stamp_equal(const stk__shard_stamp *a, const stk__shard_stamp *b);

#endif
