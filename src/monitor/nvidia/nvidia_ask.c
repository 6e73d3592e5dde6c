/* SPDX-License-Identifier: Apache-2.0 */
/* NVML queries: which are due, and what their results mean. */
#include "monitor/nvidia/nvidia_state.h"

#include <stdio.h>

#define AGAIN_NS (60 * STK_SECOND_NS) /* may become supported: MIG off, another driver */

static void set_state(stk__nvidia_state *s, stk_gpu_state state, int result)
{
    stk_gpu_frame *frame = s->frame;
    stk__gpu_frame_clear(frame);
    frame->state = state;
    snprintf(frame->note, sizeof frame->note, "%s", stk__nvml_result_text(s->nvml, result));
}

bool stk__nvidia_may(stk__nvidia_state *s, int ask, bool there)
{
    if (!there || s->frame->state != STK_GPU_GOOD || s->now_ns < s->again_ns[ask]) return false;
    stk__poller_context_beat(s->context);
    return true;
}

void stk__nvidia_note(stk__nvidia_state *s, const char *text)
{
    char *note = s->frame->note;
    const size_t used = strlen(note), room = sizeof s->frame->note - used;
    if (strstr(note, text) || strlen(text) + 3 > room) return;
    snprintf(note + used, room, "%s%s", used ? "; " : "", text);
}

static void note_trouble(stk__nvidia_state *s, int result, const char *what)
{
    char text[sizeof s->frame->note];
    snprintf(text, sizeof text, "%s: %s", what, stk__nvml_result_text(s->nvml, result));
    stk__nvidia_note(s, text);
}

bool stk__nvidia_heard(stk__nvidia_state *s, int ask, int result, const char *what)
{
    s->again_ns[ask] = 0;
    switch (result) {
    case STK_NVML_SUCCESS:
        s->answers++;
        return true;
    case STK_NVML_NOT_SUPPORTED:
    case STK_NVML_INVALID_ARGUMENT:
    case STK_NVML_FUNCTION_NOT_FOUND:
    case STK_NVML_ARGUMENT_VERSION_MISMATCH:
    case STK_NVML_DEPRECATED:
        s->again_ns[ask] = s->now_ns + AGAIN_NS;
        return false;
    case STK_NVML_NOT_FOUND:
    case STK_NVML_NO_DATA:
        s->answers++; /* the driver responds: no data at the moment */
        return false;
    case STK_NVML_GPU_IS_LOST:
    case STK_NVML_GPU_NOT_FOUND:
    case STK_NVML_DRIVER_NOT_LOADED:
    case STK_NVML_UNINITIALIZED:
    case STK_NVML_VERSION_MISMATCH:
        set_state(s, STK_GPU_LOST, result);
        return false;
    case STK_NVML_RESET_REQUIRED:
        set_state(s, STK_GPU_RESET, result);
        return false;
    case STK_NVML_NO_PERMISSION:
    case STK_NVML_IN_USE:
        s->refused++;
        break;
    case STK_NVML_TIMEOUT:
        s->overdue++;
        break;
    default:
        s->silent++;
        break;
    }
    note_trouble(s, result, what);
    return false;
}

void stk__nvidia_missing(stk__nvidia_state *s, stk_metric metric, int ask, bool there)
{
    stk_reading *reading = &s->frame->readings[metric];
    if (reading->known == STK_KNOWN || s->frame->state != STK_GPU_GOOD) return;
    reading->known = !there || s->again_ns[ask] ? STK_UNSUPPORTED : STK_UNKNOWN;
}

void stk__nvidia_told(stk__nvidia_state *s, stk_metric metric, double value)
{
    if (s->frame->state == STK_GPU_GOOD) s->frame->readings[metric] = stk__reading_known(value, s->now_ns);
}
