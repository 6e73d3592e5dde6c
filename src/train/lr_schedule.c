/* SPDX-License-Identifier: Apache-2.0 */
/* Learning-rate schedules: linear warm-up, then constant, cosine, step decay or one-cycle. A pure function
 * of the step, so that a resumed run continues exactly. */
#include "train/lr_schedule.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* From a to b along half a cosine. */
static double glide(double a, double b, double share)
{
    return b + (a - b) * 0.5 * (1 + cos(pi * share));
}

static double one_cycle(const stk__lr_schedule *s, int64_t step)
{
    const double low = s->lr / 25, end = low / 1e4;
    const double peak = 0.3 * (double)s->total_steps - 1, last = (double)s->total_steps - 1,
                 at = (double)step;
    if (peak > 0 && at <= peak) return glide(low, s->lr, at / peak);
    return last > peak ? glide(s->lr, end, (at - fmax(peak, 0)) / (last - fmax(peak, 0))) : s->lr;
}

static double after_warmup(const stk__lr_schedule *s, int64_t step)
{
    const int64_t span = s->total_steps - s->warmup;
    switch (s->kind) {
    case STK_SCHEDULE_COSINE:
        return span > 0 ? glide(s->lr, 0, (double)(step - s->warmup) / (double)span) : s->lr;
    case STK_SCHEDULE_STEP:
        return s->lr * pow(s->gamma, (double)(step / s->steps_per_epoch / s->step_size));
    default:
        return s->lr;
    }
}

double stk__lr_at(const stk__lr_schedule *s, int64_t step)
{
    if (s->total_steps > 0 && step >= s->total_steps) step = s->total_steps - 1;
    if (s->kind == STK_SCHEDULE_ONE_CYCLE) return one_cycle(s, step);
    if (step < s->warmup) return s->lr * (double)(step + 1) / (double)s->warmup;
    return after_warmup(s, step);
}
