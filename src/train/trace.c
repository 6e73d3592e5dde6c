/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of time for a trace file, in an array of fixed size: recording costs a store, and stops when the
 * array is full. One thread. */
#include "train/trace.h"

stk_status stk__trace_init(stk__trace *trace, size_t room, stk_error *error)
{
    *trace = (stk__trace){.spans = stk__alloc(room * sizeof *trace->spans), .room = room};
    return trace->spans ? STK_OK : stk__fail_memory(error, room * sizeof *trace->spans, "a trace");
}

void stk__trace_fini(stk__trace *trace)
{
    stk__free(trace->spans);
    *trace = (stk__trace){0};
}

void stk__trace_add(stk__trace *trace, const stk__trace_span *span)
{
    if (!trace) return;
    if (trace->count < trace->room)
        trace->spans[trace->count++] = *span;
    else
        trace->lost++;
}
