/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of noise that every generated picture takes its textures from: constant, periodic, made once. */
#ifndef STK_MAKE_NOISE_H
#define STK_MAKE_NOISE_H

#include <stdint.h>

enum { STK_NOISE_SIDE = 512, STK_NOISE_WRAP = STK_NOISE_SIDE - 1 };

typedef enum stk__noise_kind {
    STK_NOISE_GRAIN,   /* of a sensor: nearly white */
    STK_NOISE_CLOUDS,  /* fractal, from 128 to 4 pixels */
    STK_NOISE_STRANDS, /* long in y, thin in x: hair, wood, grass */
    STK_NOISE_WEAVE,   /* threads across each other */
    STK_NOISE_COUNT
} stk__noise_kind;

/* STK_NOISE_SIDE squared values of about -127 … 127, row by row. */
const int8_t *stk__noise_tile(stk__noise_kind kind);

#endif
