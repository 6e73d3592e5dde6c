/* SPDX-License-Identifier: Apache-2.0 */
/* Text in pictures: printable ASCII as letters of 5 x 9 pixels, for sheets that people look at. Pure
 * functions, any thread. */
#ifndef STK_IMAGE_BITMAP_FONT_H
#define STK_IMAGE_BITMAP_FONT_H

#include "image/pixels.h"

enum { STK_FONT_W = 5, STK_FONT_H = 9, STK_FONT_ADVANCE = 6 };

/* Pixels from the first letter to the last; scale: pixels a dot. A character that is not ASCII counts as one
 * letter and is drawn as '?'. */
int32_t stk__font_width(const char *text, int32_t scale);

/* Draws the text with its upper left corner at (x, y) of an RGB picture; what lies outside is left out. */
void stk__font_draw(stk__pixels picture, int32_t x, int32_t y, int32_t scale, const uint8_t rgb[3],
                    const char *text);

#endif
