/* SPDX-License-Identifier: Apache-2.0 */
/* data.mask_colors: which colors of RGB masks are which classes. */
#ifndef STK_DECODE_MASK_PALETTE_H
#define STK_DECODE_MASK_PALETTE_H

#include "decode/decode.h"
#include "decode/mask_colors.h"

enum { STK_PALETTE_NAME_BYTES = 48 };

typedef struct stk__mask_palette {
    stk__mask_colors colors;
    int32_t class_count;
    char names[STK_MASK_COLORS_MOST][STK_PALETTE_NAME_BYTES]; /* [class_count] */
    const char *name_list[STK_MASK_COLORS_MOST];              /* the same */
} stk__mask_palette;

/* Fills a zeroed palette from the setting:
 *
 *     voc, cityscapes, camvid    the published colors
 *     000000:0,ff0000:1          rrggbb:id
 *     FILE                       lines "r g b name" or "#rrggbb name", in the order of the class ids; commas
 * and tabs separate too, the name may come first; colors with one name are one class; the names ignore and
 * void stand for 255, which does not count */
stk_status stk__mask_palette_read(stk__mask_palette *palette, const char *text, stk_error *error);

/* The text of a file; place: its path, for messages. */
stk_status stk__mask_palette_parse(stk__mask_palette *palette, const char *text, const char *place,
                                   stk_error *error);

/* Colors of a PNG file with a palette, 3 bytes each, in *colors, which leads into the file: at most 256. 0:
 * there is no palette. Nothing but the lengths of chunks is checked. */
int stk__png_palette(stk__encoded bytes, const uint8_t **colors);

/* The next published table from *from on (0 at first) that has all these colors: "voc"; NULL: none has. */
const char *stk__mask_palette_guess(const uint32_t *colors, int32_t count, int *from);

/* A file such as labelmap.txt or class_dict.csv, next to the mask or above it, that has all these colors. */
bool stk__mask_palette_find(const char *mask, const uint32_t *colors, int32_t count, char *path, size_t size);

#endif
