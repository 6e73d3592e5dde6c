/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of masks and points of images with an EXIF orientation: they were drawn on the pixels as stored,
 * or on the upright image as viewers show it. Where width and height change places, an oblong image and its
 * mask prove it by their sizes; all others need the data set's decision (mask_decision.h) or data.mask_frame.
 */
#ifndef STK_LOADER_MASK_FRAME_H
#define STK_LOADER_MASK_FRAME_H

#include "decode/mask_fit.h"
#include "stoker/loader.h"

typedef enum stk__frame_proof {
    STK_FRAME_SAME,    /* the image has no orientation: both frames are one */
    STK_FRAME_OPEN,    /* its sizes prove nothing */
    STK_FRAME_STORED,  /* its sizes prove: drawn on the pixels as stored */
    STK_FRAME_UPRIGHT, /* … on the upright image */
} stk__frame_proof;

stk__frame_proof stk__mask_frame_prove(const stk__picture *image, const stk__picture *mask);

typedef struct stk__mask_frame_rule {
    stk_mask_frame frame; /* AUTO: each sample must prove its own */
    bool any_aspect;      /* masks of every size are resized: data.image_size is set */
} stk__mask_frame_rule;

/* The orientation to turn the mask by. Damage mask_size: it fits neither frame. STK_ERROR_CONFIG, which no
 * policy for bad samples forgives: the frame is open, or contradicts what was decided. */
stk_status stk__mask_frame_choose(const stk__mask_frame_rule *rule, const stk__picture *image,
                                  const stk__picture *mask, stk__orientation *orientation, stk_error *error);

/* The same for points of a sample without a mask. */
stk_status stk__points_frame_choose(const stk__mask_frame_rule *rule, const stk__picture *image,
                                    stk__orientation *orientation, stk_error *error);

/* Does a mask that is turned so have another size than its upright image? */
bool stk__mask_frame_resizes(const stk__picture *image, const stk__picture *mask, stk__orientation turn);

/* Points [count][3] from the stored frame to the upright one, whose size is w x h; orientation 1: as they
 * are. Coordinates count from the edge of the first pixel, as those of augmented points do: x becomes w - x.
 */
void stk__points_turn(float *points, int32_t count, stk__orientation orientation, int32_t w, int32_t h);

#endif
