/* SPDX-License-Identifier: Apache-2.0 */
/* The one JPEG encoder of pixels. */
#ifndef STK_IMAGE_JPEG_WRITE_H
#define STK_IMAGE_JPEG_WRITE_H

#include "core/memory.h"
#include "image/pixels.h"

/* Baseline JPEG of an RGB picture, 4:2:0, quality 1 to 100. The bytes replace what file holds. Any thread. */
stk_status stk__jpeg_write(stk__pixels pixels, int quality, stk__buffer *file, stk_error *error);

#endif
