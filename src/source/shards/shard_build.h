/* SPDX-License-Identifier: Apache-2.0 */
/* Making an index, shared by shard_build.c (members), shard_sample.c (samples) and shard_duplicates.c
 * (samples that stand at two places). */
#ifndef STK_SOURCE_SHARD_BUILD_H
#define STK_SOURCE_SHARD_BUILD_H

#include "source/catalog.h"
#include "source/shards/shard_index.h"
#include "source/shards/shard_name.h"

/* The sample whose members are being met. */
typedef struct stk__shard_sample {
    bool open;
    uint64_t offset; /* of its first member */
    size_t key_length;
    char key[STK_SHARD_KEY_BYTES + 1];
    stk__shard_place plain[2]; /* images, or an image and its mask */
    uint8_t plain_codes[2];
    int plain_count;
    unsigned seen; /* bit of each stk__shard_field */
    stk__shard_place image, mask;
    stk__shard_codes codes;
    double label;
    size_t points_bytes; /* of the points of all samples before */
    char stranger[40];   /* a field that is passed over, for messages */
    bool damaged;
    stk__shard_flaw flaw;
} stk__shard_sample;

typedef struct stk__shard_builder {
    stk__tar_walk walk;
    stk__shard_draft draft;
    stk__catalog keys;  /* of samples with names; row: number of the sample */
    stk__buffer starts; /* uint64_t: offset of each sample's first member */
    stk__buffer small;  /* bytes of a small field */
    stk__shard_name name;
    stk__shard_sample now, kept;
} stk__shard_builder;

/* What is wrong, and where. */
typedef struct stk__shard_blame {
    stk_damage damage;
    uint64_t offset;
    const char *member, *detail;
} stk__shard_blame;

/* Puts the texts of a flaw away. */
stk_status stk__shard_blame_keep(stk__shard_builder *b, const stk__shard_blame *blame, stk__shard_flaw *flaw,
                                 stk_error *error);

/* The first damage of a sample counts. */
stk_status stk__shard_sample_spoil(stk__shard_builder *b, const stk__shard_blame *blame, stk_error *error);
/* Begins the sample that b->name names. */
void stk__shard_sample_open(stk__shard_builder *b, uint64_t offset);
/* Adds the sample to the draft, if one is open. */
stk_status stk__shard_sample_close(stk__shard_builder *b, stk_error *error);
/* A bad sample of its own for what has no usable name; the one that is open continues after it. */
stk_status stk__shard_sample_nameless(stk__shard_builder *b, const stk__shard_blame *blame, stk_error *error);

/* Samples of one key become one, which is bad. */
stk_status stk__shard_merge_duplicates(stk__shard_builder *b, stk_error *error);

#endif
