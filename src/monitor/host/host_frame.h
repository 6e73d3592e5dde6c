/* SPDX-License-Identifier: Apache-2.0 */
/* CPU, memory, disk and pressure (PSI) of the host and of the job, from /proc and /sys. One thread at a time.
 */
#ifndef STK_MONITOR_HOST_FRAME_H
#define STK_MONITOR_HOST_FRAME_H

#include "core/memory.h"
#include "stoker/monitor.h"

typedef struct stk__host stk__host;

/* pid: the job; 0: none. root: root of /proc and /sys; NULL or "" for the real ones. */
stk_status stk__host_open(stk__host **host, int32_t pid, const char *root, stk_error *error);
void stk__host_close(stk__host **host);

/* Shares are over the time since the last read; unknown in the first one. Allocates nothing. */
void stk__host_read(stk__host *host, stk_host_frame *frame);

#endif
