/* SPDX-License-Identifier: Apache-2.0 */
/* Colors to class ids by an open-addressed hash table of fixed size, at most a quarter full. Areas of a mask
 * have one color, so the color of the pixel before is compared first. Pure functions: any thread. */
#include "decode/mask_colors.h"

static uint32_t slot_of(uint32_t color)
{
    return (color * UINT32_C(2654435761)) >> 22; /* 10 bits: STK_MASK_COLORS_SLOTS */
}

int stk__mask_colors_find(const stk__mask_colors *colors, uint32_t color)
{
    for (uint32_t at = slot_of(color); colors->slot[at]; at = (at + 1) % STK_MASK_COLORS_SLOTS)
        if (colors->color[colors->slot[at] - 1] == color) return colors->slot[at] - 1;
    return -1;
}

int stk__mask_colors_add(stk__mask_colors *colors, uint32_t color, uint8_t id)
{
    uint32_t at = slot_of(color);
    if (colors->count == STK_MASK_COLORS_MOST || stk__mask_colors_find(colors, color) >= 0) return -1;
    while (colors->slot[at])
        at = (at + 1) % STK_MASK_COLORS_SLOTS;
    colors->color[colors->count] = color;
    colors->id[colors->count] = id;
    colors->slot[at] = (uint16_t)++colors->count;
    return colors->count - 1;
}

static stk_status refuse_color(const stk__mask_colors *colors, uint32_t color, int32_t x, int32_t y,
                               stk_error *error)
{
    if (colors) {
        stk__damaged(error, STK_DAMAGE_MASK_IDS, "the mask has color #%06x at x %d, y %d, %s",
                     (unsigned)color, x, y, "which is not in data.mask_colors");
        stk__error_hint(error, "add the color to the file of data.mask_colors");
    } else {
        stk__damaged(error, STK_DAMAGE_MASK_FORMAT,
                     "the mask is an RGB image with color #%06x at x %d, y %d: colors are not class ids",
                     (unsigned)color, x, y);
        stk__error_hint(error,
                        "set data.mask_colors to a file of lines 'r g b name', voc, cityscapes, camvid "
                        "or auto");
    }
    return STK_ERROR_SAMPLE;
}

/* -1: the color has no id. */
static int id_of(const stk__mask_colors *colors, uint32_t color)
{
    if (!colors)
        return (color >> 16) == (color & 255) && (color >> 8 & 255) == (color & 255) ? (int)(color & 255)
                                                                                     : -1;
    const int index = stk__mask_colors_find(colors, color);
    return index < 0 ? -1 : colors->id[index];
}

stk_status stk__mask_colors_apply(const stk__mask_colors *colors, stk__pixels rgb, stk__pixels ids,
                                  stk_error *error)
{
    uint32_t last = UINT32_MAX;
    int id = -1;
    for (int32_t y = 0; y < rgb.h; y++) {
        const uint8_t *from = stk__pixels_row(rgb, y);
        uint8_t *to = stk__pixels_row(ids, y);
        for (int32_t x = 0; x < rgb.w; x++, from += 3) {
            const uint32_t color = stk__mask_color_of(from);
            if (color != last) id = id_of(colors, last = color);
            if (id < 0) return refuse_color(colors, color, x, y, error);
            to[x] = (uint8_t)id;
        }
    }
    return STK_OK;
}
