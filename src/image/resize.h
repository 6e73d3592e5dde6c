/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing with half-pixel centres. Integer arithmetic: the same pixels on every CPU. */
#ifndef STK_IMAGE_RESIZE_H
#define STK_IMAGE_RESIZE_H

#include "core/memory.h"
#include "image/pixels.h"

/* Triangle filter, widened by the scale when shrinking (an area-like average), plain bilinear when growing.
 * Same channels on both sides; scratch is reused between calls and only grows. */
stk_status stk__resize_image(stk__pixels source, stk__pixels target, stk__buffer *scratch, stk_error *error);

/* Nearest: for ids, which must stay ids. */
void stk__resize_mask(stk__pixels source, stk__pixels target);

#endif
