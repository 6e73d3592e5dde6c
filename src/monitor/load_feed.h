/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the driver's utilization samples into the loads of a frame: on our clock, each sample once,
 * without overlap. Where the driver keeps no samples (or stopped: idle GPUs are often not sampled), polled
 * values replace them. */
#ifndef STK_MONITOR_LOAD_FEED_H
#define STK_MONITOR_LOAD_FEED_H

#include "monitor/gpu_reader.h"

typedef struct stk__load_feed {
    bool begun;
    uint64_t stamp_us;     /* the driver's time of the newest sample seen; to be given to the driver */
    int64_t offset_ns;     /* CLOCK_MONOTONIC minus the driver's clock */
    uint64_t offset_at_ns; /* when that was found */
    uint64_t told_ns;      /* loads are complete up to here */
    uint64_t news_ns;      /* when there was a sample last */
    uint64_t period_ns;    /* between two samples */
} stk__load_feed;

typedef struct stk__load_raw {
    uint64_t stamp_us;
    double percent; /* outside 0 to 100: invalid, utilization of that time stays unknown */
} stk__load_raw;

/* Starts at now_ns: earlier samples are ignored. */
void stk__load_feed_begin(stk__load_feed *feed, uint64_t now_ns);
/* Samples in the order the driver gives them; those not newer than stamp_us are skipped. False: none was new.
 */
bool stk__load_feed_samples(stk__load_feed *feed, const stk__load_raw *raw, int count, uint64_t now_ns,
                            stk_gpu_frame *frame);
/* True: no new sample for so long that all samples should be read again (the driver's clock may have been set
 * back) and utilization should be polled. */
bool stk__load_feed_stale(const stk__load_feed *feed, uint64_t now_ns);
/* With all samples the driver has: if its clock was set back, the number of the first one after that, which
 * can be given again with those behind it; else -1. */
int stk__load_feed_rewind(stk__load_feed *feed, const stk__load_raw *raw, int count);
/* Adds one load from the end of the last one until now. */
void stk__load_feed_poll(stk__load_feed *feed, double percent, uint64_t now_ns, stk_gpu_frame *frame);

#endif
