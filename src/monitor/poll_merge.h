/* SPDX-License-Identifier: Apache-2.0 */
/* Merges several polls of a GPU into one frame. */
#ifndef STK_MONITOR_POLL_MERGE_H
#define STK_MONITOR_POLL_MERGE_H

#include "monitor/gpu_reader.h"

typedef struct stk__poll_merge {
    stk_gpu_frame frame; /* so far; the newest readings */
    double sums[STK_METRIC_FAN + 1];
    int counts[STK_METRIC_FAN + 1]; /* of metrics that are averages over time */
    double last[STK_METRIC_COUNT];  /* counters: last value */
    double added[STK_METRIC_COUNT]; /* offset of counters that restarted at 0 */
} stk__poll_merge;

/* Adds a poll: readings replace, loads are appended. A counter that restarted continues from its last value.
 */
void stk__poll_merge_add(stk__poll_merge *merge, const stk_gpu_frame *poll);
/* The GPU cannot be read from now on: the values of this interval become unknown. */
void stk__poll_merge_down(stk__poll_merge *merge, stk_gpu_state state, const char *note);
/* The frame, with util_percent as the mean of its loads; starts the next one, with the last known readings.
 */
void stk__poll_merge_take(stk__poll_merge *merge, stk_gpu_frame *frame);

#endif
