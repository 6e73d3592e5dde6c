/* SPDX-License-Identifier: Apache-2.0 */
/* A data set in shards, while it is opened and after: shards_open.c fills it, shards.c serves from it. Rows
 * are samples in the order of the shards; an entry of the catalog has its row. Bytes for each sample: 24 of
 * the catalog, the key and a zero, 16 of the image; 16 of a mask, 8 of a label, 12 of each point, if the data
 * set has them. */
#ifndef STK_SOURCE_SHARDS_H
#define STK_SOURCE_SHARDS_H

#include "source/files.h"
#include "source/shards/shard.h"
#include "source/shards/shard_files.h"

typedef struct stk__shard_part {
    uint64_t name; /* in names, below the root */
    uint32_t first_row;
    bool keys_escaped;
    stk__shard_stamp stamp;
} stk__shard_part;

typedef struct stk__shards_flaw {
    uint64_t offset;         /* in the shard */
    uint64_t member, detail; /* in texts; no member: "" */
    uint32_t row;
    stk_damage damage;
} stk__shards_flaw;

typedef struct stk__shards {
    stk__files files;    /* first; extension of a bad sample: STK_EXTENSION_OTHER, masks with their prefix */
    stk__catalog shards; /* names below the root, sorted */
    stk__shard_part *parts; /* [part_count] */
    uint32_t part_count;
    bool prefixed;                        /* keys have the shard's name before them */
    stk__buffer images;                   /* stk__shard_place [row] */
    stk__buffer masks;                    /* stk__shard_place [row], or empty */
    stk__buffer labels;                   /* double [row], or empty; not a number: none */
    stk__buffer points;                   /* float [row][point_count][3], or empty; not a number: none */
    stk__buffer flaws;                    /* stk__shards_flaw, by rows */
    stk__buffer texts;                    /* of the flaws */
    stk__buffer point_texts, point_names; /* points.txt, and const char * [point_count] in it */
    stk__shard_files *open_files;
} stk__shards;

/* The names of all shards of a site into shards->shards: a file, a range such as x-{000..012}.tar, or a
 * folder. */
stk_status stk__shards_find(stk__shards *shards, const stk__site *site, stk_error *error);
/* Fills everything from the indexes; builds those that are missing. */
stk_status stk__shards_load(stk__shards *shards, const stk__site *site, stk_error *error);
/* When all rows are there: sorts, tells duplicates apart, finds what single samples lack. */
stk_status stk__shards_finish(stk__shards *shards, const stk__site *site, stk_error *error);

/* Names of the points, if there is a points.txt. */
stk_status stk__shards_name_points(stk__shards *shards, const stk__site *site, stk_error *error);

stk_status stk__shards_add_flaw(stk__shards *shards, stk__shards_flaw *flaw, const char *member,
                                const char *detail, stk_error *error);
const stk__shards_flaw *stk__shards_flaw_of(const stk__shards *shards, uint32_t row); /* of a bad sample */
uint32_t stk__shards_part_of(const stk__shards *shards, uint32_t row);
/* Name of the member with this code, cut to size. */
void stk__shards_member(const stk__shards *shards, const stk__entry *entry, uint8_t code, char *text,
                        size_t size);

/* A file of a shard to read from; belongs back to shards->open_files. */
stk_status stk__shards_borrow(const stk__shards *shards, uint32_t part, stk__shard_loan *loan,
                              stk_error *error);

/* Operations. */
void stk__shards_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size);
bool stk__shards_stamp(const stk__source *source, uint64_t id, stk__field field, stk__file_stamp *stamp);
void stk__shards_hint(const stk__source *source, uint64_t id);
void stk__shards_hint_run(const stk__source *source, uint64_t first, uint64_t count);

static inline const stk__shards *stk__shards_of(const stk__source *source)
{
    return (const stk__shards *)(const void *)source;
}

static inline const char *stk__shards_name(const stk__shards *shards, uint32_t part)
{
    return (const char *)shards->shards.texts.data + shards->parts[part].name;
}

static inline const stk__shard_place *stk__shards_image(const stk__shards *shards, uint32_t row)
{
    return (const stk__shard_place *)(const void *)shards->images.data + row;
}

static inline const stk__shard_place *stk__shards_mask(const stk__shards *shards, uint32_t row)
{
    return (const stk__shard_place *)(const void *)shards->masks.data + row;
}

static inline double stk__shards_label(const stk__shards *shards, uint32_t row)
{
    return ((const double *)(const void *)shards->labels.data)[row];
}

static inline const float *stk__shards_points(const stk__shards *shards, uint32_t row)
{
    return (const float *)(const void *)shards->points.data +
           (size_t)row * (size_t)shards->files.source.info.point_count * 3;
}

#endif
