/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors GPUs during a run: a thread samples them once a second; whoever shows them reads the means every
 * run.monitor_interval epochs; the run's folder keeps the frames (monitor.jsonl, for `stoker monitor
 * --replay`) and the summary (run.json). */
#ifndef STK_SESSION_RUN_MONITOR_H
#define STK_SESSION_RUN_MONITOR_H

#include "core/config.h"
#include "monitor/gpu_label.h"
#include "stoker/monitor.h"
#include "train/run_folder.h"

typedef struct stk__run_monitor stk__run_monitor; /* open/close; NULL does nothing */

/* A GPU as of now, with means since it was read the last time. Each value may be unknown. */
typedef struct stk__run_gpu {
    stk__gpu_label label;
    stk_gpu_state state;
    stk_reading util_percent, power_w; /* means */
    stk_reading power_limit_w, memory_used_bytes, memory_total_bytes, temperature_c, sm_clock_mhz;
} stk__run_gpu;

/* interval: epochs between two readings; 0: nothing is opened. Where there is no GPU it stays NULL and the
 * effects say so. folder NULL: nothing is recorded. */
stk_status stk__run_monitor_open(stk__run_monitor **monitor, stk__config *config, int64_t interval,
                                 const stk__run_folder *folder, stk_error *error);

/* epochs: completed so far. True if a reading is due. */
bool stk__run_monitor_due(const stk__run_monitor *monitor, uint64_t epochs);
/* The number of GPUs; the means begin again. */
int stk__run_monitor_read(stk__run_monitor *monitor, uint64_t epochs, stk__run_gpu gpus[STK_GPUS]);

/* Ends monitoring. The summary, as at the end of `stoker monitor --json`; NULL: nothing was monitored.
 * stopped_early: why monitoring ended before the run; empty: it did not. */
json_t *stk__run_monitor_summary(stk__run_monitor *monitor, char *stopped_early, size_t size);
/* Number of threads that hang in a driver: end the process without waiting for them. Accepts NULL inside. */
int stk__run_monitor_close(stk__run_monitor **monitor);

#endif
