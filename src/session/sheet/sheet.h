/* SPDX-License-Identifier: Apache-2.0 */
/* A contact sheet: pictures side by side in one PNG, or JPEG if the file is called so; with headings over the
 * columns, captions below the pictures and a legend below all of them, where they are asked for. */
#ifndef STK_SESSION_SHEET_H
#define STK_SESSION_SHEET_H

#include "image/pixels.h"
#include "core/memory.h"

enum { STK_SHEET_GAP_PX = 6, STK_SHEET_TEXT_BYTES = 96 }; /* around every picture; of a text in the legend */

typedef enum stk__sheet_symbol {
    STK_SYMBOL_BOX,     /* the colour of a class */
    STK_SYMBOL_OUTLINE, /* a class that is not coloured */
    STK_SYMBOL_CROSS,   /* a point that was predicted */
    STK_SYMBOL_RING,    /* a true point */
    STK_SYMBOL_LINE
} stk__sheet_symbol;

typedef struct stk__sheet_entry { /* of the legend */
    stk__sheet_symbol symbol;
    uint8_t rgb[3];
    char text[STK_SHEET_TEXT_BYTES];
} stk__sheet_entry;

typedef struct stk__sheet_form { /* needs to live during init only */
    int32_t columns, rows;
    stk__pixels shape;           /* w, h of the pictures */
    const char *title;           /* over all columns; NULL: none */
    const char *const *headings; /* [columns]; NULL: none */
    int32_t caption_lines;       /* below each picture */
    const stk__sheet_entry *legend;
    int32_t legend_count;
} stk__sheet_form;

typedef struct stk__sheet {
    int32_t columns, rows;
    int32_t cell_w, cell_h;              /* of one picture, in pixels */
    int32_t head_h, caption_h, legend_h; /* of the texts, in pixels */
    stk__buffer pixels;                  /* RGB of the whole sheet */
    stk__buffer cell, scratch;
} stk__sheet;

/* Cells have the shape of the pictures, at most 256 px wide or high; with texts at least 192 px. */
stk_status stk__sheet_init(stk__sheet *sheet, const stk__sheet_form *form, stk_error *error);
void stk__sheet_fini(stk__sheet *sheet);
/* What a sheet of this form takes at most: its pixels, and what writing them as PNG needs. */
uint64_t stk__sheet_bytes(const stk__sheet_form *form);

typedef struct stk__sheet_place {
    int32_t column, row;
} stk__sheet_place;

/* Draws a grey or RGB picture of any size; with ids over it when mask.data is there. */
stk_status stk__sheet_draw(stk__sheet *sheet, stk__sheet_place place, stk__pixels picture, stk__pixels mask,
                           stk_error *error);
/* The cell itself, and all of the sheet: RGB. */
stk__pixels stk__sheet_cell(const stk__sheet *sheet, stk__sheet_place place);
stk__pixels stk__sheet_pixels(const stk__sheet *sheet);

/* A line of text below a picture, as wide as that many columns: smaller or cut where it is too long; replaces
 * what was there. */
void stk__sheet_caption(stk__sheet *sheet, stk__sheet_place place, int32_t columns, int32_t line,
                        const uint8_t rgb[3], const char *text);

/* Puts the colour of an id over an RGB pixel. */
void stk__sheet_tint(uint8_t *pixel, uint8_t id);
/* The colour of an id: of a class in masks, of a point (its number + 1). Neighbours are far apart. */
void stk__sheet_colour(uint8_t id, uint8_t rgb[3]);

/* Appends the classes of masks to a legend of at most `room` entries: returns the new count. names NULL:
 * numbers. */
int32_t stk__sheet_list_classes(stk__sheet_entry *legend, int32_t room, int32_t count,
                                const char *const *names);

stk_status stk__sheet_write(const stk__sheet *sheet, const char *path, stk_error *error);

#endif
