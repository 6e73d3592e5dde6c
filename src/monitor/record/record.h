/* SPDX-License-Identifier: Apache-2.0 */
/* Recording of frames: JSON Lines. The first line describes the GPUs, then one line per frame with all its
 * values (units in keys, unknown is null), the last line has their number: a truncated recording is detected.
 * replay.h reads it back, bit for bit. */
#ifndef STK_MONITOR_RECORD_H
#define STK_MONITOR_RECORD_H

#include "core/memory.h"
#include "stoker/monitor.h"

enum { STK_RECORD_SCHEMA = 1 };

/* Constant over the recording. */
typedef struct stk__record_head {
    double interval_s;
    int32_t pid;        /* of the job; 0: none */
    const char *absent; /* stk_monitor_missing_reason */
    int32_t gpu_count;
    const stk_gpu *gpus; /* [gpu_count] */
} stk__record_head;

typedef struct stk__recorder stk__recorder;

/* Creates the file, or empties it. */
stk_status stk__recorder_open(stk__recorder **recorder, const char *path, const stk__record_head *head,
                              stk_error *error);
/* Allocates nothing once its line has been as long as it gets. */
stk_status stk__recorder_write(stk__recorder *recorder, const stk_monitor_frame *frame, stk_error *error);
/* Writes the last line and closes. To be called before the last stk_monitor_next returns STK_END, so that an
 * error can be reported. Accepts NULL inside. */
stk_status stk__recorder_close(stk__recorder **recorder, stk_error *error);

#endif
