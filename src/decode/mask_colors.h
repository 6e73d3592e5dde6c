/* SPDX-License-Identifier: Apache-2.0 */
/* Masks drawn in colors: a small table from colors to class ids, and an RGB mask through it. A table never
 * changes while masks are decoded: all workers share it. */
#ifndef STK_DECODE_MASK_COLORS_H
#define STK_DECODE_MASK_COLORS_H

#include "core/error.h"
#include "image/pixels.h"

enum { STK_MASK_COLORS_MOST = 256, STK_MASK_COLORS_SLOTS = 1024 };

typedef struct stk__mask_colors { /* zeroed: empty */
    int32_t count;
    uint32_t color[STK_MASK_COLORS_MOST]; /* 0xrrggbb, in the order they were added */
    uint8_t id[STK_MASK_COLORS_MOST];
    uint16_t slot[STK_MASK_COLORS_SLOTS]; /* by hash: index + 1; 0: free */
} stk__mask_colors;

static inline uint32_t stk__mask_color_of(const uint8_t *rgb)
{
    return (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}

/* The index of a color, or -1. */
int stk__mask_colors_find(const stk__mask_colors *colors, uint32_t color);

/* The index of the new color; -1: it is there already, or the table is full. */
int stk__mask_colors_add(stk__mask_colors *colors, uint32_t color, uint8_t id);

/* Ids of all pixels. colors NULL: gray pixels (r = g = b) are their own ids. Damage of the first pixel
 * that is neither: mask_format without a table, mask_ids with one. */
stk_status stk__mask_colors_apply(const stk__mask_colors *colors, stk__pixels rgb, stk__pixels ids,
                                  stk_error *error);

#endif
