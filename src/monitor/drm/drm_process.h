/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use a card, and the engine time of each, from /proc/PID/fdinfo (the kernel's "DRM client
 * usage stats"). Scanning all processes is expensive: it is done now and then; the clients found are read
 * each time. */
#ifndef STK_MONITOR_DRM_PROCESS_H
#define STK_MONITOR_DRM_PROCESS_H

#include "monitor/drm/drm_card.h"

enum { STK_DRM_ENGINES = 8, STK_DRM_CLIENTS = 64 };

typedef struct stk__drm_client {
    int32_t pid, file;
    uint64_t id; /* a client can have several file descriptors */
    char name[32];
    bool begun;
    double busy[STK_DRM_ENGINES]; /* ns, or cycles, ever */
    double memory_bytes;          /* < 0: unknown */
} stk__drm_client;

typedef struct stk__drm_processes {
    int engine_count;
    char engines[STK_DRM_ENGINES][12];
    bool cycles[STK_DRM_ENGINES];     /* counted in cycles, not in ns */
    double capacity[STK_DRM_ENGINES]; /* so many of a kind */
    double clock[STK_DRM_ENGINES];    /* cycles: at the last read */
    int count;
    stk__drm_client clients[STK_DRM_CLIENTS];
    uint64_t scanned_ns, when_ns;
    stk_reading load; /* percent of the busiest kind of engine, since the last read */
} stk__drm_processes;

/* Fills the frame's processes and processes->load. If not all processes are visible and none was found,
 * processes stay unknown. */
void stk__drm_processes_read(stk__drm_processes *processes, stk__poller_context *context,
                             const stk__drm_card *card, stk_gpu_frame *frame);
/* Are all processes visible (root)? If not, the load is that of our own processes only. */
bool stk__drm_processes_complete(void);

#endif
