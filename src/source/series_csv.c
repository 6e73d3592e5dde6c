/* SPDX-License-Identifier: Apache-2.0 */
/* A series from CSV: an optional header, then one row of numbers per moment; rows that are not all numbers
 * are kept as bad. */
#include "source/series.h"

#include "core/number.h"
#include "source/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A table while it is read. */
typedef struct table_reader {
    stk__csv csv;
    float *cells; /* [columns] of the current row */
    size_t columns, target;
} table_reader;

static bool is_number(const stk__csv *csv, size_t index, double *value)
{
    const stk__csv_text field = stk__csv_trimmed(csv, index);
    return stk__number_real(field.data, field.length, value);
}

static bool is_row_of_numbers(const stk__csv *csv)
{
    double value;
    for (size_t i = 0; i < stk__csv_count(csv); i++)
        if (!is_number(csv, i, &value)) return false;
    return true;
}

static stk_status add_row(stk__series *series, table_reader *table, stk_error *error)
{
    stk__bad_row bad = {.row = series->row_count, .line = table->csv.line};
    const bool whole = !table->csv.fault && stk__csv_count(&table->csv) == table->columns;
    if (!whole) bad.damage = STK_DAMAGE_BAD_ROW;
    for (size_t i = 0; i < table->columns; i++) {
        double value = 0;
        const bool number = !whole || is_number(&table->csv, i, &value);
        table->cells[i] = whole && number ? (float)value : NAN; /* no window has a row like that */
        if ((number && isfinite(table->cells[i])) || bad.damage != STK_DAMAGE_NONE) continue;
        bad.damage = number ? STK_DAMAGE_BAD_VALUES : STK_DAMAGE_BAD_ROW;
        bad.column = (uint32_t)i + 1;
    }
    if (bad.damage != STK_DAMAGE_NONE) STK__TRY(stk__series_add_bad(series, bad, error));
    return stk__series_add(series, table->cells, table->target, error);
}

/* Kaggle's digits: label, pixel0, …, pixel783. */
static bool has_pixels(const stk__csv *csv)
{
    size_t pixels = 0;
    for (size_t i = 0; i < stk__csv_count(csv); i++) {
        const stk__csv_text name = stk__csv_trimmed(csv, i);
        pixels += name.length > 5 && strncasecmp(name.data, "pixel", 5) == 0;
    }
    return pixels > 1 && pixels + 2 >= stk__csv_count(csv);
}

/* Takes the first row as names, or as the first moment when it is all numbers. */
static stk_status take_header(stk__series *series, table_reader *table, stk_error *error)
{
    const stk__csv *csv = &table->csv;
    const bool names = !is_row_of_numbers(csv);
    table->columns = stk__csv_count(csv);
    if (table->columns < 2) return stk__series_refuse(series, "it needs two columns or more", error);
    if (names && has_pixels(csv)) {
        stk__series_refuse(series, "its columns are the pixels of an image in each row", error);
        stk__error_hint(error, "write each row as a PNG file into a folder per class, with NumPy and Pillow");
        return STK_ERROR_DATA;
    }
    const int target = names ? stk__csv_find(csv, "target", 6) : -1;
    table->target = target < 0 ? table->columns - 1 : (size_t)target;
    series->column_count = (int32_t)table->columns - 1;
    for (size_t i = 0; i < table->columns; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        const stk__csv_text name = names ? stk__csv_trimmed(csv, i) : (stk__csv_text){number, strlen(number)};
        STK__TRY(stk__buffer_text(&series->names, name.data, name.length, NULL, error));
    }
    table->cells = stk__alloc(table->columns * sizeof *table->cells);
    if (!table->cells) return stk__fail_memory(error, table->columns * sizeof *table->cells, "a row");
    return names ? STK_OK : add_row(series, table, error);
}

static stk_status read_table(stk__series *series, table_reader *table, stk_error *error)
{
    stk_status status = stk__csv_next(&table->csv, error);
    if (status == STK_END) return stk__series_refuse(series, "it is empty", error);
    STK__TRY(status);
    if (table->csv.fault) return stk__series_refuse(series, table->csv.fault, error);
    STK__TRY(take_header(series, table, error));
    while ((status = stk__csv_next(&table->csv, error)) == STK_OK)
        STK__TRY(add_row(series, table, error));
    return status == STK_END ? STK_OK : status;
}

stk_status stk__series_read_csv(stk__series *series, stk_error *error)
{
    table_reader table = {0};
    STK__TRY(stk__csv_open(&table.csv, series->path, error));
    const stk_status status = read_table(series, &table, error);
    stk__csv_close(&table.csv);
    stk__free(table.cells);
    return status;
}
