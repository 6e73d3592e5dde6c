/* SPDX-License-Identifier: Apache-2.0 */
/* What of /proc the host part of a frame is made of: open files, CPUs, the job. */
#ifndef STK_MONITOR_HOST_PROC_H
#define STK_MONITOR_HOST_PROC_H

#include "monitor/host/host_frame.h"
#include "monitor/host/process_tree.h"

#include <stdint.h>

enum {
    STK_HOST_CPUS = 1024,
    STK_HOST_PATH_BYTES = 1024,
    STK_HOST_TEXT_BYTES = 128 * 1024, /* /proc/stat of a large machine */
    STK_HOST_DISKS = 128,
    STK_HOST_GROUPS = 8 /* nested cgroups */
};

/* A file of /proc or /sys that is read repeatedly; it stays open. */
typedef struct stk__host_file {
    int file; /* -1: not there */
} stk__host_file;

typedef struct stk__host_cpus {
    stk__host_file stat;
    bool all;                                           /* a test's root: CPU affinity does not apply */
    uint64_t busy[STK_HOST_CPUS], total[STK_HOST_CPUS]; /* ticks, at the last read */
    float percent[STK_HOST_CPUS];
    int count; /* highest number + 1 */
} stk__host_cpus;

typedef struct stk__host_job {
    stk__process_tree tree;                /* pid 0: there is no job */
    double cpu_s;                          /* at the last read */
    uint64_t when_ns;                      /* 0: none yet */
    stk_reading cpu_percent, memory_bytes; /* at that read */
} stk__host_job;

/* Its text, ended by a zero; NULL when it cannot be read. text has STK_HOST_TEXT_BYTES. */
const char *stk__host_text(const stk__host_file *file, char *text);
stk__host_file stk__host_file_open(const char *format, ...) STK__PRINTF(1, 2);
void stk__host_file_close(stk__host_file *file);

/* Reads a whole number and moves *text behind it; false when none stands there. */
bool stk__host_number(const char **text, uint64_t *number);
/* Behind `key` at the beginning of a line, or NULL. */
const char *stk__host_line(const char *text, const char *key);

/* Microseconds in which some task waited, from the text of a pressure file: "some avg10=0.12 … total=12345".
 */
bool stk__host_pressure_us(const char *text, uint64_t *waited_us);

void stk__host_read_cpus(stk__host_cpus *cpus, char *text, uint64_t now_ns, stk_host_frame *frame);
void stk__host_read_job(stk__host_job *job, char *text, uint64_t now_ns, stk_host_frame *frame);

#endif
