/* SPDX-License-Identifier: Apache-2.0 */
/* (v / 255 - mean) / std per channel, as the fused pass applies it: v * scale + bias. */
#ifndef STK_AUGMENT_NORMALIZATION_H
#define STK_AUGMENT_NORMALIZATION_H

#include "core/error.h"

typedef struct stk__normalization {
    float scale[3], bias[3];
} stk__normalization;

/* std of 0 in all channels: 1. One that is 0 alone is refused, with the name of its option ("data.std"). */
stk_status stk__normalization_make(stk__normalization *out, const double mean[3], const double std[3],
                                   const char *option, stk_error *error);

#endif
