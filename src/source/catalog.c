/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a data set in two flat arrays: texts in one arena, entries of 24 bytes. Sorted bytewise by a
 * three-way radix quicksort on eight bytes at a time (an id is the rank of a key), found by binary search.
 * Built by one thread, then read by all. */
#include "source/catalog.h"

#include "source/extension.h"

#include <endian.h>
#include <string.h>

_Static_assert(sizeof(stk__entry) == 24, "10 million entries are meant to stay small");

enum { INSERTION_COUNT = 12 }; /* shorter ranges are sorted by insertion */

/* Behind every key: there the rows are compared. */
#define DEPTH_ROW SIZE_MAX

stk_status stk__catalog_add(stk__catalog *catalog, const char *key, size_t length, uint32_t row,
                            stk_error *error)
{
    if (stk__catalog_count(catalog) >= UINT32_MAX - 1)
        return stk__fail(error, STK_ERROR_DATA, "more than 4294967294 samples");
    stk__entry entry = {.row = row,
                        .length = (uint16_t)length,
                        .extension = STK_EXTENSION_NONE,
                        .mask_extension = STK_EXTENSION_NONE};
    size_t offset;
    STK__TRY(stk__buffer_text(&catalog->texts, key, length, &offset, error));
    entry.offset = offset;
    return stk__buffer_append(&catalog->entries, &entry, sizeof entry, error);
}

int stk__catalog_compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_entries(const stk__catalog *catalog, const stk__entry *a, const stk__entry *b)
{
    const int order = stk__catalog_compare(stk__catalog_key(catalog, a), a->length,
                                           stk__catalog_key(catalog, b), b->length);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static bool is_sorted(const stk__catalog *catalog)
{
    const uint64_t count = stk__catalog_count(catalog);
    for (uint64_t i = 1; i < count; i++)
        if (compare_entries(catalog, stk__catalog_at(catalog, i - 1), stk__catalog_at(catalog, i)) > 0)
            return false;
    return true;
}

/* Eight bytes of the key from depth on, first byte highest, zeros behind its end: keys have no zero bytes, so
 * the order of these numbers is the order of the keys. */
static uint64_t load_eight(const char *texts, const stk__entry *entry, size_t depth)
{
    if (depth == DEPTH_ROW) return entry->row;
    uint64_t eight = 0;
    const size_t left = entry->length - depth;
    memcpy(&eight, texts + entry->offset + depth, left < 8 ? left : 8);
    return be64toh(eight);
}

static void swap_entries(stk__entry *a, stk__entry *b)
{
    const stk__entry kept = *a;
    *a = *b;
    *b = kept;
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    if (a > b) return b > c ? b : (a > c ? c : a);
    return a > c ? a : (b > c ? c : b);
}

/* Three places drawn from the range's own size and place, so that no regular order of names is a bad one. */
static uint64_t choose_pivot(const stk__entry *entries, size_t count)
{
    uint64_t state = (uint64_t)count * UINT64_C(0x9E3779B97F4A7C15) ^ entries[count / 2].offset;
    uint64_t drawn[3];
    for (int i = 0; i < 3; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        drawn[i] = entries[(state >> 33) % count].eight;
    }
    return median(drawn[0], drawn[1], drawn[2]);
}

static void insert_sorted(const char *texts, stk__entry *entries, size_t count, size_t depth)
{
    for (size_t i = 1; i < count; i++)
        for (size_t at = i; at > 0; at--) {
            stk__entry *a = &entries[at - 1], *b = &entries[at];
            int order = (a->eight > b->eight) - (a->eight < b->eight);
            if (order == 0 && depth != DEPTH_ROW)
                order = stk__catalog_compare(texts + a->offset, a->length, texts + b->offset, b->length);
            if (order == 0) order = (a->row > b->row) - (a->row < b->row);
            if (order <= 0) break;
            swap_entries(a, b);
        }
}

/* A range of entries that agree up to depth. */
typedef struct range {
    stk__entry *entries;
    size_t count, depth;
} range;

/* Divides by the pivot: less, equal, greater. The equal ones agree eight bytes further. */
static void divide(range whole, range parts[3])
{
    const uint64_t pivot = choose_pivot(whole.entries, whole.count);
    size_t less = 0, at = 0, greater = whole.count;
    while (at < greater) {
        const uint64_t eight = whole.entries[at].eight;
        if (eight < pivot)
            swap_entries(&whole.entries[less++], &whole.entries[at++]);
        else if (eight > pivot)
            swap_entries(&whole.entries[at], &whole.entries[--greater]);
        else
            at++;
    }
    const bool ended = (pivot & 0xFF) == 0;
    parts[0] = (range){whole.entries, less, whole.depth};
    parts[1] = (range){whole.entries + less, greater - less, ended ? DEPTH_ROW : whole.depth + 8};
    parts[2] = (range){whole.entries + greater, whole.count - greater, whole.depth};
    if (whole.depth == DEPTH_ROW) parts[1].count = 0; /* nothing is left to compare */
}

static void load_range(const char *texts, range part)
{
    for (size_t i = 0; i < part.count; i++)
        part.entries[i].eight = load_eight(texts, &part.entries[i], part.depth);
}

/* Quicksort on eight bytes at a time. Recurses into the two smaller parts: depth of the stack <= log2(n). */
static void sort_range(const char *texts, range part)
{
    while (part.count > INSERTION_COUNT) {
        range parts[3];
        divide(part, parts);
        load_range(texts, parts[1]);
        int largest = 0;
        for (int i = 1; i < 3; i++)
            if (parts[i].count > parts[largest].count) largest = i;
        for (int i = 0; i < 3; i++)
            if (i != largest) sort_range(texts, parts[i]);
        part = parts[largest];
    }
    insert_sorted(texts, part.entries, part.count, part.depth);
}

void stk__catalog_sort(stk__catalog *catalog)
{
    if (is_sorted(catalog)) return; /* also the empty one */
    const char *texts = (const char *)catalog->texts.data;
    const range all = {stk__catalog_at(catalog, 0), stk__catalog_count(catalog), 0};
    load_range(texts, all);
    sort_range(texts, all);
}

uint64_t stk__catalog_duplicate(const stk__catalog *catalog, uint64_t from)
{
    const uint64_t count = stk__catalog_count(catalog);
    for (uint64_t i = from; i + 1 < count; i++) {
        const stk__entry *a = stk__catalog_at(catalog, i), *b = a + 1;
        if (a->length == b->length &&
            memcmp(stk__catalog_key(catalog, a), stk__catalog_key(catalog, b), a->length) == 0)
            return i;
    }
    return count;
}

const stk__entry *stk__catalog_find(const stk__catalog *catalog, const char *key, size_t length)
{
    uint64_t low = 0, high = stk__catalog_count(catalog);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const stk__entry *entry = stk__catalog_at(catalog, middle);
        const int order = stk__catalog_compare(stk__catalog_key(catalog, entry), entry->length, key, length);
        if (order == 0) return entry;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

stk_status stk__catalog_fingerprint(const stk__catalog *catalog, stk__digest *digest, stk_error *error)
{
    stk__hash *hash = NULL;
    STK__TRY(stk__hash_create(&hash, error));
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++) {
        const stk__entry *entry = stk__catalog_at(catalog, i);
        stk__hash_update(hash, stk__catalog_key(catalog, entry), (size_t)entry->length + 1);
    }
    *digest = stk__hash_digest(hash);
    stk__hash_destroy(&hash);
    return STK_OK;
}

void stk__catalog_fini(stk__catalog *catalog)
{
    stk__buffer_fini(&catalog->texts);
    stk__buffer_fini(&catalog->entries);
}
