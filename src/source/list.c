/* SPDX-License-Identifier: Apache-2.0 */
/* The source `list`: rows of a CSV or JSONL file naming images, labels, masks and points. The file is
 * parsed once into flat arrays; a malformed row is one bad sample, never the failure of the data set.
 * Constant after open: any thread reads. */
#include "source/list.h"

#include "core/file.h"
#include "source/extension.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const stk__list *list_of(const stk__source *source)
{
    return (const stk__list *)(const void *)source;
}

static const stk__row *row_of(const stk__list *list, uint64_t id)
{
    return (const stk__row *)(const void *)list->rows.data + stk__catalog_at(&list->files.catalog, id)->row;
}

static const char *text_of(const stk__list *list, const stk__row *row)
{
    return (const char *)list->texts.data + row->text;
}

static stk_status refuse_row(const stk__list *list, const stk__row *row, stk_error *error)
{
    if (row->state == STK_ROW_DUPLICATE)
        stk__damaged(error, STK_DAMAGE_BAD_ROW, "duplicate of the sample in line %u", (unsigned)row->text);
    else
        stk__damaged(error, STK_DAMAGE_BAD_ROW, "%s", text_of(list, row));
    stk__error_place(error, "%s:%u", list->path, row->line);
    const bool absolute =
        row->state == STK_ROW_BAD && strstr(text_of(list, row), "is an absolute path") != NULL;
    stk__error_hint(error, absolute ? "write the names relative to the folder of the list"
                                    : "fix or remove this row of the list");
    return STK_ERROR_SAMPLE;
}

static stk_status list_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                             stk_error *error)
{
    const stk__list *list = list_of(source);
    const stk__row *row = row_of(list, id);
    *facts = (stk__sample_facts){.label = row->label};
    if (row->state != STK_ROW_GOOD) return refuse_row(list, row, error);
    if (list->point_count)
        facts->points =
            (const float *)(const void *)list->points.data +
            (size_t)stk__catalog_at(&list->files.catalog, id)->row * (size_t)list->point_count * 3;
    return STK_OK;
}

static void list_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    const stk__list *list = list_of(source);
    const stk__row *row = row_of(list, id);
    if (row->state != STK_ROW_GOOD)
        snprintf(text, size, "%s:%u", list->path, row->line);
    else if (field == STK_FIELD_MASK && list->has_mask)
        snprintf(text, size, "%s/%s", list->files.masks, text_of(list, row));
    else
        stk__files_path(&list->files.catalog, stk__catalog_at(&list->files.catalog, id), list->files.images,
                        text, size);
}

static stk_status list_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                            const char **extension, stk_error *error)
{
    const stk__list *list = list_of(source);
    const stk__row *row = row_of(list, id);
    if (row->state != STK_ROW_GOOD) return refuse_row(list, row, error);
    if (field == STK_FIELD_IMAGE) return stk__files_read_image(source, id, buffer, extension, error);
    if (!list->has_mask) return stk__fail(error, STK_ERROR_ARGUMENT, "this data set has no masks");
    char path[PATH_MAX];
    list_where(source, id, STK_FIELD_MASK, path, sizeof path);
    const char *name = text_of(list, row);
    const size_t length = strlen(name), stem = stk__extension_stem(name, length);
    *extension = stem < length ? name + stem + 1 : NULL;
    return stk__file_read(path, list->files.limit_bytes, buffer, error);
}

static void list_hint(const stk__source *source, uint64_t id)
{
    const stk__list *list = list_of(source);
    if (row_of(list, id)->state != STK_ROW_GOOD) return;
    char path[PATH_MAX];
    list_where(source, id, STK_FIELD_IMAGE, path, sizeof path);
    stk__file_hint(path);
    if (!list->has_mask) return;
    list_where(source, id, STK_FIELD_MASK, path, sizeof path);
    stk__file_hint(path);
}

static void list_close(stk__source *source)
{
    stk__list *list = (stk__list *)(void *)source;
    stk__files_fini(&list->files);
    stk__buffer_fini(&list->rows);
    stk__buffer_fini(&list->points);
    stk__buffer_fini(&list->texts);
    stk__free(list->faults);
    stk__columns_fini(&list->columns);
    stk__buffer_fini(&list->point_names);
    stk__free(list->path);
    stk__free(list->real_root);
    stk__free(list);
}

static const stk__source_ops list_ops = {
    .name = "list",
    .facts = list_facts,
    .read = list_read,
    .hint = list_hint,
    .key = stk__files_key,
    .where = list_where,
    .close = list_close,
};

static bool has_folder(const stk__site *site, const char *name)
{
    char path[PATH_MAX];
    return stk__path_join(path, site->root, name) && stk__path_is_folder(path);
}

static uint32_t wanted_part(const char *part)
{
    return part ? stk__part_named(part, strlen(part)) : 0;
}

static stk_status prepare(stk__list *list, const stk__site *site, stk_error *error)
{
    list->below_images = has_folder(site, "images");
    list->below_masks = has_folder(site, "masks");
    list->highest_class = -1;
    char real[PATH_MAX];
    list->root = site->root;
    list->wanted = wanted_part(site->options->part);
    list->path = stk__text_copy(*site->file ? site->file : site->root);
    list->real_root = stk__text_copy(realpath(site->root, real));
    if (!list->path || (!list->real_root && realpath(site->root, real)))
        return stk__fail_memory(error, strlen(site->file) + 1, "the path of a list");
    list->columns.path = list->path;
    STK__TRY(stk__columns_wish(&list->columns, site->options->columns, error));
    STK__TRY(stk__files_init(&list->files, site, list->below_images ? "images" : "",
                             list->below_masks ? "masks" : "", error));
    STK__TRY(stk__buffer_text(&list->texts, "", 0, NULL, error));
    return stk__classes_read(&list->files.classes, site, error);
}

static stk_status refuse_names(const stk__list *list, const stk__site *site, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA,
              "the labels are names, and train/ and val/ could number them differently");
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error, "put a classes.txt with one name per line into '%s'", site->options->root);
    return STK_ERROR_DATA;
}

static stk_status refuse_empty(const stk__list *list, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "the list '%s' has no rows", list->path);
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error, "each row below the header names one image");
    return STK_ERROR_DATA;
}

static stk_status refuse_part(const stk__list *list, const char *part, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "the list has no rows of the part '%s': it has those of %s%s%s", part,
              list->parts & STK_SOURCE_TRAIN ? "train " : "", list->parts & STK_SOURCE_VAL ? "val " : "",
              list->parts & STK_SOURCE_TEST ? "test" : "");
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error,
                    "data.columns='split=none' ignores the column of parts; data.val_split splits by chance");
    return STK_ERROR_DATA;
}

/* Points to the names, which move no more. */
static stk_status list_point_names(stk__list *list, stk_error *error)
{
    for (size_t at = 0; at < list->columns.point_texts.size_bytes;) {
        const char *name = (const char *)list->columns.point_texts.data + at;
        STK__TRY(stk__buffer_append(&list->point_names, &name, sizeof name, error));
        at += strlen(name) + 1;
    }
    return STK_OK;
}

static void tell_info(stk__list *list, const stk__site *site)
{
    stk__source_info *info = &list->files.source.info;
    stk__files_describe(&list->files, site,
                        !*site->file             ? "images with points in JSON files"
                        : list->columns.headless ? "list of images without header"
                                                 : "list of images");
    info->parts = list->parts;
    stk__columns_tell_unused(&list->columns, info, list->rows.size_bytes / sizeof(stk__row));
    if (*site->file) stk__list_tell_others(site, info);
    info->images = true;
    info->masks = list->has_mask;
    info->point_count = list->point_count;
    if (list->point_names.size_bytes)
        info->point_names = (const char *const *)(const void *)list->point_names.data;
    info->label = list->has_label ? STK_LABEL_CLASS : list->has_value ? STK_LABEL_VALUE : STK_LABEL_NONE;
    stk__classes_tell(&list->files.classes, info);
    if (list->label_texts == STK_LABEL_TEXTS_WHOLE) info->class_count = (int32_t)(list->highest_class + 1);
}

static bool is_json(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".jsonl") == 0;
}

static stk_status open_list(stk__list *list, const stk__site *site, stk_error *error)
{
    STK__TRY(prepare(list, site, error));
    if (!*site->file)
        STK__TRY(stk__list_read_beside(list, error));
    else
        STK__TRY(is_json(list->path) ? stk__list_read_json(list, error) : stk__list_read_csv(list, error));
    if (list->rows.size_bytes == 0) return refuse_empty(list, error);
    if (list->label_texts == STK_LABEL_TEXTS_NAMES && *site->sibling) return refuse_names(list, site, error);
    STK__TRY(stk__list_place(list, error));
    STK__TRY(stk__list_finish(list, error));
    if (list->files.source.info.count == 0) return refuse_part(list, site->options->part, error);
    STK__TRY(stk__list_check_labels(list, error));
    STK__TRY(stk__list_check_points(list, error));
    STK__TRY(list_point_names(list, error));
    tell_info(list, site);
    list->files.source.ops = &list_ops;
    return STK_OK;
}

stk_status stk__list_open(stk__source **source, const stk__site *site, stk_error *error)
{
    stk__list *list = stk__alloc(sizeof *list);
    if (!list) return stk__fail_memory(error, sizeof *list, "a source");
    const stk_status status = open_list(list, site, error);
    if (status != STK_OK)
        list_close(&list->files.source);
    else
        *source = &list->files.source;
    return status;
}
