/* SPDX-License-Identifier: Apache-2.0 */
/* report.html: a run as one page that needs nothing else. */
#ifndef STK_REPORT_REPORT_H
#define STK_REPORT_REPORT_H

#include "core/error.h"

#define STK_REPORT_NAME "report.html"

/* Reads the folder of a run (run.json, metrics.jsonl, config.yaml, monitor*.jsonl, predictions.*: each may be
 * missing or cut, but for one of the first three) and writes the page completely or not at all; path NULL:
 * report.html in the folder. */
stk_status stk__report_write(const char *run_folder, const char *path, stk_error *error);

/* How a row of the stall table is called for people ("data wait: read"), by its name in run.json ("read"). */
const char *stk__report_stall_words(const char *name);

#endif
