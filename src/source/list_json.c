/* SPDX-License-Identifier: Apache-2.0 */
/* A list in JSON Lines: one object per line, parsed by Jansson; the first object decides which keys all
 * rows must have. Each row fills a draft for list_rows.c. */
#include "source/list.h"

#include "core/text.h"
#include "source/reader.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 1 << 20 };

static const json_t *find_alias(const json_t *object, const char *const *names)
{
    const json_t *found = NULL;
    for (; *names && !found; names++)
        found = json_object_get(object, *names);
    return found;
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

/* The first row that is an object decides what all rows must have. */
static void take_schema(stk__list *list, const json_t *object)
{
    const json_t *points = json_object_get(object, "points");
    list->schema_known = true;
    list->has_label = find_alias(object, stk__list_label_names) != NULL;
    list->has_value = find_alias(object, stk__list_value_names) != NULL;
    list->has_mask = json_object_get(object, "mask") != NULL;
    list->point_count = (int32_t)json_array_size(points);
}

static bool has_points(const json_t *object)
{
    const json_t *points = json_object_get(object, "points");
    return points && !(json_is_array(points) && json_array_size(points) == 0);
}

static void check_schema(const stk__list *list, const json_t *object, stk__draft *draft)
{
    const struct {
        bool wanted, there;
        const char *name;
    } fields[] = {
        {list->has_label, find_alias(object, stk__list_label_names) != NULL, "label"},
        {list->has_value, find_alias(object, stk__list_value_names) != NULL, "value"},
        {list->has_mask, json_object_get(object, "mask") != NULL, "mask"},
        {list->point_count > 0, has_points(object), "points"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].wanted != fields[i].there)
            stk__draft_fault(draft, "the row has %s '%s', unlike the first one", fields[i].there ? "a" : "no",
                             fields[i].name);
    if (list->has_label && list->has_value) stk__draft_fault(draft, "a label and a value exclude each other");
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

static void take_texts(const stk__list *list, const json_t *object, stk__draft *draft)
{
    const json_t *file = find_alias(object, stk__list_file_names), *mask = json_object_get(object, "mask");
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

static stk_status add_object(stk__list *list, const json_t *object, stk__draft *draft, stk_error *error)
{
    char digits[32];
    float *points;
    if (json_is_object(object) && !list->schema_known) take_schema(list, object);
    STK__TRY(stk__list_add_points(list, &points, error));
    if (json_is_object(object)) {
        take_texts(list, object, draft);
        check_schema(list, object, draft);
        if (list->has_label) take_label(find_alias(object, stk__list_label_names), draft, digits);
        const json_t *value = find_alias(object, stk__list_value_names);
        if (list->has_value && !json_is_number(value)) stk__draft_fault(draft, "'value' is not a number");
        draft->value = json_number_value(value);
        if (!isfinite((float)draft->value)) stk__draft_fault(draft, "'value' is not a finite 32-bit number");
        if (points) take_points(list, json_object_get(object, "points"), draft, points);
    } else {
        stk__draft_fault(draft, "the row is not a JSON object");
    }
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
