/* Samples of load as a driver keeps them, made to loads of a frame: on our clock, each told once, one after
 * the other. Where the driver keeps none (or stopped: GPUs that idle are often not sampled), what is polled
 * stands in for them. */
#ifndef STK_MONITOR_LOAD_FEED_H
#define STK_MONITOR_LOAD_FEED_H

#include "monitor/gpu_reader.h"

typedef struct stk__load_feed {
    bool begun;
    uint64_t stamp_us;     /* the driver's time of the newest sample seen; to be given to the driver */
    int64_t offset_ns;     /* CLOCK_MONOTONIC minus the driver's clock */
    uint64_t offset_at_ns; /* when that was found */
    uint64_t told_ns;      /* loads were told up to here */
    uint64_t news_ns;      /* when there was a sample last */
    uint64_t period_ns;    /* between two samples */
} stk__load_feed;

typedef struct stk__load_raw {
    uint64_t stamp_us;
    double percent; /* what is not 0 to 100 is no load: that time stays untold */
} stk__load_raw;

/* Begins at now_ns: what was before is not told. */
void stk__load_feed_begin(stk__load_feed *feed, uint64_t now_ns);
/* Samples in the order the driver gives them; those not newer than stamp_us are skipped. False: none was new.
 */
bool stk__load_feed_samples(stk__load_feed *feed, const stk__load_raw *raw, int count, uint64_t now_ns,
                            stk_gpu_frame *frame);
/* True: the driver has told nothing for so long that it is time to ask for all samples (its clock may have
 * been set back) and to poll. */
bool stk__load_feed_stale(const stk__load_feed *feed, uint64_t now_ns);
/* With all samples the driver has: if its clock was set back, the number of the first one after that, which
 * can be given again with those behind it; else -1. */
int stk__load_feed_rewind(stk__load_feed *feed, const stk__load_raw *raw, int count);
/* One load from where the last one ended until now. */
void stk__load_feed_poll(stk__load_feed *feed, double percent, uint64_t now_ns, stk_gpu_frame *frame);

#endif
