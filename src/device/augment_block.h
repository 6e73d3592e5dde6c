/* SPDX-License-Identifier: Apache-2.0 */
/* The augmentation of one sample, resolved to plain numbers on the host: what every kernel level and device
 * takes. The layout is the same in C, OpenCL C and CUDA: 32-bit fields only, no padding. This file is part of
 * the kernel source: nothing but C that all three understand.
 *
 * Pixels pass through in this order; every stage may be absent:
 *   sample   one inverse 2x3 matrix for image (bilinear) and mask (nearest); outside: fill, mask_fill
 *   steps    the colour program, each step clamped to 0 … 255
 *   blur     separable, symmetric, edges reflected
 *   noise    Gaussian-like, clamped
 *   erase    a box of fill values
 *   store    v * scale + bias, per channel (normalisation), in the batch's type and layout
 *
 * Same bits everywhere: sampling in whole numbers (coordinates in 1/32768 of a pixel, values in 1/64 of a
 * level), then only + - x / and explicit fma in float, no contraction, sums in whole numbers. After sampling
 * values are 0 … 255 as float until the store. */
#ifndef STK_DEVICE_AUGMENT_BLOCK_H
#define STK_DEVICE_AUGMENT_BLOCK_H

#ifndef STK_KERNEL_SOURCE
#include <stdint.h>
#endif

enum { STK_AUGMENT_STEPS = 8, STK_AUGMENT_RADIUS = 3, STK_AUGMENT_LEVEL = 64 };

/* Kinds of colour steps; a is the step's one number. torchvision's definitions. */
typedef enum stk__colour_step {
    STK_COLOUR_BRIGHTNESS, /* v * a */
    STK_COLOUR_CONTRAST,   /* a * v + (1 - a) * mean grey of the whole image at this point; once at most */
    STK_COLOUR_SATURATION, /* a * v + (1 - a) * grey of the pixel */
    STK_COLOUR_HUE,        /* turned by a (-0.5 … 0.5 of the circle) in HSV */
    STK_COLOUR_GRAY,       /* all channels the grey of the pixel */
    STK_COLOUR_GAMMA,      /* 255 * (v / 255) ^ a */
    STK_COLOUR_COUNT
} stk__colour_step;

typedef struct stk__augment_block {
    /* From the centre of an output pixel, (x + 0.5, y + 0.5), to the index of the source (0 is the first
     * centre): u = matrix[0] * cx + matrix[1] * cy + matrix[2], v = matrix[3] * cx + matrix[4] * cy +
     * matrix[5]. */
    float matrix[6];
    int32_t fill[3];   /* 0 … 255 * STK_AUGMENT_LEVEL */
    int32_t mask_fill; /* 0 … 255 */

    int32_t step_count;
    int32_t step_kind[STK_AUGMENT_STEPS]; /* stk__colour_step */
    float step_value[STK_AUGMENT_STEPS];

    int32_t blur_radius;                       /* 0: none, to STK_AUGMENT_RADIUS */
    float blur_weight[STK_AUGMENT_RADIUS + 1]; /* [0] is the centre's; all taps sum to 1 */

    float noise_std; /* in levels of 255; 0: none */
    uint32_t noise_key[2], noise_epoch, noise_sample;

    int32_t erase_x, erase_y, erase_w, erase_h; /* in output pixels; w 0: none */
} stk__augment_block;

#endif
