/* SPDX-License-Identifier: Apache-2.0 */
/* All GPUs together: finds them, polls each in a thread of its own (gpu_poller.h), and returns the frames of
 * an interval. One owner: its calls come from one thread at a time. */
#ifndef STK_MONITOR_SAMPLER_H
#define STK_MONITOR_SAMPLER_H

#include "monitor/gpu_reader.h"

typedef struct stk__sampler stk__sampler;

typedef struct stk__sampler_options {
    const stk__reader_ops *const *readers; /* ends with NULL */
    const char *gpus;                      /* as in stk_monitor_options */
    double interval_s, deadline_s;         /* both > 0 */
} stk__sampler_options;

stk_status stk__sampler_open(stk__sampler **sampler, const stk__sampler_options *options, stk_error *error);
int stk__sampler_close(stk__sampler **sampler); /* abandoned threads */

int stk__sampler_gpus(const stk__sampler *sampler, const stk_gpu **gpus);
const char *stk__sampler_absent(const stk__sampler *sampler);
uint64_t stk__sampler_start_ns(const stk__sampler *sampler); /* start of the first interval */

/* Checks for threads that hang. To be called at least every stk__sampler_check_ns while waiting for an
 * interval's end. */
void stk__sampler_check(stk__sampler *sampler);
uint64_t stk__sampler_check_ns(const stk__sampler *sampler);

/* Frames of all GPUs up to end_ns: waits briefly for polls that began at end_ns or later, but never for a GPU
 * that hangs. ask: end_ns is not the end of an interval, so extra polls are requested. */
void stk__sampler_take(stk__sampler *sampler, uint64_t end_ns, bool ask, stk_gpu_frame *frames);

#endif
