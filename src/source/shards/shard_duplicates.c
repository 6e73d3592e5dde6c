/* SPDX-License-Identifier: Apache-2.0 */
/* Samples whose members do not stand together: what was met first stays, as a bad sample. */
#include "source/extension.h"
#include "source/shards/shard_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static stk__shard_codes *codes_at(const stk__shard_builder *b, uint64_t row)
{
    return (stk__shard_codes *)(void *)b->draft.codes.data + row;
}

/* The first sample of a key gets a flaw that tells where its second part begins. */
static stk_status blame_first(stk__shard_builder *b, const stk__entry *first, const stk__entry *second,
                              stk_error *error)
{
    stk__shard_codes *codes = codes_at(b, first->row);
    if (codes->has & STK_SHARD_BAD) return STK_OK;
    char detail[96];
    const uint64_t *starts = (const uint64_t *)(const void *)b->starts.data;
    snprintf(detail, sizeof detail,
             "duplicate sample: its members begin at offset %" PRIu64 " and again at %" PRIu64,
             starts[first->row], starts[second->row]);
    const stk__shard_blame blame = {STK_DAMAGE_SCATTERED, starts[second->row],
                                    stk__catalog_key(&b->keys, first), detail};
    stk__shard_flaw flaw = {.sample = first->row};
    STK__TRY(stk__shard_blame_keep(b, &blame, &flaw, error));
    STK__TRY(stk__buffer_append(&b->draft.flaws, &flaw, sizeof flaw, error));
    *codes =
        (stk__shard_codes){.image = STK_EXTENSION_NONE, .mask = STK_EXTENSION_NONE, .has = STK_SHARD_BAD};
    return STK_OK;
}

static int compare_flaws(const void *left, const void *right)
{
    const stk__shard_flaw *a = left, *b = right;
    return (a->sample > b->sample) - (a->sample < b->sample);
}

/* Moves the rows that stay to the front of a part. */
static void pack_rows(stk__buffer *part, size_t size, const uint8_t *dropped, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t row = 0; row < count; row++)
        if (!dropped[row]) memmove(part->data + size * kept++, part->data + size * row, size);
    part->size_bytes = (size_t)kept * size;
}

static void pack_keys(stk__buffer *keys, const uint8_t *dropped, uint64_t count)
{
    uint8_t *from = keys->data, *to = from;
    for (uint64_t row = 0; row < count; row++) {
        const size_t size = strlen((const char *)from) + 1;
        if (!dropped[row]) {
            memmove(to, from, size);
            to += size;
        }
        from += size;
    }
    keys->size_bytes = (size_t)(to - keys->data);
}

/* Points of bad and dropped samples go. */
static void pack_points(stk__shard_builder *b, const uint8_t *dropped, uint64_t count)
{
    uint32_t *counts = (uint32_t *)(void *)b->draft.point_counts.data;
    uint8_t *from = b->draft.points.data, *to = from;
    for (uint64_t row = 0; from && row < count; row++) {
        const size_t size = counts[row] * 3 * sizeof(float);
        if (dropped[row] || (codes_at(b, row)->has & STK_SHARD_BAD)) {
            counts[row] = 0;
        } else {
            memmove(to, from, size);
            to += size;
        }
        from += size;
    }
    b->draft.points.size_bytes = (size_t)(to - b->draft.points.data);
}

static void pack_flaws(stk__shard_builder *b, const uint8_t *dropped)
{
    stk__shard_flaw *flaws = (stk__shard_flaw *)(void *)b->draft.flaws.data;
    const size_t count = b->draft.flaws.size_bytes / sizeof *flaws;
    size_t kept = 0;
    uint32_t row = 0, gone = 0;
    qsort(flaws, count, sizeof *flaws, compare_flaws);
    for (size_t i = 0; i < count; i++) {
        stk__shard_flaw flaw = flaws[i];
        for (; row < flaw.sample; row++)
            gone += dropped[row];
        if (dropped[flaw.sample]) continue;
        flaw.sample -= gone;
        flaws[kept++] = flaw;
    }
    b->draft.flaws.size_bytes = kept * sizeof *flaws;
}

static void drop_rows(stk__shard_builder *b, const uint8_t *dropped, uint64_t count)
{
    stk__shard_draft *draft = &b->draft;
    pack_flaws(b, dropped);
    pack_points(b, dropped, count);
    pack_keys(&draft->keys, dropped, count);
    pack_rows(&draft->images, sizeof(stk__shard_place), dropped, count);
    pack_rows(&draft->masks, sizeof(stk__shard_place), dropped, count);
    pack_rows(&draft->labels, sizeof(double), dropped, count);
    pack_rows(&draft->point_counts, sizeof(uint32_t), dropped, count);
    pack_rows(&draft->codes, sizeof(stk__shard_codes), dropped, count);
}

stk_status stk__shard_merge_duplicates(stk__shard_builder *b, stk_error *error)
{
    const uint64_t named = stk__catalog_count(&b->keys),
                   count = b->draft.codes.size_bytes / sizeof(stk__shard_codes);
    stk__catalog_sort(&b->keys);
    uint64_t i = stk__catalog_duplicate(&b->keys, 0);
    if (i == named) return STK_OK;
    uint8_t *dropped = stk__alloc((size_t)count);
    if (!dropped) return stk__fail_memory(error, count, "the index of a shard");
    stk_status status = STK_OK;
    for (; i < named && status == STK_OK; i = stk__catalog_duplicate(&b->keys, i + 1)) {
        const stk__entry *first = stk__catalog_at(&b->keys, i), *second = first + 1;
        /* the third of a key finds the second dropped, and the first one blamed */
        if (!dropped[first->row]) status = blame_first(b, first, second, error);
        dropped[second->row] = 1;
    }
    if (status == STK_OK) drop_rows(b, dropped, count);
    stk__free(dropped);
    return status;
}
