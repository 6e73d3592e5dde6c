/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON Lines without allocating after warm-up: into one growing buffer, numbers by the shortest
 * text that reads back equal. The first failure is kept. */
#include "monitor/record/json_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 40 };

static void put(stk__json_line *line, const char *bytes, size_t count)
{
    if (stk__buffer_append(&line->text, bytes, count, NULL) != STK_OK) line->failed = true;
}

static void put_char(stk__json_line *line, char letter)
{
    put(line, &letter, 1);
}

/* Length of the UTF-8 sequence at text; 0: invalid. */
static size_t sequence_length(const unsigned char *text)
{
    const unsigned char first = text[0];
    const size_t length = first < 0x80                     ? 1
                          : first >= 0xc2 && first <= 0xdf ? 2
                          : first >= 0xe0 && first <= 0xef ? 3
                          : first >= 0xf0 && first <= 0xf4 ? 4
                                                           : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90))
        return 0; /* too long a form */
    if ((first == 0xed && text[1] > 0x9f) || (first == 0xf4 && text[1] > 0x8f)) return 0; /* no such letter */
    return length;
}

/* The number of a control character, of C1 and DEL too, which terminals obey; 0: it is none. */
static unsigned control_of(const char *text)
{
    const unsigned char first = (unsigned char)text[0], second = (unsigned char)(first ? text[1] : 0);
    if (first < 0x20 || first == 0x7f) return first;
    return first == 0xc2 && second >= 0x80 && second < 0xa0 ? second : 0;
}

static void put_text(stk__json_line *line, const char *text)
{
    put_char(line, '"');
    while (*text) {
        const size_t length = sequence_length((const unsigned char *)text);
        char escape[8];
        if (!length)
            put_char(line, '?');
        else if (*text == '"' || *text == '\\')
            put(line, (const char[2]){'\\', *text}, 2);
        else if (control_of(text))
            put(line, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", control_of(text)));
        else
            put(line, text, length);
        text += length ? length : 1;
    }
    put_char(line, '"');
}

static void put_key(stk__json_line *line, const char *key)
{
    if (line->comma) put_char(line, ',');
    line->comma = true;
    if (!key) return;
    put_text(line, key);
    put_char(line, ':');
}

void stk__line_start(stk__json_line *line)
{
    line->text.size_bytes = 0;
    line->failed = line->comma = false;
    put_char(line, '{');
}

bool stk__line_finish(stk__json_line *line, FILE *file)
{
    put(line, "}\n", 2);
    return !line->failed && fwrite(line->text.data, 1, line->text.size_bytes, file) == line->text.size_bytes;
}

void stk__line_open(stk__json_line *line, const char *key, char bracket)
{
    put_key(line, key);
    put_char(line, bracket);
    line->comma = false;
}

void stk__line_close(stk__json_line *line, char bracket)
{
    put_char(line, bracket);
    line->comma = true;
}

/* The shortest text that round-trips exactly. */
static int print_exactly(double value, char text[NUMBER_BYTES])
{
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(text, NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return length;
}

void stk__line_real(stk__json_line *line, const char *key, double value)
{
    char text[NUMBER_BYTES];
    if (!isfinite(value)) {
        stk__line_null(line, key);
        return;
    }
    const bool whole = value == rint(value) && fabs(value) < 1e15; /* byte counts keep all digits */
    const int length = whole          ? snprintf(text, sizeof text, "%.0f", value)
                       : line->digits ? snprintf(text, sizeof text, "%.*g", line->digits, value)
                                      : print_exactly(value, text);
    char *comma = strchr(text, ','); /* of the host program's language */
    if (comma) *comma = '.';
    put_key(line, key);
    put(line, text, (size_t)length);
    if (value == 0 && signbit(value)) put(line, ".0", 2); /* "-0" alone would be read back as 0 */
}

void stk__line_whole(stk__json_line *line, const char *key, int64_t value)
{
    char text[NUMBER_BYTES];
    put_key(line, key);
    put(line, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

void stk__line_bool(stk__json_line *line, const char *key, bool value)
{
    put_key(line, key);
    put(line, value ? "true" : "false", value ? 4 : 5);
}

void stk__line_text(stk__json_line *line, const char *key, const char *text)
{
    put_key(line, key);
    put_text(line, text);
}

void stk__line_null(stk__json_line *line, const char *key)
{
    put_key(line, key);
    put(line, "null", 4);
}

void stk__line_reading(stk__json_line *line, const char *key, stk_reading reading)
{
    if (reading.known == STK_KNOWN)
        stk__line_real(line, key, reading.value);
    else
        stk__line_null(line, key);
}
