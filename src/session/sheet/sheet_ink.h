/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, symbols and fitted text on RGB pictures. Pure functions; what lies outside is left out. */
#ifndef STK_SESSION_SHEET_INK_H
#define STK_SESSION_SHEET_INK_H

#include "session/sheet/sheet.h"

enum { STK_INK_LINE_PX = 22, STK_INK_SYMBOL_PX = 16 }; /* height of a line of text; of a symbol beside it */

static const uint8_t STK_INK_TEXT[3] = {40, 44, 52}, STK_INK_SOFT[3] = {110, 116, 126},
                     STK_INK_GOOD[3] = {36, 120, 56}, STK_INK_BAD[3] = {186, 36, 28};

void stk__ink_fill(stk__pixels picture, const uint8_t rgb[3]);
void stk__ink_line(stk__pixels picture, const double from[2], const double to[2], const uint8_t rgb[3]);
/* A point at (x, y) in pixels, with a dark edge so that it can be seen on every picture. */
void stk__ink_point(stk__pixels picture, double x, double y, stk__sheet_symbol symbol, const uint8_t rgb[3]);
/* Of the legend: its upper left corner. */
void stk__ink_symbol(stk__pixels picture, int32_t x, int32_t y, const stk__sheet_entry *entry);
typedef struct stk__ink_place {
    int32_t x, y, w; /* of the line: its upper left corner and its width */
    int32_t scale;   /* pixels a dot; 0: two where the text fits, else one */
} stk__ink_place;
int32_t stk__ink_scale(const char *text, int32_t w); /* that fits */
/* What is still too long is cut. */
void stk__ink_text(stk__pixels picture, stk__ink_place place, const uint8_t rgb[3], const char *text);
/* Part of a picture. */
stk__pixels stk__ink_part(stk__pixels picture, int32_t x, int32_t y, int32_t w, int32_t h);

#endif
