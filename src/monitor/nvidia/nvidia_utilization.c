/* SPDX-License-Identifier: Apache-2.0 */
/* GPU utilization from the driver's own samples, so that nothing between two polls is lost. */
#include "monitor/nvidia/nvidia_state.h"

/* Reads samples newer than last_us; returns their number, -1: the query failed. */
static int ask_samples(stk__nvidia_state *s, int ask, int kind, uint64_t last_us)
{
    int type = STK_NVML_UINT;
    unsigned count = STK_NVIDIA_SAMPLES;
    stk__nvml_sample *samples = s->desk->samples;
    if (!stk__nvidia_may(s, ask, s->nvml->samples)) return -1;
    const int result = s->nvml->samples(s->device, kind, last_us, &type, &count, samples);
    if (!stk__nvidia_heard(s, ask, result, "samples")) return -1;
    if (count > STK_NVIDIA_SAMPLES) return 0; /* invalid: more than the buffer holds */
    for (unsigned i = 0; i < count; i++) {
        double percent;
        s->desk->raw[i].stamp_us = samples[i].stamp_us;
        s->desk->raw[i].percent = stk__nvml_number(samples[i].value, type, &percent) ? percent : -1;
    }
    return (int)count;
}

static bool read_samples(stk__nvidia_state *s)
{
    stk__load_feed *feed = &s->feed;
    const bool stale = stk__load_feed_stale(feed, s->now_ns);
    const int count = ask_samples(s, STK_ASK_SAMPLES, STK_NVML_GPU_SAMPLES, stale ? 0 : feed->stamp_us);
    if (count <= 0) return false;
    const stk__load_raw *raw = s->desk->raw;
    if (stk__load_feed_samples(feed, raw, count, s->now_ns, s->frame)) return true;
    const int first = stale ? stk__load_feed_rewind(feed, raw, count) : -1;
    return first >= 0 && stk__load_feed_samples(feed, raw + first, count - first, s->now_ns, s->frame);
}

/* Mean of the new samples; false when there are none. */
static bool read_memory_samples(stk__nvidia_state *s)
{
    const int count = ask_samples(s, STK_ASK_MEMORY_SAMPLES, STK_NVML_MEMORY_SAMPLES, s->memory_stamp_us);
    double sum = 0;
    int good = 0;
    uint64_t newest_us = s->memory_stamp_us;
    for (int i = 0; i < count; i++) {
        const stk__load_raw *raw = &s->desk->raw[i];
        if (raw->stamp_us <= s->memory_stamp_us || !(raw->percent >= 0 && raw->percent <= 100)) continue;
        if (raw->stamp_us > newest_us) newest_us = raw->stamp_us;
        sum += raw->percent;
        good++;
    }
    const bool first = s->memory_stamp_us == 0; /* then they are old */
    s->memory_stamp_us = newest_us;
    if (good && !first) stk__nvidia_told(s, STK_METRIC_MEMORY_BUSY, sum / good);
    return good && !first;
}

static bool are_unsupported(const stk__nvidia_state *s)
{
    return !s->nvml->samples || s->again_ns[STK_ASK_SAMPLES];
}

/* Polled: for GPUs without samples, and for idle ones, which drivers often do not sample. */
static void read_rates(stk__nvidia_state *s, bool load, bool memory)
{
    stk__nvml_rates rates = {.gpu = 101, .memory = 101};
    const bool there = s->nvml->rates;
    if (stk__nvidia_may(s, STK_ASK_RATES, there))
        stk__nvidia_heard(s, STK_ASK_RATES, s->nvml->rates(s->device, &rates), "utilization");
    if (s->frame->state != STK_GPU_GOOD) return;
    if (load && rates.gpu <= 100) {
        stk__nvidia_told(s, STK_METRIC_UTIL, rates.gpu);
        if (are_unsupported(s) || stk__load_feed_stale(&s->feed, s->now_ns))
            stk__load_feed_poll(&s->feed, rates.gpu, s->now_ns, s->frame);
        if (are_unsupported(s)) stk__nvidia_note(s, "utilization is polled, not sampled");
    }
    if (memory && rates.memory <= 100) stk__nvidia_told(s, STK_METRIC_MEMORY_BUSY, rates.memory);
    if (load) stk__nvidia_missing(s, STK_METRIC_UTIL, STK_ASK_RATES, there);
    if (memory) stk__nvidia_missing(s, STK_METRIC_MEMORY_BUSY, STK_ASK_RATES, there);
}

void stk__nvidia_read_load(stk__nvidia_state *s)
{
    const bool load = read_samples(s), memory = read_memory_samples(s);
    const int count = s->frame->load_count;
    if (load && count) stk__nvidia_told(s, STK_METRIC_UTIL, s->frame->loads[count - 1].percent);
    if (!load || !count || !memory) read_rates(s, !load || !count, !memory);
}
