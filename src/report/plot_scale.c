/* SPDX-License-Identifier: Apache-2.0 */
/* The axis of a chart: a range rounded to steps of 1, 2 or 5 times a power of ten, linear or logarithmic,
 * its ticks and their labels. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>

#define LOG_FROM 30 /* most / least from which on powers are shown */

/* 1, 2 or 5 times a power of ten, the nearest to `step`. */
static double round_step(double step)
{
    const double power = pow(10, floor(log10(step)));
    const double digit = step / power;
    return power * (digit < 1.4 ? 1 : digit < 3 ? 2 : digit < 7 ? 5 : 10);
}

static void place_ticks(stk__scale *s, stk__scale_form form)
{
    const double wanted = round_step((s->most - s->least) / (form.widen ? 4 : 6)),
                 step = form.whole && wanted < 1 ? 1 : wanted;
    if (form.widen) {
        s->least = floor(s->least / step + 1e-9) * step;
        s->most = ceil(s->most / step - 1e-9) * step;
    }
    const double first = ceil(s->least / step - 1e-9);
    for (int i = 0; i < STK_PLOT_TICKS && (first + i) * step <= s->most + step * 1e-6; i++)
        s->ticks[s->tick_count++] = (first + i) * step + 0.0;
    s->decimals = step >= 1 ? 0 : (int)-floor(log10(step) + 1e-9);
}

/* Powers of ten; with 2 and 5 between them where there are few. */
static void place_powers(stk__scale *s)
{
    static const double digits[] = {1, 2, 5};
    const double decades = log10(s->most / s->least);
    const int stride = decades > 10 ? (int)ceil(decades / 8) : 1, parts = decades < 2.2 ? 3 : 1;
    for (int power = (int)floor(log10(s->least)); power <= (int)ceil(log10(s->most)); power += stride)
        for (int part = 0; part < parts; part++) {
            const double tick = digits[part] * pow(10, power);
            if (tick >= s->least && tick <= s->most && s->tick_count < STK_PLOT_TICKS)
                s->ticks[s->tick_count++] = tick;
        }
}

stk__scale stk__scale_make(double least, double most, stk__scale_form form)
{
    stk__scale s = {.least = least, .most = most};
    if (!(most > least)) { /* one value: the range reaches to 0 and a little beyond it, or stands about it */
        const double room = form.whole || most == 0 ? 1 : fabs(most) * 0.2;
        s.least = form.widen && least > 0 ? 0 : least - room;
        s.most = most + room;
    }
    s.log = form.may_log && least > 0 && most / least >= LOG_FROM;
    if (form.widen && !s.log && least >= 0 && s.least < 0.5 * s.most) s.least = 0;
    if (s.log) {
        s.least = least / 1.15;
        s.most = most * 1.15;
        place_powers(&s);
    } else
        place_ticks(&s, form);
    return s;
}

double stk__scale_px(const stk__scale *s, double value)
{
    const double at =
        s->log ? log(value / s->least) / log(s->most / s->least) : (value - s->least) / (s->most - s->least);
    return s->from_px + at * (s->to_px - s->from_px);
}

void stk__scale_print(const stk__scale *s, double tick, char text[24])
{
    const double size = fabs(tick);
    if (size >= 1e12 || (size > 0 && s->decimals > 4) || (s->log && size < 1e-3))
        snprintf(text, 24, "%.3g", tick);
    else if (size >= 1e9)
        snprintf(text, 24, "%.4gG", tick / 1e9);
    else if (size >= 1e6)
        snprintf(text, 24, "%.4gM", tick / 1e6);
    else if (size >= 1e4)
        snprintf(text, 24, "%.4gk", tick / 1e3);
    else if (s->log)
        snprintf(text, 24, "%g", tick);
    else
        snprintf(text, 24, "%.*f", s->decimals, tick);
}
