/* One shard: a tar file in WebDataset's manner. Members whose paths agree up to the first dot of the base name
 * are the fields of one sample; what follows the dot names the field. A side index lists the samples of a shard,
 * so that any of them can be read at once; it is built on first use, stored, and shared between runs.
 *
 *   jpg jpeg png npy                the image
 *   mask.png seg.png mask.npy       the mask (and png, npy beside a jpg)
 *   cls                             number of the class, in decimal digits
 *   value                           a number to learn
 *   points.json                     [[x, y, visible], …] in pixels of the image
 *
 * Other fields are passed over. Shards written by `stoker pack` say in a pax global header that keys are
 * written with '.' as %2E and '%' as %25. */
#ifndef STK_SOURCE_SHARD_H
#define STK_SOURCE_SHARD_H

#include "core/memory.h"

/* Record of the pax global header, and its value, by which a shard says that its keys are escaped. */
#define STK_SHARD_KEYS_RECORD "STOKER.keys"
#define STK_SHARD_KEYS_ESCAPED "percent"

/* Time of modification of members and of shards written by pack: the same bytes, whenever they are made. */
#define STK_SHARD_TIME_S 946684800 /* 2000-01-01 */

/* Builds the index of the shard at path from the shard itself and stores it beside it (path + ".index"). */
stk_status stk__shard_index_make(const char *path, stk_error *error);

#endif
