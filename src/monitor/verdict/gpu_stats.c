/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics over all frames in memory of fixed size: weighted sums per time bucket; when the buckets are
 * full, neighbours are joined and each covers twice the time. Hours of watching cost as much as minutes.
 * One thread. */
#include "monitor/verdict/gpu_stats_parts.h"

#include "core/clock.h"
#include "monitor/verdict/throttle.h"

#include <math.h>
#include <string.h>

static const stk_metric counters[STK_GPU_COUNTERS] = {STK_METRIC_ENERGY, STK_METRIC_THROTTLED_POWER,
                                                      STK_METRIC_THROTTLED_HEAT, STK_METRIC_PCIE_SENT,
                                                      STK_METRIC_PCIE_RECEIVED};

/* The last sample of a frame may end slightly after it: drivers are polled after the end of the interval. */
static const double ahead_s = 1;

stk_status stk__gpu_stats_create(stk__gpu_stats **stats, const stk_gpu *gpus, int32_t gpu_count,
                                 stk_error *error)
{
    const size_t count = (size_t)gpu_count;
    stk__gpu_stats *made = *stats = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "GPU statistics");
    *made = (stk__gpu_stats){.gpu_count = gpu_count,
                             .described = gpus,
                             .bucket_s = 1,
                             .step_s = 0.25,
                             .job_memory_peak_bytes = -1};
    if (!count) return STK_OK;
    made->gpus = stk__alloc(count * sizeof *made->gpus);
    made->summaries = stk__alloc(count * sizeof *made->summaries);
    if (!made->gpus || !made->summaries) {
        stk__gpu_stats_destroy(stats);
        return stk__fail_memory(error, count * sizeof *made->gpus, "GPU statistics");
    }
    for (size_t i = 0; i < count; i++)
        made->gpus[i].memory_peak_share = made->gpus[i].hottest_c = -1;
    return STK_OK;
}

void stk__gpu_stats_destroy(stk__gpu_stats **stats)
{
    if (!*stats) return;
    stk__free((*stats)->gpus);
    stk__free((*stats)->summaries);
    stk__free(*stats);
    *stats = NULL;
}

/* --- buckets and steps get longer
 * ---------------------------------------------------------------------------
 */

static void join_bucket(stk__gpu_bucket *bucket, const stk__gpu_bucket *other)
{
    for (int i = 0; i < STK_GPU_SUMS; i++)
        stk__weighted_join(&bucket->sums[i], other->sums[i]);
    for (int i = 0; i < STK_GPU_STATS_BINS; i++)
        bucket->bins_s[i] += other->bins_s[i];
}

static void join_gpu_eras(stk__per_gpu_stats *gpu)
{
    for (int i = 0; i < STK_GPU_STATS_BUCKETS / 2; i++) {
        if (i) gpu->buckets[i] = gpu->buckets[2 * i];
        join_bucket(&gpu->buckets[i], &gpu->buckets[2 * i + 1]);
    }
    memset(&gpu->buckets[STK_GPU_STATS_BUCKETS / 2], 0, sizeof gpu->buckets / 2);
}

static void join_eras(stk__gpu_stats *stats)
{
    stats->bucket_s *= 2;
    for (int i = 0; i < stats->gpu_count; i++)
        join_gpu_eras(&stats->gpus[i]);
    for (int i = 0; i < STK_GPU_STATS_BUCKETS / 2; i++)
        for (int k = 0; k < STK_HOST_SUMS; k++) {
            stk__weighted sum = stats->host_buckets[2 * i][k];
            stk__weighted_join(&sum, stats->host_buckets[2 * i + 1][k]);
            stats->host_buckets[i][k] = sum;
        }
    memset(stats->host_buckets[STK_GPU_STATS_BUCKETS / 2], 0, sizeof stats->host_buckets / 2);
}

static void join_steps(stk__gpu_stats *stats)
{
    stats->step_s *= 2;
    for (int i = 0; i < stats->gpu_count; i++) {
        stk__load_step *steps = stats->gpus[i].steps;
        for (int k = 0; k < STK_GPU_STATS_STEPS / 2; k++)
            steps[k] = (stk__load_step){.sum = steps[2 * k].sum + steps[2 * k + 1].sum,
                                        .seconds = steps[2 * k].seconds + steps[2 * k + 1].seconds};
        memset(&steps[STK_GPU_STATS_STEPS / 2], 0, STK_GPU_STATS_STEPS / 2 * sizeof *steps);
    }
}

/* Merges buckets until everything before `seconds` fits. */
static void reach(stk__gpu_stats *stats, double seconds)
{
    while (seconds > stats->bucket_s * STK_GPU_STATS_BUCKETS)
        join_eras(stats);
    while (seconds > stats->step_s * STK_GPU_STATS_STEPS)
        join_steps(stats);
}

/* The last moment belongs to the bucket before it, not to one after the last. */
static int bucket_at(const stk__gpu_stats *stats, double second)
{
    const int bucket = (int)(second / stats->bucket_s);
    return bucket < STK_GPU_STATS_BUCKETS ? bucket : STK_GPU_STATS_BUCKETS - 1;
}

/* --- load ------------------------------------------------------------------------------------------------
 */

/* The mean of a second that is mostly unknown would look like fluctuation. */
static void close_second(const stk__gpu_stats *stats, stk__per_gpu_stats *gpu)
{
    stk__weighted *sums = gpu->buckets[bucket_at(stats, (double)gpu->second)].sums;
    if (gpu->open.seconds >= 0.5) {
        const double mean = gpu->open.sum / gpu->open.seconds;
        stk__weighted_add(&sums[STK_SUM_MEANS], 1, mean);
        stk__weighted_add(&sums[STK_SUM_SQUARES], 1, mean * mean);
    }
    gpu->open = (stk__weighted){0};
}

/* End of the piece that begins at from_s: the end of its second or, from a full second on, of the last full
 * second of the bucket. So months are added bucket by bucket. */
static double find_end(const stk__gpu_stats *stats, double from_s, double to_s)
{
    const double second = floor(from_s),
                 bucket_end_s = (floor(second / stats->bucket_s) + 1) * stats->bucket_s;
    const double full_s = from_s == second ? floor(fmin(to_s, bucket_end_s)) : second;
    return fmax(full_s, fmin(second + 1, to_s));
}

static void add_to_seconds(const stk__gpu_stats *stats, stk__per_gpu_stats *gpu, double from_s, double to_s,
                           double percent)
{
    while (from_s < to_s) {
        const double second = floor(from_s), end_s = find_end(stats, from_s, to_s), seconds = end_s - from_s;
        stk__gpu_bucket *bucket = &gpu->buckets[bucket_at(stats, second)];
        if (gpu->second != (int64_t)second) close_second(stats, gpu);
        if (seconds > 1) { /* all but the last are closed at once */
            stk__weighted_add(&bucket->sums[STK_SUM_MEANS], seconds - 1, percent);
            stk__weighted_add(&bucket->sums[STK_SUM_SQUARES], seconds - 1, percent * percent);
        }
        gpu->second = (int64_t)ceil(end_s) - 1;
        stk__weighted_add(&gpu->open, fmin(seconds, 1), percent);
        stk__weighted_add(&bucket->sums[STK_SUM_LOAD], seconds, percent);
        stk__weighted_add(&bucket->sums[STK_SUM_BELOW_HALF], seconds, percent < 50);
        bucket->bins_s[lrint(percent)] += (float)seconds;
        from_s = end_s;
    }
}

static void add_to_steps(const stk__gpu_stats *stats, stk__per_gpu_stats *gpu, double from_s, double to_s,
                         double percent)
{
    for (int step = (int)(from_s / stats->step_s); step < STK_GPU_STATS_STEPS && from_s < to_s; step++) {
        const double end_s = fmin((step + 1) * stats->step_s, to_s);
        gpu->steps[step].sum += (float)((end_s - from_s) * percent);
        gpu->steps[step].seconds += (float)(end_s - from_s);
        from_s = end_s;
    }
}

/* Time is counted once: the part of a sample that was counted already is left out. */
static void add_load(const stk__gpu_stats *stats, stk__per_gpu_stats *gpu, const stk_load_sample *load)
{
    const double since_s =
        load->from_ns > stats->start_ns ? (double)(load->from_ns - stats->start_ns) * 1e-9 : 0;
    const double from_s = fmax(since_s, gpu->last_s);
    double to_s = load->to_ns > stats->start_ns ? (double)(load->to_ns - stats->start_ns) * 1e-9 : 0;
    if (to_s > stats->seconds + ahead_s) to_s = stats->seconds + ahead_s;
    if (!(load->percent > -1) || from_s >= to_s) return;
    const double percent = fmin(fmax(load->percent, 0), 100); /* means may be a rounding error below 0 */
    add_to_seconds(stats, gpu, from_s, to_s, percent);
    add_to_steps(stats, gpu, from_s, to_s, percent);
    gpu->last_s = to_s;
    gpu->sample_count++;
}

static void add_loads(const stk__gpu_stats *stats, stk__per_gpu_stats *gpu, const stk_monitor_frame *frame,
                      const stk_gpu_frame *seen)
{
    const stk_reading *util = &seen->readings[STK_METRIC_UTIL];
    for (int i = 0; i < seen->load_count; i++)
        add_load(stats, gpu, &seen->loads[i]);
    if (seen->load_count) gpu->sampled = true;
    if (gpu->sampled || util->known != STK_KNOWN) return;
    add_load(stats, gpu,
             &(stk_load_sample){.from_ns = frame->from_ns, .to_ns = frame->to_ns, .percent = util->value});
}

/* --- everything else -------------------------------------------------------------------------------------
 */

static void add_reading(stk__weighted *sum, double seconds, stk_reading reading)
{
    if (reading.known == STK_KNOWN && isfinite(reading.value)) stk__weighted_add(sum, seconds, reading.value);
}

/* A counter that fell was restarted: its increase is unknown. */
static void add_growth(stk__weighted *sum, stk_reading *last, stk_reading now)
{
    if (now.known != STK_KNOWN || !isfinite(now.value)) return;
    if (last->known == STK_KNOWN && now.when_ns > last->when_ns && now.value >= last->value) {
        sum->seconds += (double)(now.when_ns - last->when_ns) * 1e-9;
        sum->sum += now.value - last->value;
    }
    *last = now;
}

/* value / whole, unknown when one of them is. */
static stk_reading share_of(stk_reading value, stk_reading whole)
{
    if (value.known != STK_KNOWN || whole.known != STK_KNOWN || !(whole.value > 0)) return (stk_reading){0};
    value.value /= whole.value;
    return value;
}

static void keep_most(double *most, stk_reading reading)
{
    if (reading.known == STK_KNOWN && reading.value > *most) *most = reading.value;
}

static void add_readings(stk__per_gpu_stats *gpu, stk__weighted *sums, double seconds,
                         const stk_gpu_frame *seen)
{
    static const unsigned bits[] = {STK_THROTTLE_POWER, STK_THROTTLE_HEAT, STK_THROTTLE_BRAKE};
    const stk_reading *readings = seen->readings, *throttle = &readings[STK_METRIC_THROTTLE];
    add_reading(&sums[STK_SUM_POWER], seconds, readings[STK_METRIC_POWER]);
    add_reading(&sums[STK_SUM_POWER_SHARE], seconds,
                share_of(readings[STK_METRIC_POWER], readings[STK_METRIC_POWER_LIMIT]));
    add_reading(&sums[STK_SUM_SM_ACTIVE], seconds, readings[STK_METRIC_SM_ACTIVE]);
    if (throttle->known == STK_KNOWN)
        for (int i = 0; i < 3; i++)
            stk__weighted_add(&sums[STK_SUM_BIT_POWER + i], seconds,
                              (stk__throttle_bits(*throttle) & bits[i]) != 0);
    for (int i = 0; i < STK_GPU_COUNTERS; i++)
        add_growth(&sums[STK_SUM_COUNTER + i], &gpu->last_counters[i], readings[counters[i]]);
    keep_most(&gpu->hottest_c, readings[STK_METRIC_TEMPERATURE]);
    keep_most(&gpu->memory_peak_share,
              share_of(readings[STK_METRIC_MEMORY_USED], readings[STK_METRIC_MEMORY_TOTAL]));
}

static void add_state(stk__per_gpu_stats *gpu, double seconds, const stk_gpu_frame *seen)
{
    gpu->watched_s += seconds;
    gpu->last_state = seen->state;
    if (seen->state == STK_GPU_GOOD) {
        gpu->good_s += seconds;
        return;
    }
    gpu->bad_state = seen->state;
    memcpy(gpu->bad_note, seen->note, sizeof gpu->bad_note);
}

static void add_host(stk__gpu_stats *stats, int bucket, double seconds, const stk_host_frame *host)
{
    stk__weighted *sums = stats->host_buckets[bucket];
    add_reading(&sums[STK_SUM_CPU], seconds, host->cpu_percent);
    add_reading(&sums[STK_SUM_CPU_MAX], seconds, host->cpu_max_percent);
    add_reading(&sums[STK_SUM_JOB_CPU], seconds, host->job_cpu_percent);
    add_reading(&sums[STK_SUM_IO_PRESSURE], seconds, host->io_pressure_percent);
    add_growth(&sums[STK_SUM_QUOTA], &stats->last_quota, host->quota_throttled_s);
    keep_most(&stats->job_memory_peak_bytes, host->job_memory_bytes);
    if (host->cpu_count) stats->cpu_count = host->cpu_count;
}

/* The first frame has no length: it sets the start of counters. Buckets are at least as long as an interval.
 */
static void begin(stk__gpu_stats *stats, const stk_monitor_frame *frame, double interval_s)
{
    if (!stats->frame_count) stats->start_ns = frame->from_ns;
    stats->bucket_s = fmax(1, ceil(interval_s - 0.5));
}

void stk__gpu_stats_add(stk__gpu_stats *stats, const stk_monitor_frame *frame)
{
    const double seconds = (double)(frame->to_ns - frame->from_ns) * 1e-9;
    if (stats->seconds == 0) begin(stats, frame, seconds);
    const double to_s = (double)(frame->to_ns - stats->start_ns) * 1e-9;
    reach(stats, to_s + ahead_s);
    stats->seconds = to_s;
    stats->frame_count++;
    const int bucket = bucket_at(stats, fmax(to_s - seconds / 2, 0));
    for (int i = 0; i < stats->gpu_count; i++) {
        stk__per_gpu_stats *gpu = &stats->gpus[i];
        const stk_gpu_frame *seen = &frame->gpu_frames[i];
        add_loads(stats, gpu, frame, seen);
        add_readings(gpu, gpu->buckets[bucket].sums, seconds, seen);
        add_state(gpu, seconds, seen);
    }
    add_host(stats, bucket, seconds, &frame->host);
}
