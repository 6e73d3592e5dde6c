/* SPDX-License-Identifier: Apache-2.0 */
/* The side index of a shard as bytes: head, places, labels, points, keys and flaws in one block with a
 * digest. Decoding trusts nothing: every offset, key and number is checked before the arrays are used in
 * place. */
#include "source/shards/shard_index.h"

#include "source/extension.h"
#include "source/shards/shard_name.h"

#include <math.h>
#include <string.h>

static const char magic[16] = "stoker shard 2\n";
static const uint32_t byte_order = 0x01020304;

enum {
    FLAG_ESCAPED = 1,
    FLAG_MASKS = 2,
    FLAG_LABELS = 4,
    FLAG_POINTS = 8,
    FLAG_UNMARKED = 16,
    FLAG_ALL = 31
};

typedef struct head {
    char magic[16];
    uint32_t byte_order, flags;
    stk__shard_stamp stamp;
    uint64_t count, points_bytes, keys_bytes, flaw_count, texts_bytes;
    stk__digest content; /* of the head with zeros here, and of everything behind it */
} head;

_Static_assert(sizeof(head) == 16 + 8 + 24 + 40 + 16, "no padding: it would not be the same bytes each time");
_Static_assert(sizeof(stk__shard_place) == 16 && sizeof(stk__shard_flaw) == 24, "as stored");

static stk__digest digest_of(const stk__buffer *bytes)
{
    head copy;
    memcpy(&copy, bytes->data, sizeof copy);
    copy.content = (stk__digest){0};
    const stk__digest parts[2] = {stk__digest_of(&copy, sizeof copy),
                                  stk__digest_of(bytes->data + sizeof copy, bytes->size_bytes - sizeof copy)};
    return stk__digest_of(parts, sizeof parts);
}

static head head_of(const stk__shard_draft *draft)
{
    head h = {.byte_order = byte_order,
              .flags = (draft->keys_escaped ? FLAG_ESCAPED : 0u) | (draft->has_masks ? FLAG_MASKS : 0u) |
                       (draft->has_labels ? FLAG_LABELS : 0u) | (draft->has_points ? FLAG_POINTS : 0u) |
                       (draft->unmarked ? FLAG_UNMARKED : 0u),
              .stamp = draft->stamp,
              .count = draft->codes.size_bytes / sizeof(stk__shard_codes),
              .points_bytes = draft->has_points ? draft->points.size_bytes : 0,
              .keys_bytes = draft->keys.size_bytes,
              .flaw_count = draft->flaws.size_bytes / sizeof(stk__shard_flaw),
              .texts_bytes = draft->texts.size_bytes};
    memcpy(h.magic, magic, sizeof magic);
    return h;
}

stk_status stk__shard_index_encode(const stk__shard_draft *draft, stk__buffer *bytes, stk_error *error)
{
    head h = head_of(draft);
    const struct {
        const stk__buffer *part;
        bool used;
    } parts[] = {{&draft->images, true},
                 {&draft->masks, draft->has_masks},
                 {&draft->labels, draft->has_labels},
                 {&draft->flaws, true},
                 {&draft->codes, true},
                 {&draft->point_counts, draft->has_points},
                 {&draft->points, draft->has_points},
                 {&draft->keys, true},
                 {&draft->texts, true}};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    size_t size = sizeof h;
    for (int i = 0; i < PARTS; i++)
        size += parts[i].used ? parts[i].part->size_bytes : 0;
    bytes->size_bytes = 0;
    STK__TRY(stk__buffer_reserve(bytes, size, error));
    STK__TRY(stk__buffer_append(bytes, &h, sizeof h, error));
    for (int i = 0; i < PARTS; i++)
        if (parts[i].used && parts[i].part->size_bytes)
            STK__TRY(stk__buffer_append(bytes, parts[i].part->data, parts[i].part->size_bytes, error));
    h.content = digest_of(bytes);
    memcpy(bytes->data, &h, sizeof h);
    return STK_OK;
}

/* Cuts a part off what is left; NULL when it does not fit. */
static void *take_part(uint8_t **at, uint64_t *left, uint64_t count, uint64_t size)
{
    if (count > *left / size) return NULL;
    void *part = *at;
    *at += count * size;
    *left -= count * size;
    return part;
}

static bool take_parts(const stk__buffer *bytes, const head *h, stk__shard_index *index)
{
    uint8_t *at = bytes->data + sizeof *h;
    uint64_t left = bytes->size_bytes - sizeof *h;
    const uint64_t n = h->count, masks = h->flags & FLAG_MASKS, labels = h->flags & FLAG_LABELS,
                   points = h->flags & FLAG_POINTS;
    const bool fit = (index->images = take_part(&at, &left, n, sizeof *index->images)) &&
                     (!masks || (index->masks = take_part(&at, &left, n, sizeof *index->masks))) &&
                     (!labels || (index->labels = take_part(&at, &left, n, sizeof *index->labels))) &&
                     (index->flaws = take_part(&at, &left, h->flaw_count, sizeof *index->flaws)) &&
                     (index->codes = take_part(&at, &left, n, sizeof *index->codes)) &&
                     (!points || (index->point_counts = take_part(&at, &left, n, sizeof(uint32_t)))) &&
                     (index->points = take_part(&at, &left, h->points_bytes, 1)) &&
                     (index->keys = take_part(&at, &left, h->keys_bytes, 1)) &&
                     (index->texts = take_part(&at, &left, h->texts_bytes, 1));
    return fit && left == 0;
}

/* As many zero-terminated keys as samples, none empty or too long, all bytes used. */
static bool check_keys(const stk__shard_index *index)
{
    const char *at = index->keys, *end = at + index->keys_bytes;
    for (uint32_t i = 0; i < index->count; i++) {
        const char *zero = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        if (!zero || zero == at || zero - at > STK_SHARD_KEY_BYTES) return false;
        at = zero + 1;
    }
    return at == end;
}

static bool check_place(const stk__shard_index *index, const stk__shard_place *place)
{
    const uint64_t size = index->stamp.size_bytes;
    return place->offset <= size && size - place->offset >= STK_TAR_BLOCK_BYTES &&
           size - place->offset - STK_TAR_BLOCK_BYTES >= place->size_bytes;
}

/* Codes of images lie below the prefixes of masks. */
static bool check_code(uint8_t code, unsigned prefixes)
{
    return code == STK_EXTENSION_NONE || code >> STK_SHARD_PREFIX_SHIFT < (int)prefixes;
}

static bool check_label(const stk__shard_index *index, uint32_t i)
{
    const uint8_t has = index->codes[i].has & (STK_SHARD_HAS_CLASS | STK_SHARD_HAS_VALUE);
    if (!has) return true;
    if (!index->labels || !isfinite(index->labels[i])) return false;
    if (has == STK_SHARD_HAS_VALUE) return true;
    return has == STK_SHARD_HAS_CLASS && index->labels[i] >= 0 && index->labels[i] < INT32_MAX;
}

static bool check_samples(const stk__shard_index *index, uint64_t point_floats)
{
    for (uint32_t i = 0; i < index->count; i++) {
        const stk__shard_codes *codes = &index->codes[i];
        const bool bad = codes->has & STK_SHARD_BAD, image = codes->image != STK_EXTENSION_NONE,
                   mask = codes->mask != STK_EXTENSION_NONE;
        if (!check_code(codes->image, 1) || !check_code(codes->mask, 3) || bad == image) return false;
        if (image && !check_place(index, &index->images[i])) return false;
        if (mask && (bad || !index->masks || !check_place(index, &index->masks[i]))) return false;
        if (!check_label(index, i)) return false;
        if (!index->point_counts) continue;
        if (index->point_counts[i] > point_floats / 3) return false;
        point_floats -= 3 * (uint64_t)index->point_counts[i];
    }
    return point_floats == 0;
}

static bool check_points(const stk__shard_index *index, uint64_t point_floats)
{
    for (uint64_t i = 0; i < point_floats; i++)
        if (!isfinite(index->points[i])) return false;
    return true;
}

static bool check_text(const stk__shard_index *index, uint64_t texts_bytes, uint32_t offset)
{
    return offset < texts_bytes && memchr(index->texts + offset, '\0', texts_bytes - offset);
}

stk_damage stk__shard_flaw_damage(const stk__shard_index *index, const stk__shard_flaw *flaw)
{
    const char *word = index->texts + flaw->word;
    for (int damage = 1; damage < STK_DAMAGE_COUNT; damage++)
        if (strcmp(stk_damage_name((stk_damage)damage), word) == 0) return (stk_damage)damage;
    return STK_DAMAGE_NONE;
}

/* One flaw for each bad sample, in their order. */
static bool check_flaws(const stk__shard_index *index, uint64_t texts_bytes)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < index->count; i++) {
        if (!(index->codes[i].has & STK_SHARD_BAD)) continue;
        if (next == index->flaw_count) return false;
        const stk__shard_flaw *flaw = &index->flaws[next++];
        if (flaw->sample != i || !check_text(index, texts_bytes, flaw->word) ||
            !check_text(index, texts_bytes, flaw->member) || !check_text(index, texts_bytes, flaw->detail))
            return false;
        if (stk__shard_flaw_damage(index, flaw) == STK_DAMAGE_NONE) return false;
    }
    return next == index->flaw_count;
}

const char *stk__shard_index_decode(const stk__buffer *bytes, stk__shard_index *index)
{
    head h;
    if (bytes->size_bytes < sizeof h) return "it is truncated";
    memcpy(&h, bytes->data, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.byte_order != byte_order)
        return "it has another version, or is not an index";
    const stk__digest content = digest_of(bytes);
    if (memcmp(&content, &h.content, sizeof content) != 0) return "its checksum does not match";
    *index = (stk__shard_index){.stamp = h.stamp,
                                .keys_escaped = h.flags & FLAG_ESCAPED,
                                .unmarked = h.flags & FLAG_UNMARKED,
                                .count = (uint32_t)h.count,
                                .keys_bytes = h.keys_bytes,
                                .flaw_count = (uint32_t)h.flaw_count};
    if (h.flags & ~(uint32_t)FLAG_ALL || h.count > UINT32_MAX - 1 || h.flaw_count > h.count ||
        h.points_bytes % (3 * sizeof(float)) != 0 || !take_parts(bytes, &h, index))
        return "its sections are inconsistent";
    const uint64_t point_floats = h.points_bytes / sizeof(float);
    if (!check_keys(index) || !check_samples(index, point_floats) || !check_points(index, point_floats) ||
        !check_flaws(index, h.texts_bytes))
        return "its numbers are inconsistent";
    return NULL;
}
