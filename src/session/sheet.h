/* SPDX-License-Identifier: Apache-2.0 */
/* A contact sheet: pictures side by side in one PNG, or JPEG if the file is called so. */
#ifndef STK_SESSION_SHEET_H
#define STK_SESSION_SHEET_H

#include "image/pixels.h"
#include "core/memory.h"

enum { STK_SHEET_GAP_PX = 6 }; /* around every picture */

typedef struct stk__sheet {
    int32_t columns, rows;
    int32_t cell_w, cell_h; /* of one picture, in pixels */
    stk__buffer pixels;     /* RGB of the whole sheet */
    stk__buffer cell, scratch;
} stk__sheet;

/* Cells have the shape of w x h pictures, at most 256 px wide or high. */
stk_status stk__sheet_init(stk__sheet *sheet, int32_t columns, int32_t rows, stk__pixels shape,
                           stk_error *error);
void stk__sheet_fini(stk__sheet *sheet);

typedef struct stk__sheet_place {
    int32_t column, row;
} stk__sheet_place;

/* Draws a grey or RGB picture of any size; with ids over it when mask.data is there. */
stk_status stk__sheet_draw(stk__sheet *sheet, stk__sheet_place place, stk__pixels picture, stk__pixels mask,
                           stk_error *error);

/* Puts the colour of an id over an RGB pixel. */
void stk__sheet_tint(uint8_t *pixel, uint8_t id);

stk_status stk__sheet_write(const stk__sheet *sheet, const char *path, stk_error *error);

#endif
