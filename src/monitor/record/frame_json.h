/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and the summary as JSON objects: units in keys, shares 0 to 1, unknown is null. */
#ifndef STK_MONITOR_FRAME_JSON_H
#define STK_MONITOR_FRAME_JSON_H

#include "monitor/record/json_line.h"

/* Into a line that was started. start_ns: of the first frame. */
void stk__json_frame(stk__json_line *line, const stk_monitor_frame *frame, uint64_t start_ns);
/* {"schema", "summary": {…}} */
void stk__json_summary(stk__json_line *line, const stk_monitor_summary *summary);

/* "processes": [{pid, name, memory_bytes, util_percent}], or null where they are not known. */
void stk__json_processes(stk__json_line *line, const stk_gpu_frame *seen);

#endif
