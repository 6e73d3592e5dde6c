/* SPDX-License-Identifier: Apache-2.0 */
/* Walks along the members of a tar file: ustar, pax, GNU and the old v7, without extracting anything. Damage
 * never ends the walk: a member that cannot be used comes with what is wrong with it, and what cannot be read
 * as members at all comes as a stretch, up to the next header that is whole. */
#ifndef STK_SOURCE_TAR_H
#define STK_SOURCE_TAR_H

#include "core/memory.h"

#include <stdbool.h>

enum {
    STK_TAR_BLOCK_BYTES = 512,
    STK_TAR_NAME_BYTES = 4095,       /* of the longest name of a member */
    STK_TAR_RECORDS_BYTES = 1 << 20, /* of the longest pax header */
    STK_TAR_EXTENSIONS = 8,          /* headers that may stand before one member's own */
    STK_TAR_DETAIL_BYTES = 160
};

/* The bytes of a tar file, wherever they lie. */
typedef struct stk__tar_input {
    /* Bytes from offset into data: their number, less than size only at the end, or -errno. */
    int64_t (*read)(void *context, void *data, size_t size, uint64_t offset);
    void *context;
    uint64_t size_bytes; /* of all */
} stk__tar_input;

typedef enum stk__tar_kind {
    STK_TAR_FILE,
    STK_TAR_FOLDER,
    STK_TAR_OTHER,  /* link, device, pipe, sparse, unknown: damage is set */
    STK_TAR_STRETCH /* no member: bytes that cannot be read as any; damage is set, there is no name */
} stk__tar_kind;

typedef struct stk__tar_member {
    stk__tar_kind kind;
    uint64_t offset;     /* of its own header (its data follows at + 512), or of the stretch */
    uint64_t size_bytes; /* of the data, or of the stretch */
    uint32_t check;      /* of the header's bytes: stk__tar_check */
    const char *name;    /* as it stands there; zero-terminated, the walk's until the next member */
    size_t name_length;  /* 0: there is none that can be used */
    stk_damage damage;   /* STK_DAMAGE_NONE: none */
    char detail[STK_TAR_DETAIL_BYTES];
} stk__tar_member;

/* What the headers before a member's own say about it. */
typedef struct stk__tar_extension {
    int count;
    uint64_t offset; /* of the last of them */
    bool has_name, has_size, sparse;
    bool unnamed; /* the name was refused; the header has only a part of it */
    uint64_t size_bytes;
    stk_damage damage;
    char detail[STK_TAR_DETAIL_BYTES];
} stk__tar_extension;

typedef struct stk__tar_walk {
    stk__tar_input input;
    uint64_t next;     /* offset of the next header */
    bool keys_escaped; /* a global header said so (source/shards/shard.h) */
    bool unreadable;   /* the storage refused bytes: the rest came as a stretch */
    bool unmarked;     /* it ended without the zeros that end a tar file: something may have been behind */
    stk__tar_extension about;
    uint8_t *window; /* some bytes of the input */
    uint64_t window_offset;
    size_t window_bytes;
    int failed;          /* errno of a read */
    stk__buffer records; /* of a pax header */
    char name[STK_TAR_NAME_BYTES + 1];
} stk__tar_walk;

stk_status stk__tar_walk_open(stk__tar_walk *walk, const stk__tar_input *input, stk_error *error);
/* STK_END behind the last one. Fails only without memory. */
stk_status stk__tar_walk_next(stk__tar_walk *walk, stk__tar_member *member, stk_error *error);
/* Bytes of the input, for small members. False when they cannot be had. */
bool stk__tar_walk_copy(stk__tar_walk *walk, uint64_t offset, void *data, size_t size);
void stk__tar_walk_close(stk__tar_walk *walk); /* accepts one that failed to open */

/* A short hash of a header's block, by which it is known again. */
uint32_t stk__tar_check(const uint8_t block[STK_TAR_BLOCK_BYTES]);

#endif
