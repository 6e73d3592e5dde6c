/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a caller's values as bytes, at the levels of the CPU; all have the same results. */
#ifndef STK_AUGMENTER_PIXEL_ROWS_H
#define STK_AUGMENTER_PIXEL_ROWS_H

#include "core/cpu_level.h"

#include <stdbool.h>
#include <stdint.h>

/* 2^-20, 8 units in the last place of 1.0f: 255 levels times 1 / 255 may be above 1. */
#define STK_PIXEL_ROUNDING (1.0f / (1 << 20))

typedef struct stk__pixel_rows {
    /* v * 255 + 0.5, cut off. False: one is below 0, above 1 by more than rounding (STK_PIXEL_ROUNDING) or
     * NaN; then what is written is of no use. */
    bool (*levels)(const float *from, uint8_t *to, int32_t count);
    /* False: one is outside 0 to 255. */
    bool (*ids)(const int64_t *from, uint8_t *to, int32_t count);
    /* a0 b0 c0 a1 b1 c1 … */
    void (*weave)(const uint8_t *const planes[3], uint8_t *to, int32_t count);
} stk__pixel_rows;

const stk__pixel_rows *stk__pixel_rows_at(stk__cpu_level level);

#endif
