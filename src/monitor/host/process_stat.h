/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/stat says of a process. */
#ifndef STK_MONITOR_PROCESS_STAT_H
#define STK_MONITOR_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct stk__process_stat {
    char name[16]; /* of its main thread */
    char state;    /* of its main thread: 'R', 'S', 'D' (waits for a disk), 'Z' (ended), … */
    int32_t parent;
    int64_t threads;
    uint64_t start_ticks; /* since boot: with the pid, the identity of a process */
    uint64_t major_faults;
    double cpu_s, waited_cpu_s; /* its own; of children that were waited for */
    double rss_bytes;
} stk__process_stat;

bool stk__process_stat_parse(const char *text, stk__process_stat *stat);

#endif
