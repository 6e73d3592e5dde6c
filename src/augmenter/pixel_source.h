/* SPDX-License-Identifier: Apache-2.0 */
/* One image or mask of the caller's, wherever its values lie, as the 8-bit pixels that the fused pass reads.
 */
#ifndef STK_AUGMENTER_PIXEL_SOURCE_H
#define STK_AUGMENTER_PIXEL_SOURCE_H

#include "augmenter/pixel_rows.h"
#include "core/memory.h"
#include "image/pixels.h"

#include <stdbool.h>

typedef struct stk__pixel_source {
    const char *name;    /* of the argument, for errors: "io.images" */
    uint64_t item;       /* the sample's place in the batch, for errors, too */
    const uint8_t *data; /* of the first value, maybe on a device; NULL: there is none */
    stk_dtype dtype;     /* images: U8, F32 (0 to 1); masks: U8, I64 (0 to 255) */
    int32_t w, h, channels;
    int64_t row_bytes, pixel_bytes, channel_bytes; /* from one to the next; any sign */
    const stk__pixel_rows *rows;                   /* by which it is read where it is not direct */
} stk__pixel_source;

/* The tensor's axes are h, w and c, or h and w if c is negative. Name, item and rows are not set. */
typedef struct stk__pixel_axes {
    int h, w, c;
} stk__pixel_axes;

stk__pixel_source stk__pixel_source_make(const stk_tensor *tensor, stk__pixel_axes axes, int64_t first);

/* Can it be read where it lies? */
bool stk__pixel_source_is_direct(const stk__pixel_source *source);

/* Its pixels, where they lie or copied into room. STK_ERROR_SAMPLE: a float outside 0 to 1 or NaN, or an id
 * outside 0 to 255. */
stk_status stk__pixel_source_read(const stk__pixel_source *source, bool copy, stk__buffer *room,
                                  stk__pixels *pixels, stk_error *error);

/* A value that is no pixel. */
typedef struct stk__wrong_value {
    int32_t y, x;
    float level; /* of an image */
    int64_t id;  /* of a mask */
} stk__wrong_value;

/* STK_ERROR_SAMPLE, in words. */
stk_status stk__pixel_source_refuse(const stk__pixel_source *source, const stk__wrong_value *wrong,
                                    stk_error *error);

#endif
