/* SPDX-License-Identifier: Apache-2.0 */
/* Utilisation samples from a driver's own buffer, moved to our clock: the offset between the clocks is
 * bounded from above by every newest sample. Each sample is reported once, as an interval that ends where
 * the next begins. */
#include "monitor/load_feed.h"

#define STALE_NS          (STK_SECOND_NS * 3 / 2)
#define FIRST_PERIOD_NS   (STK_SECOND_NS / 6) /* until two samples were seen */
#define LONGEST_PERIOD_NS (STK_SECOND_NS * 2)
#define WRONG_CLOCK_NS    ((int64_t)(5 * STK_SECOND_NS))
#define DRIFT_PARTS       2000 /* maximum clock drift: 1 in this many */

void stk__load_feed_begin(stk__load_feed *feed, uint64_t now_ns)
{
    *feed = (stk__load_feed){.told_ns = now_ns, .news_ns = now_ns, .period_ns = FIRST_PERIOD_NS};
}

/* A sample cannot lie in the future: each one bounds the clock offset, and the tightest bound is the best
 * estimate. Bounds are loosened with time because clocks drift, and dropped when the driver's clock was set.
 */
static void bound_offset(stk__load_feed *feed, uint64_t newest_us, uint64_t now_ns)
{
    const int64_t bound = (int64_t)now_ns - (int64_t)newest_us * 1000;
    if (!feed->begun) {
        feed->offset_ns = bound;
    } else {
        feed->offset_ns += (int64_t)((now_ns - feed->offset_at_ns) / DRIFT_PARTS);
        if (bound < feed->offset_ns || bound > feed->offset_ns + WRONG_CLOCK_NS) feed->offset_ns = bound;
    }
    feed->offset_at_ns = now_ns;
}

static uint64_t newest_of(const stk__load_feed *feed, const stk__load_raw *raw, int count)
{
    uint64_t newest_us = feed->stamp_us;
    for (int i = 0; i < count; i++)
        if (raw[i].stamp_us > newest_us && raw[i].stamp_us < UINT64_C(1) << 53) newest_us = raw[i].stamp_us;
    return newest_us;
}

static void tell(stk__load_feed *feed, uint64_t to_ns, double percent, stk_gpu_frame *frame)
{
    if (to_ns <= feed->told_ns) return;
    uint64_t from_ns = feed->told_ns;
    if (to_ns - from_ns > LONGEST_PERIOD_NS) from_ns = to_ns - feed->period_ns; /* a pause lies between */
    feed->told_ns = to_ns;
    if (!(percent >= 0 && percent <= 100) || frame->load_count == STK_GPU_LOADS) return;
    frame->loads[frame->load_count++] = (stk_load_sample){from_ns, to_ns, percent};
}

bool stk__load_feed_samples(stk__load_feed *feed, const stk__load_raw *raw, int count, uint64_t now_ns,
                            stk_gpu_frame *frame)
{
    const uint64_t newest_us = newest_of(feed, raw, count);
    if (newest_us == feed->stamp_us) return false;
    bound_offset(feed, newest_us, now_ns);
    for (int i = 0; i < count; i++) {
        if (raw[i].stamp_us <= feed->stamp_us || raw[i].stamp_us > newest_us) continue;
        const uint64_t step_ns = (raw[i].stamp_us - feed->stamp_us) * 1000;
        if (feed->stamp_us && step_ns < LONGEST_PERIOD_NS) feed->period_ns = step_ns;
        feed->stamp_us = raw[i].stamp_us;
        const int64_t to_ns = (int64_t)raw[i].stamp_us * 1000 + feed->offset_ns;
        if (to_ns > 0) tell(feed, (uint64_t)to_ns, raw[i].percent, frame);
    }
    feed->begun = true;
    feed->news_ns = now_ns;
    return true;
}

bool stk__load_feed_stale(const stk__load_feed *feed, uint64_t now_ns)
{
    return now_ns > feed->news_ns + STALE_NS;
}

int stk__load_feed_rewind(stk__load_feed *feed, const stk__load_raw *raw, int count)
{
    if (count == 0 || raw[count - 1].stamp_us >= feed->stamp_us) return -1;
    int first = count - 1; /* after the clock was set */
    while (first > 0 && raw[first - 1].stamp_us < raw[first].stamp_us)
        first--;
    feed->stamp_us = raw[first].stamp_us ? raw[first].stamp_us - 1 : 0;
    feed->begun = false;
    return first;
}

void stk__load_feed_poll(stk__load_feed *feed, double percent, uint64_t now_ns, stk_gpu_frame *frame)
{
    if (now_ns <= feed->told_ns) return;
    const uint64_t from_ns = feed->told_ns;
    feed->told_ns = now_ns;
    if (!(percent >= 0 && percent <= 100) || frame->load_count == STK_GPU_LOADS) return;
    frame->loads[frame->load_count++] = (stk_load_sample){from_ns, now_ns, percent};
}
