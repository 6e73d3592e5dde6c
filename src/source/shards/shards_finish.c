/* SPDX-License-Identifier: Apache-2.0 */
/* When all samples are known: their order, and what single ones lack that the others have. */
#include "core/logger.h"
#include "source/extension.h"
#include "source/shards/shards.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_flaws(const void *left, const void *right)
{
    const stk__shards_flaw *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

static void sort_flaws(stk__shards *shards)
{
    const size_t count = shards->flaws.size_bytes / sizeof(stk__shards_flaw);
    if (count > 1) qsort(shards->flaws.data, count, sizeof(stk__shards_flaw), compare_flaws);
}

/* A name of a shard instead of a member's: such a sample has no key of its own. */
static bool is_nameless(const stk__shards *shards, const stk__entry *entry)
{
    if (entry->extension != STK_EXTENSION_OTHER) return false;
    const stk__shards_flaw *flaw = stk__shards_flaw_of(shards, entry->row);
    return ((const char *)shards->texts.data)[flaw->member] == '\0';
}

/* Puts the names of the shards before all keys. */
static stk_status prefix_keys(stk__shards *shards, stk__catalog *prefixed, stk_error *error)
{
    const stk__catalog *plain = &shards->files.catalog;
    char key[2 * PATH_MAX];
    for (uint64_t i = 0; i < stk__catalog_count(plain); i++) {
        const stk__entry *entry = stk__catalog_at(plain, i);
        const char *name = stk__shards_name(shards, stk__shards_part_of(shards, entry->row));
        const bool nameless = is_nameless(shards, entry);
        const int length = snprintf(key, sizeof key, "%s%s%s", nameless ? "" : name, nameless ? "" : "/",
                                    stk__catalog_key(plain, entry));
        STK__TRY(stk__catalog_add(prefixed, key, (size_t)length, entry->row, error));
        stk__entry *added = stk__catalog_at(prefixed, i);
        added->extension = entry->extension;
        added->mask_extension = entry->mask_extension;
    }
    return STK_OK;
}

/* Keys that several shards have tell nothing apart: then the shard is a part of every key. */
static stk_status tell_apart(stk__shards *shards, uint64_t duplicate, stk_error *error)
{
    stk__catalog *catalog = &shards->files.catalog, prefixed = {0};
    const stk__entry *first = stk__catalog_at(catalog, duplicate);
    stk__log(
        STK_LOG_WARNING,
        "duplicate sample '%s' in '%s' and '%s': the keys of all samples get their shard's name as a prefix",
        stk__catalog_key(catalog, first), stk__shards_name(shards, stk__shards_part_of(shards, first->row)),
        stk__shards_name(shards, stk__shards_part_of(shards, first[1].row)));
    const stk_status status = prefix_keys(shards, &prefixed, error);
    stk__catalog_fini(status == STK_OK ? catalog : &prefixed);
    if (status != STK_OK) return status;
    *catalog = prefixed;
    shards->prefixed = true;
    stk__catalog_sort(catalog);
    return stk__files_refuse_duplicates(catalog, shards->files.images, error);
}

static stk_status order_keys(stk__shards *shards, stk_error *error)
{
    stk__catalog *catalog = &shards->files.catalog;
    stk__catalog_sort(catalog);
    const uint64_t duplicate = stk__catalog_duplicate(catalog, 0);
    if (duplicate < stk__catalog_count(catalog)) STK__TRY(tell_apart(shards, duplicate, error));
    return stk__files_finish(&shards->files, error);
}

/* What is wrong with the facts of a good sample; empty: nothing. */
static void judge_facts(const stk__shards *shards, uint32_t row, char fault[96])
{
    const stk__source_info *info = &shards->files.source.info;
    const int32_t classes = shards->files.classes.count;
    fault[0] = '\0';
    if (info->label != STK_LABEL_NONE) {
        const double label = stk__shards_label(shards, row);
        if (isnan(label))
            snprintf(fault, 96, "the field '%s' is missing, other samples have it",
                     info->label == STK_LABEL_CLASS ? "cls" : "value");
        else if (info->label == STK_LABEL_CLASS && classes && label >= classes)
            snprintf(fault, 96, "cls is %.0f, but classes.txt has %d names", label, (int)classes);
    }
    if (!fault[0] && info->point_count && isnan(stk__shards_points(shards, row)[0]))
        snprintf(fault, 96, "not the %d points in 'points.json' that other samples have",
                 (int)info->point_count);
}

static stk_status judge_all(stk__shards *shards, stk_error *error)
{
    stk__source_info *info = &shards->files.source.info;
    char fault[96];
    if (info->label == STK_LABEL_NONE && !info->point_count) return STK_OK;
    for (uint64_t id = 0; id < info->count; id++) {
        stk__entry *entry = stk__catalog_at(&shards->files.catalog, id);
        if (entry->extension == STK_EXTENSION_OTHER) continue;
        judge_facts(shards, entry->row, fault);
        if (!fault[0]) continue;
        char member[STK_TAR_NAME_BYTES + 16];
        stk__shards_member(shards, entry, entry->extension, member, sizeof member);
        stk__shards_flaw flaw = {.offset = stk__shards_image(shards, entry->row)->offset,
                                 .row = entry->row,
                                 .damage = STK_DAMAGE_BAD_FIELD};
        STK__TRY(stk__shards_add_flaw(shards, &flaw, member, fault, error));
        entry->extension = STK_EXTENSION_OTHER;
    }
    sort_flaws(shards);
    return STK_OK;
}

/* Without classes.txt the highest number tells how many there are. */
static void count_classes(stk__shards *shards)
{
    stk__source_info *info = &shards->files.source.info;
    stk__classes_tell(&shards->files.classes, info);
    if (info->label != STK_LABEL_CLASS || info->class_count) return;
    double highest = -1;
    for (uint32_t row = 0; row < info->count; row++)
        if (stk__shards_label(shards, row) > highest) highest = stk__shards_label(shards, row);
    info->class_count = (int32_t)highest + 1;
}

static stk_status refuse_empty(const stk__site *site, stk_error *error)
{
    const char *where = *site->file ? site->file : site->root;
    stk__fail(error, STK_ERROR_DATA, "the shards %s'%s' have no samples", *site->file ? "" : "in ", where);
    stk__error_place(error, "%s", where);
    stk__error_hint(error, "a sample is a set of members such as 'a/1.jpg' and 'a/1.cls'");
    return STK_ERROR_DATA;
}

stk_status stk__shards_finish(stk__shards *shards, const stk__site *site, stk_error *error)
{
    stk__source_info *info = &shards->files.source.info;
    sort_flaws(shards);
    STK__TRY(order_keys(shards, error));
    if (info->count == 0) return refuse_empty(site, error);
    STK__TRY(stk__classes_read(&shards->files.classes, site, error));
    STK__TRY(stk__shards_name_points(shards, site, error));
    STK__TRY(judge_all(shards, error));
    count_classes(shards);
    info->images = true;
    info->masks = shards->masks.size_bytes > 0;
    return STK_OK;
}
