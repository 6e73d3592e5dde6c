/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the kernel what is soon needed. */
#include "source/extension.h"
#include "source/shards/shards.h"

#include <fcntl.h>

/* Bytes of a shard that are soon needed. */
typedef struct span {
    uint32_t part;
    uint64_t start, end; /* equal: nothing */
} span;

static void ask_for(const stk__shards *shards, const span *s)
{
    stk__shard_loan loan;
    if (s->start == s->end || stk__shards_borrow(shards, s->part, &loan, NULL) != STK_OK) return;
    posix_fadvise(loan.file, (off_t)s->start, (off_t)(s->end - s->start), POSIX_FADV_WILLNEED);
    stk__shard_files_return(shards->open_files, loan);
}

static uint64_t end_of(const stk__shard_place *place)
{
    return place->offset + STK_TAR_BLOCK_BYTES + place->size_bytes;
}

static span span_of(const stk__shards *shards, uint64_t id)
{
    const stk__entry *entry = stk__catalog_at(&shards->files.catalog, id);
    if (entry->extension == STK_EXTENSION_OTHER) return (span){0};
    const stk__shard_place *image = stk__shards_image(shards, entry->row);
    span s = {stk__shards_part_of(shards, entry->row), image->offset, end_of(image)};
    if (entry->mask_extension == STK_EXTENSION_NONE) return s;
    const stk__shard_place *mask = stk__shards_mask(shards, entry->row);
    if (mask->offset < s.start) s.start = mask->offset;
    if (end_of(mask) > s.end) s.end = end_of(mask);
    return s;
}

void stk__shards_hint(const stk__source *source, uint64_t id)
{
    const stk__shards *shards = stk__shards_of(source);
    const span s = span_of(shards, id);
    ask_for(shards, &s);
}

/* Neighbours in a shard are asked for together, with the small fields between them. */
void stk__shards_hint_run(const stk__source *source, uint64_t first, uint64_t count)
{
    enum { GAP_BYTES = 1 << 16 };
    const stk__shards *shards = stk__shards_of(source);
    span run = {0};
    for (uint64_t id = first; id < first + count; id++) {
        const span s = span_of(shards, id);
        if (s.start == s.end) continue;
        const bool near = s.part == run.part && run.end > run.start && s.start >= run.start &&
                          s.start <= run.end + GAP_BYTES;
        if (near) {
            if (s.end > run.end) run.end = s.end;
            continue;
        }
        ask_for(shards, &run);
        run = s;
    }
    ask_for(shards, &run);
}
