/* SPDX-License-Identifier: Apache-2.0 */
/* A list in CSV: the header decides which columns are file, label, value, mask, split and points
 * (list_columns.c), with a look at the first rows; each row fills a draft for list_rows.c. One thread. */
#include "source/list/list.h"

#include "core/number.h"
#include "core/text.h"
#include "source/csv.h"
#include "source/extension.h"
#include "source/folder_look.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Which column holds what; -1: none. */
typedef struct column_plan {
    int file, label, value, mask, split;
    size_t count;
} column_plan;

/* --- header --------------------------------------------------------------------------------------------- */

/* "000001" is an image when there is 000001.jpg. */
bool stk__list_names_image(const char *folder, const char *below, const char *name)
{
    char path[PATH_MAX];
    return *name && *name != '/' && snprintf(path, sizeof path, "%s/%s%s", folder, below, name) < PATH_MAX &&
           (stk__path_is_file(path) || stk__extension_finds_file(path));
}

/* True when the first row is a sample already: its first cell, or the one data.columns counts, is a file. */
static bool is_headless(const stk__columns *columns, const char *root)
{
    const stk__column_wish *wish = &columns->wishes[STK_ROLE_FILE];
    int64_t number = 1;
    if (wish->name && !wish->none && !stk__number_whole(wish->name, wish->length, &number)) return false;
    if (number < 1 || (size_t)number > stk__columns_count(columns)) return false;
    const char *cell = stk__columns_name(columns, (size_t)number - 1);
    if (stk__extension_is_picture(cell, strlen(cell)) && !strstr(cell, "://")) return true;
    if (stk__columns_file(columns) >= 0) return false;
    return stk__list_names_image(root, "", cell) || stk__list_names_image(root, "images/", cell);
}

static stk_status take_names(stk__columns *columns, const stk__csv *csv, stk_error *error)
{
    for (size_t i = 0; i < stk__csv_count(csv); i++) {
        const stk__csv_text name = stk__csv_trimmed(csv, i);
        STK__TRY(stk__columns_add(columns, name.data, name.length, error));
    }
    return STK_OK;
}

static stk_status count_columns(stk__columns *columns, size_t count, stk_error *error)
{
    columns->names.size_bytes = columns->list.size_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        char name[24];
        const int length = snprintf(name, sizeof name, "%zu", i + 1);
        STK__TRY(stk__columns_add(columns, name, (size_t)length, error));
    }
    return STK_OK;
}

/* Reads the first row into names; leaves the reader at the first sample. */
static stk_status read_names(stk__columns *columns, stk__csv *csv, const char *root, stk_error *error)
{
    const uint64_t start = stk__byte_reader_tell(&csv->reader);
    const stk_status status = stk__csv_next(csv, error);
    columns->line = csv->line;
    if (status == STK_END)
        return stk__columns_refuse(columns, 0, error, "the list has no header: the file is empty");
    STK__TRY(status);
    if (csv->fault)
        return stk__columns_refuse(columns, 0, error, "the header of the list cannot be used: it has %s",
                                   csv->fault);
    STK__TRY(take_names(columns, csv, error));
    columns->headless = is_headless(columns, root);
    if (!columns->headless) return STK_OK;
    stk__byte_reader_seek(&csv->reader, start);
    csv->next_line = 1;
    return count_columns(columns, stk__csv_count(csv), error);
}

static stk_status look_at_rows(stk__columns *columns, stk__csv *csv, stk_error *error)
{
    const uint64_t start = stk__byte_reader_tell(&csv->reader), line = csv->next_line;
    bool open = true; /* a list that is sorted by part has train alone in its first rows */
    for (int row = 0; row < STK_COLUMN_ROWS || open; row += row < STK_COLUMN_ROWS) {
        const stk_status status = stk__csv_next(csv, error);
        if (status == STK_END) break;
        STK__TRY(status);
        open = false;
        for (size_t i = 0; i < stk__csv_count(csv) && i < stk__columns_count(columns); i++) {
            const stk__csv_text cell = stk__csv_at(csv, i);
            if (row < STK_COLUMN_ROWS || stk__columns_may_split(columns, i))
                stk__columns_look(columns, i, cell.data, cell.length);
            open |= stk__columns_may_split(columns, i);
        }
    }
    stk__byte_reader_seek(&csv->reader, start);
    csv->next_line = line;
    return STK_OK;
}

static stk_status read_header(stk__list *list, stk__csv *csv, column_plan *plan, stk_error *error)
{
    stk__columns *columns = &list->columns;
    STK__TRY(read_names(columns, csv, list->root, error));
    STK__TRY(look_at_rows(columns, csv, error));
    STK__TRY(stk__columns_assign(columns, error));
    *plan = (column_plan){.file = stk__columns_find(columns, STK_ROLE_FILE),
                          .label = stk__columns_find(columns, STK_ROLE_LABEL),
                          .value = stk__columns_find(columns, STK_ROLE_VALUE),
                          .mask = stk__columns_find(columns, STK_ROLE_MASK),
                          .split = stk__columns_find(columns, STK_ROLE_SPLIT),
                          .count = stk__columns_count(columns)};
    list->has_label = plan->label >= 0;
    list->joins = columns->lists || columns->flag_count;
    if (list->has_label &&
        (stk__columns_at(columns, (size_t)plan->label)->several || columns->wishes[STK_ROLE_LABEL].several))
        list->label_texts = STK_LABEL_TEXTS_NAMES; /* "16 0", though the first may be "5" */
    list->has_value = plan->value >= 0;
    if (list->has_label) {
        const stk__list_column *label = stk__columns_at(columns, (size_t)plan->label);
        list->signs = label->lowered && label->raised + label->lowered == label->cells;
    }
    list->has_mask = plan->mask >= 0;
    list->has_split = plan->split >= 0;
    list->point_count = (int32_t)stk__columns_pairs(columns);
    return STK_OK;
}

/* --- rows ----------------------------------------------------------------------------------------------- */

/* False: not a finite number, and the draft says so. */
static bool take_number(stk__draft *draft, const char *what, stk__csv_text field, double *value)
{
    if (field.length && stk__number_real(field.data, field.length, value) && isfinite((float)*value))
        return true;
    stk__draft_fault(draft, "the %s '%.*s' is not a finite number", what,
                     (int)(field.length < 60 ? field.length : 60), field.data);
    return false;
}

static void take_points(const stk__csv *csv, const stk__columns *columns, stk__draft *draft, float *points)
{
    for (size_t i = 0; i < stk__columns_pairs(columns); i++) {
        const stk__column_pair pair = stk__columns_pair(columns, i);
        const stk__csv_text x = stk__csv_trimmed(csv, (size_t)pair.x),
                            y = stk__csv_trimmed(csv, (size_t)pair.y);
        double at[2];
        if (x.length == 0 && y.length == 0) continue; /* not visible */
        if (!take_number(draft, "coordinate", x, &at[0]) || !take_number(draft, "coordinate", y, &at[1]))
            return;
        points[i * 3] = (float)at[0];
        points[i * 3 + 1] = (float)at[1];
        points[i * 3 + 2] = 1;
    }
}

static void take_text(stk__csv_text field, const char **data, size_t *length)
{
    *data = field.data;
    *length = field.length;
}

static void take_fields(const stk__csv *csv, const column_plan *plan, stk__draft *draft)
{
    if (csv->fault) {
        stk__draft_fault(draft, "the row has %s", csv->fault);
        return;
    }
    const size_t count = stk__csv_count(csv);
    if (count != plan->count)
        stk__draft_fault(draft, "the row has %zu fields, the header has %zu", count, plan->count);
    if ((size_t)plan->file < count)
        take_text(stk__csv_at(csv, (size_t)plan->file), &draft->file, &draft->file_length);
    if (draft->fault[0]) return;
    if (plan->label >= 0)
        take_text(stk__csv_trimmed(csv, (size_t)plan->label), &draft->label, &draft->label_length);
    if (plan->mask >= 0) take_text(stk__csv_at(csv, (size_t)plan->mask), &draft->mask, &draft->mask_length);
    if (plan->split >= 0)
        take_text(stk__csv_trimmed(csv, (size_t)plan->split), &draft->split, &draft->split_length);
    if (plan->value >= 0)
        take_number(draft, "value", stk__csv_trimmed(csv, (size_t)plan->value), &draft->value);
}

/* Columns of 0 and 1 (or -1 and 1): the names of those with 1. */
static stk_status join_flags(stk__list *list, const stk__csv *csv, stk__draft *draft, stk_error *error)
{
    const stk__columns *columns = &list->columns;
    for (size_t i = 0; i < stk__columns_count(columns) && !draft->fault[0]; i++) {
        if (stk__columns_at(columns, i)->role != STK_ROLE_LABEL) continue;
        const char *name = stk__columns_name(columns, i);
        const stk__csv_text cell = stk__csv_trimmed(csv, i);
        int flag;
        if (!stk__flag_read(cell.data, cell.length, &flag))
            stk__draft_fault(draft, "the column '%.60s' has '%.*s', neither 0 nor 1", name,
                             (int)(cell.length < 60 ? cell.length : 60), cell.data);
        else if (flag < 0 && stk__columns_at(columns, i)->flags >
                                 stk__columns_at(columns, i)->raised + stk__columns_at(columns, i)->lowered)
            stk__draft_fault(draft, "the column '%.60s' has -1 beside 0, which can mean unknown", name);
        else if (flag > 0)
            STK__TRY(stk__list_join(list, draft, name, strlen(name), error));
    }
    return STK_OK;
}

static stk_status join_labels(stk__list *list, const stk__csv *csv, const column_plan *plan,
                              stk__draft *draft, stk_error *error)
{
    STK__TRY(stk__list_join_begin(list, error));
    const stk__csv_text cell = stk__csv_trimmed(csv, (size_t)plan->label);
    STK__TRY(list->columns.flag_count ? join_flags(list, csv, draft, error)
                                      : stk__list_join_cell(list, draft, cell.data, cell.length, error));
    stk__list_join_end(list, draft);
    return STK_OK;
}

static stk_status read_rows(stk__list *list, stk__csv *csv, stk_error *error)
{
    column_plan plan;
    stk__csv_find_delimiter(csv, stk__text_ends_with(list->path, strlen(list->path), ".txt"));
    STK__TRY(read_header(list, csv, &plan, error));
    for (;;) {
        const stk_status status = stk__csv_next(csv, error);
        if (status == STK_END) return STK_OK;
        STK__TRY(status);
        stk__draft draft = {.line = csv->line};
        float *points;
        STK__TRY(stk__list_add_points(list, &points, error));
        take_fields(csv, &plan, &draft);
        if (list->joins && !draft.fault[0]) STK__TRY(join_labels(list, csv, &plan, &draft, error));
        if (!draft.fault[0]) take_points(csv, &list->columns, &draft, points);
        STK__TRY(stk__list_add_row(list, &draft, error));
    }
}

stk_status stk__list_read_csv(stk__list *list, stk_error *error)
{
    stk__csv csv;
    STK__TRY(stk__csv_open(&csv, list->path, error));
    const stk_status status = read_rows(list, &csv, error);
    stk__csv_close(&csv);
    return status;
}

/* --- is it a list --------------------------------------------------------------------------------------- */

/* images/, or a part: its images, or theirs in it. */
static bool has_image_folder(const char *root)
{
    stk__folder_look look;
    stk__folder_look_at(&look, root);
    for (int i = 0; i < look.word_count; i++)
        if (look.words[i].word.kind <= STK_FOLDER_IMAGES) return true;
    return false;
}

void stk__list_judge(stk__columns *columns, const char *root, const char *cell, stk__list_fit *fit)
{
    const int file = stk__columns_file(columns);
    *fit = (stk__list_fit){.columns = stk__columns_count(columns), .foldered = strchr(cell, '/') != NULL};
    fit->list = columns->headless || columns->wishes[STK_ROLE_FILE].name || file >= 0;
    if (!fit->list) return;
    const stk__list_column *column = file < 0 ? NULL : stk__columns_at(columns, (size_t)file);
    if (column && stk__column_named(stk__columns_name(columns, (size_t)file), "id") &&
        column->numbers == column->cells && !columns->headless)
        fit->list = has_image_folder(root) || stk__list_names_image(root, "", cell);
    fit->lacking = stk__columns_lack(columns);
    fit->target = stk__columns_assign(columns, NULL) != STK_OK; /* what is refused has to be seen */
    for (stk__role role = STK_ROLE_LABEL; role <= STK_ROLE_POINTS; role++)
        fit->target |= role != STK_ROLE_SPLIT && stk__columns_find(columns, role) >= 0;
}

static stk_status look_at_file(stk__columns *columns, stk__csv *csv, const stk__site *site,
                               stk__list_fit *fit, stk_error *error)
{
    STK__TRY(stk__columns_wish(columns, site->options->columns, error));
    stk__csv_find_delimiter(csv, stk__text_ends_with(site->file, strlen(site->file), ".txt"));
    stk_status status = read_names(columns, csv, site->root, error);
    if (status == STK_ERROR_DATA) return STK_END; /* no header */
    STK__TRY(status);
    STK__TRY(look_at_rows(columns, csv, error));
    status = stk__csv_next(csv, error);
    if (status != STK_OK && status != STK_END) return status;
    const int file = stk__columns_file(columns);
    const size_t at = file < 0 ? 0 : (size_t)file;
    const char *cell = status == STK_OK && at < stk__csv_count(csv) ? stk__csv_at(csv, at).data : "";
    stk__list_judge(columns, site->root, cell, fit);
    if (strlen(cell) < sizeof fit->cell) snprintf(fit->cell, sizeof fit->cell, "%s", cell);
    return STK_OK;
}

stk_status stk__list_look_csv(const stk__site *site, stk__list_fit *fit, stk_error *error)
{
    stk__csv csv;
    stk__columns columns = {.path = site->file};
    *fit = (stk__list_fit){.list = false};
    STK__TRY(stk__csv_open(&csv, site->file, error));
    const stk_status status = look_at_file(&columns, &csv, site, fit, error);
    stk__columns_fini(&columns);
    stk__csv_close(&csv);
    if (status == STK_END) stk__error_clear(error);
    return status == STK_END ? STK_OK : status;
}

stk_status stk__list_fits(const stk__site *site, bool *fits, stk_error *error)
{
    stk__list_fit fit;
    *fits = false;
    STK__TRY(stk__list_look_csv(site, &fit, error));
    *fits = fit.list;
    return STK_OK;
}
