/* SPDX-License-Identifier: Apache-2.0 */
/* One header block of a tar file, and the records of a pax header. Pure functions on bytes. */
#ifndef STK_SOURCE_TAR_HEADER_H
#define STK_SOURCE_TAR_HEADER_H

#include "source/shards/tar.h"

enum { STK_TAR_HEADER_NAME_BYTES = 155 + 1 + 100 };

typedef struct stk__tar_header {
    char type;     /* '0' also for files of v7, and for its folders: their names end in '/' */
    bool has_size; /* size_bytes is a number that makes sense */
    bool extended; /* sparse: blocks of its map follow */
    uint64_t size_bytes;
    size_t name_length;
    char name[STK_TAR_HEADER_NAME_BYTES + 1];
} stk__tar_header;

/* True when the checksum is right, summed over unsigned bytes or, as some old tars did, over signed ones. */
bool stk__tar_header_fits(const uint8_t block[STK_TAR_BLOCK_BYTES]);
void stk__tar_header_read(const uint8_t block[STK_TAR_BLOCK_BYTES], stk__tar_header *header);
bool stk__tar_block_is_zero(const uint8_t block[STK_TAR_BLOCK_BYTES]);

typedef struct stk__tar_record {
    const char *key, *value; /* not terminated */
    size_t key_length, value_length;
} stk__tar_record;

/* Takes one header about the next member, at offset, with its data lying within the input. STK_OK also when
 * what it says cannot be used: walk->about then has the damage. */
stk_status stk__tar_extend(stk__tar_walk *walk, const stk__tar_header *header, uint64_t offset,
                           stk_error *error);
bool stk__tar_extends(char type); /* such a header, not a member */

/* Keeps the first damage. */
void stk__tar_spoil(stk_damage *damage, char detail[STK_TAR_DETAIL_BYTES], stk_damage found,
                    const char *format, ...) STK__PRINTF(4, 5);

/* Takes "length key=value\n" from the front of the text; false, and the text as it was, when it is none. */
bool stk__tar_record_take(const char **text, const char *end, stk__tar_record *record);

#endif
