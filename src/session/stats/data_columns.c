/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a series: mean, std, range, cells that are not numbers, and gaps in a column that counts time.
 * Works on the table that the source holds: every row counts once, though it is in many windows. */
#include "session/stats/data_stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FEW_ROWS = 8, STEPS_LOOKED_AT = 255 };
#define SAME_STEP 0.001 /* of the usual one */
#define GAP       1.5   /* usual steps */

/* One column of the rows in question. */
typedef struct cells {
    const float *first;
    size_t stride;
    uint64_t count;
} cells;

static double cell(const cells *c, uint64_t row)
{
    return (double)c->first[row * c->stride];
}

/* Two passes: sums of differences from the mean keep their digits. */
static void measure(const cells *c, stk__data_column *column)
{
    double sum = 0, squares = 0;
    *column = (stk__data_column){.mean = NAN, .std = NAN, .least = NAN, .most = NAN};
    for (uint64_t row = 0; row < c->count; row++) {
        const double value = cell(c, row);
        if (!isfinite(value)) continue;
        if (!column->count || value < column->least) column->least = value;
        if (!column->count || value > column->most) column->most = value;
        sum += value;
        column->count++;
    }
    column->not_numbers = c->count - column->count;
    if (!column->count) return;
    column->mean = sum / (double)column->count;
    for (uint64_t row = 0; row < c->count; row++) {
        const double away = cell(c, row) - column->mean;
        if (isfinite(away)) squares += away * away;
    }
    column->std = sqrt(squares / (double)column->count);
}

/* --- gaps -----------------------------------------------------------------------------------------------
 */

/* The median of steps from row to row, spread over the column; 0: it does not always rise. */
static double usual_step(const cells *c)
{
    double steps[STEPS_LOOKED_AT];
    int count = 0;
    const uint64_t last = c->count - 1, each = last / STEPS_LOOKED_AT + 1;
    for (uint64_t row = 0; row < last && count < STEPS_LOOKED_AT; row += each) {
        const double step = cell(c, row + 1) - cell(c, row);
        int at = count;
        if (!isfinite(step)) continue;
        if (step <= 0) return 0;
        for (; at > 0 && steps[at - 1] > step; at--)
            steps[at] = steps[at - 1];
        steps[at] = step;
        count++;
    }
    return count ? steps[count / 2] : 0;
}

/* A column counts time when it always rises and nine of ten steps are the usual one. */
static void find_gaps(const cells *c, stk__data_column *column)
{
    uint64_t even = 0, steps = 0, gaps = 0;
    double gap = 0;
    if (c->count < FEW_ROWS) return;
    const double usual = usual_step(c);
    for (uint64_t row = 1; row < c->count && usual > 0; row++) {
        const double step = cell(c, row) - cell(c, row - 1);
        if (!isfinite(step)) continue;
        if (step <= 0) return;
        steps++;
        even += fabs(step - usual) <= SAME_STEP * usual;
        gaps += step > GAP * usual;
        if (step > gap) gap = step;
    }
    if (!steps || (double)even < 0.9 * (double)steps) return;
    column->step = usual;
    column->gaps = gaps;
    column->gap = gaps ? gap : 0;
}

/* --- all columns ----------------------------------------------------------------------------------------
 */

/* Names are those of the file, in its order; the target's is among them. */
static void name_columns(stk__data_stats *stats, const stk__series_table *table)
{
    const char *name = table->names;
    for (int32_t i = 0; i < stats->column_count; i++) {
        const bool target = i == table->target_column;
        const int32_t place = target ? table->column_count : i - (i > table->target_column);
        char *text = stats->columns[place].name;
        const size_t size = sizeof stats->columns[place].name;
        if (name)
            snprintf(text, size, "%s", name);
        else if (target)
            snprintf(text, size, "target");
        else
            snprintf(text, size, "%d", i + 1);
        if (name) name += strlen(name) + 1;
    }
}

static void count_bad_rows(stk__data_stats *stats, const stk__series_table *table, uint64_t first)
{
    for (uint64_t row = first; row < first + stats->rows; row++) {
        bool bad = !isfinite(table->targets[row]);
        for (int32_t c = 0; c < table->column_count; c++)
            bad |= !isfinite(table->features[row * (uint64_t)table->column_count + (uint64_t)c]);
        stats->bad_rows += bad;
    }
}

stk_status stk__data_columns_make(stk__data_stats *stats, const stk__series_table *table, stk_error *error)
{
    const uint64_t first = (uint64_t)stats->first_id;
    const uint64_t end = (uint64_t)stats->last_id + (uint64_t)stats->info.window_rows;
    const size_t bytes = (size_t)(table->column_count + 1) * sizeof *stats->columns;
    stats->columns = stk__alloc(bytes);
    if (!stats->columns) return stk__fail_memory(error, bytes, "the statistics of columns");
    stats->column_count = table->column_count + 1;
    stats->rows = (end < table->row_count ? end : table->row_count) - first;
    for (int32_t i = 0; i < stats->column_count; i++) {
        const bool target = i == table->column_count;
        const size_t stride = target ? 1 : (size_t)table->column_count;
        const cells c = {target ? table->targets + first : table->features + first * stride + (size_t)i,
                         stride, stats->rows};
        measure(&c, &stats->columns[i]);
        if (!target) find_gaps(&c, &stats->columns[i]);
    }
    name_columns(stats, table);
    count_bad_rows(stats, table, first);
    return STK_OK;
}
