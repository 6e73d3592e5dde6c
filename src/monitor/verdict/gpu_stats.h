/* SPDX-License-Identifier: Apache-2.0 */
/* Running statistics of GPUs and host for the summary and the verdict, in constant memory: hours cost as much
 * as minutes, and a frame allocates nothing.
 *
 * Time is divided into buckets (buckets), first of 1 s (or of one interval, if that is longer). A bucket
 * holds sums, peaks and a histogram of utilization. When all STK_GPU_STATS_BUCKETS are full, neighbours are
 * merged and buckets are twice as long from then on. Sums stay exact; only the resolution at which a range
 * may begin or end drops, to 1/64 of the monitored time or better.
 *
 * Beside them a series of utilization for the period finder (period.h), first in steps of 1/4 s, coarsened
 * the same way. */
#ifndef STK_MONITOR_GPU_STATS_H
#define STK_MONITOR_GPU_STATS_H

#include "core/memory.h"
#include "monitor/verdict/period.h"
#include "stoker/monitor.h"

enum { STK_GPU_STATS_BUCKETS = 128, STK_GPU_STATS_STEPS = STK_PERIOD_STEPS, STK_GPU_STATS_BINS = 101 };

typedef struct stk__gpu_stats stk__gpu_stats;

/* gpus [gpu_count] must outlive it. gpu_count may be 0: then the host alone is counted. */
stk_status stk__gpu_stats_create(stk__gpu_stats **stats, const stk_gpu *gpus, int32_t gpu_count,
                                 stk_error *error);
void stk__gpu_stats_destroy(stk__gpu_stats **stats);

/* In the order of time. Frames have the GPUs given to create. */
void stk__gpu_stats_add(stk__gpu_stats *stats, const stk_monitor_frame *frame);

/* Of everything added so far (summary.c, verdict.c). May be called at any time, costs about a millisecond per
 * GPU; summary->gpus is owned by the stats and lives until the next call. */
void stk__gpu_stats_judge(stk__gpu_stats *stats, stk_monitor_summary *summary);

#endif
