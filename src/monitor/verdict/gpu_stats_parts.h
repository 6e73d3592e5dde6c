/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of gpu_stats.h: gpu_stats.c fills them, summary.c reads them. Times are seconds since the first
 * frame began.
 */
#ifndef STK_MONITOR_GPU_STATS_PARTS_H
#define STK_MONITOR_GPU_STATS_PARTS_H

#include "monitor/verdict/period.h"
#include "monitor/verdict/gpu_stats.h"

/* A sum over the time in which something was known: sum / seconds is its mean, or its rate. */
typedef struct stk__weighted {
    double seconds, sum;
} stk__weighted;

/* Averaged metrics, and counters whose increase is summed. */
typedef enum stk__gpu_sum {
    STK_SUM_LOAD,       /* percent x s */
    STK_SUM_BELOW_HALF, /* s */
    STK_SUM_MEANS,      /* number of means of 1 s (in seconds), their sum */
    STK_SUM_SQUARES,    /* the same, of their squares */
    STK_SUM_POWER,
    STK_SUM_POWER_SHARE,
    STK_SUM_SM_ACTIVE,
    STK_SUM_BIT_POWER, /* s in which the bit of stk_throttle was set */
    STK_SUM_BIT_HEAT,
    STK_SUM_BIT_BRAKE,
    STK_SUM_COUNTER, /* from here on increases of counters, in the order of stk__gpu_stats_counters */
    STK_SUM_ENERGY = STK_SUM_COUNTER,
    STK_SUM_THROTTLED_POWER,
    STK_SUM_THROTTLED_HEAT,
    STK_SUM_PCIE_SENT,
    STK_SUM_PCIE_RECEIVED,
    STK_GPU_SUMS
} stk__gpu_sum;

enum { STK_GPU_COUNTERS = STK_GPU_SUMS - STK_SUM_COUNTER };

typedef enum stk__host_sum {
    STK_SUM_CPU,
    STK_SUM_CPU_MAX,
    STK_SUM_JOB_CPU,
    STK_SUM_IO_PRESSURE,
    STK_SUM_QUOTA, /* increase of the time throttled by the CPU quota */
    STK_HOST_SUMS
} stk__host_sum;

typedef struct stk__gpu_bucket {
    stk__weighted sums[STK_GPU_SUMS];
    float bins_s[STK_GPU_STATS_BINS]; /* time at a load of 0, 1, … 100 percent, by raw samples */
} stk__gpu_bucket;

/* Load in one step of the series: percent x s, and s in which it was known. */
typedef struct stk__load_step {
    float sum, seconds;
} stk__load_step;

typedef struct stk__per_gpu_stats {
    double last_s; /* utilization is counted up to here */
    bool sampled;  /* the driver provides samples: then only they count */
    uint64_t sample_count;
    int64_t second;     /* the current second */
    stk__weighted open; /* its load so far */
    stk_reading last_counters[STK_GPU_COUNTERS];
    double watched_s, good_s;
    double memory_peak_share, hottest_c; /* < 0: unknown */
    stk_gpu_state last_state, bad_state;
    char bad_note[96];
    stk__gpu_bucket buckets[STK_GPU_STATS_BUCKETS];
    stk__load_step steps[STK_GPU_STATS_STEPS];
} stk__per_gpu_stats;

struct stk__gpu_stats {
    int32_t gpu_count;
    const stk_gpu *described; /* [gpu_count], not owned */
    uint64_t start_ns, frame_count;
    double seconds;          /* end of the last frame */
    double bucket_s, step_s; /* length of a bucket (whole seconds), of a step */
    stk__weighted host_buckets[STK_GPU_STATS_BUCKETS][STK_HOST_SUMS];
    stk_reading last_quota;
    double job_memory_peak_bytes; /* < 0: unknown */
    int32_t cpu_count;
    stk__per_gpu_stats *gpus;   /* [gpu_count] */
    stk_gpu_summary *summaries; /* [gpu_count] */
    stk__period_work work;
};

static inline void stk__weighted_add(stk__weighted *weighted, double seconds, double value)
{
    weighted->seconds += seconds;
    weighted->sum += seconds * value;
}

static inline void stk__weighted_join(stk__weighted *weighted, stk__weighted other)
{
    weighted->seconds += other.seconds;
    weighted->sum += other.sum;
}

/* Number of buckets in use. */
static inline int stk__gpu_stats_buckets(const stk__gpu_stats *stats)
{
    const double buckets = stats->seconds / stats->bucket_s;
    const int whole = (int)buckets;
    return whole + (buckets > whole);
}

#endif
