/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of an augmentation are by the book: each by its own plain definition, in double. Pictures
 * are RGB, pixel after pixel, 0 … 255. */
#ifndef AUGMENT_BOOK_H
#define AUGMENT_BOOK_H

#include "device/augment_block.h"
#include "image/pixels.h"

/* Bilinear at (u, v), where 0 is the centre of the first pixel; outside is fill, in 1/64. */
void book_sample(stk__pixels photo, const int32_t fill[3], double u, double v, double out[3]);

/* One colour step (torchvision's definitions) on `count` pixels. */
void book_step(int kind, double a, double *image, int count);

/* By the weights of both directions at once; edges reflected. */
void book_blur(const stk__augment_block *block, const double *image, int w, int h, double *out);

#endif
