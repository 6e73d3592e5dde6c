/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated values over time, parsed from a text: the demo (--demo) and the fake driver of the tests. One
 * line is one curve: `GPU METRIC SHAPE NUMBERS…`, '#' begins a comment.
 *
 *   0 util_percent square 0.4 0.7 100 0   # period s, duty, high, low
 *   * power_w      sine 20 250 400        # period s, low, high
 *   1 memory_used_bytes ramp 0 60 1e9 20e9
 *   0 temperature_c const 71
 *   0 util_percent steps 0:95 30:20 35:95 # from second: value; repeats from the last
 *   2 state        steps 0:0 60:2 75:0    # a number of stk_gpu_state
 *
 * '*' is every GPU that has no curve of its own. Counters (energy_j, throttled_…_s, …_total) are given as
 * their rate per second; energy_j follows from power_w if it is not given. `noise 3` adds noise of that
 * amplitude (drawn by core/random.h from GPU, metric and time: the same for the same moment). The mean of a
 * curve over any interval is exact, not sampled. */
#ifndef STK_MONITOR_CURVE_H
#define STK_MONITOR_CURVE_H

#include "core/memory.h"
#include "stoker/monitor.h"

typedef struct stk__curves stk__curves;

stk_status stk__curves_read(stk__curves **curves, const char *text,
                            stk_error *error); /* errors name the line */
void stk__curves_destroy(stk__curves **curves);
int stk__curves_gpus(const stk__curves *curves); /* highest number named + 1, at least 1 */

/* False: the text has no such curve. */
bool stk__curves_at(const stk__curves *curves, int gpu, stk_metric metric, double second, double *value);
bool stk__curves_mean(const stk__curves *curves, int gpu, stk_metric metric, double from_s, double to_s,
                      double *value);
/* Counters: the integral of the rate from 0 to second. */
bool stk__curves_total(const stk__curves *curves, int gpu, stk_metric metric, double second, double *value);
stk_gpu_state stk__curves_state(const stk__curves *curves, int gpu, double second);

#endif
