/* SPDX-License-Identifier: Apache-2.0 */
/* What a run did, span by span, for as many steps as there is room for. Recording allocates and formats
 * nothing. */
#ifndef STK_TRAIN_TRACE_H
#define STK_TRAIN_TRACE_H

#include "core/memory.h"

#include <stddef.h>
#include <stdint.h>

typedef enum stk__trace_track {
    STK_TRACE_RUN,   /* rows of the stall table, one after the other */
    STK_TRACE_LAYERS /* instructions of the passes, inside forward and backward */
} stk__trace_track;

typedef struct stk__trace_span {
    const char *name;   /* "decode", or a layer's "down1.conv2"; not owned */
    const char *action; /* "forward", "backward", "again", …; of a row: NULL */
    stk__trace_track track;
    uint64_t from_ns, to_ns; /* of the clock */
} stk__trace_span;

typedef struct stk__trace { /* init/fini; zeroed: records nothing */
    stk__trace_span *spans;
    size_t count, room;
    size_t lost;                /* spans for which there was no room */
    uint64_t (*clock_ns)(void); /* of the layers' spans; NULL: the clock */
} stk__trace;

stk_status stk__trace_init(stk__trace *trace, size_t room, stk_error *error);
void stk__trace_fini(stk__trace *trace);
void stk__trace_add(stk__trace *trace, const stk__trace_span *span); /* accepts NULL */

/* Appends it as Trace Event Format, which Chrome (about:tracing) and Perfetto show: a track "run" and a track
 * "layers". */
stk_status stk__trace_json(const stk__trace *trace, stk__buffer *text, stk_error *error);

#endif
