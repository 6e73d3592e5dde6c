/* SPDX-License-Identifier: Apache-2.0 */
/* The side index of a shard: bytes that say where each sample lies, what is wrong with it, and its label and
 * points. The same bytes for the same shard, wherever it lies. Made by shard_build.c, taken apart here. */
#ifndef STK_SOURCE_SHARD_INDEX_H
#define STK_SOURCE_SHARD_INDEX_H

#include "core/hash.h"
#include "source/shards/tar.h"

/* By what a shard is known to be the one that was indexed. */
typedef struct stk__shard_stamp {
    uint64_t size_bytes;
    int64_t time_s; /* of modification */
    uint64_t time_ns;
} stk__shard_stamp;

/* Where a field lies. */
typedef struct stk__shard_place {
    uint64_t offset; /* of its header in the shard */
    uint32_t size_bytes;
    uint32_t check; /* stk__tar_check of the header */
} stk__shard_place;

enum { STK_SHARD_HAS_CLASS = 1, STK_SHARD_HAS_VALUE = 2, STK_SHARD_NAMELESS = 4, STK_SHARD_BAD = 8 };

typedef struct stk__shard_codes {
    uint8_t image, mask; /* codes of source/shards/shard_name.h, or STK_EXTENSION_NONE: there is none */
    uint8_t
        has; /* bits of the enum above; of a nameless sample the shard's name is to be put before the key */
    uint8_t zero;
} stk__shard_codes;

typedef struct stk__shard_flaw {
    uint64_t offset; /* in the shard: of the member, or of bytes outside of members */
    uint32_t sample;
    uint32_t word;           /* in the texts: name of the damage, for numbers change between versions */
    uint32_t member, detail; /* in the texts; no member: "" */
} stk__shard_flaw;

/* The parts of an index, in the memory of the bytes it was read from. */
typedef struct stk__shard_index {
    stk__shard_stamp stamp;
    bool keys_escaped;
    bool unmarked;                  /* nothing tells that the shard ends where it ends */
    uint32_t count;                 /* samples, in the order of the shard */
    const stk__shard_place *images; /* [count] */
    const stk__shard_place *masks;  /* [count], or NULL: none has one */
    const double *labels;           /* [count], or NULL */
    const stk__shard_codes *codes;  /* [count] */
    const uint32_t *point_counts;   /* [count], or NULL */
    const float *points;            /* x, y, visible: of all samples one after the other */
    const char *keys;               /* zero-terminated, one after the other; not escaped */
    size_t keys_bytes;
    const stk__shard_flaw *flaws; /* in the order of samples, one for each bad one */
    uint32_t flaw_count;
    const char *texts; /* of the flaws */
} stk__shard_index;

/* The parts of an index while it is made. */
typedef struct stk__shard_draft {
    stk__shard_stamp stamp;
    bool keys_escaped, unmarked;
    bool has_masks, has_labels, has_points; /* parts that are of use */
    stk__buffer images, masks, labels, codes, point_counts, points, keys, flaws, texts; /* types as above */
} stk__shard_draft;

stk_status stk__shard_index_encode(const stk__shard_draft *draft, stk__buffer *bytes, stk_error *error);
/* NULL, or what is wrong. Every number has been checked then. */
const char *stk__shard_index_decode(const stk__buffer *bytes, stk__shard_index *index);

stk_damage stk__shard_flaw_damage(const stk__shard_index *index, const stk__shard_flaw *flaw);

/* Walks through a shard and puts its index into bytes. *lasting is false when the storage refused to give
 * some of it: then the index should not be kept. */
stk_status stk__shard_build(const stk__tar_input *input, stk__shard_stamp stamp, stk__buffer *bytes,
                            bool *lasting, stk_error *error);

#endif
