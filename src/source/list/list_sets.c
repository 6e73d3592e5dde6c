/* SPDX-License-Identifier: Apache-2.0 */
/* Several labels per image. While rows are read, the labels of an image are one text, a combination: as it is
 * written ("cat;dog"), or joined from a list or from columns of 0 and 1. When all are known, combinations are
 * split into labels, these are numbered as classes, and each combination becomes a row of bits. One thread.
 */
#include "source/list/list.h"

#include <string.h>

enum { CLASSES_MOST = 256, LABEL_BYTES = 255, JOINED_BYTES = 16384 };

/* --- joining ----------------------------------------------------------------------------------------------
 */

stk_status stk__list_join_begin(stk__list *list, stk_error *error)
{
    list->joined.size_bytes = 0;
    return stk__buffer_append(&list->joined, STK_LIST_JOINT, 1, error);
}

stk_status stk__list_join(stk__list *list, stk__draft *draft, const char *label, size_t length,
                          stk_error *error)
{
    stk__column_trim(&label, &length);
    if (length == 0 || length > LABEL_BYTES || memchr(label, *STK_LIST_JOINT, length))
        stk__draft_fault(draft, length ? "a label is longer than 255 bytes" : "a label is empty");
    if (list->joined.size_bytes + length > JOINED_BYTES) stk__draft_fault(draft, "too many labels");
    if (draft->fault[0]) return STK_OK;
    STK__TRY(stk__buffer_append(&list->joined, label, length, error));
    return stk__buffer_append(&list->joined, STK_LIST_JOINT, 1, error);
}

void stk__list_join_end(stk__list *list, stk__draft *draft)
{
    draft->label = (const char *)list->joined.data;
    draft->label_length = list->joined.size_bytes;
}

stk_status stk__list_join_cell(stk__list *list, stk__draft *draft, const char *cell, size_t length,
                               stk_error *error)
{
    stk__column_trim(&cell, &length);
    if (length < 2 || cell[0] != '[' || cell[length - 1] != ']') {
        stk__draft_fault(draft, "the label '%.*s' is not a list", (int)(length < 60 ? length : 60), cell);
        return STK_OK;
    }
    const char *at = cell + 1, *end = cell + length - 1;
    while (at < end) {
        const char quote = *at;
        if (quote == ' ' || quote == ',') {
            at++;
            continue;
        }
        const bool quoted = quote == '\'' || quote == '"';
        const char *start = at + quoted, *stop = memchr(start, quoted ? quote : ',', (size_t)(end - start));
        if (quoted && !stop) {
            stk__draft_fault(draft, "the list of labels '%.*s' has an open quote",
                             (int)(length < 60 ? length : 60), cell);
            return STK_OK;
        }
        if (!stop) stop = end;
        STK__TRY(stk__list_join(list, draft, start, (size_t)(stop - start), error));
        at = stop + 1;
    }
    return STK_OK;
}

/* --- splitting --------------------------------------------------------------------------------------------
 */

/* The next label of a combination; false: there is none. */
static bool next_label(const char **at, const char *separators, const char **label, size_t *length)
{
    for (;;) {
        *at += strspn(*at, separators);
        *label = *at;
        *length = strcspn(*at, separators);
        *at += *length;
        if (*length == 0) return false;
        stk__column_trim(label, length);
        if (*length) return true;
    }
}

static stk_status add_flags(const stk__list *list, stk__classes *classes, stk_error *error)
{
    const stk__columns *columns = &list->columns;
    for (size_t i = 0; i < stk__columns_count(columns); i++) { /* also without a 1 */
        const char *name = stk__columns_name(columns, i);
        if (stk__columns_at(columns, i)->role == STK_ROLE_LABEL)
            STK__TRY(stk__catalog_add(&classes->names, name, strlen(name), 0, error));
    }
    return stk__classes_number(classes, NULL, error);
}

stk_status stk__list_split_labels(stk__classes *classes, const stk__classes *sets, const char *separators,
                                  stk_error *error)
{
    for (int32_t i = 0; i < sets->count; i++) {
        const char *at = sets->list[i], *label;
        for (size_t length; next_label(&at, separators, &label, &length);)
            STK__TRY(stk__catalog_add(&classes->names, label, length, 0, error));
    }
    return stk__catalog_count(&classes->names) ? stk__classes_number(classes, NULL, error) : STK_OK;
}

static stk_status refuse_count(const stk__list *list, int64_t count, stk_error *error)
{
    if (count > CLASSES_MOST)
        stk__fail(error, STK_ERROR_DATA, "the list has %lld labels; up to %d are supported", (long long)count,
                  CLASSES_MOST);
    else
        stk__fail(error, STK_ERROR_DATA, "no image of the list has a label");
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error, "data.columns='label=none' reads the images without labels");
    return STK_ERROR_DATA;
}

/* Every row is bad: the first one says why, as columns without a 0 where there is no 1. */
static stk_status refuse_all(const stk__list *list, stk_error *error)
{
    const stk__row *row = (const stk__row *)(const void *)list->rows.data;
    stk__fail(error, STK_ERROR_DATA, "no row of the list can be used; the first one: %s",
              (const char *)list->texts.data + row->text);
    stk__error_place(error, "%s:%u", list->path, row->line);
    stk__error_hint(error, list->columns.flag_count
                               ? "write 0 where an image has not the label: empty cells are not read as 0; "
                                 "data.columns='label=COLUMN' trains on one of the columns"
                               : "data.columns='label=none' reads the images without labels");
    return STK_ERROR_DATA;
}

static stk_status refuse_unknown(const stk__list *list, const char *label, size_t length, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "the label '%.*s' is not in classes.txt",
              (int)(length < 80 ? length : 80), label);
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error, "add it to classes.txt, or remove the file");
    return STK_ERROR_DATA;
}

/* Rows with a label that only the list for test has. */
static stk_status mark_unknown(stk__list *list, const char *separators, stk_error *error)
{
    stk__row *rows = (stk__row *)(void *)list->rows.data;
    for (size_t i = 0; i < list->rows.size_bytes / sizeof *rows; i++) {
        if (rows[i].state != STK_ROW_GOOD) continue;
        const char *at = list->sets.list[(size_t)rows[i].label], *label;
        for (size_t length; rows[i].state == STK_ROW_GOOD && next_label(&at, separators, &label, &length);) {
            stk__draft draft = {.line = rows[i].line};
            if (stk__classes_find(&list->files.classes, label, length) >= 0) continue;
            stk__draft_fault(&draft, "the label '%.*s' is in neither of the lists for train and val",
                             (int)(length < 80 ? length : 80), label);
            STK__TRY(stk__list_mark_bad(list, &rows[i], draft.fault, error));
        }
    }
    return STK_OK;
}

static stk_status fill_bits(stk__list *list, const char *separators, stk_error *error)
{
    const stk__classes *classes = &list->files.classes;
    const size_t size = (size_t)list->sets.count * (size_t)classes->count;
    bool unknown = false;
    STK__TRY(stk__buffer_reserve(&list->set_bits, size, error));
    memset(list->set_bits.data, 0, size);
    list->set_bits.size_bytes = size;
    for (int32_t i = 0; i < list->sets.count; i++) {
        const char *at = list->sets.list[i], *label;
        for (size_t length; next_label(&at, separators, &label, &length);) {
            const int32_t class = stk__classes_find(classes, label, length);
            if (class < 0 && !list->shared_classes) return refuse_unknown(list, label, length, error);
            if (class < 0)
                unknown = true;
            else
                list->set_bits.data[(size_t)i * (size_t)classes->count + (size_t) class] = 1;
        }
    }
    return unknown ? mark_unknown(list, separators, error) : STK_OK;
}

stk_status stk__list_make_sets(stk__list *list, const char *separators, stk_error *error)
{
    stk__classes *classes = &list->files.classes;
    if (!list->joins) { /* what was taken for classes are combinations */
        list->sets = *classes;
        *classes = (stk__classes){0};
    }
    if (list->shared.count) {
        *classes = list->shared;
        list->shared = (stk__classes){0};
    }
    if (!list->sets.count) return refuse_all(list, error);
    if (classes->count == 0) {
        STK__TRY(list->columns.flag_count ? add_flags(list, classes, error)
                                          : stk__list_split_labels(classes, &list->sets, separators, error));
        if (!stk__catalog_count(&classes->names)) return refuse_count(list, 0, error);
    }
    if (classes->count > CLASSES_MOST) return refuse_count(list, classes->count, error);
    return fill_bits(list, separators, error);
}
