/* SPDX-License-Identifier: Apache-2.0 */
/* images/ and masks/: a mask belongs to the image with the same path, whatever their extensions. */
#include "core/file.h"
#include "core/logger.h"
#include "source/extension.h"
#include "source/files.h"
#include "source/scan.h"

#include <stdio.h>
#include <string.h>

static stk_status pairs_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                              stk_error *error)
{
    (void)source;
    (void)id;
    (void)error;
    *facts = (stk__sample_facts){0};
    return STK_OK;
}

/* Where the mask is, or for a missing one where it might be. */
static void mask_path(const stk__files *files, const stk__entry *entry, char *text, size_t size)
{
    stk__entry mask = *entry;
    mask.extension = entry->mask_extension;
    if (mask.extension == STK_EXTENSION_NONE) mask.extension = stk__extension_code("png", 3);
    stk__files_path(&files->catalog, &mask, files->masks, text, size);
}

static void pairs_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    const stk__files *files = stk__files_of(source);
    const stk__entry *entry = stk__catalog_at(&files->catalog, id);
    if (field == STK_FIELD_MASK)
        mask_path(files, entry, text, size);
    else
        stk__files_path(&files->catalog, entry, files->images, text, size);
}

static stk_status pairs_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                             const char **extension, stk_error *error)
{
    if (field == STK_FIELD_IMAGE) return stk__files_read_image(source, id, buffer, extension, error);
    const stk__files *files = stk__files_of(source);
    const stk__entry *entry = stk__catalog_at(&files->catalog, id);
    char path[PATH_MAX];
    mask_path(files, entry, path, sizeof path);
    if (entry->mask_extension == STK_EXTENSION_NONE) {
        stk__damaged(error, STK_DAMAGE_MASK_MISSING, "the image '%s' has no mask",
                     stk__catalog_key(&files->catalog, entry));
        stk__error_place(error, "%s", path);
        stk__error_hint(error, "a mask has the name of its image and ends in .png or .npy");
        return STK_ERROR_SAMPLE;
    }
    *extension = stk__extension_name(entry->mask_extension);
    return stk__file_read(path, files->limit_bytes, buffer, error);
}

static void pairs_hint(const stk__source *source, uint64_t id)
{
    char path[PATH_MAX];
    pairs_where(source, id, STK_FIELD_IMAGE, path, sizeof path);
    stk__file_hint(path);
    pairs_where(source, id, STK_FIELD_MASK, path, sizeof path);
    stk__file_hint(path);
}

static void pairs_close(stk__source *source)
{
    stk__files_fini((stk__files *)(void *)source);
    stk__free(source);
}

static const stk__source_ops pairs_ops = {
    .name = "pairs",
    .facts = pairs_facts,
    .read = pairs_read,
    .hint = pairs_hint,
    .key = stk__files_key,
    .where = pairs_where,
    .close = pairs_close,
};

/* What walking along both sorted catalogs finds. */
typedef struct match {
    uint64_t pairs, orphans;
    const stk__entry *orphan; /* one mask without image */
} match;

static match match_masks(const stk__catalog *images, const stk__catalog *masks)
{
    match found = {0};
    uint64_t i = 0, m = 0;
    while (m < stk__catalog_count(masks)) {
        const stk__entry *mask = stk__catalog_at(masks, m);
        stk__entry *image = i < stk__catalog_count(images) ? stk__catalog_at(images, i) : NULL;
        const int order = image ? stk__catalog_compare(stk__catalog_key(images, image), image->length,
                                                       stk__catalog_key(masks, mask), mask->length)
                                : 1;
        if (order == 0) {
            image->mask_extension = mask->extension;
            found.pairs++;
        }
        if (order > 0 && found.orphans++ == 0) found.orphan = mask;
        i += order <= 0;
        m += order >= 0;
    }
    return found;
}

static stk_status refuse_strangers(const stk__files *files, const stk__catalog *masks, const match *found,
                                   stk_error *error)
{
    const stk__entry *image = stk__catalog_at(&files->catalog, 0);
    stk__fail(error, STK_ERROR_DATA, "no image of %llu has a mask: '%s.png' does not exist, but '%s.%s' does",
              (unsigned long long)stk__catalog_count(&files->catalog),
              stk__catalog_key(&files->catalog, image), stk__catalog_key(masks, found->orphan),
              stk__extension_name(found->orphan->extension));
    stk__error_place(error, "%s", files->masks);
    stk__error_hint(error, "a mask has the name of its image: only the extension may differ");
    return STK_ERROR_DATA;
}

static stk_status pair_up(stk__files *files, stk__catalog *masks, stk_error *error)
{
    stk__catalog_sort(masks);
    STK__TRY(stk__files_refuse_duplicates(masks, files->masks, error));
    const match found = match_masks(&files->catalog, masks);
    if (found.pairs == 0) return refuse_strangers(files, masks, &found, error);
    files->source.info.orphans = found.orphans;
    if (found.orphans) {
        char path[PATH_MAX];
        stk__files_path(masks, found.orphan, files->masks, path, sizeof path);
        stk__log(STK_LOG_WARNING, "%llu mask%s without an image ignored, '%s' first",
                 (unsigned long long)found.orphans, stk__plural(found.orphans), path);
    }
    return STK_OK;
}

static stk_status scan_masks(stk__files *files, stk_error *error)
{
    stk__scan scan = {0};
    stk_status status = stk__scan_folder(&scan, files->masks, error);
    if (status == STK_OK && stk__catalog_count(&scan.samples) == 0)
        status = stk__scan_nothing(&scan, files->masks, error);
    if (status == STK_OK) status = pair_up(files, &scan.samples, error);
    stk__scan_fini(&scan);
    return status;
}

static stk_status scan_images(stk__files *files, stk_error *error)
{
    stk__scan scan = {0};
    stk_status status = stk__scan_folder(&scan, files->images, error);
    if (status == STK_OK && stk__catalog_count(&scan.samples) == 0)
        status = stk__scan_nothing(&scan, files->images, error);
    files->catalog = scan.samples;
    if (status == STK_OK) status = stk__files_finish(files, error);
    return status == STK_OK ? stk__files_refuse_duplicates(&files->catalog, files->images, error) : status;
}

static stk_status open_pairs(stk__files *files, const stk__site *site, stk_error *error)
{
    STK__TRY(stk__files_init(files, site, "images", "masks", error));
    stk__files_describe(files, site, "images and masks");
    STK__TRY(scan_images(files, error));
    STK__TRY(scan_masks(files, error));
    STK__TRY(stk__classes_read(&files->classes, site, error));
    stk__classes_tell(&files->classes, &files->source.info);
    files->source.info.images = files->source.info.masks = true;
    files->source.ops = &pairs_ops;
    return STK_OK;
}

stk_status stk__pairs_open(stk__source **source, const stk__site *site, stk_error *error)
{
    stk__files *files = stk__alloc(sizeof *files);
    if (!files) return stk__fail_memory(error, sizeof *files, "a source");
    const stk_status status = open_pairs(files, site, error);
    if (status != STK_OK)
        pairs_close(&files->source);
    else
        *source = &files->source;
    return status;
}
