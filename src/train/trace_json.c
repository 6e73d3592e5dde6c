/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as Chrome and Perfetto read it: the Trace Event Format, complete events in microseconds. */
#include "core/json_text.h"
#include "train/trace.h"

#include <string.h>

enum { PROCESS = 1 };

/* Threads of the viewer are tracks here. */
static int thread_of(stk__trace_track track)
{
    return (int)track + 1;
}

static json_t *name_event(const char *what, int thread, const char *name)
{
    return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", what, "pid", PROCESS, "tid", thread,
                     "args", "name", name);
}

static json_t *span_event(const stk__trace_span *span, uint64_t origin_ns)
{
    json_t *event = json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f}", "ph", "X", "name", span->name, "cat",
                              span->action ? span->action : "run", "pid", PROCESS, "tid",
                              thread_of(span->track), "ts", (double)(span->from_ns - origin_ns) * 1e-3, "dur",
                              (double)(span->to_ns - span->from_ns) * 1e-3);
    if (event && span->action) json_object_set_new(event, "args", json_pack("{s:s}", "action", span->action));
    return event;
}

static stk_status put(stk__buffer *text, const char *words, stk_error *error)
{
    return stk__buffer_append(text, words, strlen(words), error);
}

static stk_status put_event(stk__buffer *text, json_t *event, stk_error *error)
{
    const stk_status status = put(text, ",", error);
    if (status != STK_OK) json_decref(event);
    return status == STK_OK ? stk__json_text(text, event, JSON_COMPACT | JSON_REAL_PRECISION(15), error)
                            : status;
}

static stk_status put_names(stk__buffer *text, stk_error *error)
{
    STK__TRY(stk__json_text(text, name_event("process_name", 0, "stoker train"), JSON_COMPACT, error));
    STK__TRY(put_event(text, name_event("thread_name", thread_of(STK_TRACE_RUN), "run"), error));
    return put_event(text, name_event("thread_name", thread_of(STK_TRACE_LAYERS), "layers"), error);
}

static uint64_t first_moment(const stk__trace *trace)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->spans[i].from_ns < first) first = trace->spans[i].from_ns;
    return first;
}

stk_status stk__trace_json(const stk__trace *trace, stk__buffer *text, stk_error *error)
{
    const uint64_t origin_ns = first_moment(trace);
    json_t *about =
        json_pack("{s:I, s:s}", "lost_spans", (json_int_t)trace->lost, "note",
                  "every layer is waited for: where a device works in parallel with the host, steps take "
                  "longer than in an untraced run");
    stk_status status = put(text, "{\"displayTimeUnit\":\"ms\",\"otherData\":", error);
    if (status == STK_OK)
        status = stk__json_text(text, about, JSON_COMPACT, error);
    else
        json_decref(about);
    STK__TRY(status);
    STK__TRY(put(text, ",\"traceEvents\":[\n", error));
    STK__TRY(put_names(text, error));
    for (size_t i = 0; i < trace->count; i++)
        STK__TRY(put_event(text, span_event(&trace->spans[i], origin_ns), error));
    return put(text, "]}\n", error);
}
