/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of classes (class = first part of the path), or a folder of images without labels. Where names say
 * that masks lie beside the images (x.jpg, x_mask.png), it becomes a source of pairs (pairs.c). */
#include "core/file.h"
#include "core/logger.h"
#include "source/class_doubts.h"
#include "source/extension.h"
#include "source/folder_words.h"
#include "source/pairs.h"
#include "source/part_lists.h"
#include "source/scan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static stk_status folder_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                               stk_error *error)
{
    (void)error;
    const stk__files *files = stk__files_of(source);
    *facts = (stk__sample_facts){.label = stk__catalog_at(&files->catalog, id)->row};
    return STK_OK;
}

static stk_status folder_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                              const char **extension, stk_error *error)
{
    if (field != STK_FIELD_IMAGE) return stk__fail(error, STK_ERROR_ARGUMENT, "this data set has no masks");
    return stk__files_read_image(source, id, buffer, extension, error);
}

static void folder_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    (void)field;
    const stk__files *files = stk__files_of(source);
    stk__files_path(&files->catalog, stk__catalog_at(&files->catalog, id), files->images, text, size);
}

static void folder_hint(const stk__source *source, uint64_t id)
{
    char path[PATH_MAX];
    folder_where(source, id, STK_FIELD_IMAGE, path, sizeof path);
    stk__file_hint(path);
}

static void folder_close(stk__source *source)
{
    stk__files_fini((stk__files *)(void *)source);
    stk__free(source);
}

static const stk__source_ops folder_ops = {
    .name = "folder",
    .facts = folder_facts,
    .read = folder_read,
    .hint = folder_hint,
    .key = stk__files_key,
    .where = folder_where,
    .stamp = stk__files_stamp,
    .close = folder_close,
};

static size_t class_length(const stk__catalog *catalog, const stk__entry *entry)
{
    const char *key = stk__catalog_key(catalog, entry), *slash = strchr(key, '/');
    return slash ? (size_t)(slash - key) : 0;
}

/* Classes that only the other part has must count as well, or the parts would number them differently. */
static stk_status add_sibling_class(stk__classes *classes, const char *sibling, const char *name,
                                    uint32_t row, stk_error *error)
{
    char path[PATH_MAX];
    const size_t length = strlen(name), stem = stk__extension_stem(name, length);
    const bool image =
        stem < length && stk__extension_code(name + stem + 1, length - stem - 1) != STK_EXTENSION_NONE;
    if (stk__folder_word_of(name).kind == STK_FOLDER_IMAGES && !stk__folder_word_of(name).weak)
        return STK_OK; /* val/images/ beside train/cat/: no class */
    if (stk__scan_skips(name) || image || !stk__path_join(path, sibling, name) || !stk__path_is_folder(path))
        return STK_OK;
    stk__scan scan = {.stop_after = 1};
    const stk_status status = stk__scan_folder(&scan, path, error);
    const bool used = stk__catalog_count(&scan.samples) > 0;
    stk__scan_fini(&scan);
    if (status != STK_OK || !used) return status;
    return stk__catalog_add(&classes->names, name, length, row, error);
}

static stk_status add_sibling_classes(stk__classes *classes, const char *sibling, uint32_t row,
                                      stk_error *error)
{
    DIR *folder = opendir(sibling);
    if (!folder) {
        const stk_status status = stk__fail_errno(error, errno, "cannot read the other part of the data set");
        stk__error_place(error, "%s", sibling);
        return status;
    }
    stk_status status = STK_OK;
    for (const struct dirent *found; status == STK_OK && (found = readdir(folder));)
        status = add_sibling_class(classes, sibling, found->d_name, row, error);
    closedir(folder);
    return status;
}

/* Entries of one class are neighbours, but the order of keys is not the order of classes: "a b/x" < "a/x". */
static stk_status add_own_classes(stk__files *files, uint32_t *class_count, stk_error *error)
{
    stk__catalog *catalog = &files->catalog, *names = &files->classes.names;
    const char *last = NULL;
    size_t last_length = 0;
    *class_count = 0;
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++) {
        stk__entry *entry = stk__catalog_at(catalog, i);
        const char *key = stk__catalog_key(catalog, entry);
        const size_t length = class_length(catalog, entry);
        if (!last || stk__catalog_compare(last, last_length, key, length) != 0) {
            STK__TRY(stk__catalog_add(names, key, length, *class_count, error));
            last = key;
            last_length = length;
            *class_count += 1;
        }
        entry->row = *class_count - 1; /* in the order met; numbered below */
    }
    return STK_OK;
}

/* Nothing is learned about a class that only the validation part has: a misspelled folder, mostly. */
static void warn_of_others(const stk__files *files, const uint32_t *numbers, uint32_t met)
{
    const int32_t others = files->classes.count - (int32_t)met;
    int32_t first = 0;
    if (others <= 0) return;
    for (uint32_t i = 0; i < met; i++) /* the smallest number that none of the own classes has */
        if (numbers[i] == (uint32_t)first) {
            first++;
            i = UINT32_MAX;
        }
    if (first < files->classes.count)
        stk__log(STK_LOG_WARNING,
                 "%d of %d classes %s no images in '%s', only in another part of the data set: '%.80s'%s",
                 others, files->classes.count, others == 1 ? "has" : "have", files->images,
                 files->classes.list[first], others > 1 ? ", …" : "");
}

static stk_status number_classes(stk__files *files, const stk__site *site, stk_error *error)
{
    uint32_t met;
    STK__TRY(add_own_classes(files, &met, error));
    if (*site->sibling) STK__TRY(add_sibling_classes(&files->classes, site->sibling, met, error));
    if (site->reading && *site->reading->siblings[1])
        STK__TRY(add_sibling_classes(&files->classes, site->reading->siblings[1], met, error));
    uint32_t *numbers = stk__alloc(((size_t)met + 1) * sizeof *numbers);
    if (!numbers) return stk__fail_memory(error, ((size_t)met + 1) * sizeof *numbers, "the class ids");
    const stk_status status = stk__classes_number(&files->classes, numbers, error);
    for (uint64_t i = 0; status == STK_OK && i < stk__catalog_count(&files->catalog); i++) {
        stk__entry *entry = stk__catalog_at(&files->catalog, i);
        entry->row = numbers[entry->row];
    }
    if (status == STK_OK && site->reading && site->reading->part == STK_SOURCE_TRAIN &&
        !site->options->unlabeled)
        warn_of_others(files, numbers, met);
    stk__free(numbers);
    return status;
}

static stk_status refuse_stray(const stk__files *files, const stk__entry *stray, stk_error *error)
{
    char path[PATH_MAX];
    stk__files_path(&files->catalog, stray, files->images, path, sizeof path);
    stk__fail(error, STK_ERROR_DATA,
              "the image '%s' is next to class folders, not in one: its class is unknown", path);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "move it into a class folder, or all images into images/");
    return STK_ERROR_DATA;
}

/* How many entries lie at the top, and whether any lies in a folder that is not images/. */
typedef struct outline {
    uint64_t top;
    bool classes;
    const stk__entry *stray; /* one at the top */
} outline;

static outline find_outline(const stk__catalog *catalog)
{
    outline shape = {0};
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++) {
        const stk__entry *entry = stk__catalog_at(catalog, i);
        const size_t length = class_length(catalog, entry);
        const char *key = stk__catalog_key(catalog, entry);
        if (length == 0 && shape.top++ == 0) shape.stray = entry;
        if (length && (length != 6 || memcmp(key, "images", 6) != 0)) shape.classes = true;
    }
    return shape;
}

static stk_status scan_into(stk__files *files, stk__scan *scan, const char *folder, stk_error *error)
{
    STK__TRY(stk__scan_folder(scan, folder, error));
    stk__catalog_fini(&files->catalog);
    files->catalog = scan->samples;
    scan->samples = (stk__catalog){0};
    STK__TRY(stk__files_finish(files, error));
    return stk__files_refuse_duplicates(&files->catalog, folder, error);
}

/* A folder without images whose only table is a .csv, or only file a .npy, is a series. */
static bool find_table(const stk__files *files, const stk__scan *scan, stk__site *site)
{
    const stk__catalog *catalog = &files->catalog;
    const uint64_t count = stk__catalog_count(catalog);
    if (count == 0 && scan->tables == 1) return stk__path_join(site->file, site->root, scan->table);
    if (count != 1 || scan->tables) return false;
    const stk__entry *entry = stk__catalog_at(catalog, 0);
    if (class_length(catalog, entry) || strcmp(stk__extension_name(entry->extension), "npy") != 0)
        return false;
    stk__files_path(catalog, entry, site->root, site->file, sizeof site->file);
    return true;
}

/* --- masks beside images ----------------------------------------------------------------------------------
 */

static stk_status refuse_beside(const stk__files *files, const stk__site *site, uint64_t masks, int rule,
                                bool classes, stk_error *error)
{
    char text[128];
    const uint64_t images = stk__catalog_count(&files->catalog) - masks;
    stk__pair_rule_print(stk__pair_rule_at(rule), text);
    stk__fail(error, STK_ERROR_DATA,
              "'%s' can be read in two ways: images with masks beside them (%llu of %llu: %s), or %s",
              files->images, (unsigned long long)masks, (unsigned long long)images, text,
              classes ? "a folder of classes without these masks" : "images without these masks");
    stk__error_place(error, "%s", files->images);
    /* data.layout reads a root without parts: of a part the folder must be named */
    const bool part = site->reading && *site->reading->part_name;
    char as_set[PATH_MAX + 32] = "";
    if (part) snprintf(as_set, sizeof as_set, ", with '%s' as the data set", files->images);
    stk__error_hint(error,
                    "data.layout=pairs or data.layout=%s%s; data.mask_suffix=none, if they are not masks",
                    classes ? "classes" : "images", as_set);
    return STK_ERROR_DATA;
}

static stk_status refuse_no_masks(const stk__files *files, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA,
              "data.layout = pairs, but '%s' has neither folders of images and masks "
              "nor masks beside its images",
              files->images);
    stk__error_place(error, "%s", files->images);
    stk__error_hint(error, "data.images=NAME and data.masks=NAME, or data.mask_suffix=_mask");
    return STK_ERROR_DATA;
}

enum { ACCIDENTS = 50 }; /* one image of so many may be called like a mask and be none */

/* *rule >= 0: pairs by this known rule. Masks that are not wanted are taken out. */
static stk_status judge_beside(stk__files *files, const stk__site *site, bool classes, int *rule,
                               stk_error *error)
{
    const stk__source_options *o = site->options;
    int found;
    *rule = -1;
    if (o->mask_suffix || o->mask_prefix) return STK_OK; /* "none" */
    const uint64_t masks = stk__pair_rules_beside(&files->catalog, &found),
                   images = stk__catalog_count(&files->catalog) - masks;
    if (o->layout == STK_LAYOUT_PAIRS && !masks) return refuse_no_masks(files, error);
    if (masks * ACCIDENTS < images || !masks) return STK_OK;
    const bool open = o->layout == STK_LAYOUT_AUTO || o->layout == STK_LAYOUT_PARTS;
    if (o->layout == STK_LAYOUT_PAIRS || (open && !classes && masks * 2 >= images)) {
        *rule = found;
        return STK_OK;
    }
    if (open) return refuse_beside(files, site, masks, found, classes, error);
    for (int i = 0; stk__pair_rule_at(i); i++)
        if (stk__pair_rule_is_beside(i))
            stk__left_out_add(&files->source.info, "masks beside images",
                              stk__pairs_separate(files, stk__pair_rule_at(i)), NULL);
    stk__pairs_leave_further(files);
    for (uint64_t i = 0; i < stk__catalog_count(&files->catalog); i++)
        stk__catalog_at(&files->catalog, i)->mask_extension = STK_EXTENSION_NONE;
    return stk__files_count(files, error);
}

/* --- classes or images ------------------------------------------------------------------------------------
 */

static stk_status open_classes(stk__files *files, const stk__site *site, stk_error *error)
{
    stk__files_describe(files, site, "folder of classes");
    files->source.info.label = STK_LABEL_CLASS;
    STK__TRY(number_classes(files, site, error));
    if (site->options->layout == STK_LAYOUT_AUTO) STK__TRY(stk__class_doubts_refuse(files, site, error));
    stk__classes_tell(&files->classes, &files->source.info);
    return STK_OK;
}

static stk_status refuse_unread(const stk__site *site, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "%s", site->reading->unread_plain);
    stk__error_place(error, "%s", site->options->root);
    stk__error_hint(error, "data.layout=images with '%s' as the data set loads the images alone", site->root);
    return STK_ERROR_DATA;
}

static stk_status open_images(stk__files *files, const stk__site *site, const outline *shape,
                              stk_error *error)
{
    const uint64_t count = stk__catalog_count(&files->catalog);
    const bool images = site->options->layout == STK_LAYOUT_IMAGES || stk__site_only_images(site),
               classes = site->options->layout == STK_LAYOUT_CLASSES && !shape->top;
    if (shape->top && shape->top < count && !images) return refuse_stray(files, shape->stray, error);
    if ((shape->classes && !images) || classes) return open_classes(files, site, error);
    if (!images && site->reading && *site->reading->unread_plain) return refuse_unread(site, error);
    stk__files_describe(files, site, "folder of images");
    if (shape->top || shape->classes || stk__site_only_images(site)) return STK_OK;
    /* All lie below images/: keys start there. */
    stk__free(files->images);
    files->images = NULL;
    STK__TRY(stk__files_init(files, site, "images", NULL, error));
    stk__scan again = {0};
    const stk_status status = scan_into(files, &again, files->images, error);
    stk__scan_fini(&again);
    return status;
}

static uint64_t count_json(const stk__scan *scan)
{
    for (int i = 0; i < STK_SCAN_STRANGERS; i++)
        if (strcmp(scan->strangers[i].extension, "json") == 0) return scan->strangers[i].count;
    return 0;
}

static stk_status open_found(stk__files *files, const stk__site *site, stk_error *error)
{
    const outline shape = find_outline(&files->catalog);
    const bool classes =
        !stk__site_only_images(site) && (shape.classes || site->options->layout == STK_LAYOUT_CLASSES);
    stk__pair_rule set;
    int known;
    if (stk__pairs_rule_set(site->options, &set)) return stk__pairs_beside(files, site, &set, error);
    STK__TRY(judge_beside(files, site, classes, &known, error));
    if (known >= 0) return stk__pairs_beside(files, site, stk__pair_rule_at(known), error);
    STK__TRY(open_images(files, site, &shape, error));
    if (stk__part_lists_given(site)) {
        STK__TRY(stk__part_lists_apply(files, site, error));
        STK__TRY(stk__files_count(files, error));
    }
    stk__files_tell(files, site);
    files->source.ops = &folder_ops;
    files->source.info.images = true;
    return STK_OK;
}

static stk_status open_scanned(stk__source **source, stk__files *files, stk__scan *scan,
                               const stk__site *site, stk_error *error)
{
    STK__TRY(stk__files_init(files, site, "", NULL, error));
    STK__TRY(scan_into(files, scan, site->root, error));
    stk__site series = *site;
    if (find_table(files, scan, &series)) return stk__series_open(source, &series, error);
    bool beside = false;
    if (!site->options->unlabeled)
        STK__TRY(stk__list_fits_beside(&files->catalog, count_json(scan), site->root, &beside, error));
    if (beside) return stk__list_open(source, site, error);
    if (files->source.info.count == 0) return stk__scan_nothing(scan, site->root, error);
    stk__files_leave_out(&files->source.info, scan);
    STK__TRY(open_found(files, site, error));
    *source = &files->source;
    return STK_OK;
}

stk_status stk__folder_open(stk__source **source, const stk__site *site, stk_error *error)
{
    stk__files *files = stk__alloc(sizeof *files);
    if (!files) return stk__fail_memory(error, sizeof *files, "a source");
    stk__scan scan = {0};
    const stk_status status = open_scanned(source, files, &scan, site, error);
    stk__scan_fini(&scan);
    if (*source != &files->source) folder_close(&files->source); /* failed, or opened as a series */
    return status;
}
