/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for a terminal, broken at blanks where they are longer than it is wide; what follows is indented.
 * Text is collected in memory first. In a pipe a line stays one. One thread, one text at a time. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static struct {
    FILE *memory; /* NULL: nothing is collected */
    char *text;
    size_t size;
} wrap;

FILE *stk__cli_wrap_begin(FILE *file)
{
    wrap.memory = stk__cli_width(file) ? open_memstream(&wrap.text, &wrap.size) : NULL;
    return wrap.memory ? wrap.memory : file;
}

/* Bytes of one column: a character of UTF-8 with what follows of it, or nothing visible. *columns: 0 or 1. */
static size_t next_mark(const char *text, const char *end, int *columns)
{
    const char *at = text + 1;
    *columns = *text != '\033';
    if (*text == '\033') /* paint: up to its m */
        while (at < end && at[-1] != 'm')
            at++;
    else
        while (at < end && ((unsigned char)*at & 0xC0) == 0x80)
            at++;
    return (size_t)(at - text);
}

/* Bytes of the line that fit into so many columns: up to a blank, if there is one behind the indent. */
static size_t fitting(const char *line, const char *end, int columns)
{
    size_t at = 0, blank = 0;
    bool word = false;
    for (int used = 0; line + at < end;) {
        int wide;
        const size_t bytes = next_mark(line + at, end, &wide);
        if (line[at] == ' ' && word) blank = at;
        word = word || line[at] != ' ';
        used += wide;
        if (used > columns) return blank ? blank : at;
        at += bytes;
    }
    return at;
}

static void put_line(FILE *file, const char *line, const char *end, int indent)
{
    const int columns = stk__cli_width(file);
    for (int before = 0; line < end; before = indent) {
        const size_t bytes = fitting(line, end, columns - before);
        size_t shown = bytes;
        while (shown && line + bytes < end && line[shown - 1] == ' ')
            shown--;
        fprintf(file, "%*s%.*s\n", before, "", (int)shown, line);
        line += bytes;
        while (line < end && *line == ' ')
            line++;
    }
}

void stk__cli_wrap_end(FILE *collected, FILE *file, int indent)
{
    if (collected != wrap.memory || !wrap.memory) return;
    fclose(wrap.memory);
    wrap.memory = NULL;
    for (const char *line = wrap.text, *end = line + wrap.size; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        if (stop == line) fputc('\n', file);
        put_line(file, line, stop, indent);
        line = stop + 1;
    }
    free(wrap.text);
    wrap.text = NULL;
}
