/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the GPU that a command trains on by the processes that its driver lists, and who else is there. In a
 * container the driver's ids may be those of the host: then none is ours, and nothing is said. One thread. */
#include "doctor/gpu_watch.h"

#include <math.h>
#include <string.h>

/* An idle GPU lowers its link to save power. */
#define BUSY_PERCENT 20.0

static double link_of(const stk_reading *r)
{
    const stk_metric metrics[] = {STK_METRIC_LINK_GENERATION, STK_METRIC_LINK_GENERATION_MAX,
                                  STK_METRIC_LINK_WIDTH, STK_METRIC_LINK_WIDTH_MAX};
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (r[metrics[i]].known != STK_KNOWN || !(r[metrics[i]].value > 0)) return 0;
    /* A generation has twice the rate of the one before. */
    const double steps = r[metrics[1]].value - r[metrics[0]].value;
    return r[metrics[2]].value / r[metrics[3]].value / (double)(1u << (steps > 0 ? (unsigned)steps : 0));
}

void stk__gpu_watch_add(stk__gpu_watch *gpus, const stk_monitor_frame *frame)
{
    gpus->count = frame->gpu_count < STK_GPUS ? frame->gpu_count : STK_GPUS;
    for (int32_t i = 0; i < gpus->count; i++) {
        const stk_gpu_frame *seen = &frame->gpu_frames[i];
        const stk_reading *r = seen->readings;
        if (seen->processes_known && seen->process_count) { /* at the end there are none */
            gpus->gpus[i].processes_known = true;
            gpus->gpus[i].process_count = seen->process_count;
            memcpy(gpus->gpus[i].processes, seen->processes, sizeof seen->processes);
        }
        if (r[STK_METRIC_UTIL].known != STK_KNOWN || r[STK_METRIC_UTIL].value < BUSY_PERCENT) continue;
        const double link = link_of(r);
        if (link > gpus->gpus[i].link_share) gpus->gpus[i].link_share = link;
    }
}

static bool is_ours(const stk__evidence *e, int32_t pid)
{
    for (int64_t i = 0; i < e->process_count; i++)
        if (e->processes[i].pid == pid) return true;
    return false;
}

void stk__gpu_watch_report(const stk__gpu_watch *gpus, stk__evidence *e)
{
    for (int32_t i = 0; i < gpus->count && i < e->gpus.gpu_count; i++) {
        stk__gpu_evidence seen = {.index = i, .used = STK_YES};
        bool ours = false;
        for (int32_t p = 0; p < gpus->gpus[i].process_count; p++) {
            const stk_gpu_process *process = &gpus->gpus[i].processes[p];
            const bool own = is_ours(e, process->pid);
            ours = ours || own;
            seen.other_processes += !own;
            if (!own && process->memory_bytes.known == STK_KNOWN)
                seen.other_memory_bytes += process->memory_bytes.value;
        }
        seen.link_share = gpus->gpus[i].link_share > 0 ? gpus->gpus[i].link_share : (double)NAN;
        const stk_gpu_summary *all = e->gpus.gpus;
        if (ours &&
            (e->gpu.index < 0 || all[i].util_mean_percent.value < all[e->gpu.index].util_mean_percent.value))
            e->gpu = seen;
    }
}
