/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the indexes of all shards together. */
#include "core/logger.h"
#include "core/pool.h"
#include "source/extension.h"
#include "source/shards/pack_note.h"
#include "source/shards/shards.h"

#include <stdio.h>
#include <string.h>

/* All bits set: NaN. */
enum { MISSING_BYTE = 0xFF };

/* What has been read so far. */
typedef struct loading {
    stk__shards *shards;
    uint32_t rows;
    stk__label_kind label; /* of the first sample that has one */
    int32_t point_count;   /* likewise */
    uint32_t built, unstored;
    uint32_t unmarked, first_unmarked; /* shards that just end, and the first of them */
} loading;

static stk_status add_text(stk__shards *shards, const char *text, uint64_t *offset, stk_error *error)
{
    size_t at;
    STK__TRY(stk__buffer_text(&shards->texts, text, strlen(text), &at, error));
    *offset = at;
    return STK_OK;
}

stk_status stk__shards_add_flaw(stk__shards *shards, stk__shards_flaw *flaw, const char *member,
                                const char *detail, stk_error *error)
{
    STK__TRY(add_text(shards, member, &flaw->member, error));
    STK__TRY(add_text(shards, detail, &flaw->detail, error));
    return stk__buffer_append(&shards->flaws, flaw, sizeof *flaw, error);
}

/* Makes a part as long as so many rows, with nothing in the new ones. */
static stk_status pad_rows(stk__buffer *part, uint64_t rows, size_t row_bytes, int byte, stk_error *error)
{
    const size_t size = (size_t)rows * row_bytes;
    if (size <= part->size_bytes) return STK_OK;
    STK__TRY(stk__buffer_reserve(part, size, error));
    memset(part->data + part->size_bytes, byte, size - part->size_bytes);
    part->size_bytes = size;
    return STK_OK;
}

static stk_status add_keys(loading *l, const stk__shard_index *index, uint32_t part, stk_error *error)
{
    stk__catalog *catalog = &l->shards->files.catalog;
    const char *key = index->keys;
    char named[PATH_MAX + 32];
    for (uint32_t i = 0; i < index->count; i++, key += strlen(key) + 1) {
        const stk__shard_codes *codes = &index->codes[i];
        const char *used = key;
        if (codes->has & STK_SHARD_NAMELESS) {
            snprintf(named, sizeof named, "%s%s", stk__shards_name(l->shards, part), key);
            used = named;
        }
        STK__TRY(stk__catalog_add(catalog, used, strlen(used), l->rows + i, error));
        stk__entry *entry = stk__catalog_at(catalog, stk__catalog_count(catalog) - 1);
        entry->extension = codes->has & STK_SHARD_BAD ? STK_EXTENSION_OTHER : codes->image;
        entry->mask_extension = codes->mask;
    }
    return STK_OK;
}

static stk_status add_masks(loading *l, const stk__shard_index *index, stk_error *error)
{
    stk__buffer *masks = &l->shards->masks;
    if (!index->masks) return STK_OK;
    STK__TRY(pad_rows(masks, l->rows, sizeof *index->masks, 0, error));
    return stk__buffer_append(masks, index->masks, index->count * sizeof *index->masks, error);
}

static stk_status add_labels(loading *l, const stk__shard_index *index, stk_error *error)
{
    stk__buffer *labels = &l->shards->labels;
    if (!index->labels) return STK_OK;
    STK__TRY(pad_rows(labels, l->rows + index->count, sizeof(double), MISSING_BYTE, error));
    double *label = (double *)(void *)labels->data + l->rows;
    for (uint32_t i = 0; i < index->count; i++) {
        const unsigned has = index->codes[i].has & (STK_SHARD_HAS_CLASS | STK_SHARD_HAS_VALUE);
        const stk__label_kind kind = has == STK_SHARD_HAS_CLASS ? STK_LABEL_CLASS : STK_LABEL_VALUE;
        if (!has) continue;
        if (l->label == STK_LABEL_NONE) l->label = kind;
        if (l->label == kind) label[i] = index->labels[i];
    }
    return STK_OK;
}

static stk_status add_points(loading *l, const stk__shard_index *index, stk_error *error)
{
    if (!index->point_counts) return STK_OK;
    const float *from = index->points;
    for (uint32_t i = 0; i < index->count; i++) {
        const uint32_t count = index->point_counts[i];
        if (count && !l->point_count) l->point_count = (int32_t)count;
        const size_t row_bytes = (size_t)l->point_count * 3 * sizeof(float);
        if (count && count == (uint32_t)l->point_count) {
            STK__TRY(pad_rows(&l->shards->points, l->rows + i, row_bytes, MISSING_BYTE, error));
            STK__TRY(stk__buffer_append(&l->shards->points, from, row_bytes, error));
        }
        from += (size_t)count * 3;
    }
    return STK_OK;
}

static stk_status add_flaws(loading *l, const stk__shard_index *index, stk_error *error)
{
    for (uint32_t i = 0; i < index->flaw_count; i++) {
        const stk__shard_flaw *from = &index->flaws[i];
        stk__shards_flaw flaw = {.offset = from->offset,
                                 .row = l->rows + from->sample,
                                 .damage = stk__shard_flaw_damage(index, from)};
        STK__TRY(stk__shards_add_flaw(l->shards, &flaw, index->texts + from->member,
                                      index->texts + from->detail, error));
    }
    return STK_OK;
}

static stk_status add_index(loading *l, const stk__shard_index *index, uint32_t part, stk_error *error)
{
    stk__shards *shards = l->shards;
    if (index->count > UINT32_MAX - 1 - l->rows)
        return stk__fail(error, STK_ERROR_DATA, "more than 4294967294 samples");
    shards->parts[part].first_row = l->rows;
    shards->parts[part].keys_escaped = index->keys_escaped;
    shards->parts[part].stamp = index->stamp;
    STK__TRY(add_keys(l, index, part, error));
    if (index->count)
        STK__TRY(
            stk__buffer_append(&shards->images, index->images, index->count * sizeof *index->images, error));
    STK__TRY(add_masks(l, index, error));
    STK__TRY(add_labels(l, index, error));
    STK__TRY(add_points(l, index, error));
    STK__TRY(add_flaws(l, index, error));
    if (index->unmarked && l->unmarked++ == 0) l->first_unmarked = part;
    l->rows += index->count;
    return STK_OK;
}

/* The index of one shard, got by any thread. */
typedef struct piece {
    char path[PATH_MAX];
    stk__buffer bytes; /* kept for the next shard */
    stk__shard_index index;
    stk__shard_origin origin;
    stk_status status;
    stk_error error;
} piece;

static void get_piece(void *context, size_t item, int worker)
{
    (void)worker;
    piece *p = (piece *)context + item;
    p->status = stk__shard_index_get(p->path, &p->bytes, &p->index, &p->origin, &p->error);
}

/* Storage that is slow to answer is asked for several shards at once; few are not worth the threads. */
static void get_pieces(piece *pieces, uint32_t count)
{
    enum { FEW = 4, AT_ONCE = 8 };
    const stk__pool_job job = {.run = get_piece, .context = pieces, .count = count, .workers = AT_ONCE};
    if (count >= FEW)
        stk__pool_run(&job);
    else
        for (uint32_t i = 0; i < count; i++)
            get_piece(pieces, i, 0);
}

static stk_status load_pieces(loading *l, piece *pieces, uint32_t first, uint32_t count, stk_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *name = stk__shards_name(l->shards, first + i);
        if (!stk__path_join(pieces[i].path, l->shards->files.images, name))
            return stk__fail(error, STK_ERROR_IO, "the path of the shard '%.80s' is too long", name);
    }
    get_pieces(pieces, count);
    for (uint32_t i = 0; i < count; i++) {
        const piece *p = &pieces[i];
        if (p->status != STK_OK && error) *error = p->error;
        STK__TRY(p->status);
        l->built += p->origin != STK_SHARD_FOUND;
        l->unstored += p->origin == STK_SHARD_UNSTORED;
        STK__TRY(add_index(l, &p->index, first + i, error));
    }
    return STK_OK;
}

enum { ROW_PARTS = 6 };

/* The memory that grows with the samples. */
static void list_row_parts(stk__shards *shards, stk__buffer *parts[ROW_PARTS])
{
    stk__buffer *const all[ROW_PARTS] = {&shards->files.catalog.texts,
                                         &shards->files.catalog.entries,
                                         &shards->images,
                                         &shards->masks,
                                         &shards->labels,
                                         &shards->points};
    memcpy(parts, all, sizeof all);
}

/* Shards are mostly alike: what the first ones took tells what all will take, a twentieth more to be sure. */
static void reserve_ahead(stk__shards *shards, uint32_t done)
{
    stk__buffer *parts[ROW_PARTS];
    list_row_parts(shards, parts);
    for (int i = 0; done < shards->part_count && i < ROW_PARTS; i++) {
        const double share = (double)parts[i]->size_bytes / done, most = share * shards->part_count * 1.05;
        stk__buffer_reserve(parts[i], (size_t)most, NULL); /* without, it grows as it must */
    }
}

/* Gives back what was reserved for nothing. */
static void trim(stk__buffer *part)
{
    stk__buffer exact = {0};
    if (part->capacity_bytes - part->size_bytes <= part->size_bytes / 8) return;
    if (stk__buffer_append(&exact, part->data, part->size_bytes, NULL) != STK_OK) return;
    stk__buffer_fini(part);
    *part = exact;
}

static void trim_all(stk__shards *shards)
{
    stk__buffer *parts[ROW_PARTS];
    list_row_parts(shards, parts);
    for (int i = 0; i < ROW_PARTS; i++)
        trim(parts[i]);
}

static stk_status load_all_pieces(loading *l, stk_error *error)
{
    enum { PIECES = 32 };
    const uint32_t most = l->shards->part_count < PIECES ? l->shards->part_count : PIECES;
    piece *pieces = stk__alloc(most * sizeof *pieces);
    if (!pieces) return stk__fail_memory(error, most * sizeof *pieces, "indexes of shards");
    stk_status status = STK_OK;
    for (uint32_t first = 0; first < l->shards->part_count && status == STK_OK; first += most) {
        const uint32_t left = l->shards->part_count - first;
        status = load_pieces(l, pieces, first, left < most ? left : most, error);
        if (status == STK_OK && left > most) reserve_ahead(l->shards, first + most);
    }
    for (uint32_t i = 0; i < most; i++)
        stk__buffer_fini(&pieces[i].bytes);
    stk__free(pieces);
    return status;
}

static stk_status load_parts(loading *l, stk_error *error)
{
    stk__shards *shards = l->shards;
    shards->part_count = (uint32_t)stk__catalog_count(&shards->shards);
    shards->parts = stk__alloc(shards->part_count * sizeof *shards->parts);
    if (!shards->parts)
        return stk__fail_memory(error, shards->part_count * sizeof *shards->parts, "the shards");
    for (uint32_t i = 0; i < shards->part_count; i++)
        shards->parts[i].name = stk__catalog_at(&shards->shards, i)->offset;
    STK__TRY(load_all_pieces(l, error));
    STK__TRY(pad_rows(&shards->masks, shards->masks.data ? l->rows : 0, sizeof(stk__shard_place), 0, error));
    STK__TRY(
        pad_rows(&shards->labels, shards->labels.data ? l->rows : 0, sizeof(double), MISSING_BYTE, error));
    return pad_rows(&shards->points, l->point_count ? l->rows : 0, (size_t)l->point_count * 3 * sizeof(float),
                    MISSING_BYTE, error);
}

static void tell_built(const loading *l)
{
    const stk__shards *shards = l->shards;
    if (!l->built) return;
    stk__log(STK_LOG_INFO, "indexed %u of %u shard%s in '%s'", l->built, shards->part_count,
             stk__plural(shards->part_count), shards->files.images);
    if (l->unstored)
        stk__log(STK_LOG_WARNING,
                 "indexes of %u shard%s in '%s' cannot be stored there or in the user's cache: they are "
                 "rebuilt each time",
                 l->unstored, stk__plural(l->unstored), shards->files.images);
}

static void tell_unmarked(const loading *l)
{
    if (!l->unmarked) return;
    stk__log(STK_LOG_WARNING,
             "'%s/%s'%s without the tar end-of-archive marker: truncated, samples may be missing",
             l->shards->files.images, stk__shards_name(l->shards, l->first_unmarked),
             l->unmarked == 1 ? " ends" : " and other shards end");
}

stk_status stk__shards_load(stk__shards *shards, const stk__site *site, stk_error *error)
{
    loading l = {.shards = shards};
    STK__TRY(load_parts(&l, error));
    trim_all(shards);
    tell_built(&l);
    tell_unmarked(&l);
    shards->files.source.info.label = l.label;
    shards->files.source.info.point_count = l.point_count;
    STK__TRY(stk__shards_finish(shards, site, error));
    stk__pack_note_tell(shards, site);
    return STK_OK;
}
