/* SPDX-License-Identifier: Apache-2.0 */
/* Up to 2^32 - 2 keys in two flat arrays: an arena of texts and an array of entries. Nothing is allocated per
 * entry. Also used for names of classes. */
#ifndef STK_SOURCE_CATALOG_H
#define STK_SOURCE_CATALOG_H

#include "core/hash.h"
#include "core/memory.h"

typedef struct stk__entry {
    uint64_t offset;                   /* of the key in the arena; a zero byte follows the key */
    uint64_t eight;                    /* scratch of the sort: eight bytes of the key as a number */
    uint32_t row;                      /* class number, row of a list, …: the owner's */
    uint16_t length;                   /* of the key */
    uint8_t extension, mask_extension; /* codes of source/extension.h */
} stk__entry;

typedef struct stk__catalog {
    stk__buffer texts;
    stk__buffer entries; /* of stk__entry */
} stk__catalog;

static inline uint64_t stk__catalog_count(const stk__catalog *catalog)
{
    return catalog->entries.size_bytes / sizeof(stk__entry);
}

static inline stk__entry *stk__catalog_at(const stk__catalog *catalog, uint64_t index)
{
    return (stk__entry *)(void *)catalog->entries.data + index;
}

static inline const char *stk__catalog_key(const stk__catalog *catalog, const stk__entry *entry)
{
    return (const char *)catalog->texts.data + entry->offset;
}

/* The new entry has row as given and both extensions NONE. It is the last one until the sort. */
stk_status stk__catalog_add(stk__catalog *catalog, const char *key, size_t length, uint32_t row,
                            stk_error *error);

/* Bytewise by key, shorter first; equal keys by row. In place. */
void stk__catalog_sort(stk__catalog *catalog);

/* Index of the first entry at or after `from` whose follower has the same key, or the count. Sorted catalogs.
 */
uint64_t stk__catalog_duplicate(const stk__catalog *catalog, uint64_t from);

/* The entry with this key in a sorted catalog, or NULL. */
const stk__entry *stk__catalog_find(const stk__catalog *catalog, const char *key, size_t length);

/* Order of two keys: < 0, 0, > 0. */
int stk__catalog_compare(const char *a, size_t a_length, const char *b, size_t b_length);

/* Hash over the keys, each followed by its zero byte. */
stk_status stk__catalog_fingerprint(const stk__catalog *catalog, stk__digest *digest, stk_error *error);

void stk__catalog_fini(stk__catalog *catalog);

#endif
