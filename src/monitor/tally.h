/* What was seen so far, in little memory: means, deviations, shares of time; and what it means. */
#ifndef STK_MONITOR_TALLY_H
#define STK_MONITOR_TALLY_H

#include "core/memory.h"
#include "stoker/monitor.h"

typedef struct stk__tally stk__tally;

/* gpus[gpu_count] must outlive the tally. */
stk_status stk__tally_create(stk__tally **tally, const stk_gpu *gpus, int gpu_count, stk_error *error);
void stk__tally_destroy(stk__tally **tally);

void stk__tally_add(stk__tally *tally, const stk_monitor_frame *frame); /* of every frame, in order */
void stk__tally_judge(stk__tally *tally, stk_monitor_summary *summary); /* at any time */

#endif
