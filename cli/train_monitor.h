/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors GPUs during a run: a thread samples them, a line per GPU is printed every run.monitor_interval
 * epochs, and the run's folder keeps the frames (monitor.jsonl, for `stoker monitor --replay`) and the
 * summary (run.json). */
#ifndef STK_CLI_TRAIN_MONITOR_H
#define STK_CLI_TRAIN_MONITOR_H

#include "cli.h"

#include "train/run_folder.h"

typedef struct stk__train_monitor stk__train_monitor; /* open/close; NULL does nothing */

/* interval: epochs between two lines; 0: nothing is opened. Where there is no GPU it stays NULL and the
 * effects say so. folder NULL: nothing is recorded. */
stk_status stk__train_monitor_open(stk__train_monitor **monitor, stk__config *config, int64_t interval,
                                   const stk__run_folder *folder, stk_error *error);

/* epochs: completed so far. True if a line is due. */
bool stk__train_monitor_due(const stk__train_monitor *monitor, uint64_t epochs);
void stk__train_monitor_show(stk__train_monitor *monitor, uint64_t epochs);

/* Ends monitoring. The summary, as at the end of `stoker monitor --json`; NULL: nothing was monitored. */
json_t *stk__train_monitor_judge(stk__train_monitor *monitor);
/* Number of threads that hang in a driver: leave by _exit then. Accepts NULL inside. */
int stk__train_monitor_close(stk__train_monitor **monitor);

#endif
