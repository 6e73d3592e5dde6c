/* SPDX-License-Identifier: Apache-2.0 */
/* The source `list`: rows of a CSV or JSONL file naming images, labels, masks and points. The file is
 * parsed once into flat arrays; a malformed row is one bad sample, never the failure of the data set.
 * Constant after open: any thread reads. */
#include "source/list/list.h"

#include "core/file.h"
#include "core/text.h"
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
    const char *fault = row->state == STK_ROW_BAD ? text_of(list, row) : "";
    const int label = stk__columns_find(&list->columns, STK_ROLE_LABEL);
    if (label >= 0 && strncmp(fault, "the label -", 11) == 0)
        stk__error_hint(error,
                        "fix or remove this row of the list, or read the column as values: "
                        "data.columns='value=%.60s'",
                        stk__columns_name(&list->columns, (size_t)label));
    else
        stk__error_hint(error, strstr(fault, "is an absolute path")
                                   ? "write the names relative to the folder of the list"
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
    if (list->set_bits.size_bytes)
        facts->set = list->set_bits.data + (size_t)row->label * (size_t)list->files.source.info.class_count;
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
    stk__buffer_fini(&list->joined);
    stk__buffer_fini(&list->set_bits);
    stk__classes_fini(&list->sets);
    stk__classes_fini(&list->shared);
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
    .stamp = stk__files_stamp,
    .close = list_close,
};

static bool has_folder(const stk__site *site, const char *name)
{
    char path[PATH_MAX];
    return stk__path_join(path, site->root, name) && stk__path_is_folder(path);
}

static uint32_t wanted_part(const char *part)
{
    return part ? stk__part_of_word(part, strlen(part)) : 0;
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
    STK__TRY(stk__classes_read(&list->files.classes, site, error));
    if (site->list_parts) STK__TRY(stk__list_share_classes(list, site, error));
    const bool several = list->separators || list->columns.wishes[STK_ROLE_LABEL].several;
    if (!several || !list->files.classes.count) return STK_OK;
    list->shared = list->files.classes; /* labels are looked up when cells are split */
    list->files.classes = (stk__classes){0};
    list->label_texts = STK_LABEL_TEXTS_NAMES;
    return STK_OK;
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

static bool ends_with(const stk__list *list, const char *end)
{
    return stk__text_ends_with(list->path, strlen(list->path), end);
}

static const char *name_of(const stk__list *list)
{
    const char *slash = strrchr(list->path, '/');
    return slash ? slash + 1 : list->path;
}

static void tell_info(stk__list *list, const stk__site *site)
{
    stk__source_info *info = &list->files.source.info;
    stk__files_describe(&list->files, site,
                        !*site->file               ? "images with points in JSON files"
                        : ends_with(list, ".json") ? "images with COCO key points"
                        : list->columns.headless   ? "list of images without header"
                                                   : "list of images");
    info->parts = list->parts;
    if (site->list_parts && !*info->how) {
        const int length = snprintf(info->how, sizeof info->how, "'%.60s' of the lists ", name_of(list));
        stk__site_print_lists(site, info->how + length, sizeof info->how - (size_t)length);
    }
    stk__columns_tell_unused(&list->columns, info, list->rows.size_bytes / sizeof(stk__row));
    if (*site->file) stk__list_tell_others(site, info);
    info->images = true;
    info->masks = list->has_mask;
    info->point_count = list->point_count;
    if (list->point_names.size_bytes)
        info->point_names = (const char *const *)(const void *)list->point_names.data;
    info->label = list->set_bits.size_bytes ? STK_LABEL_SET
                  : list->has_label         ? STK_LABEL_CLASS
                  : list->has_value         ? STK_LABEL_VALUE
                                            : STK_LABEL_NONE;
    stk__classes_tell(&list->files.classes, info);
    if (list->label_texts == STK_LABEL_TEXTS_WHOLE) info->class_count = (int32_t)(list->highest_class + 1);
    stk__list_tell_reading(list, info);
}

static stk_status refuse_columns(const stk__list *list, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.columns is set, but points in JSON files have no columns");
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error, "leave data.columns out, or give a list (.csv, .tsv, .jsonl) as the data set");
    return STK_ERROR_CONFIG;
}

static stk_status read_rows(stk__list *list, const stk__site *site, stk_error *error)
{
    const char *columns = site->options->columns;
    if (columns && *columns && (!*site->file || ends_with(list, ".json"))) return refuse_columns(list, error);
    if (!*site->file) return stk__list_read_beside(list, error);
    if (ends_with(list, ".json")) return stk__list_read_coco(list, error);
    return ends_with(list, ".jsonl") ? stk__list_read_json(list, error) : stk__list_read_csv(list, error);
}

static stk_status open_list(stk__list *list, const stk__site *site, stk_error *error)
{
    STK__TRY(prepare(list, site, error));
    STK__TRY(read_rows(list, site, error));
    if (list->rows.size_bytes == 0) return refuse_empty(list, error);
    if (*site->file && !list->has_split && !stk__columns_is_wished(&list->columns, STK_ROLE_SPLIT))
        STK__TRY(stk__list_refuse_partition(site, error));
    const bool names = list->label_texts == STK_LABEL_TEXTS_NAMES;
    const bool known = list->files.classes.count || list->shared.count;
    if ((names || list->joins) && !known && *site->sibling) return refuse_names(list, site, error);
    STK__TRY(stk__list_place(list, error));
    STK__TRY(stk__list_finish(list, error));
    if (list->files.source.info.count == 0) return refuse_part(list, site->options->part, error);
    STK__TRY(stk__list_check_labels(list, error));
    STK__TRY(stk__list_check_values(list, error));
    STK__TRY(stk__list_check_points(list, error));
    STK__TRY(list_point_names(list, error));
    tell_info(list, site);
    list->files.source.ops = &list_ops;
    return STK_OK;
}

static stk_status open_once(stk__list **made, const stk__site *site, const char *separators, stk_error *error)
{
    stk__list *list = stk__alloc(sizeof *list);
    if (!list) return stk__fail_memory(error, sizeof *list, "a source");
    list->separators = separators;
    const stk_status status = open_list(list, site, error);
    if (status != STK_OK)
        list_close(&list->files.source);
    else
        *made = list;
    return status;
}

/* That cells have several labels of classes.txt is seen while rows are read as having one: once more then. */
stk_status stk__list_open(stk__source **source, const stk__site *site, stk_error *error)
{
    stk__list *list = NULL;
    STK__TRY(open_once(&list, site, NULL, error));
    if (list->seen) {
        const char *separators = list->seen;
        list_close(&list->files.source);
        STK__TRY(open_once(&list, site, separators, error));
    }
    *source = &list->files.source;
    return STK_OK;
}
