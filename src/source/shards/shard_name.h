/* SPDX-License-Identifier: Apache-2.0 */
/* Names of members taken apart: the key of the sample and what the field is. */
#ifndef STK_SOURCE_SHARD_NAME_H
#define STK_SOURCE_SHARD_NAME_H

#include "source/shards/tar.h"

typedef enum stk__shard_field {
    STK_SHARD_PLAIN, /* jpg jpeg png npy: the image, or beside a jpg the mask */
    STK_SHARD_MASK,
    STK_SHARD_CLASS,
    STK_SHARD_VALUE,
    STK_SHARD_POINTS,
    STK_SHARD_OTHER /* passed over */
} stk__shard_field;

enum {
    STK_SHARD_KEY_BYTES = STK_TAR_NAME_BYTES,
    STK_SHARD_PREFIX_SHIFT = 6 /* codes of masks: above source/extension.h's, 1: "mask.", 2: "seg." */
};

typedef struct stk__shard_name {
    stk__shard_field field;
    uint8_t code;      /* of PLAIN and MASK: source/extension.h, for masks with the prefix */
    const char *fault; /* why it cannot be used as a key, or NULL */
    size_t key_length;
    char key[STK_SHARD_KEY_BYTES + 1];
} stk__shard_name;

/* False for members that are passed over: hidden ones, and those without a dot in their base name. */
bool stk__shard_name_split(const char *name, bool escaped, stk__shard_name *split);

/* The name of a member as pack writes it, cut to size. */
void stk__shard_name_join(const char *key, uint8_t code, bool escaped, char *text, size_t size);

#endif
