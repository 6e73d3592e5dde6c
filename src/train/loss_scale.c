/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic loss scaling for fp16: halved (down to a floor) after a step that was skipped for infinite or
 * NaN gradients, doubled (up to a limit) after enough good steps in a row. False after too many skipped
 * ones in a row. */
#include "train/loss_scale.h"

#include <math.h>

bool stk__loss_scale_step(stk__loss_scale *s, bool skipped)
{
    if (skipped) {
        s->scale = fmax(s->scale / 2, s->floor);
        s->good_count = 0;
        s->skipped++;
        return ++s->skip_count < s->skips_most;
    }
    s->skip_count = 0;
    if (++s->good_count < s->growth_good) return true;
    s->scale = fmin(s->scale * 2, STK_LOSS_SCALE_MOST);
    s->good_count = 0;
    return true;
}
