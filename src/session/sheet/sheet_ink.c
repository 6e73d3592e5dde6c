/* SPDX-License-Identifier: Apache-2.0 */
/* Everything is set pixel by pixel: sheets are small and written once. No state. */
#include "session/sheet/sheet_ink.h"

#include "core/distance.h"
#include "image/bitmap_font.h"

#include <math.h>
#include <string.h>

enum { ARM_PX = 7, RING_PX = 6, EDGE = 25, SMALL_PX = 80 };

static void set_pixel(stk__pixels picture, int32_t x, int32_t y, const uint8_t rgb[3])
{
    if (x >= 0 && y >= 0 && x < picture.w && y < picture.h)
        memcpy(stk__pixels_row(picture, y) + 3 * x, rgb, 3);
}

void stk__ink_fill(stk__pixels picture, const uint8_t rgb[3])
{
    for (int32_t y = 0; y < picture.h; y++)
        for (int32_t x = 0; x < picture.w; x++)
            set_pixel(picture, x, y, rgb);
}

stk__pixels stk__ink_part(stk__pixels picture, int32_t x, int32_t y, int32_t w, int32_t h)
{
    picture.data = stk__pixels_row(picture, y) + 3 * x;
    picture.w = w;
    picture.h = h;
    return picture;
}

/* A step along the longer side is one pixel. */
void stk__ink_line(stk__pixels picture, const double from[2], const double to[2], const uint8_t rgb[3])
{
    const double dx = to[0] - from[0], dy = to[1] - from[1];
    const double longer = fabs(dx) > fabs(dy) ? fabs(dx) : fabs(dy);
    if (!(longer < 1e5)) return; /* not a number, or far outside */
    const int steps = (int)ceil(longer) + 1;
    for (int i = 0; i <= steps; i++)
        set_pixel(picture, (int32_t)floor(from[0] + dx * i / steps), (int32_t)floor(from[1] + dy * i / steps),
                  rgb);
}

/* Distance of (x, y) from the symbol's own line, in pixels; size: share of its usual size. */
static double distance(stk__sheet_symbol symbol, double x, double y, double size)
{
    const double arm = ARM_PX * size;
    if (symbol == STK_SYMBOL_RING) return fabs(stk__distance(x, y) - RING_PX * size);
    const double along = fabs(x) > fabs(y) ? fabs(x) : fabs(y),
                 across = fabs(x) > fabs(y) ? fabs(y) : fabs(x);
    return along > arm ? stk__distance(along - arm, across) : across;
}

void stk__ink_point(stk__pixels picture, double x, double y, stk__sheet_symbol symbol, const uint8_t rgb[3])
{
    static const uint8_t edge[3] = {EDGE, EDGE, EDGE};
    if (!(fabs(x) < 1e5 && fabs(y) < 1e5)) return;
    const double size = picture.w < SMALL_PX || picture.h < SMALL_PX ? 0.6 : 1;
    const int32_t cx = (int32_t)floor(x), cy = (int32_t)floor(y), reach = ARM_PX + 3;
    for (int32_t dy = -reach; dy <= reach; dy++)
        for (int32_t dx = -reach; dx <= reach; dx++) {
            const double away = distance(symbol, dx, dy, size);
            if (away <= 1 + 1.1 * size) set_pixel(picture, cx + dx, cy + dy, away <= 1.1 * size ? rgb : edge);
        }
}

static void draw_box(stk__pixels picture, int32_t x, int32_t y, const uint8_t rgb[3], bool filled)
{
    enum { SIDE = STK_INK_SYMBOL_PX };
    for (int32_t dy = 0; dy < SIDE; dy++)
        for (int32_t dx = 0; dx < SIDE; dx++) {
            const bool rim = dx == 0 || dy == 0 || dx == SIDE - 1 || dy == SIDE - 1;
            if (rim || filled) set_pixel(picture, x + dx, y + dy, rim ? STK_INK_SOFT : rgb);
        }
}

void stk__ink_symbol(stk__pixels picture, int32_t x, int32_t y, const stk__sheet_entry *entry)
{
    const double middle = STK_INK_SYMBOL_PX / 2.0;
    if (entry->symbol == STK_SYMBOL_BOX || entry->symbol == STK_SYMBOL_OUTLINE) {
        draw_box(picture, x, y, entry->rgb, entry->symbol == STK_SYMBOL_BOX);
        return;
    }
    if (entry->symbol != STK_SYMBOL_LINE) {
        stk__ink_point(picture, x + middle, y + middle, entry->symbol, entry->rgb);
        return;
    }
    for (int32_t k = -1; k <= 1; k++)
        stk__ink_line(picture, (double[2]){x, y + middle + k},
                      (double[2]){x + STK_INK_SYMBOL_PX - 1, y + middle + k}, entry->rgb);
}

/* Characters of UTF-8 are not torn: the letters counted are those that are drawn. */
static void cut_text(char *text, int32_t w)
{
    for (size_t length = strlen(text); length > 2 && stk__font_width(text, 1) > w;) {
        do
            length--;
        while (length > 2 && ((unsigned char)text[length] & 0xC0) == 0x80);
        if (length < 3) return;
        strcpy(text + length - 2, "..");
    }
}

int32_t stk__ink_scale(const char *text, int32_t w)
{
    return stk__font_width(text, 2) <= w ? 2 : 1;
}

void stk__ink_text(stk__pixels picture, stk__ink_place place, const uint8_t rgb[3], const char *text)
{
    char kept[256];
    size_t length = strlen(text);
    length = length < sizeof kept ? length : sizeof kept - 1;
    memcpy(kept, text, length);
    kept[length] = '\0';
    const int32_t scale = place.scale ? place.scale : stk__ink_scale(kept, place.w),
                  room = picture.w - place.x;
    if (scale == 1) cut_text(kept, place.w);
    const int32_t top = place.y + (STK_INK_LINE_PX - STK_FONT_H * scale) / 2;
    stk__font_draw(stk__ink_part(picture, place.x, 0, place.w < room ? place.w : room, picture.h), 0, top,
                   scale, rgb, kept);
}
