/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a CSV file (RFC 4180: quotes, doubled quotes, newlines in quotes; LF or CRLF). A malformed row is
 * handed out as one, and reading continues with the line below the one it started in. */
#ifndef STK_SOURCE_CSV_H
#define STK_SOURCE_CSV_H

#include "source/reader.h"

#include <stdbool.h>

enum { STK_CSV_FIELD_BYTES = 1 << 16, STK_CSV_FIELDS = 1 << 14 }; /* what a field and a row may have */

typedef struct stk__csv_field {
    size_t offset, length; /* in csv->text; a zero byte follows */
} stk__csv_field;

typedef struct stk__csv {
    stk__byte_reader reader;
    stk__buffer text;   /* of the current row */
    stk__buffer fields; /* of stk__csv_field */
    uint64_t line;      /* where the current row starts, from 1 */
    uint64_t next_line;
    char delimiter;    /* between fields; ',' unless stk__csv_find_delimiter found another */
    const char *fault; /* why the current row is malformed, or NULL; then it has no fields */
} stk__csv;

stk_status stk__csv_open(stk__csv *csv, const char *path, stk_error *error);
void stk__csv_close(stk__csv *csv);

/* Looks at the first line: ';', tab, or ' ' if `blanks` (runs of them count as one), where it has those and
 * no
 * ','; of ',' ';' and tab the most frequent outside of quotes. Call before the first row. */
void stk__csv_find_delimiter(stk__csv *csv, bool blanks);

/* The next row that is not an empty line. STK_END behind the last one. */
stk_status stk__csv_next(stk__csv *csv, stk_error *error);

static inline size_t stk__csv_count(const stk__csv *csv)
{
    return csv->fields.size_bytes / sizeof(stk__csv_field);
}

typedef struct stk__csv_text {
    const char *data;
    size_t length;
} stk__csv_text;

/* A field of the current row as it stands, or without the blanks around it. */
stk__csv_text stk__csv_at(const stk__csv *csv, size_t index);
stk__csv_text stk__csv_trimmed(const stk__csv *csv, size_t index);

/* The first column with this name, in any case and without blanks; -1: none. */
int stk__csv_find(const stk__csv *csv, const char *name, size_t length);

#endif
