/* SPDX-License-Identifier: Apache-2.0 */
/* pack.json: what a folder is being packed with, how far it is, and whether it is complete. Written before
 * the first shard and after each one, whole or not at all; the same data set and settings end with the same
 * bytes. */
#ifndef STK_PACK_PACK_STATE_H
#define STK_PACK_PACK_STATE_H

#include "core/hash.h"
#include "core/memory.h"
#include "pack/pack_probe.h"
#include "source/shards/pack_note.h"

#define STK_PACK_STATE STK_PACK_NOTE_FILE

enum { STK_PACK_PARTS_MOST = 3 };

/* One source and the folder with its shards. */
typedef struct stk__pack_part {
    const char *name; /* "train", "val"; NULL: the data set has no parts */

    /* What is packed: */
    stk__digest fingerprint; /* of the keys */
    stk__pack_looks looks;   /* at a few samples */
    uint64_t count;

    /* How far it is, after the last whole shard: */
    uint64_t next;     /* id of the sample that follows */
    stk__digest facts; /* of those before it: labels and points (pack_probe.h); may be unknown */
    uint64_t shards, bytes;
    stk__digest stamps; /* of sizes and times of the shards, which are made of their bytes; may be unknown */
    uint64_t packed, left_out, kept;
    uint64_t source_bytes, stored_bytes; /* of images and masks: as they were, as they are packed */
    uint64_t ledger_bytes;
} stk__pack_part;

typedef struct stk__pack_state {
    bool complete;
    uint64_t shard_bytes, shard_samples; /* settings that the bytes depend on; shard_samples 0: no limit */
    stk__digest mask_colors;             /* the same of the colors of masks; zero: none */
    int part_count;
    stk__pack_part parts[STK_PACK_PARTS_MOST];
} stk__pack_state;

/* Versions that did not write a digest left it unknown: zero. */
bool stk__pack_digest_known(stk__digest digest);
bool stk__pack_digest_equal(stk__digest a, stk__digest b);

/* Continues the digest of the shards before with the next one. */
stk__digest stk__pack_stamps_add(stk__digest stamps, uint64_t size_bytes, int64_t time_s);

/* *found: folder has a pack.json. One that is damaged or of another version is STK_ERROR_STATE. */
stk_status stk__pack_state_read(const char *folder, stk__pack_state *state, bool *found, stk_error *error);
stk_status stk__pack_state_write(const char *folder, const stk__pack_state *state, stk_error *error);

/* Nothing is packed yet in a folder of the same parts: then settings and data set may be others. */
bool stk__pack_state_restarts(const stk__pack_state *state, const stk__pack_state *found);

/* Takes over from `found` how far it is. facts and source_bytes of the parts are those of the source as it is
 * now, up to found's next; source_bytes 0: unknown. STK_ERROR_STATE, saying what differs, when it is not
 * the same data set and settings. */
stk_status stk__pack_state_adopt(stk__pack_state *state, const stk__pack_state *found, const char *folder,
                                 stk_error *error);

#endif
