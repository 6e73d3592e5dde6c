/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and other files in a /proc and /sys of the test's own. */
#ifndef MADE_UP_PROC_H
#define MADE_UP_PROC_H

#include "support/workspace.h"

#include <stdbool.h>

typedef struct made_up_process {
    int pid, parent, start_ticks;
    const char *name;
    char state;                       /* 0: 'S' */
    const char *command;              /* its arguments, with '|' between them; NULL: no file */
    const char *maps;                 /* NULL: no file */
    double cpu_s, delay_s;            /* of the main thread */
    long long read_bytes, disk_bytes; /* < 0: may not be read */
    int faults;
    bool bare; /* nothing but stat can be read */
} made_up_process;

/* Writes text to a file whose name is a format. */
__attribute__((format(printf, 3, 4))) void proc_put(const workspace *root, const char *text,
                                                    const char *format, ...);
void proc_put_link(const workspace *root, const char *target, const char *folder, const char *name);
void proc_put_process(const workspace *root, made_up_process process);
/* It has ended and was waited for. */
void proc_drop_process(const workspace *root, int pid);

#endif
