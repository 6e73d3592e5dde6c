/* SPDX-License-Identifier: Apache-2.0 */
/* The source `series`: a table [rows, columns] in memory; sample i is the window of rows i to i + L - 1,
 * its label the target of the last row. Bad rows are indexed, and every window that contains one is a bad
 * sample. Constant after open. */
#include "source/series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_WINDOW_ROWS = 60 };

static const stk__series *series_of(const stk__source *source)
{
    return (const stk__series *)(const void *)source;
}

static stk_status refuse_row(const stk__series *series, const stk__bad_row *bad, stk_error *error)
{
    if (bad->damage == STK_DAMAGE_BAD_VALUES)
        stk__damaged(error, bad->damage, "column %u has a value that is NaN or infinite", bad->column);
    else if (bad->column)
        stk__damaged(error, bad->damage, "column %u has a text that is not a number", bad->column);
    else
        stk__damaged(error, bad->damage, "the row is malformed or has the wrong number of fields");
    stk__error_place(error, "%s:%llu", series->path, (unsigned long long)bad->line);
    stk__error_hint(error, "every window that contains this row is corrupt");
    return STK_ERROR_SAMPLE;
}

/* Window i is rows i … i + L - 1; its label is the target of its last row. */
static stk_status series_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                               stk_error *error)
{
    const stk__series *series = series_of(source);
    const uint64_t last = id + (uint64_t)series->source.info.window_rows - 1;
    const float *features = (const float *)(const void *)series->features.data;
    const float *targets = (const float *)(const void *)series->targets.data;
    *facts =
        (stk__sample_facts){.label = targets[last], .window = features + id * (uint64_t)series->column_count};
    if (!series->next_bad) return STK_OK;
    const stk__bad_row *bad = (const stk__bad_row *)(const void *)series->bad.data + series->next_bad[id];
    const bool inside = series->next_bad[id] < series->bad.size_bytes / sizeof *bad && bad->row <= last;
    return inside ? refuse_row(series, bad, error) : STK_OK;
}

static stk_status series_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                              const char **extension, stk_error *error)
{
    (void)source;
    (void)id;
    (void)field;
    (void)buffer;
    (void)extension;
    return stk__fail(error, STK_ERROR_ARGUMENT, "a series has neither images nor masks");
}

static void series_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "%012llu", (unsigned long long)id);
}

static void series_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    (void)id;
    (void)field;
    snprintf(text, size, "%s", series_of(source)->path);
}

static void series_table(const stk__source *source, stk__series_table *table)
{
    const stk__series *series = series_of(source);
    *table = (stk__series_table){.features = (const float *)(const void *)series->features.data,
                                 .targets = (const float *)(const void *)series->targets.data,
                                 .row_count = series->row_count,
                                 .column_count = series->column_count,
                                 .target_column = series->target_column,
                                 .names = (const char *)series->names.data};
}

static void series_close(stk__source *source)
{
    stk__series *series = (stk__series *)(void *)source;
    stk__buffer_fini(&series->features);
    stk__buffer_fini(&series->targets);
    stk__buffer_fini(&series->bad);
    stk__buffer_fini(&series->names);
    stk__free(series->next_bad);
    stk__free(series->path);
    stk__free(series);
}

static const stk__source_ops series_ops = {
    .name = "series",
    .facts = series_facts,
    .read = series_read,
    .key = series_key,
    .where = series_where,
    .table = series_table,
    .close = series_close,
};

stk_status stk__series_refuse(const stk__series *series, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' cannot be used as a series: %s", series->path, why);
    stk__error_place(error, "%s", series->path);
    stk__error_hint(error,
                    "a series has numbers only: one row per moment, features, and the target last or in a "
                    "column named target; a list of images has a column named file");
    return STK_ERROR_DATA;
}

stk_status stk__series_add_bad(stk__series *series, stk__bad_row bad, stk_error *error)
{
    return stk__buffer_append(&series->bad, &bad, sizeof bad, error);
}

stk_status stk__series_add(stk__series *series, const float *cells, size_t target_column, stk_error *error)
{
    const size_t before = target_column * sizeof(float);
    const size_t behind = ((size_t)series->column_count - target_column) * sizeof(float);
    STK__TRY(stk__buffer_append(&series->features, cells, before, error));
    STK__TRY(stk__buffer_append(&series->features, cells + target_column + 1, behind, error));
    STK__TRY(stk__buffer_append(&series->targets, cells + target_column, sizeof(float), error));
    series->target_column = (int32_t)target_column;
    series->row_count++;
    return STK_OK;
}

static stk_status index_bad(stk__series *series, stk_error *error)
{
    const stk__bad_row *bad = (const stk__bad_row *)(const void *)series->bad.data;
    uint32_t next = (uint32_t)(series->bad.size_bytes / sizeof *bad);
    if (next == 0) return STK_OK;
    if (next == series->row_count) {
        stk_error why = {0};
        refuse_row(series, &bad[0], &why);
        stk__series_refuse(series, "no row is usable", error);
        stk__error_place(error, "%s", why.place);
        stk__error_hint(error, "in the first one %s; a list of images needs data.columns='file=COLUMN'",
                        why.message);
        return STK_ERROR_DATA;
    }
    series->next_bad = stk__alloc(series->row_count * sizeof *series->next_bad);
    if (!series->next_bad) return stk__fail_memory(error, series->row_count * 4, "the index of bad rows");
    for (uint64_t row = series->row_count; row-- > 0;) {
        if (next > 0 && bad[next - 1].row == row) next--;
        series->next_bad[row] = next;
    }
    return STK_OK;
}

static stk_status take_fingerprint(stk__series *series, stk_error *error)
{
    const uint64_t sizes[2] = {series->row_count, (uint64_t)series->source.info.window_rows};
    stk__hash *hash = NULL;
    STK__TRY(stk__hash_create(&hash, error));
    stk__hash_update(hash, "series", sizeof "series");
    stk__hash_update(hash, sizes, sizeof sizes);
    stk__hash_update(hash, series->names.data, series->names.size_bytes);
    series->source.info.fingerprint = stk__hash_digest(hash);
    stk__hash_destroy(&hash);
    return STK_OK;
}

static stk_status cut_windows(stk__series *series, int64_t asked, stk_error *error)
{
    const int64_t rows = asked ? asked : DEFAULT_WINDOW_ROWS;
    if (rows < 0) return stk__fail(error, STK_ERROR_ARGUMENT, "a window of %lld rows", (long long)rows);
    if (rows > INT32_MAX || (uint64_t)rows > series->row_count) {
        stk__fail(error, STK_ERROR_DATA, "a window of %lld rows does not fit into a series of %llu",
                  (long long)rows, (unsigned long long)series->row_count);
        stk__error_place(error, "%s", series->path);
        stk__error_hint(error, "set data.sequence_length to %llu or less",
                        (unsigned long long)series->row_count);
        return STK_ERROR_DATA;
    }
    series->source.info.window_rows = (int32_t)rows;
    series->source.info.window_columns = series->column_count;
    series->source.info.count = series->row_count - (uint64_t)rows + 1;
    return STK_OK;
}

static stk_status open_series(stk__series *series, const stk__site *site, stk_error *error)
{
    const char *dot = strrchr(site->file, '.');
    const char *part = site->reading && *site->reading->part_name ? site->reading->part_name : NULL;
    series->path = stk__text_copy(site->file);
    if (!series->path) return stk__fail_memory(error, strlen(site->file) + 1, "the path of a series");
    STK__TRY(dot && strcasecmp(dot, ".npy") == 0 ? stk__series_read_npy(series, error)
                                                 : stk__series_read_csv(series, error));
    if (series->row_count == 0) return stk__series_refuse(series, "it has no rows", error);
    if (series->row_count >= UINT32_MAX) return stk__series_refuse(series, "it has over 2^32 rows", error);
    STK__TRY(index_bad(series, error));
    STK__TRY(cut_windows(series, site->options->window_rows, error));
    snprintf(series->layout, sizeof series->layout, "series%s%s%s", part ? " in " : "", part ? part : "",
             part ? "/" : "");
    series->source.info.layout = series->layout;
    series->source.info.label = STK_LABEL_VALUE;
    series->source.ops = &series_ops;
    return take_fingerprint(series, error);
}

stk_status stk__series_open(stk__source **source, const stk__site *site, stk_error *error)
{
    stk__series *series = stk__alloc(sizeof *series);
    if (!series) return stk__fail_memory(error, sizeof *series, "a source");
    const stk_status status = open_series(series, site, error);
    if (status != STK_OK)
        series_close(&series->source);
    else
        *source = &series->source;
    return status;
}
