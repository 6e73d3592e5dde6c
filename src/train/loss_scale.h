/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic loss scale: gradients of a loss that was multiplied by this stay above the smallest numbers that
 * fp16 holds. It grows while all is well and is halved when gradients are infinite or NaN; such a step
 * is skipped. As PyTorch's GradScaler, with a floor and an end. Always a power of two times its start:
 * dividing by it is exact. */
#ifndef STK_TRAIN_LOSS_SCALE_H
#define STK_TRAIN_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#define STK_LOSS_SCALE_START 65536.0
#define STK_LOSS_SCALE_MOST  0x1p32 /* gradients of nothing but zeros would let it grow for ever */

typedef struct stk__loss_scale {
    double scale;        /* 0: none (f32, bf16) */
    double floor;        /* it never sinks below */
    int64_t growth_good; /* good steps in a row after which it is doubled */
    int64_t skips_most;  /* skipped steps in a row that are too many */
    int64_t good_count;  /* good steps since it changed or a step was skipped */
    int64_t skip_count;  /* skipped steps in a row, the last one included */
    int64_t skipped;     /* of the whole run */
} stk__loss_scale;

/* The next skipped step would be one too many: look where its trouble begins. */
static inline bool stk__loss_scale_is_last(const stk__loss_scale *s)
{
    return s->scale > 0 && s->skip_count + 1 >= s->skips_most;
}

/* After each step. false: too many were skipped in a row. */
bool stk__loss_scale_step(stk__loss_scale *s, bool skipped);

#endif
