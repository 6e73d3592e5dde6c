/* SPDX-License-Identifier: Apache-2.0 */
/* stoker monitor --json: one object per line, the last one is the summary. */
#include "monitor_output.h"

#include "monitor/record/frame_json.h"

static void show_frame(stk__monitor_output *output, const stk_monitor_frame *frame)
{
    stk__line_start(&output->line);
    stk__json_frame(&output->line, frame, output->start_ns);
    stk__line_finish(&output->line, output->file);
}

static void show_end(stk__monitor_output *output, const stk_monitor_summary *summary)
{
    stk__line_start(&output->line);
    stk__json_summary(&output->line, summary);
    stk__line_finish(&output->line, output->file);
}

const stk__monitor_output_ops stk__monitor_output_json = {
    .name = "json", .frame = show_frame, .end = show_end};
