/* All GPUs together: finds them, watches each with a thread of its own (gpu_poller.h), and gives what was
 * told in an interval. One owner: its calls come from one thread at a time. */
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
int stk__sampler_close(stk__sampler **sampler); /* threads left behind */

int stk__sampler_gpus(const stk__sampler *sampler, const stk_gpu **gpus);
const char *stk__sampler_absent(const stk__sampler *sampler);
uint64_t stk__sampler_start_ns(const stk__sampler *sampler); /* intervals count from here */

/* Looks after threads that hang. To be called at least every so often while waiting for an interval's end. */
void stk__sampler_check(stk__sampler *sampler);
uint64_t stk__sampler_check_ns(const stk__sampler *sampler);

/* What every GPU told until end_ns: waits a moment for polls that began at end_ns or later, but never for a
 * GPU that hangs. ask: end_ns is no end of an interval, so nobody polls then unless asked to. */
void stk__sampler_take(stk__sampler *sampler, uint64_t end_ns, bool ask, stk_gpu_frame *frames);

#endif
