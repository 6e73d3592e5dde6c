/* SPDX-License-Identifier: Apache-2.0 */
/* What frames of the monitor say of a command's GPUs, beyond the monitor's summary. */
#ifndef STK_DOCTOR_GPU_WATCH_H
#define STK_DOCTOR_GPU_WATCH_H

#include "doctor/evidence.h"

/* Zeroed; of each GPU the newest list of processes, and the best link while it was busy. */
typedef struct stk__gpu_watch {
    int32_t count;
    struct {
        bool processes_known;
        int32_t process_count;
        stk_gpu_process processes[STK_GPU_PROCESSES];
        double link_share; /* 0: not seen while it was busy */
    } gpus[STK_GPUS];
} stk__gpu_watch;

void stk__gpu_watch_add(stk__gpu_watch *gpus, const stk_monitor_frame *frame);
/* Sets evidence->gpu, by the processes and the summary that are in the evidence. */
void stk__gpu_watch_report(const stk__gpu_watch *gpus, stk__evidence *evidence);

#endif
