/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of contents in a flat array: added in any order, sorted in place byte by byte (American flag sort:
 * digests are spread evenly, so a bucket has few entries after three bytes), then equal ones are neighbors.
 * No lock: the caller has one. */
#include "session/stats/content_index.h"

#include <string.h>

enum { KEY_BYTES = 16, FEW = 24 };

stk_status stk__content_index_open(stk__content_index *index, uint64_t capacity, stk_error *error)
{
    *index = (stk__content_index){0};
    if (!capacity) return STK_OK;
    index->entries = stk__map(capacity * sizeof *index->entries);
    if (!index->entries)
        return stk__fail_memory(error, capacity * sizeof *index->entries, "the digests of the files");
    index->capacity = capacity;
    return STK_OK;
}

void stk__content_index_close(stk__content_index *index)
{
    if (index->entries) stk__unmap(index->entries, index->capacity * sizeof *index->entries);
    *index = (stk__content_index){0};
}

void stk__content_index_add(stk__content_index *index, uint64_t id, stk__digest digest)
{
    if (index->count == index->capacity) return;
    index->entries[index->count++] =
        (stk__content_entry){.high = digest.high, .low = (uint32_t)digest.low, .id = (uint32_t)id};
}

/* --- sorting: by digest, equal ones by id ---------------------------------------------------------------
 */

static int compare_contents(const stk__content_entry *a, const stk__content_entry *b)
{
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return a->low == b->low ? 0 : a->low < b->low ? -1 : 1;
}

static bool is_before(const stk__content_entry *a, const stk__content_entry *b)
{
    const int order = compare_contents(a, b);
    return order ? order < 0 : a->id < b->id;
}

/* Byte 0 is the most significant. */
static unsigned byte_of(const stk__content_entry *entry, int byte)
{
    if (byte < 8) return (unsigned)(entry->high >> (56 - 8 * byte)) & 255;
    return ((byte < 12 ? entry->low : entry->id) >> (24 - 8 * (byte & 3))) & 255;
}

static void sort_few(stk__content_entry *entries, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const stk__content_entry moved = entries[i];
        uint64_t at = i;
        for (; at > 0 && is_before(&moved, &entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = moved;
    }
}

/* Each entry is swapped to the next free place of its bucket until every bucket is full. */
static void sort_from(stk__content_entry *entries, uint64_t count, int byte)
{
    uint64_t next[256] = {0}, end[256], start = 0;
    if (count <= FEW || byte == KEY_BYTES) {
        sort_few(entries, count);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        next[byte_of(&entries[i], byte)]++;
    for (int b = 0; b < 256; b++) {
        const uint64_t size = next[b];
        next[b] = start;
        start += size;
        end[b] = start;
    }
    for (unsigned b = 0; b < 256; b++)
        while (next[b] < end[b]) {
            const unsigned home = byte_of(&entries[next[b]], byte);
            const stk__content_entry moved = entries[next[b]];
            entries[next[b]] = entries[next[home]];
            entries[next[home]++] = moved;
        }
    start = 0;
    for (int b = 0; b < 256; b++) {
        sort_from(entries + start, end[b] - start, byte + 1);
        start = end[b];
    }
}

void stk__content_index_sort(stk__content_index *index)
{
    sort_from(index->entries, index->count, 0);
}

/* --- matches --------------------------------------------------------------------------------------------
 */

static uint64_t group_end(const stk__content_index *index, uint64_t first)
{
    uint64_t end = first + 1;
    while (end < index->count && compare_contents(&index->entries[first], &index->entries[end]) == 0)
        end++;
    return end;
}

static void keep_lowest(stk__content_matches *matches, uint32_t a, uint32_t b)
{
    if (matches->example[0] >= 0 && matches->example[0] <= (int64_t)a) return;
    matches->example[0] = (int64_t)a;
    matches->example[1] = (int64_t)b;
}

stk__content_matches stk__content_index_duplicates(const stk__content_index *index)
{
    stk__content_matches matches = {.example = {-1, -1}};
    for (uint64_t i = 0, end; i < index->count; i = end) {
        end = group_end(index, i);
        if (end - i < 2) continue;
        matches.groups++;
        matches.samples += end - i - 1;
        keep_lowest(&matches, index->entries[i].id, index->entries[i + 1].id);
    }
    return matches;
}

stk__content_matches stk__content_index_overlap(const stk__content_index *index,
                                                const stk__content_index *other)
{
    stk__content_matches matches = {.example = {-1, -1}};
    uint64_t k = 0;
    for (uint64_t i = 0, end; i < index->count; i = end) {
        end = group_end(index, i);
        while (k < other->count && compare_contents(&other->entries[k], &index->entries[i]) < 0)
            k++;
        if (k == other->count || compare_contents(&other->entries[k], &index->entries[i]) != 0) continue;
        matches.groups++;
        matches.samples += end - i;
        keep_lowest(&matches, index->entries[i].id, other->entries[k].id);
    }
    return matches;
}
