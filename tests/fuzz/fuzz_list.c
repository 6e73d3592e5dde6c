/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a list of images in CSV and in JSONL, as COCO's key points, as a series in CSV, and as the
 * names of classes beside a list. Rows written with quotes read back as the same fields; every row of a list
 * is a sample, with facts that can be trained on or a damage that names its line; no name leads out of the
 * folder; parts by a column make up the list, and no file is a good sample of two. */
#include "fuzz.h"

#include "core/file.h"
#include "source/csv.h"
#include "source/kinds.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_LOOKED_AT = 200 };

/* --- rows ---------------------------------------------------------------------------------------------- */

static void append(stk__buffer *to, const void *data, size_t size)
{
    const stk_status status = stk__buffer_append(to, data, size, NULL);
    assert(status == STK_OK);
}

static void append_quoted(stk__buffer *to, stk__csv_text field)
{
    append(to, "\"", 1);
    for (size_t i = 0; i < field.length; i++)
        append(to, field.data[i] == '"' ? "\"\"" : field.data + i, field.data[i] == '"' ? 2 : 1);
    append(to, "\"", 1);
}

/* Lines never go back, and a faulty row has no fields. */
static uint64_t check_row(const stk__csv *csv, uint64_t last_line)
{
    assert(csv->line > last_line);
    assert((stk__csv_count(csv) == 0) == (csv->fault != NULL));
    for (size_t i = 0; i < stk__csv_count(csv); i++) {
        const stk__csv_text field = stk__csv_at(csv, i), trimmed = stk__csv_trimmed(csv, i);
        assert(strlen(field.data) == field.length && field.length <= STK_CSV_FIELD_BYTES);
        assert(trimmed.data >= field.data && trimmed.data + trimmed.length <= field.data + field.length);
    }
    return csv->line;
}

/* All good rows, every field in quotes. Returns how many. */
static uint64_t print_rows(const char *path, stk__buffer *text)
{
    stk__csv csv;
    uint64_t rows = 0, line = 0;
    stk_error error = {0};
    stk_status status = stk__csv_open(&csv, path, &error);
    if (status == STK_ERROR_DATA) { /* refused as a whole */
        assert(strstr(error.message, "UTF-16"));
        stk__csv_close(&csv);
        return 0;
    }
    assert(status == STK_OK);
    while ((status = stk__csv_next(&csv, NULL)) == STK_OK) {
        line = check_row(&csv, line);
        if (csv.fault) continue;
        rows++;
        for (size_t i = 0; i < stk__csv_count(&csv); i++) {
            if (i) append(text, ",", 1);
            append_quoted(text, stk__csv_at(&csv, i));
        }
        append(text, "\n", 1);
    }
    assert(status == STK_END);
    stk__csv_close(&csv);
    return rows;
}

static void check_rows(const char *path)
{
    stk__buffer first = {0}, second = {0};
    const uint64_t rows = print_rows(path, &first);
    const uint64_t again = print_rows(fuzz_file("again.csv", first.data, first.size_bytes), &second);
    assert(rows == again && first.size_bytes == second.size_bytes);
    assert(rows == 0 || memcmp(first.data, second.data, first.size_bytes) == 0);
    stk__buffer_fini(&first);
    stk__buffer_fini(&second);
}

/* --- samples ------------------------------------------------------------------------------------------- */

static bool leaves(const char *path)
{
    const char *below = path + strlen(fuzz_folder());
    if (strncmp(path, fuzz_folder(), strlen(fuzz_folder())) != 0 || *below != '/') return true;
    for (; below; below = strchr(below + 1, '/'))
        if (strncmp(below, "/../", 4) == 0 || strcmp(below, "/..") == 0) return true;
    return false;
}

static void check_facts(const stk__source_info *info, const stk__sample_facts *facts)
{
    if (info->label == STK_LABEL_CLASS) {
        assert(facts->label >= 0 && facts->label < info->class_count && facts->label == floor(facts->label));
    } else if (info->label == STK_LABEL_VALUE) {
        assert(isfinite((float)facts->label));
    } else if (info->label == STK_LABEL_SET) {
        assert(info->class_count > 0 && info->class_names);
        for (int32_t c = 0; c < info->class_count; c++)
            assert(facts->set[c] <= 1);
    }
    for (int32_t i = 0; i < 3 * info->point_count; i++)
        assert(isfinite(facts->points[i]));
    for (int64_t i = 0; i < (int64_t)info->window_rows * info->window_columns; i++)
        assert(isfinite(facts->window[i]));
}

static void check_sample(const stk__source *source, uint64_t id, const char *list)
{
    char path[PATH_MAX + 64];
    stk__sample_facts facts;
    stk_error error = {0};
    const stk_status status = source->ops->facts(source, id, &facts, &error);
    for (stk__field field = STK_FIELD_IMAGE; field <= STK_FIELD_MASK; field++) {
        source->ops->where(source, id, field, path, sizeof path);
        assert(!leaves(path));
    }
    if (status == STK_OK) {
        check_facts(&source->info, &facts);
        return;
    }
    fuzz_check_damage(status, &error);
    fuzz_check_place(&error, list);
    assert(error.damage == STK_DAMAGE_BAD_ROW || error.damage == STK_DAMAGE_BAD_VALUES);
}

/* Keys ascend; equal ones are rows for the same file, and only the first of these can be good. */
static void check_order(const stk__source *source, uint64_t id)
{
    char before[PATH_MAX], key[PATH_MAX];
    stk__sample_facts facts;
    source->ops->key(source, id - 1, before, sizeof before);
    source->ops->key(source, id, key, sizeof key);
    const int order = strcmp(before, key);
    assert(order <= 0);
    assert(order < 0 || source->ops->facts(source, id, &facts, NULL) == STK_ERROR_SAMPLE);
}

static void check_source(const stk__source *source, const char *list)
{
    const stk__source_info *info = &source->info;
    assert(info->count > 0 && info->class_count >= 0);
    for (int32_t i = 0; info->class_names && i < info->class_count; i++)
        assert(info->class_names[i] && info->class_names[i][0]);
    for (uint64_t id = 0; id < info->count && id < ROWS_LOOKED_AT; id++) {
        check_sample(source, id, list);
        if (id) check_order(source, id);
    }
}

typedef stk_status (*opener)(stk__source **source, const stk__site *site, stk_error *error);

static void open_source(opener open, const char *path)
{
    const stk__source_options options = {.root = fuzz_folder(), .window_rows = 2};
    stk__site site = {.options = &options};
    stk__source *source = NULL;
    stk_error error = {0};
    snprintf(site.root, sizeof site.root, "%s", fuzz_folder());
    snprintf(site.file, sizeof site.file, "%s", path);
    const stk_status status = open(&source, &site, &error);
    assert((status == STK_OK) == (source != NULL));
    if (status == STK_OK) {
        check_source(source, path);
        stk__source_close(&source);
        return;
    }
    assert(status == STK_ERROR_DATA);
    fuzz_check_failure(status, &error);
    fuzz_check_place(&error, fuzz_folder());
}

static stk__source *open_part(const char *path, const char *part, const char *columns)
{
    const stk__source_options options = {.root = fuzz_folder(), .part = part, .columns = columns};
    stk__site site = {.options = &options};
    stk__source *source = NULL;
    snprintf(site.root, sizeof site.root, "%s", fuzz_folder());
    snprintf(site.file, sizeof site.file, "%s", path);
    if (stk__list_open(&source, &site, NULL) != STK_OK) assert(!source);
    return source;
}

/* Does a part have a good sample with this key? Keys ascend, but a list may have many: the first ones do. */
static bool has_good(const stk__source *source, const char *key)
{
    char other[PATH_MAX];
    stk__sample_facts facts;
    for (uint64_t id = 0; id < source->info.count && id < ROWS_LOOKED_AT; id++) {
        source->ops->key(source, id, other, sizeof other);
        if (strcmp(key, other) == 0 && source->ops->facts(source, id, &facts, NULL) == STK_OK) return true;
    }
    return false;
}

/* The parts that a list names make up the list, and no good sample is in two of them. */
static void check_parts(const char *path)
{
    static const char *const names[] = {"train", "val", "test"};
    stk__source *whole = open_part(path, NULL, NULL), *parts[3] = {NULL};
    uint64_t sum = 0;
    for (int i = 0; whole && i < 3; i++) {
        const bool named = whole->info.parts >> i & 1;
        parts[i] = named ? open_part(path, names[i], NULL) : NULL;
        assert(!named || (parts[i] && parts[i]->info.parts == whole->info.parts));
        assert(!named || parts[i]->info.class_count == whole->info.class_count);
        sum += named ? parts[i]->info.count : 0;
    }
    assert(!whole || !whole->info.parts || sum == whole->info.count);
    for (int i = 1; i < 3; i++)
        for (uint64_t id = 0; parts[0] && parts[i] && id < parts[0]->info.count && id < ROWS_LOOKED_AT;
             id++) {
            char key[PATH_MAX];
            stk__sample_facts facts;
            parts[0]->ops->key(parts[0], id, key, sizeof key);
            if (parts[0]->ops->facts(parts[0], id, &facts, NULL) == STK_OK) assert(!has_good(parts[i], key));
        }
    for (int i = 0; i < 3; i++)
        stk__source_close(&parts[i]);
    stk__source_close(&whole);
}

/* The first bytes as data.columns: whatever they say, a list that opens holds the same promises. */
static void check_columns(const char *path, const uint8_t *data, size_t size)
{
    static const char labelled[] = "file,label,x,y\na.jpg,cat,1,2\nb.jpg,1,3,4\n";
    char columns[64];
    const size_t length = size < sizeof columns - 1 ? size : sizeof columns - 1;
    memcpy(columns, data, length);
    columns[length] = '\0';
    const char *const paths[] = {path, fuzz_file("labelled.csv", labelled, sizeof labelled - 1)};
    for (int i = 0; i < 2; i++) {
        stk__source *source = open_part(paths[i], NULL, columns);
        if (source) check_source(source, paths[i]);
        stk__source_close(&source);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char labelled[] = "file,label\na.jpg,cat\nb.jpg,1\nc.jpg,dog\n";
    bool fits;
    fuzz_limit_memory(64 << 20);
    const char *csv = fuzz_file("labels.csv", data, size);
    check_rows(csv);
    stk_error error = {0};
    const stk__source_options options = {.root = fuzz_folder()};
    stk__site site = {.options = &options};
    snprintf(site.root, sizeof site.root, "%s", fuzz_folder());
    snprintf(site.file, sizeof site.file, "%s", csv);
    const stk_status status = stk__list_fits(&site, &fits, &error);
    assert(status == STK_OK || strstr(error.message, "UTF-16"));
    open_source(stk__list_open, csv);
    check_parts(csv);
    check_columns(csv, data, size);
    csv = fuzz_file("labels.csv", data, size);
    open_source(stk__series_open, csv);
    const char *json = fuzz_file("labels.jsonl", data, size);
    open_source(stk__list_open, json);
    check_parts(json);
    const char *coco = fuzz_file("coco.json", data, size);
    assert(stk__coco_has_points(coco, &fits, NULL) == STK_OK);
    open_source(stk__list_open, coco);
    fuzz_file("classes.txt", data, size);
    open_source(stk__list_open, fuzz_file("labelled.csv", labelled, sizeof labelled - 1));
    fuzz_file_remove("classes.txt");
    return 0;
}
