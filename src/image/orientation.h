/* SPDX-License-Identifier: Apache-2.0 */
/* The eight EXIF orientations: how stored pixels are turned to stand upright. */
#ifndef STK_IMAGE_ORIENTATION_H
#define STK_IMAGE_ORIENTATION_H

#include "image/pixels.h"

#include <stdbool.h>

/* 1 as stored, 2 mirrored, 3 turned by 180 degrees, 4 flipped, 5 transposed, 6 to be turned clockwise,
 * 7 transversed, 8 to be turned counter-clockwise (the numbers of EXIF). */
typedef int stk__orientation;

static inline bool stk__orientation_swaps(stk__orientation orientation) /* width and height change places */
{
    return orientation >= 5 && orientation <= 8;
}

/* target has the upright size and does not overlap source. */
void stk__orientation_apply(stk__pixels source, stk__pixels target, stk__orientation orientation);

#endif
