/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 16 bits: half (f16 of IEEE 754) and bfloat (the upper half of a float). Rounded to nearest even;
 * what is too large becomes infinite, and NaN stays NaN. */
#ifndef STK_CORE_HALF_H
#define STK_CORE_HALF_H

#include "core/cpu_level.h"
#include "stoker/batch.h"

#include <stdbool.h>
#include <stdint.h>

uint16_t stk__half_from_float(float value);
uint16_t stk__bfloat_from_float(float value);
float stk__half_to_float(uint16_t half);
float stk__bfloat_to_float(uint16_t bfloat);

static inline bool stk__dtype_is_half(stk_dtype dtype)
{
    return dtype == STK_DTYPE_F16 || dtype == STK_DTYPE_BF16;
}

/* Many at once. All levels have the same bits as the functions above. */
typedef struct stk__half_loops {
    void (*widen)(const uint16_t *from, float *to, int64_t count);
    void (*narrow)(const float *from, uint16_t *to, int64_t count);
} stk__half_loops;

/* dtype: f16 or bf16. Asking for the level is slow: keep what this returns. */
const stk__half_loops *stk__half_loops_at(stk_dtype dtype, stk__cpu_level level);

#endif
