/* SPDX-License-Identifier: Apache-2.0 */
/* Wide characters where the locale has them, ASCII elsewhere. */
#include "monitor_screen.h"

#include <langinfo.h>
#include <math.h>
#include <ncurses.h>
#include <stdarg.h>
#include <string.h>
#include <wchar.h>

enum { LINE = 512, PAIR_GREEN = 1, PAIR_YELLOW, PAIR_RED, PAIR_CYAN };

void stk__pen_start(stk__pen *pen, bool colors)
{
    pen->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    pen->colors = colors && has_colors();
    if (!pen->colors) return;
    start_color();
    const short back = use_default_colors() == OK ? -1 : COLOR_BLACK;
    init_pair(PAIR_GREEN, COLOR_GREEN, back);
    init_pair(PAIR_YELLOW, COLOR_YELLOW, back);
    init_pair(PAIR_RED, COLOR_RED, back);
    init_pair(PAIR_CYAN, COLOR_CYAN, back);
}

static void dip(const stk__pen *pen, stk__ink ink)
{
    static const short pairs[] = {[STK_INK_GOOD] = PAIR_GREEN,
                                  [STK_INK_NOTE] = PAIR_YELLOW,
                                  [STK_INK_BAD] = PAIR_RED,
                                  [STK_INK_BAR] = PAIR_CYAN};
    const attr_t attributes = ink == STK_INK_BOLD ? A_BOLD : ink == STK_INK_FAINT ? A_DIM : A_NORMAL;
    const short pair = pen->colors && ink < sizeof pairs / sizeof pairs[0] ? pairs[ink] : 0;
    attr_set(attributes, pair, NULL);
}

/* The character at *text, which is advanced; '?' for an invalid one or one that would move the cursor. */
static wchar_t next_letter(const char **text)
{
    wchar_t letter;
    mbstate_t state = {0};
    const size_t length = mbrtowc(&letter, *text, strlen(*text), &state);
    *text += length > 0 && length < (size_t)-2 ? length : 1;
    return length >= (size_t)-2 || wcwidth(letter) < 1 ? L'?' : letter;
}

int stk__pen_text(const stk__pen *pen, stk__place place, stk__ink ink, const char *text)
{
    wchar_t line[LINE];
    int count = 0, width = 0;
    while (*text && count < LINE) {
        const wchar_t letter = next_letter(&text);
        if (width + wcwidth(letter) > place.width) break;
        width += wcwidth(letter);
        line[count++] = letter;
    }
    if (!count || place.y >= pen->rows) return width; /* below the screen: only counted */
    dip(pen, ink);
    mvaddnwstr(place.y, place.x, line, count);
    return width;
}

int stk__pen_print(const stk__pen *pen, stk__place place, stk__ink ink, const char *format, ...)
{
    char text[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return stk__pen_text(pen, place, ink, text);
}

const char *stk__pen_celsius(const stk__pen *pen)
{
    return pen->utf8 ? "°C" : "C";
}

void stk__pen_bar(const stk__pen *pen, stk__place place, stk__ink ink, double share)
{
    static const wchar_t parts[] = L" ▏▎▍▌▋▊▉"; /* eighths */
    wchar_t line[LINE];
    const int width = place.width < LINE ? place.width : LINE;
    if (width <= 0 || place.y >= pen->rows) return;
    const int eighths = isnan(share) ? 0 : (int)lrint(fmin(fmax(share, 0), 1) * width * 8);
    const int full = pen->utf8 ? eighths / 8 : (eighths + 4) / 8, rest = pen->utf8 ? eighths % 8 : 0;
    for (int i = 0; i < width; i++)
        line[i] = i < full            ? (pen->utf8 ? L'█' : L'#')
                  : i == full && rest ? parts[rest]
                  : pen->utf8         ? L'·'
                                      : L'.';
    const int drawn = full + (rest > 0);
    dip(pen, ink);
    mvaddnwstr(place.y, place.x, line, drawn);
    dip(pen, STK_INK_FAINT);
    if (isnan(share)) return; /* unknown is not an empty bar */
    mvaddnwstr(place.y, place.x + drawn, line + drawn, width - drawn);
}

/* Dots of a point, from the bottom: one at least, because 0 is not unknown. */
static int find_level(float share, int levels)
{
    if (isnan(share)) return 0;
    const int level = (int)lrintf(fminf(fmaxf(share, 0), 1) * (float)levels);
    return level < 1 ? 1 : level;
}

/* Two points, 0 to 4 dots each. */
static wchar_t braille(int left, int right)
{
    static const unsigned char lefts[] = {0, 0x40, 0x44, 0x46, 0x47}, rights[] = {0, 0x80, 0xa0, 0xb0, 0xb8};
    return left || right ? (wchar_t)(0x2800 + lefts[left] + rights[right]) : L' ';
}

static int clip(int level, int most)
{
    return level < 0 ? 0 : level > most ? most : level;
}

static wchar_t trail_letter(const stk__pen *pen, const stk__trail *trail, int cell, int above, int height)
{
    static const wchar_t plain[] = L" _.:|"; /* as high as they look */
    if (!pen->utf8) return plain[clip(find_level(stk__trail_back(trail, cell), 4 * height) - 4 * above, 4)];
    const int right = find_level(stk__trail_back(trail, 2 * cell), 4 * height) - 4 * above,
              left = find_level(stk__trail_back(trail, 2 * cell + 1), 4 * height) - 4 * above;
    return braille(clip(left, 4), clip(right, 4));
}

void stk__pen_trail(const stk__pen *pen, stk__place place, int height, const stk__trail *trail)
{
    wchar_t line[LINE];
    const int width = place.width < LINE ? place.width : LINE;
    dip(pen, STK_INK_BAR);
    for (int row = 0; row < height && place.y + row < pen->rows && width > 0; row++) {
        for (int i = 0; i < width; i++)
            line[i] = trail_letter(pen, trail, width - 1 - i, height - 1 - row, height);
        mvaddnwstr(place.y + row, place.x, line, width);
    }
}

/* Bytes of text that fit into so many columns, broken between words if there are any. */
static size_t fitting(const char *text, size_t columns)
{
    size_t length = 0, width = 0;
    for (; text[length]; length++) {
        const bool begins = ((unsigned char)text[length] & 0xc0) != 0x80; /* a letter */
        if (begins && width == columns) break;
        width += begins;
    }
    size_t end = length;
    while (text[length] && end && text[end] != ' ')
        end--;
    return end ? end : length;
}

int stk__pen_wrapped(const stk__pen *pen, stk__place place, int rows, const char *text)
{
    const char *dots = pen->utf8 ? " …" : " ...";
    for (int row = 0; row < rows; row++) {
        text += strspn(text, " ");
        if (!*text || place.width < 8) return row;
        size_t length = fitting(text, (size_t)place.width);
        const bool cut = row == rows - 1 && text[length];
        if (cut) length = fitting(text, (size_t)place.width - 4);
        stk__pen_print(pen, (stk__place){place.y + row, place.x, place.width}, STK_INK_PLAIN, "%.*s%s",
                       (int)length, text, cut ? dots : "");
        text += length;
    }
    return rows;
}
