/* What the judgement at the end needs of all frames, in memory that does not grow: hours of watching cost as
 * much as minutes, and a frame allocates nothing.
 *
 * Time is cut into eras, first of 1 s (or of one interval, if that is longer). An era holds sums, peaks and a
 * histogram of load. When all STK_TALLY_ERAS are full, neighbours are joined and eras are twice as long from
 * then on. Sums add up, so nothing is lost but the place where a stretch may begin or end: it is known to
 * 1/64 of the time watched, or better.
 *
 * Beside them a series of load for the period finder (period.h), first in steps of 1/4 s, coarsened the same
 * way. */
#ifndef STK_MONITOR_TALLY_H
#define STK_MONITOR_TALLY_H

#include "core/memory.h"
#include "monitor/period.h"
#include "stoker/monitor.h"

enum { STK_TALLY_ERAS = 128, STK_TALLY_STEPS = STK_PERIOD_STEPS, STK_TALLY_BINS = 101 };

typedef struct stk__tally stk__tally;

/* gpus [gpu_count] must outlive the tally. gpu_count may be 0: then the host alone is counted. */
stk_status stk__tally_create(stk__tally **tally, const stk_gpu *gpus, int32_t gpu_count, stk_error *error);
void stk__tally_destroy(stk__tally **tally);

/* In the order of time. Frames have the GPUs the tally was made for. */
void stk__tally_add(stk__tally *tally, const stk_monitor_frame *frame);

/* Of everything added so far (summary.c, verdict.c). Changes nothing that later frames need, costs about a
 * millisecond per GPU; summary->gpus belongs to the tally and lives until the next judgement. */
void stk__tally_judge(stk__tally *tally, stk_monitor_summary *summary);

#endif
