/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are: the shard, the member and the offset of a sample, the flaw of a bad one. */
#include "source/extension.h"
#include "source/kinds.h"
#include "source/shards/shard_name.h"
#include "source/shards/shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint32_t stk__shards_part_of(const stk__shards *shards, uint32_t row)
{
    uint32_t low = 0, high = shards->part_count - 1;
    while (
        low <
        high) { /* the last part that does not begin behind the row: empty ones begin where the next does */
        const uint32_t middle = low + (high - low + 1) / 2;
        if (shards->parts[middle].first_row <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

const stk__shards_flaw *stk__shards_flaw_of(const stk__shards *shards, uint32_t row)
{
    const stk__shards_flaw *flaws = (const stk__shards_flaw *)(const void *)shards->flaws.data;
    size_t low = 0, high = shards->flaws.size_bytes / sizeof *flaws - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (flaws[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return &flaws[low];
}

void stk__shards_member(const stk__shards *shards, const stk__entry *entry, uint8_t code, char *text,
                        size_t size)
{
    const uint32_t part = stk__shards_part_of(shards, entry->row);
    const char *key = stk__catalog_key(&shards->files.catalog, entry);
    if (shards->prefixed) key += strlen(stk__shards_name(shards, part)) + 1;
    stk__shard_name_join(key, code, shards->parts[part].keys_escaped, text, size);
}

/* "folder/x.tar!a/1.jpg@1536", the offset being that of the member's header; without a member
 * "folder/x.tar@1536". */
static void print_place(const stk__shards *shards, uint32_t row, const char *member, uint64_t offset,
                        char *text, size_t size)
{
    snprintf(text, size, "%s/%s%s%s@%" PRIu64, shards->files.images,
             stk__shards_name(shards, stk__shards_part_of(shards, row)), *member ? "!" : "", member, offset);
}

void stk__shards_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    const stk__shards *shards = stk__shards_of(source);
    const stk__entry *entry = stk__catalog_at(&shards->files.catalog, id);
    char member[STK_TAR_NAME_BYTES + 16];
    if (entry->extension == STK_EXTENSION_OTHER) {
        const stk__shards_flaw *flaw = stk__shards_flaw_of(shards, entry->row);
        print_place(shards, entry->row, (const char *)shards->texts.data + flaw->member, flaw->offset, text,
                    size);
        return;
    }
    const bool mask = field == STK_FIELD_MASK && entry->mask_extension != STK_EXTENSION_NONE;
    stk__shards_member(shards, entry, mask ? entry->mask_extension : entry->extension, member, sizeof member);
    const stk__shard_place *place =
        mask ? stk__shards_mask(shards, entry->row) : stk__shards_image(shards, entry->row);
    print_place(shards, entry->row, member, place->offset, text, size);
}

/* That of its whole shard. */
bool stk__shards_stamp(const stk__source *source, uint64_t id, stk__field field, stk__file_stamp *stamp)
{
    const stk__shards *shards = stk__shards_of(source);
    const stk__entry *entry = stk__catalog_at(&shards->files.catalog, id);
    char path[PATH_MAX];
    (void)field;
    return stk__path_join(path, shards->files.images,
                          stk__shards_name(shards, stk__shards_part_of(shards, entry->row))) &&
           stk__file_stamp_add(stamp, path);
}
