/* SPDX-License-Identifier: Apache-2.0 */
/* How the size of a mask compares with that of the pixels it was drawn on. */
#ifndef STK_DECODE_MASK_FIT_H
#define STK_DECODE_MASK_FIT_H

#include "decode/decode.h"

typedef enum stk__mask_fit {
    STK_MASK_FITS,   /* the same */
    STK_MASK_SCALED, /* the same aspect, to less than a pixel of the smaller one */
    STK_MASK_OTHER
} stk__mask_fit;

stk__mask_fit stk__mask_fit_of(const stk__picture *mask, int32_t w, int32_t h);

#endif
