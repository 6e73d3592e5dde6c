/* What the judgement at the end needs of all frames, in memory that does not grow: hours of watching cost as
 * much as minutes, and a frame allocates nothing.
 *
 * Time is cut into buckets, first of 1 s (or of one interval, if that is longer). A bucket holds sums, peaks
 * and a histogram of load. When all STK_GPU_STATS_BUCKETS are full, neighbours are joined and buckets are
 * twice as long from then on. Sums add up, so nothing is lost but the place where a stretch may begin or end:
 * it is known to 1/64 of the time watched, or better.
 *
 * Beside them a series of load for the period finder (period.h), first in steps of 1/4 s, coarsened the same
 * way. */
#ifndef STK_MONITOR_GPU_STATS_H
#define STK_MONITOR_GPU_STATS_H

#include "core/memory.h"
#include "monitor/verdict/period.h"
#include "stoker/monitor.h"

enum { STK_GPU_STATS_BUCKETS = 128, STK_GPU_STATS_STEPS = STK_PERIOD_STEPS, STK_GPU_STATS_BINS = 101 };

typedef struct stk__gpu_stats stk__gpu_stats;

/* gpus [gpu_count] must outlive the stats. gpu_count may be 0: then the host alone is counted. */
stk_status stk__gpu_stats_create(stk__gpu_stats **stats, const stk_gpu *gpus, int32_t gpu_count,
                                 stk_error *error);
void stk__gpu_stats_destroy(stk__gpu_stats **stats);

/* In the order of time. Frames have the GPUs the stats was made for. */
void stk__gpu_stats_add(stk__gpu_stats *stats, const stk_monitor_frame *frame);

/* Of everything added so far (summary.c, verdict.c). Changes nothing that later frames need, costs about a
 * millisecond per GPU; summary->gpus belongs to the stats and lives until the next judgement. */
void stk__gpu_stats_judge(stk__gpu_stats *stats, stk_monitor_summary *summary);

#endif
