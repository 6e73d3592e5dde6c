/* SPDX-License-Identifier: Apache-2.0 */
/* Output formats of the monitor: how frames and the summary at the end are shown. */
#ifndef STK_CLI_MONITOR_OUTPUT_H
#define STK_CLI_MONITOR_OUTPUT_H

#include "cli.h"
#include "monitor/gpu_label.h"
#include "monitor/record/json_line.h"
#include "stoker/monitor.h"

typedef struct stk__monitor_output {
    FILE *file; /* of the frames */
    bool colors;
    uint64_t start_ns;   /* of the first frame */
    uint64_t frames;     /* shown so far */
    stk__json_line line; /* owned by the JSON output */
    stk_monitor *monitor;
    bool replay;  /* of a recording */
    void *screen; /* owned by the screen; NULL: not started, or lines instead */
} stk__monitor_output;

typedef struct stk__monitor_output_ops {
    const char *name;                                                           /* "json" */
    void (*frame)(stk__monitor_output *output, const stk_monitor_frame *frame); /* NULL: not shown */
    void (*end)(stk__monitor_output *output,
                const stk_monitor_summary *summary); /* NULL: the table goes to stderr */
} stk__monitor_output_ops;

extern const stk__monitor_output_ops
    stk__monitor_output_line; /* a line per GPU for people, the table at the end */
extern const stk__monitor_output_ops stk__monitor_output_end; /* the table at the end alone */
/* Full-screen view, then the table; only if stk__screen_absent is NULL. */
extern const stk__monitor_output_ops stk__monitor_output_screen;
const char *stk__screen_absent(void); /* why there is no full-screen view; NULL: available */
extern const stk__monitor_output_ops stk__monitor_output_json, stk__monitor_output_csv,
    stk__monitor_output_dmon;

/* The table and the verdict, for people (monitor_end.c). */
void stk__monitor_output_print_end(FILE *file, bool colors, const stk_monitor_summary *summary);

/* Throttle reasons as ids, for scripts: "power+heat"; "none"; "" when unknown. In a buffer that the next call
 * of either function reuses. */
const char *stk__monitor_output_throttle(stk_reading throttle, const char *between);
const char *stk__monitor_output_throttle_words(stk_reading throttle); /* for people: "power, thermal" */

static inline bool stk__monitor_output_knows(stk_reading reading)
{
    return reading.known == STK_KNOWN;
}

/* Colours of grades, or nothing. */
static inline const char *stk__monitor_output_paint(bool colors, const char *escape)
{
    return colors ? escape : "";
}

#endif
