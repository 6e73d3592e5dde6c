/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a list, whatever file they came from: a draft's path is checked and made a key, its label, mask
 * and points go to the flat arrays; what is wrong with it is kept as the sample's damage. At the end keys
 * are sorted, duplicates marked and class names numbered. */
#include "source/list/list.h"

#include "core/number.h"
#include "core/path.h"
#include "source/csv.h"
#include "source/extension.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_BYTES = 255, CLASSES_MOST = 256 };

void stk__draft_fault(stk__draft *draft, const char *format, ...)
{
    if (draft->fault[0]) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(draft->fault, sizeof draft->fault, format, arguments);
    va_end(arguments);
}

/* Where the path goes on below root, if it is an absolute one that lies there. */
static const char *skip_root(const char *path, const char *root)
{
    const size_t length = root ? strlen(root) : 0;
    if (length < 2 || root[0] != '/' || strncmp(path, root, length) != 0 || path[length] != '/') return NULL;
    return path + length + 1;
}

static bool has_drive(const char *path)
{
    return ((path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z') && path[1] == ':' && path[2] == '/';
}

/* The path of a file below the data set's folder, cleaned, with '/' for '\'; NULL, or why it cannot be used.
 */
static const char *judge_path(const stk__list *list, stk__csv_text name, char path[PATH_MAX])
{
    if (name.length == 0) return "is empty";
    if (name.length >= PATH_MAX) return "is too long";
    memcpy(path, name.data, name.length);
    path[name.length] = '\0';
    if (strstr(path, "://")) return "is a URL: images must be local files";
    for (char *slash = path; (slash = strchr(slash, '\\'));)
        *slash = '/';
    if (has_drive(path)) return "is an absolute path";
    const char *below = skip_root(path, list->real_root);
    if (!below) below = skip_root(path, list->root);
    if (below) memmove(path, below, strlen(below) + 1);
    const stk__path_facts facts = stk__path_clean(path, strlen(path), path);
    if (facts.absolute) return "is an absolute path";
    if (facts.upwards) return "leaves the data set's folder through '..'";
    if (facts.names_folder) return "does not name a file";
    return NULL;
}

/* The same relative to folder/, which the list may or may not write in front. */
static const char *judge_below(const stk__list *list, stk__csv_text name, const char *folder,
                               char path[PATH_MAX])
{
    const char *fault = judge_path(list, name, path);
    const size_t length = folder ? strlen(folder) : 0;
    if (!fault && length && strncmp(path, folder, length) == 0 && path[length] == '/')
        memmove(path, path + length + 1, strlen(path + length + 1) + 1);
    return fault;
}

static stk_status add_sample(stk__list *list, const char *path, uint32_t row, stk_error *error)
{
    stk__catalog *catalog = &list->files.catalog;
    const size_t length = strlen(path), stem = stk__extension_stem(path, length);
    STK__TRY(stk__catalog_add(catalog, path, stem, row, error));
    if (stem == length) return STK_OK;
    stk__entry *entry = stk__catalog_at(catalog, stk__catalog_count(catalog) - 1);
    entry->extension = stk__extension_code(path + stem + 1, length - stem - 1);
    if (entry->extension != STK_EXTENSION_NONE) return STK_OK;
    entry->extension = STK_EXTENSION_OTHER;
    return stk__buffer_text(&catalog->texts, path + stem + 1, length - stem - 1, NULL, error);
}

/* The file's key, or one made of the line when there is no usable name. */
static stk_status add_key(stk__list *list, stk__draft *draft, uint32_t row, stk_error *error)
{
    char path[PATH_MAX];
    const char *fault = "is missing";
    if (draft->file) {
        const stk__csv_text name = {draft->file, draft->file_length};
        fault = judge_below(list, name, list->below_images ? "images" : NULL, path);
        if (fault)
            stk__draft_fault(draft, "the file '%.*s' %s", (int)(name.length < 80 ? name.length : 80),
                             name.data, fault);
    }
    if (!fault) return add_sample(list, path, row, error);
    stk__draft_fault(draft, "the name of the file is missing");
    snprintf(path, sizeof path, "line-%09llu", (unsigned long long)draft->line);
    return stk__catalog_add(&list->files.catalog, path, strlen(path), row, error);
}

/* An integer, also as pandas writes one beside empty cells: 3.0 */
static bool read_whole(const char *text, size_t length, int64_t *number)
{
    size_t end = length;
    while (end && text[end - 1] == '0')
        end--;
    if (end > 1 && end < length && text[end - 1] == '.') length = end - 1;
    return stk__number_whole(text, length, number);
}

static void take_whole(stk__list *list, stk__draft *draft, double *label)
{
    int64_t number;
    if (!list->several_line && stk__label_is_several(draft->label, draft->label_length))
        list->several_line = draft->line;
    const int64_t most = list->files.classes.count ? list->files.classes.count - 1 : INT32_MAX - 1;
    if (!read_whole(draft->label, draft->label_length, &number))
        stk__draft_fault(draft, "the label '%.*s' is not an integer%s", (int)draft->label_length,
                         draft->label, list->files.classes.count ? " and not in classes.txt" : "");
    else if (number < -(int64_t)list->signs || number > most)
        stk__draft_fault(draft, "the label %lld is not between 0 and %lld", (long long)number,
                         (long long)most);
    else {
        if (number < 0) number = 0; /* of the labels -1 and 1 */
        *label = (double)number;
        if (number > list->highest_class) list->highest_class = number;
    }
}

static stk_status take_label(stk__list *list, stk__draft *draft, uint32_t row, double *label,
                             stk_error *error)
{
    stk__classes *classes = &list->files.classes;
    if (list->joins)
        return draft->fault[0]
                   ? STK_OK
                   : stk__catalog_add(&list->sets.names, draft->label, draft->label_length, row, error);
    if (!draft->label || draft->label_length == 0 || draft->label_length > LABEL_BYTES) {
        stk__draft_fault(draft,
                         draft->label_length ? "the label is longer than 255 bytes" : "the label is missing");
        return STK_OK;
    }
    if (classes->count) {
        const int32_t number = stk__classes_find(classes, draft->label, draft->label_length);
        *label = number;
        if (number < 0 && list->shared_classes)
            stk__draft_fault(draft, "the label '%.*s' is in neither of the lists for train and val",
                             (int)draft->label_length, draft->label);
        else if (number < 0) {
            if (!list->seen && !stk__columns_is_wished(&list->columns, STK_ROLE_LABEL))
                list->seen = stk__list_known_separators(classes, draft->label, draft->label_length);
            take_whole(list, draft, label);
        }
        return STK_OK;
    }
    int64_t number;
    if (list->label_texts == STK_LABEL_TEXTS_UNKNOWN)
        list->label_texts = read_whole(draft->label, draft->label_length, &number) ? STK_LABEL_TEXTS_WHOLE
                                                                                   : STK_LABEL_TEXTS_NAMES;
    if (list->label_texts == STK_LABEL_TEXTS_WHOLE)
        take_whole(list, draft, label);
    else if (!draft->fault[0])
        return stk__catalog_add(&classes->names, draft->label, draft->label_length, row, error);
    return STK_OK;
}

static stk_status take_mask(stk__list *list, stk__draft *draft, uint64_t *text, stk_error *error)
{
    char path[PATH_MAX];
    const stk__csv_text name = {draft->mask ? draft->mask : "", draft->mask_length};
    const char *fault = judge_below(list, name, list->below_masks ? "masks" : NULL, path);
    if (fault) {
        stk__draft_fault(draft, "the mask '%.*s' %s", (int)(name.length < 80 ? name.length : 80), name.data,
                         fault);
        return STK_OK;
    }
    size_t offset;
    STK__TRY(stk__buffer_text(&list->texts, path, strlen(path), &offset, error));
    *text = offset;
    return STK_OK;
}

/* --- faults ------------------------------------------------------------------------------------------------
 *
 * A list may consist of bad rows: each text is kept once, and of those that differ only the first few as they
 * are. Later ones have … in the place of quoted words and numbers; line and file are known all the same. */

enum { FAULTS_AS_THEY_ARE = STK_LIST_FAULTS / 2, FAULTS_MOST = STK_LIST_FAULTS * 3 / 4 };

static uint64_t *find_fault(const stk__list *list, const char *fault)
{
    uint32_t at = 2166136261U; /* FNV-1a */
    for (const char *byte = fault; *byte; byte++)
        at = (at ^ (unsigned char)*byte) * 16777619U;
    for (at ^= at >> 16;; at++) {
        uint64_t *slot = &list->faults[at % STK_LIST_FAULTS];
        if (!*slot || strcmp((const char *)list->texts.data + *slot, fault) == 0) return slot;
    }
}

/* "the label 'x17' is not an integer" -> "the label '…' is not an integer" */
static void generalise(const char *fault, char text[256])
{
    char *out = text;
    while (*fault && out < text + 256 - 8) {
        const bool number = *fault >= '0' && *fault <= '9';
        if (*fault == '\'' && out > text && out[-1] == ' ') { /* not that of "the set's" */
            const char *end = strstr(fault + 1, "' ");
            fault = end ? end + 1 : fault + strlen(fault);
            out = stpcpy(out, "'…'");
        } else if (number) {
            fault += strspn(fault, "0123456789");
            out = stpcpy(out, "…");
        } else {
            *out++ = *fault++;
        }
    }
    *out = '\0';
}

stk_status stk__list_mark_bad(stk__list *list, stk__row *row, const char *fault, stk_error *error)
{
    char general[256];
    size_t offset;
    if (!list->faults) list->faults = stk__alloc(STK_LIST_FAULTS * sizeof *list->faults);
    if (!list->faults) return stk__fail_memory(error, STK_LIST_FAULTS * sizeof *list->faults, "bad rows");
    row->state = STK_ROW_BAD;
    uint64_t *slot = find_fault(list, fault);
    if (!*slot && list->fault_count >= FAULTS_AS_THEY_ARE) {
        generalise(fault, general);
        fault = list->fault_count < FAULTS_MOST ? general : "the row is invalid";
        slot = find_fault(list, fault);
    }
    if (!*slot) {
        STK__TRY(stk__buffer_text(&list->texts, fault, strlen(fault), &offset, error));
        *slot = offset;
        list->fault_count++;
    }
    row->text = *slot;
    return STK_OK;
}

/* --- rows --------------------------------------------------------------------------------------------------
 */

stk_status stk__list_add_points(stk__list *list, float **points, stk_error *error)
{
    const size_t size = (size_t)list->point_count * 3 * sizeof(float);
    *points = NULL;
    if (size == 0) return STK_OK;
    STK__TRY(stk__buffer_reserve(&list->points, list->points.size_bytes + size, error));
    *points = (float *)(void *)(list->points.data + list->points.size_bytes);
    list->points.size_bytes += size;
    return STK_OK;
}

static stk_status refuse_part(const stk__list *list, const stk__draft *draft, stk_error *error)
{
    const int column = stk__columns_find(&list->columns, STK_ROLE_SPLIT);
    const char *name = column < 0 ? "split" : stk__columns_name(&list->columns, (size_t)column);
    stk__fail(error, STK_ERROR_DATA, "the column '%.80s' has '%.*s', which is none of train, val and test",
              name, (int)(draft->split_length < 60 ? draft->split_length : 60),
              draft->split ? draft->split : "");
    stk__error_place(error, "%s:%llu", list->path, (unsigned long long)draft->line);
    stk__error_hint(error, "write train, val or test; data.columns='split=none' ignores the column");
    return STK_ERROR_DATA;
}

/* A row without usable fields belongs to the training part, which reports it. */
static stk_status take_part(stk__list *list, const stk__draft *draft, stk__row *row, stk_error *error)
{
    if (!list->has_split) return STK_OK;
    uint32_t part = draft->split ? stk__columns_part(&list->columns, draft->split, draft->split_length) : 0;
    if (!part && !draft->fault[0]) return refuse_part(list, draft, error);
    row->part = (uint8_t)(part ? part : STK_SOURCE_TRAIN);
    list->parts |= row->part;
    return STK_OK;
}

/* -1 and 1 can be two classes, too. */
static bool is_class_id(double value)
{
    return value >= -1 && value < CLASSES_MOST && value == (double)(int)value;
}

stk_status stk__list_add_row(stk__list *list, stk__draft *draft, stk_error *error)
{
    const uint32_t index = (uint32_t)(list->rows.size_bytes / sizeof(stk__row));
    stk__row row = {.label = list->has_value ? draft->value : 0, .line = (uint32_t)draft->line};
    STK__TRY(take_part(list, draft, &row, error));
    STK__TRY(add_key(list, draft, index, error));
    if (list->has_mask) STK__TRY(take_mask(list, draft, &row.text, error));
    if (list->has_value && !draft->fault[0]) list->other_values |= !is_class_id(draft->value);
    if (list->has_label) STK__TRY(take_label(list, draft, index, &row.label, error));
    if (draft->fault[0]) STK__TRY(stk__list_mark_bad(list, &row, draft->fault, error));
    return stk__buffer_append(&list->rows, &row, sizeof row, error);
}

static stk__row *row_at(const stk__list *list, uint64_t id)
{
    return (stk__row *)(void *)list->rows.data + stk__catalog_at(&list->files.catalog, id)->row;
}

static stk_status refuse_repeated(const stk__list *list, const stk__row *row, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA,
              "the list has several rows with other labels for the same file (lines %u and %u, …): an image "
              "has one "
              "row",
              (unsigned)row->text, row->line);
    stk__error_place(error, "%s:%u", list->path, row->line);
    stk__error_hint(error,
                    "write the labels of an image into one row, as a;b; data.columns='label=none' reads "
                    "the images without labels");
    return STK_ERROR_DATA;
}

/* Later rows for the same file are corrupt samples; where a quarter of the list is, it means something else.
 */
static stk_status mark_duplicates(stk__list *list, stk_error *error)
{
    const stk__catalog *catalog = &list->files.catalog;
    const uint64_t count = stk__catalog_count(catalog);
    uint64_t others = 0;
    for (uint64_t i = stk__catalog_duplicate(catalog, 0); i < count;
         i = stk__catalog_duplicate(catalog, i + 1)) {
        stk__row *row = row_at(list, i + 1);
        if (row->state != STK_ROW_GOOD) continue;
        row->state = STK_ROW_DUPLICATE;
        row->text = row_at(list, i)->line;
        others += list->has_label && row->label != row_at(list, i)->label;
        if (others > count / 4 && others > 3) return refuse_repeated(list, row, error);
    }
    return STK_OK;
}

static stk_status number_names(stk__list *list, stk__classes *classes, stk_error *error)
{
    stk__row *rows = (stk__row *)(void *)list->rows.data;
    const size_t count = list->rows.size_bytes / sizeof *rows, size = count * sizeof(uint32_t);
    uint32_t *numbers = stk__alloc(size);
    if (!numbers) return stk__fail_memory(error, size, "the class ids");
    const stk_status status = stk__classes_number(classes, numbers, error);
    for (size_t i = 0; status == STK_OK && i < count; i++)
        rows[i].label = numbers[i];
    stk__free(numbers);
    return status;
}

/* Entries stay sorted. Duplicates were marked before, so that no file is in two parts. Without rows for
 * validation the loader holds some of the training rows back for it. */
static void drop_other_parts(stk__list *list)
{
    stk__catalog *catalog = &list->files.catalog;
    const size_t rows = list->rows.size_bytes / sizeof(stk__row);
    uint64_t kept = 0;
    if (!list->parts) return;
    for (stk__row *row = (stk__row *)(void *)list->rows.data, *end = row + rows; row < end; row++)
        if (!row->part) list->parts |= row->part = STK_SOURCE_TRAIN; /* JSONL: before the first object */
    if (!list->wanted) return;
    if (list->wanted == STK_SOURCE_VAL && !(list->parts & STK_SOURCE_VAL)) list->wanted = STK_SOURCE_TRAIN;
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++)
        if (row_at(list, i)->part & list->wanted)
            *stk__catalog_at(catalog, kept++) = *stk__catalog_at(catalog, i);
    catalog->entries.size_bytes = (size_t)kept * sizeof(stk__entry);
}

stk_status stk__list_finish(stk__list *list, stk_error *error)
{
    stk__classes *classes = list->joins ? &list->sets : &list->files.classes;
    if ((list->joins || list->label_texts == STK_LABEL_TEXTS_NAMES) && stk__catalog_count(&classes->names))
        STK__TRY(number_names(list, classes, error));
    stk__catalog_sort(&list->files.catalog);
    STK__TRY(mark_duplicates(list, error));
    drop_other_parts(list);
    return stk__files_finish(&list->files, error);
}
