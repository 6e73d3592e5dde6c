/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a data set have the same bytes: 16 bytes a file, sorted once. Two files count as equal when
 * 96 bits of their XXH3 digests are; with 10 million files a false pair has a chance of about 1e-15. */
#ifndef STK_SESSION_CONTENT_INDEX_H
#define STK_SESSION_CONTENT_INDEX_H

#include "core/hash.h"
#include "core/memory.h"

typedef struct stk__content_entry {
    uint64_t high;
    uint32_t low; /* of the digest: its last 32 bits */
    uint32_t id;  /* of the sample */
} stk__content_entry;

typedef struct stk__content_index { /* zeroed, then open and close */
    stk__content_entry *entries;    /* [capacity], pages are taken when they are written */
    uint64_t count, capacity;
} stk__content_index;

/* Equal contents. */
typedef struct stk__content_matches {
    uint64_t groups;    /* contents that occur more than once; of two indices: in both */
    uint64_t samples;   /* beyond the first of each group; of two indices: of the first index */
    int64_t example[2]; /* ids of two with the same content, the lowest there are; -1: none */
} stk__content_matches;

stk_status stk__content_index_open(stk__content_index *index, uint64_t capacity, stk_error *error);
void stk__content_index_close(stk__content_index *index);
/* Not from several threads at once; what is beyond the capacity is left out. */
void stk__content_index_add(stk__content_index *index, uint64_t id, stk__digest digest);

/* In place; before the matches. */
void stk__content_index_sort(stk__content_index *index);
stk__content_matches stk__content_index_duplicates(const stk__content_index *index);
stk__content_matches stk__content_index_overlap(const stk__content_index *index,
                                                const stk__content_index *other);

#endif
