/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people. On a terminal no line is wider than it: columns that do not fit continue on a further
 * line of their row, and the text of the last column is broken at blanks and continues under itself. In files
 * and pipes a row is one line. Main thread only. */
#include "cli.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GAP = 2, HANG = 6, LEAST_ROOM = 18, LEAST_WIDTH = 20 }; /* columns of the terminal */

int stk__cli_width(FILE *file)
{
    struct winsize size = {0};
    const bool known = isatty(fileno(file)) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0;
    return known && size.ws_col >= LEAST_WIDTH ? size.ws_col : 0;
}

/* Characters of UTF-8, each taken for one column. */
static int columns_of(const char *text, size_t bytes)
{
    int columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    return columns;
}

static int width_of(const char *text)
{
    return columns_of(text, strlen(text));
}

void stk__table_init(stk__table *table, FILE *file, int count, int indent)
{
    *table = (stk__table){.file = file, .count = count, .indent = indent, .width = stk__cli_width(file)};
}

void stk__table_fit(stk__table *table, int column, const char *text)
{
    if (width_of(text) > table->widths[column]) table->widths[column] = width_of(text);
}

/* Bytes of the text that fit into `room` columns: up to a blank, or behind a '/', if there is one. */
static size_t line_bytes(const char *text, int room)
{
    size_t end = 0, fits = 0;
    for (int columns = 0; text[end] && columns <= room; columns++) {
        if (text[end] == ' ' || (end && text[end - 1] == '/')) fits = end;
        do
            end++;
        while (((unsigned char)text[end] & 0xC0) == 0x80);
    }
    if (!text[end] && width_of(text) <= room) return end;
    if (fits) return fits;
    for (end = 0; columns_of(text, end) < room || ((unsigned char)text[end] & 0xC0) == 0x80;)
        end++;
    return end;
}

/* From column `start`; further lines begin there too. */
static void print_wrapped(const stk__table *table, const char *text, int start)
{
    const int room = table->width - start;
    while (table->width && width_of(text) > room) {
        const size_t bytes = line_bytes(text, room);
        fprintf(table->file, "%.*s\n%*s", (int)bytes, text, start, "");
        text += bytes + strspn(text + bytes, " ");
    }
    fprintf(table->file, "%s\n", text);
}

/* Where in its row the printing is. */
typedef struct cursor {
    int at;      /* column of the terminal */
    int pending; /* blanks that fill the cell before, printed when another follows */
} cursor;

/* To the next cell, which is so wide: on this line, or on a further one if it does not fit. */
static void move_on(const stk__table *table, cursor *c, int width)
{
    const int hang = table->indent + HANG, next = c->at + c->pending + GAP;
    if (!table->width || next + width <= table->width || c->at <= hang) {
        fprintf(table->file, "%*s", c->pending + GAP, "");
        c->at = next;
    } else {
        fprintf(table->file, "\n%*s", hang, "");
        c->at = hang;
    }
    c->pending = 0;
}

void stk__table_row(const stk__table *table, const char *const *cells)
{
    const int last = table->count - 1;
    cursor c = {.at = table->indent};
    fprintf(table->file, "%*s", table->indent, "");
    for (int i = 0; i < last; i++) {
        const int width = table->widths[i], used = width_of(cells[i]);
        if (i) move_on(table, &c, width);
        fprintf(table->file, "%*s%s", table->right[i] ? width - used : 0, "", cells[i]);
        c.at += table->right[i] ? width : used;
        c.pending = table->right[i] ? 0 : width - used;
    }
    move_on(table, &c, table->widths[last] < LEAST_ROOM ? table->widths[last] : LEAST_ROOM);
    print_wrapped(table, cells[last], c.at);
}
