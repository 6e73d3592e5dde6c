/* Several polls of a GPU put together into one frame. */
#ifndef STK_MONITOR_POLL_MERGE_H
#define STK_MONITOR_POLL_MERGE_H

#include "monitor/gpu_reader.h"

typedef struct stk__poll_merge {
    stk_gpu_frame frame; /* so far; the newest readings */
    double sums[STK_METRIC_FAN + 1];
    int counts[STK_METRIC_FAN + 1]; /* of what holds for a stretch of time, not for a moment */
    double last[STK_METRIC_COUNT];  /* what grows: as it was told last, ever */
    double added[STK_METRIC_COUNT]; /* to what is told, because the driver began again from 0 */
} stk__poll_merge;

/* A poll that was made: readings replace, loads are appended. A counter that fell goes on from where it was.
 */
void stk__poll_merge_add(stk__poll_merge *merge, const stk_gpu_frame *poll);
/* The GPU cannot be read from now on: nothing of this interval is known any more. */
void stk__poll_merge_down(stk__poll_merge *merge, stk_gpu_state state, const char *note);
/* The frame, with util_percent as the mean of its loads; begins the next one, which knows what this one knew.
 */
void stk__poll_merge_take(stk__poll_merge *merge, stk_gpu_frame *frame);

#endif
