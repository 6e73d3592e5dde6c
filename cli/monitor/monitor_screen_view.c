/* SPDX-License-Identifier: Apache-2.0 */
/* What the monitor's screen shows, taken from frames: current values, rates from counters, and a short
 * history per GPU for the sparklines. Plain data; the screen's thread owns it. */
#include "monitor_screen.h"

#include <math.h>
#include <string.h>

stk_status stk__view_init(stk__view *view, int32_t gpu_count, stk_error *error)
{
    *view = (stk__view){.room = gpu_count};
    if (!gpu_count) return STK_OK;
    const size_t size_bytes = (size_t)gpu_count * sizeof view->gpus[0];
    view->gpus = stk__alloc(size_bytes);
    return view->gpus ? STK_OK : stk__fail_memory(error, size_bytes, "the screen");
}

void stk__view_fini(stk__view *view)
{
    stk__free(view->gpus);
    *view = (stk__view){0};
}

void stk__trail_add(stk__trail *trail, double share)
{
    trail->points[trail->count++ % STK_VIEW_POINTS] = (float)share;
}

float stk__trail_back(const stk__trail *trail, int back)
{
    if (back < 0 || back >= STK_VIEW_POINTS || (uint64_t)back >= trail->count) return NAN;
    return trail->points[(trail->count - 1 - (uint64_t)back) % STK_VIEW_POINTS];
}

double stk__view_share(stk_reading a, stk_reading b)
{
    return stk__monitor_output_knows(a) && stk__monitor_output_knows(b) && b.value > 0 ? a.value / b.value
                                                                                       : NAN;
}

/* Rate of a counter. */
static double rate(stk_reading before, stk_reading now)
{
    const bool known = stk__monitor_output_knows(before) && stk__monitor_output_knows(now) &&
                       now.when_ns > before.when_ns && now.value >= before.value;
    return known ? (now.value - before.value) / ((double)(now.when_ns - before.when_ns) * 1e-9) : NAN;
}

static void take_gpu(stk__view_gpu *shown, const stk_gpu_frame *seen, bool has_length)
{
    const stk_reading *now = seen->readings, *before = shown->readings;
    shown->received_per_s = rate(before[STK_METRIC_PCIE_RECEIVED], now[STK_METRIC_PCIE_RECEIVED]);
    shown->sent_per_s = rate(before[STK_METRIC_PCIE_SENT], now[STK_METRIC_PCIE_SENT]);
    shown->state = seen->state;
    memcpy(shown->note, seen->note, sizeof shown->note);
    memcpy(shown->readings, seen->readings, sizeof shown->readings);
    shown->processes_known = seen->processes_known;
    shown->process_count = seen->process_count;
    memcpy(shown->processes, seen->processes, (size_t)seen->process_count * sizeof seen->processes[0]);
    if (!has_length) return; /* the first frame has no length */
    const stk_reading util = now[STK_METRIC_UTIL];
    stk__trail_add(&shown->util, stk__monitor_output_knows(util) ? util.value / 100 : NAN);
    stk__trail_add(&shown->power, stk__view_share(now[STK_METRIC_POWER], now[STK_METRIC_POWER_LIMIT]));
}

void stk__view_take(stk__view *view, const stk_monitor_frame *frame, uint64_t start_ns)
{
    view->clock_s = frame->clock_s;
    view->seconds = (double)(frame->to_ns - start_ns) * 1e-9;
    view->interval_s = (double)(frame->to_ns - frame->from_ns) * 1e-9;
    view->host = frame->host;
    view->host.core_percent = NULL; /* it does not live as long as we do */
    view->gpu_count = frame->gpu_count < view->room ? frame->gpu_count : view->room;
    for (int i = 0; i < view->gpu_count; i++) {
        view->gpus[i].gpu = frame->gpus[i];
        take_gpu(&view->gpus[i], &frame->gpu_frames[i], frame->to_ns > frame->from_ns);
    }
}

void stk__view_copy(stk__view *to, const stk__view *from)
{
    stk__view_gpu *gpus = to->gpus;
    if (from->gpu_count) memcpy(gpus, from->gpus, (size_t)from->gpu_count * sizeof gpus[0]);
    *to = *from;
    to->gpus = gpus;
}
