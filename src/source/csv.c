/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV reader after RFC 4180, one row at a time through a window of the file. A malformed row is reported
 * as such and reading continues on the next line, also after a quote that is never closed. */
#include "source/csv.h"

#include "core/text.h"

#include <string.h>

stk_status stk__csv_open(stk__csv *csv, const char *path, stk_error *error)
{
    *csv = (stk__csv){.next_line = 1, .delimiter = ','};
    return stk__byte_reader_open(&csv->reader, path, error);
}

void stk__csv_find_delimiter(stk__csv *csv, bool blanks)
{
    static const char delimiters[] = ",;\t ";
    const uint64_t start = stk__byte_reader_tell(&csv->reader);
    size_t counts[4] = {0}, best = 0, looked_at = 0;
    bool quoted = false;
    for (int byte; looked_at < STK_CSV_FIELD_BYTES; looked_at++) {
        byte = stk__byte_reader_next(&csv->reader);
        if (byte == STK_BYTE_READER_END || (byte == '\n' && !quoted)) break;
        if (byte == '"') quoted = !quoted;
        const char *found = byte && !quoted ? strchr(delimiters, byte) : NULL;
        if (found) counts[found - delimiters]++;
    }
    for (size_t i = 1; i < 3; i++)
        if (counts[i] > counts[best]) best = i;
    if (!counts[best] && counts[3] && blanks) best = 3;
    csv->delimiter = delimiters[best];
    stk__byte_reader_seek(&csv->reader, start);
}

void stk__csv_close(stk__csv *csv)
{
    stk__byte_reader_close(&csv->reader);
    stk__buffer_fini(&csv->text);
    stk__buffer_fini(&csv->fields);
}

stk__csv_text stk__csv_at(const stk__csv *csv, size_t index)
{
    const stk__csv_field *field = (const stk__csv_field *)(const void *)csv->fields.data + index;
    return (stk__csv_text){(const char *)csv->text.data + field->offset, field->length};
}

stk__csv_text stk__csv_trimmed(const stk__csv *csv, size_t index)
{
    stk__csv_text text = stk__csv_at(csv, index);
    for (; text.length && stk__is_blank(*text.data); text.length--)
        text.data++;
    while (text.length && stk__is_blank(text.data[text.length - 1]))
        text.length--;
    return text;
}

int stk__csv_find(const stk__csv *csv, const char *name, size_t length)
{
    for (size_t i = 0; i < stk__csv_count(csv); i++) {
        const stk__csv_text field = stk__csv_trimmed(csv, i);
        if (field.length == length && strncasecmp(field.data, name, length) == 0) return (int)i;
    }
    return -1;
}

/* The byte that ends a field: the delimiter, '\n', or STK_BYTE_READER_END; or a fault. */
typedef struct field_end {
    int byte;
    const char *fault;
} field_end;

static stk_status put(stk__csv *csv, int byte, stk_error *error)
{
    const uint8_t one = (uint8_t)byte;
    if (csv->text.size_bytes < csv->text.capacity_bytes) {
        csv->text.data[csv->text.size_bytes++] = one;
        return STK_OK;
    }
    STK__TRY(stk__buffer_reserve(&csv->text, csv->text.size_bytes + 1024, error));
    return stk__buffer_append(&csv->text, &one, 1, error);
}

/* After a closing quote: what ends the field. */
static field_end end_quoted(stk__csv *csv)
{
    int byte = stk__byte_reader_next(&csv->reader);
    if (byte == '\r') byte = stk__byte_reader_next(&csv->reader);
    if (byte == csv->delimiter || byte == '\n' || byte == STK_BYTE_READER_END) return (field_end){byte, NULL};
    return (field_end){byte, "text after a closing quote"};
}

static stk_status read_quoted(stk__csv *csv, field_end *end, stk_error *error)
{
    const size_t start = csv->text.size_bytes;
    for (;;) {
        int byte = stk__byte_reader_next(&csv->reader);
        if (byte == '"') {
            const uint64_t behind = stk__byte_reader_tell(&csv->reader);
            byte = stk__byte_reader_next(&csv->reader);
            if (byte != '"') {
                stk__byte_reader_seek(&csv->reader, behind);
                *end = end_quoted(csv);
                return STK_OK;
            }
        }
        *end = (field_end){byte, "a quote that is never closed"};
        if (byte == STK_BYTE_READER_END) return STK_OK;
        end->fault =
            byte == 0 ? "a NUL byte" : "a field longer than 65536 bytes, or a quote that is never closed";
        if (byte == 0 || csv->text.size_bytes - start >= STK_CSV_FIELD_BYTES) return STK_OK;
        csv->next_line += byte == '\n';
        STK__TRY(put(csv, byte, error));
    }
}

static stk_status read_plain(stk__csv *csv, int byte, field_end *end, stk_error *error)
{
    const size_t start = csv->text.size_bytes;
    const char delimiter = csv->delimiter;
    for (; byte != delimiter && byte != '\n' && byte != STK_BYTE_READER_END;
         byte = stk__byte_reader_next(&csv->reader)) {
        *end = (field_end){byte, byte == '"' ? "a quote inside a field without quotes" : "a NUL byte"};
        if (byte == '"' || byte == 0) return STK_OK;
        end->fault = "a field longer than 65536 bytes";
        if (csv->text.size_bytes - start >= STK_CSV_FIELD_BYTES) return STK_OK;
        STK__TRY(put(csv, byte, error));
    }
    if (byte != delimiter && csv->text.size_bytes > start && csv->text.data[csv->text.size_bytes - 1] == '\r')
        csv->text.size_bytes--;
    *end = (field_end){byte, NULL};
    return STK_OK;
}

static stk_status read_field(stk__csv *csv, field_end *end, stk_error *error)
{
    stk__csv_field field = {.offset = csv->text.size_bytes};
    int byte = stk__byte_reader_next(&csv->reader);
    while (byte == ' ' && csv->delimiter == ' ')
        byte = stk__byte_reader_next(&csv->reader);
    STK__TRY(byte == '"' ? read_quoted(csv, end, error) : read_plain(csv, byte, end, error));
    field.length = csv->text.size_bytes - field.offset;
    STK__TRY(put(csv, 0, error));
    if (!end->fault && stk__csv_count(csv) >= STK_CSV_FIELDS) end->fault = "more than 16384 fields";
    return stk__buffer_append(&csv->fields, &field, sizeof field, error);
}

/* A quote that is never closed would swallow what follows: go back, and on below the line of the fault. */
static void skip_line(stk__csv *csv, uint64_t start)
{
    stk__byte_reader_seek(&csv->reader, start);
    int byte;
    do
        byte = stk__byte_reader_next(&csv->reader);
    while (byte != '\n' && byte != STK_BYTE_READER_END);
    csv->next_line = csv->line + 1;
    csv->fields.size_bytes = 0;
}

static stk_status read_row(stk__csv *csv, stk_error *error)
{
    const uint64_t start = stk__byte_reader_tell(&csv->reader);
    field_end end;
    csv->line = csv->next_line;
    csv->text.size_bytes = csv->fields.size_bytes = 0;
    do
        STK__TRY(read_field(csv, &end, error));
    while (!end.fault && end.byte == csv->delimiter);
    if (csv->delimiter == ' ' && stk__csv_count(csv) > 1 &&
        stk__csv_at(csv, stk__csv_count(csv) - 1).length == 0)
        csv->fields.size_bytes -= sizeof(stk__csv_field); /* blanks at the end of the line */
    csv->next_line++;
    csv->fault = end.fault;
    if (end.fault) skip_line(csv, start);
    if (csv->reader.failed)
        return stk__fail_errno(error, csv->reader.failed, "cannot read the whole CSV file");
    return STK_OK;
}

static bool is_empty_line(const stk__csv *csv)
{
    return !csv->fault && stk__csv_count(csv) == 1 && stk__csv_at(csv, 0).length == 0;
}

stk_status stk__csv_next(stk__csv *csv, stk_error *error)
{
    do {
        if (stk__byte_reader_next(&csv->reader) == STK_BYTE_READER_END) {
            if (!csv->reader.failed) return STK_END;
            return stk__fail_errno(error, csv->reader.failed, "cannot read the whole CSV file");
        }
        stk__byte_reader_seek(&csv->reader, stk__byte_reader_tell(&csv->reader) - 1);
        STK__TRY(read_row(csv, error));
    } while (is_empty_line(csv));
    return STK_OK;
}
