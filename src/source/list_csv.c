/* SPDX-License-Identifier: Apache-2.0 */
/* A list in CSV: the header decides which columns are file, label, value, mask and points (NAME_x, NAME_y
 * pairs); each row fills a draft for list_rows.c. */
#include "source/list.h"

#include "core/logger.h"
#include "core/number.h"
#include "core/text.h"
#include "source/csv.h"

#include <math.h>
#include <string.h>

/* Which column holds what; -1: none. Points as pairs of columns. */
typedef struct column_plan {
    int file, label, value, mask;
    size_t count;
    stk__buffer points; /* of column_pair */
} column_plan;

typedef struct column_pair {
    int x, y;
} column_pair;

static int find_alias(const stk__csv *csv, const char *const *names)
{
    int found = -1;
    for (; *names && found < 0; names++)
        found = stk__csv_find(csv, *names, strlen(*names));
    return found;
}

static stk_status refuse_header(const stk__list *list, const stk__csv *csv, size_t column, const char *why,
                                stk_error *error)
{
    const char *name = column < stk__csv_count(csv) ? stk__csv_at(csv, column).data : "";
    stk__fail(error, STK_ERROR_DATA, "the header of the list cannot be used: column %zu '%.80s' %s",
              column + 1, name, why);
    stk__error_place(error, "%s:%llu:%zu", list->path, (unsigned long long)csv->line, column + 1);
    stk__error_hint(error, "columns: file, then label or value, mask, and points as NAME_x and NAME_y");
    return STK_ERROR_DATA;
}

static stk_status check_duplicates(const stk__list *list, const stk__csv *csv, stk_error *error)
{
    for (size_t i = 0; i < stk__csv_count(csv); i++) {
        const stk__csv_text field = stk__csv_trimmed(csv, i);
        if (field.length && stk__csv_find(csv, field.data, field.length) != (int)i)
            return refuse_header(list, csv, i, "is a duplicate", error);
    }
    return STK_OK;
}

static bool ends_with(stk__csv_text text, const char *end)
{
    return stk__text_ends_with(text.data, text.length, end);
}

static stk_status find_points(stk__list *list, const stk__csv *csv, column_plan *columns, stk_error *error)
{
    for (size_t i = 0; i < stk__csv_count(csv); i++) {
        const stk__csv_text field = stk__csv_trimmed(csv, i);
        if (!ends_with(field, "_x") && !ends_with(field, "_y")) continue;
        char partner[256];
        if (field.length >= sizeof partner)
            return refuse_header(list, csv, i, "has a name that is too long", error);
        memcpy(partner, field.data, field.length);
        partner[field.length - 1] ^= 'x' ^ 'y';
        const int other = stk__csv_find(csv, partner, field.length);
        if (other < 0) return refuse_header(list, csv, i, "has no column for the other coordinate", error);
        const column_pair pair = {(int)i, other};
        if (!ends_with(field, "_x")) continue;
        STK__TRY(stk__buffer_append(&columns->points, &pair, sizeof pair, error));
        STK__TRY(stk__buffer_append(&list->point_texts, field.data, field.length - 2, error));
        STK__TRY(stk__buffer_append(&list->point_texts, "", 1, error));
    }
    list->point_count = (int32_t)(columns->points.size_bytes / sizeof(column_pair));
    return STK_OK;
}

static bool is_point(const column_plan *columns, int column)
{
    const column_pair *pairs = (const column_pair *)(const void *)columns->points.data;
    for (size_t i = 0; i < columns->points.size_bytes / sizeof *pairs; i++)
        if (pairs[i].x == column || pairs[i].y == column) return true;
    return false;
}

static void tell_unused(const stk__list *list, const stk__csv *csv, const column_plan *columns)
{
    for (int i = 0; i < (int)columns->count; i++) {
        if (i == columns->file || i == columns->label || i == columns->value || i == columns->mask) continue;
        if (is_point(columns, i)) continue;
        stk__log(STK_LOG_INFO, "column %d '%s' of '%s' is not used", i + 1, stk__csv_at(csv, (size_t)i).data,
                 list->path);
    }
}

static stk_status read_header(stk__list *list, stk__csv *csv, column_plan *columns, stk_error *error)
{
    const stk_status status = stk__csv_next(csv, error);
    if (status == STK_END) return refuse_header(list, csv, 0, "is missing: the file is empty", error);
    STK__TRY(status);
    if (csv->fault) return refuse_header(list, csv, 0, csv->fault, error);
    columns->count = stk__csv_count(csv);
    columns->file = find_alias(csv, stk__list_file_names);
    columns->label = find_alias(csv, stk__list_label_names);
    columns->value = find_alias(csv, stk__list_value_names);
    columns->mask = stk__csv_find(csv, "mask", 4);
    if (columns->file < 0)
        return refuse_header(list, csv, 0, "is none of file, path, image, filename, name", error);
    if (columns->label >= 0 && columns->value >= 0)
        return refuse_header(list, csv, (size_t)columns->value, "and a label exclude each other", error);
    STK__TRY(check_duplicates(list, csv, error));
    STK__TRY(find_points(list, csv, columns, error));
    list->has_label = columns->label >= 0;
    list->has_value = columns->value >= 0;
    list->has_mask = columns->mask >= 0;
    tell_unused(list, csv, columns);
    return STK_OK;
}

/* False: not a finite number, and the draft says so. */
static bool take_number(stk__draft *draft, const char *what, stk__csv_text field, double *value)
{
    if (field.length && stk__number_real(field.data, field.length, value) && isfinite((float)*value))
        return true;
    stk__draft_fault(draft, "the %s '%.*s' is not a finite number", what,
                     (int)(field.length < 60 ? field.length : 60), field.data);
    return false;
}

static void take_points(const stk__csv *csv, const column_plan *columns, stk__draft *draft, float *points)
{
    const column_pair *pairs = (const column_pair *)(const void *)columns->points.data;
    const size_t count = columns->points.size_bytes / sizeof *pairs;
    for (size_t i = 0; i < count; i++) {
        const stk__csv_text x = stk__csv_trimmed(csv, (size_t)pairs[i].x),
                            y = stk__csv_trimmed(csv, (size_t)pairs[i].y);
        double at[2];
        if (x.length == 0 && y.length == 0) continue; /* not visible */
        if (!take_number(draft, "coordinate", x, &at[0]) || !take_number(draft, "coordinate", y, &at[1]))
            return;
        points[i * 3] = (float)at[0];
        points[i * 3 + 1] = (float)at[1];
        points[i * 3 + 2] = 1;
    }
}

static void take_fields(const stk__csv *csv, const column_plan *columns, stk__draft *draft, float *points)
{
    if (csv->fault) {
        stk__draft_fault(draft, "the row has %s", csv->fault);
        return;
    }
    if (stk__csv_count(csv) != columns->count)
        stk__draft_fault(draft, "the row has %zu fields, the header has %zu", stk__csv_count(csv),
                         columns->count);
    if ((size_t)columns->file < stk__csv_count(csv)) {
        const stk__csv_text file = stk__csv_at(csv, (size_t)columns->file);
        draft->file = file.data;
        draft->file_length = file.length;
    }
    if (draft->fault[0]) return;
    if (columns->label >= 0) {
        const stk__csv_text label = stk__csv_trimmed(csv, (size_t)columns->label);
        draft->label = label.data;
        draft->label_length = label.length;
    }
    if (columns->mask >= 0) {
        const stk__csv_text mask = stk__csv_at(csv, (size_t)columns->mask);
        draft->mask = mask.data;
        draft->mask_length = mask.length;
    }
    if (columns->value >= 0)
        take_number(draft, "value", stk__csv_trimmed(csv, (size_t)columns->value), &draft->value);
    take_points(csv, columns, draft, points);
}

static stk_status read_rows(stk__list *list, stk__csv *csv, column_plan *columns, stk_error *error)
{
    STK__TRY(read_header(list, csv, columns, error));
    for (;;) {
        const stk_status status = stk__csv_next(csv, error);
        if (status == STK_END) return STK_OK;
        STK__TRY(status);
        stk__draft draft = {.line = csv->line};
        float *points;
        STK__TRY(stk__list_add_points(list, &points, error));
        take_fields(csv, columns, &draft, points);
        STK__TRY(stk__list_add_row(list, &draft, error));
    }
}

stk_status stk__list_read_csv(stk__list *list, stk_error *error)
{
    stk__csv csv;
    column_plan columns = {-1, -1, -1, -1, 0, {0}};
    STK__TRY(stk__csv_open(&csv, list->path, error));
    const stk_status status = read_rows(list, &csv, &columns, error);
    stk__csv_close(&csv);
    stk__buffer_fini(&columns.points);
    return status;
}

stk_status stk__list_fits(const char *path, bool *fits, stk_error *error)
{
    stk__csv csv;
    STK__TRY(stk__csv_open(&csv, path, error));
    const stk_status status = stk__csv_next(&csv, error);
    *fits = status == STK_OK && !csv.fault && find_alias(&csv, stk__list_file_names) >= 0;
    stk__csv_close(&csv);
    return status == STK_END ? STK_OK : status;
}
