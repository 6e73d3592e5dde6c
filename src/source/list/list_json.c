/* SPDX-License-Identifier: Apache-2.0 */
/* A list in JSON Lines: one object per line, parsed by Jansson; the first object decides which keys all
 * rows must have. Each row fills a draft for list_rows.c. */
#include "source/list/list.h"

#include "core/text.h"
#include "source/reader.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 1 << 20 };

/* The key that has a role in all rows; NULL: none. */
static const json_t *find_role(const stk__list *list, const json_t *object, stk__role role)
{
    const int column = stk__columns_find(&list->columns, role);
    return column < 0 ? NULL : json_object_get(object, stk__columns_name(&list->columns, (size_t)column));
}

/* Reads a line; longer ones are read to their end but not kept. STK_END behind the last. */
static stk_status next_line(stk__byte_reader *reader, stk__buffer *line, bool *too_long, stk_error *error)
{
    int byte = stk__byte_reader_next(reader);
    line->size_bytes = 0;
    *too_long = false;
    if (byte == STK_BYTE_READER_END && !reader->failed) return STK_END;
    for (; byte != '\n' && byte != STK_BYTE_READER_END; byte = stk__byte_reader_next(reader)) {
        const uint8_t one = (uint8_t)byte;
        *too_long = line->size_bytes >= LINE_BYTES;
        if (!*too_long) STK__TRY(stk__buffer_append(line, &one, 1, error));
    }
    if (reader->failed) return stk__fail_errno(error, reader->failed, "cannot read the whole list");
    return STK_OK;
}

static bool is_empty_line(const stk__buffer *line)
{
    for (size_t i = 0; i < line->size_bytes; i++)
        if (!stk__is_space((char)line->data[i])) return false;
    return true;
}

static void look_at(stk__columns *columns, size_t index, const json_t *value)
{
    char text[64] = "";
    if (json_is_string(value))
        stk__columns_look(columns, index, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, sizeof text, "%.17g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : "false");
    else if (json_is_array(value) || json_is_object(value))
        snprintf(text, sizeof text, "[]");
    if (*text) stk__columns_look(columns, index, text, strlen(text));
}

/* points, or what data.columns says. */
static void choose_points(stk__columns *columns)
{
    static const char *const names[] = {"points", "keypoints", "landmarks"};
    const stk__column_wish *wish = &columns->wishes[STK_ROLE_POINTS];
    for (size_t n = 0; n < (wish->name ? 1 : sizeof names / sizeof names[0]); n++)
        for (size_t i = 0; i < stk__columns_count(columns) && !wish->none; i++) {
            const char *name = stk__columns_name(columns, i);
            const bool found =
                wish->name ? strlen(name) == wish->length && memcmp(name, wish->name, wish->length) == 0
                           : strcasecmp(name, names[n]) == 0;
            if (!found || stk__columns_at(columns, i)->role != STK_ROLE_NONE) continue;
            stk__columns_at(columns, i)->role = STK_ROLE_POINTS;
            return;
        }
}

static stk_status take_keys(stk__columns *columns, const json_t *object, uint64_t line, stk_error *error)
{
    const char *key;
    json_t *value;
    columns->json = true;
    columns->line = line;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        STK__TRY(stk__columns_add(columns, key, strlen(key), error));
        look_at(columns, stk__columns_count(columns) - 1, value);
    }
    choose_points(columns);
    return STK_OK;
}

/* The first row that is an object decides what all rows must have. */
static stk_status take_schema(stk__list *list, const json_t *object, uint64_t line, stk_error *error)
{
    stk__columns *columns = &list->columns;
    STK__TRY(take_keys(columns, object, line, error));
    STK__TRY(stk__columns_assign(columns, error));
    list->schema_known = true;
    list->has_label = stk__columns_find(columns, STK_ROLE_LABEL) >= 0;
    list->joins = columns->lists;
    if (columns->wishes[STK_ROLE_LABEL].several) list->label_texts = STK_LABEL_TEXTS_NAMES;
    list->has_value = stk__columns_find(columns, STK_ROLE_VALUE) >= 0;
    list->has_mask = stk__columns_find(columns, STK_ROLE_MASK) >= 0;
    list->has_split = stk__columns_find(columns, STK_ROLE_SPLIT) >= 0;
    list->point_count = (int32_t)json_array_size(find_role(list, object, STK_ROLE_POINTS));
    return STK_OK;
}

static bool has_points(const json_t *points)
{
    return points && !(json_is_array(points) && json_array_size(points) == 0);
}

static bool is_column(const stk__columns *columns, const char *name)
{
    for (size_t i = 0; i < stk__columns_count(columns); i++)
        if (strcmp(stk__columns_name(columns, i), name) == 0) return true;
    return false;
}

/* A key of the first row that is missing, or one that the first row should have had. */
static void check_schema(const stk__list *list, const json_t *object, stk__draft *draft)
{
    const struct {
        stk__role role;
        bool wanted;
        const char *name;
    } fields[] = {
        {STK_ROLE_LABEL, list->has_label, "label"},
        {STK_ROLE_VALUE, list->has_value, "value"},
        {STK_ROLE_MASK, list->has_mask, "mask"},
        {STK_ROLE_SPLIT, list->has_split, "split"},
        {STK_ROLE_POINTS, list->point_count > 0, "points"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const json_t *value = fields[i].wanted ? find_role(list, object, fields[i].role)
                              : is_column(&list->columns, fields[i].name)
                                  ? NULL
                                  : json_object_get(object, fields[i].name);
        const bool there = fields[i].role == STK_ROLE_POINTS ? has_points(value) : value != NULL;
        if (fields[i].wanted != there)
            stk__draft_fault(draft, "the row has %s '%s', unlike the first one", there ? "a" : "no",
                             fields[i].name);
    }
}

bool stk__list_take_point(const json_t *point, float place[3])
{
    if (json_is_null(point)) return true; /* not visible */
    const json_t *x = json_array_get(point, 0), *y = json_array_get(point, 1),
                 *seen = json_array_get(point, 2);
    const size_t size = json_array_size(point);
    if ((size != 2 && size != 3) || !json_is_number(x) || !json_is_number(y)) return false;
    if (seen && !json_is_number(seen) && !json_is_boolean(seen)) return false;
    place[0] = (float)json_number_value(x);
    place[1] = (float)json_number_value(y);
    place[2] = !seen || json_is_true(seen) || json_number_value(seen) > 0;
    return isfinite(place[0]) && isfinite(place[1]);
}

static void take_points(const stk__list *list, const json_t *points, stk__draft *draft, float *places)
{
    if (!json_is_array(points) || json_array_size(points) != (size_t)list->point_count) {
        stk__draft_fault(draft, "'points' is not a list of %d point%s", (int)list->point_count,
                         stk__plural((unsigned)list->point_count));
        return;
    }
    for (size_t i = 0; i < (size_t)list->point_count; i++)
        if (!stk__list_take_point(json_array_get(points, i), places + i * 3))
            stk__draft_fault(draft, "point %zu is neither [x, y], [x, y, visible] nor null", i);
}

static void take_label(const json_t *label, stk__draft *draft, char digits[32])
{
    if (json_is_string(label)) {
        draft->label = json_string_value(label);
        draft->label_length = json_string_length(label);
    } else if (json_is_integer(label)) {
        draft->label_length =
            (size_t)snprintf(digits, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(label));
        draft->label = digits;
    } else {
        stk__draft_fault(draft, "'label' is neither an integer nor a name");
    }
}

/* ["cat", "dog"], [3, 5] or []. */
static stk_status join_labels(stk__list *list, const json_t *labels, stk__draft *draft, stk_error *error)
{
    char digits[32];
    STK__TRY(stk__list_join_begin(list, error));
    if (!json_is_array(labels)) stk__draft_fault(draft, "'label' is not a list of labels");
    for (size_t i = 0; i < json_array_size(labels) && !draft->fault[0]; i++) {
        stk__draft one = {0};
        take_label(json_array_get(labels, i), &one, digits);
        if (one.fault[0])
            stk__draft_fault(draft, "label %zu is neither an integer nor a name", i + 1);
        else
            STK__TRY(stk__list_join(list, draft, one.label, one.label_length, error));
    }
    stk__list_join_end(list, draft);
    return STK_OK;
}

static void take_texts(const stk__list *list, const json_t *object, stk__draft *draft)
{
    const json_t *file = find_role(list, object, STK_ROLE_FILE),
                 *mask = find_role(list, object, STK_ROLE_MASK);
    const json_t *split = find_role(list, object, STK_ROLE_SPLIT);
    draft->split = json_is_boolean(split) ? (json_is_true(split) ? "1" : "0") : json_string_value(split);
    if (json_is_integer(split) && (json_integer_value(split) | 1) == 1)
        draft->split = json_integer_value(split) ? "1" : "0";
    draft->split_length = draft->split ? strlen(draft->split) : 0;
    if (file && !json_is_string(file)) stk__draft_fault(draft, "'file' is not a text");
    if (json_is_string(file)) {
        draft->file = json_string_value(file);
        draft->file_length = json_string_length(file);
    }
    if (!list->has_mask) return;
    if (!json_is_string(mask)) stk__draft_fault(draft, "'mask' is not a text");
    draft->mask = json_is_string(mask) ? json_string_value(mask) : "";
    draft->mask_length = strlen(draft->mask);
}

static void take_object(const stk__list *list, const json_t *object, stk__draft *draft, char digits[32])
{
    take_texts(list, object, draft);
    check_schema(list, object, draft);
    if (list->has_label && !list->joins) take_label(find_role(list, object, STK_ROLE_LABEL), draft, digits);
    const json_t *value = find_role(list, object, STK_ROLE_VALUE);
    if (list->has_value && !json_is_number(value)) stk__draft_fault(draft, "'value' is not a number");
    draft->value = json_number_value(value);
    if (!isfinite((float)draft->value)) stk__draft_fault(draft, "'value' is not a finite 32-bit number");
}

static stk_status add_object(stk__list *list, const json_t *object, stk__draft *draft, stk_error *error)
{
    char digits[32];
    float *points;
    if (json_object_size(object) && !list->schema_known)
        STK__TRY(take_schema(list, object, draft->line, error));
    STK__TRY(stk__list_add_points(list, &points, error));
    if (json_is_object(object))
        take_object(list, object, draft, digits);
    else
        stk__draft_fault(draft, "the row is not a JSON object");
    if (list->joins && json_is_object(object))
        STK__TRY(join_labels(list, find_role(list, object, STK_ROLE_LABEL), draft, error));
    if (json_is_object(object) && points)
        take_points(list, find_role(list, object, STK_ROLE_POINTS), draft, points);
    return stk__list_add_row(list, draft, error);
}

static stk_status add_line(stk__list *list, const stk__buffer *line, stk__draft *draft, stk_error *error)
{
    json_error_t why;
    json_t *object = json_loadb((const char *)line->data, line->size_bytes,
                                JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!object) {
        if (json_error_code(&why) == json_error_out_of_memory)
            return stk__fail_memory(error, line->size_bytes, "a row of the list");
        stk__draft_fault(draft, "invalid JSON: %s (column %d)", why.text, why.column);
    }
    const stk_status status = add_object(list, object, draft, error);
    json_decref(object);
    return status;
}

static stk_status read_lines(stk__list *list, stk__byte_reader *reader, stk__buffer *line, stk_error *error)
{
    for (uint64_t number = 1;; number++) {
        bool too_long;
        const stk_status status = next_line(reader, line, &too_long, error);
        if (status == STK_END) return STK_OK;
        STK__TRY(status);
        if (is_empty_line(line)) continue;
        stk__draft draft = {.line = number};
        if (too_long) stk__draft_fault(&draft, "the line is longer than %d bytes", LINE_BYTES);
        STK__TRY(too_long ? add_object(list, NULL, &draft, error) : add_line(list, line, &draft, error));
    }
}

/* Rows before the first object have no points; the array of points needs one entry for each row. */
static stk_status pad_points(stk__list *list, stk_error *error)
{
    const size_t rows = list->rows.size_bytes / sizeof(stk__row);
    const size_t size = (size_t)list->point_count * 3 * sizeof(float),
                 missing = rows * size - list->points.size_bytes;
    if (missing == 0) return STK_OK;
    STK__TRY(stk__buffer_reserve(&list->points, rows * size, error));
    memmove(list->points.data + missing, list->points.data, list->points.size_bytes);
    memset(list->points.data, 0, missing);
    list->points.size_bytes = rows * size;
    return STK_OK;
}

stk_status stk__list_read_json(stk__list *list, stk_error *error)
{
    stk__byte_reader reader;
    stk__buffer line = {0};
    STK__TRY(stk__byte_reader_open(&reader, list->path, error));
    stk_status status = read_lines(list, &reader, &line, error);
    if (status == STK_OK) status = pad_points(list, error);
    stk__byte_reader_close(&reader);
    stk__buffer_fini(&line);
    return status;
}

/* The first line alone decides. */
static stk_status look_at_line(stk__columns *columns, const stk__site *site, const stk__buffer *line,
                               stk__list_fit *fit, stk_error *error)
{
    json_t *object = json_loadb((const char *)line->data, line->size_bytes, 0, NULL);
    stk_status status = stk__columns_wish(columns, site->options->columns, error);
    if (status == STK_OK && json_is_object(object)) {
        status = take_keys(columns, object, 1, error);
        const int file = stk__columns_file(columns);
        const char *cell =
            file < 0 ? NULL
                     : json_string_value(json_object_get(object, stk__columns_name(columns, (size_t)file)));
        if (status == STK_OK) stk__list_judge(columns, site->root, cell ? cell : "", fit);
    }
    json_decref(object);
    return status;
}

stk_status stk__list_look_json(const stk__site *site, stk__list_fit *fit, stk_error *error)
{
    stk__byte_reader reader;
    stk__buffer line = {0};
    stk__columns columns = {.path = site->file};
    bool too_long;
    *fit = (stk__list_fit){.list = false};
    STK__TRY(stk__byte_reader_open(&reader, site->file, error));
    stk_status status = next_line(&reader, &line, &too_long, error);
    if (status == STK_OK) status = look_at_line(&columns, site, &line, fit, error);
    stk__byte_reader_close(&reader);
    stk__buffer_fini(&line);
    stk__columns_fini(&columns);
    return status == STK_END ? STK_OK : status;
}
