/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the summary from the running sums of gpu_stats.h. */
#include "monitor/verdict/gpu_stats_parts.h"
#include "monitor/verdict/verdict.h"

#include "core/clock.h"

#include <math.h>
#include <string.h>

/* Consecutive buckets that make a start or an end: a spike does not count. */
enum { FIRM = 3, LEAST_ERAS = 10 };

static stk_reading known(const stk__gpu_stats *stats, double value)
{
    return (stk_reading){
        .value = value, .when_ns = stats->start_ns + stk__seconds_ns(stats->seconds), .known = STK_KNOWN};
}

static stk_reading mean_of(const stk__gpu_stats *stats, stk__weighted sum)
{
    return sum.seconds > 0 ? known(stats, sum.sum / sum.seconds) : (stk_reading){0};
}

/* The sum, if it was ever known. */
static stk_reading total_of(const stk__gpu_stats *stats, stk__weighted sum)
{
    return sum.seconds > 0 ? known(stats, sum.sum) : (stk_reading){0};
}

static stk_reading unless_negative(const stk__gpu_stats *stats, double value)
{
    return value >= 0 ? known(stats, value) : (stk_reading){0};
}

/* --- the steady part -------------------------------------------------------------------------------------
 */

typedef struct stretch {
    int from, to; /* buckets, or steps; to is exclusive */
} stretch;

/* Utilization of a bucket, mean over the GPUs; < 0: unknown. */
static double load_of(const stk__gpu_stats *stats, int bucket)
{
    double sum = 0;
    int gpus = 0;
    for (int i = 0; i < stats->gpu_count; i++) {
        const stk__weighted *load = &stats->gpus[i].buckets[bucket].sums[STK_SUM_LOAD];
        if (load->seconds <= 0) continue;
        sum += load->sum / load->seconds;
        gpus++;
    }
    return gpus ? sum / gpus : -1;
}

static double median_of(const double *loads, int count)
{
    double sorted[STK_GPU_STATS_BUCKETS];
    int filled = 0;
    for (int i = 0; i < count; i++) {
        int at = filled++;
        for (; at && sorted[at - 1] > loads[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = loads[i];
    }
    return sorted[count / 2];
}

/* In the direction of `step`, the first bucket with at least that load which the FIRM buckets from there on
 * also have on average; -1: none. */
static int find_firm(const double *loads, int count, int step, double least)
{
    const int last = step > 0 ? count - FIRM : FIRM - 1;
    for (int i = step > 0 ? 0 : count - 1; i * step <= last * step; i += step) {
        double sum = 0;
        for (int k = 0; k < FIRM; k++)
            sum += loads[i + k * step];
        if (loads[i] >= least && sum >= FIRM * least) return i;
    }
    return -1;
}

/* Before utilization first reaches half of its median is warm-up, after the last time cool-down. A second or
 * two do not count. With almost no load, or a few seconds only, everything is evaluated. */
static stretch find_steady(const stk__gpu_stats *stats)
{
    double loads[STK_GPU_STATS_BUCKETS];
    const int count = stk__gpu_stats_buckets(stats);
    stretch part = {.to = count};
    if (count < LEAST_ERAS) return part;
    for (int i = 0; i < count; i++)
        loads[i] = load_of(stats, i);
    const double median = median_of(loads, count);
    if (median < 5) return part;
    const int first = find_firm(loads, count, 1, median / 2), last = find_firm(loads, count, -1, median / 2);
    if (first > last) return part;
    if (first >= FIRM) part.from = first;
    if (last >= 0 && count - 1 - last >= FIRM) part.to = last + 1;
    return part;
}

/* --- one GPU ---------------------------------------------------------------------------------------------
 */

static void add_up(const stk__per_gpu_stats *gpu, stretch part, stk__gpu_bucket *sum)
{
    memset(sum, 0, sizeof *sum);
    for (int i = part.from; i < part.to; i++) {
        for (int k = 0; k < STK_GPU_SUMS; k++)
            stk__weighted_join(&sum->sums[k], gpu->buckets[i].sums[k]);
        for (int k = 0; k < STK_GPU_STATS_BINS; k++)
            sum->bins_s[k] += gpu->buckets[i].bins_s[k];
    }
}

/* The current, incomplete second counts as in gpu_stats.c when it is complete. */
static stk_reading deviation_of(const stk__gpu_stats *stats, const stk__per_gpu_stats *gpu, stretch part,
                                const stk__gpu_bucket *sum)
{
    stk__weighted means = sum->sums[STK_SUM_MEANS], squares = sum->sums[STK_SUM_SQUARES];
    const double open_s = (double)gpu->second;
    if (gpu->open.seconds >= 0.5 && open_s >= part.from * stats->bucket_s &&
        open_s < part.to * stats->bucket_s) {
        const double mean = gpu->open.sum / gpu->open.seconds;
        stk__weighted_add(&means, 1, mean);
        stk__weighted_add(&squares, 1, mean * mean);
    }
    if (means.seconds < 2) return (stk_reading){0};
    const double mean = means.sum / means.seconds;
    return known(stats, sqrt(fmax(squares.sum / means.seconds - mean * mean, 0)));
}

static stk_reading percentile(const stk__gpu_stats *stats, const stk__gpu_bucket *sum, double share)
{
    double all = 0, below = 0;
    for (int i = 0; i < STK_GPU_STATS_BINS; i++)
        all += (double)sum->bins_s[i];
    for (int i = 0; i < STK_GPU_STATS_BINS && all > 0; i++) {
        below += (double)sum->bins_s[i];
        if (below >= share * all * (1 - 1e-6)) return known(stats, i);
    }
    return (stk_reading){0};
}

/* Steps with unknown utilization get the mean, which adds no period. Returns how many. */
static int fill_series(stk__gpu_stats *stats, const stk__per_gpu_stats *gpu, const stretch *steps,
                       double mean)
{
    int missing = 0;
    for (int i = steps->from; i < steps->to; i++) {
        const stk__load_step *step = &gpu->steps[i];
        const bool there = (double)step->seconds > 0.1 * stats->step_s;
        stats->work.series[i - steps->from] = there ? step->sum / step->seconds : (float)mean;
        missing += !there;
    }
    return missing;
}

/* Downsamples to means of `width` steps: shorter periods are the rhythm of batches. Returns the new count. */
static int smooth(float *series, int count, int width)
{
    for (int i = 0; i + width <= count; i++) {
        float sum = 0;
        for (int k = 0; k < width; k++)
            sum += series[i + k];
        series[i] = sum / (float)width;
    }
    return count - width + 1;
}

/* Periods of at least 4 s and 4 samples. None if too much is unknown. */
static stk_reading find_period(stk__gpu_stats *stats, const stk__per_gpu_stats *gpu, stretch part,
                               double mean)
{
    const double step_s = stats->step_s;
    const stretch steps = {.from = (int)ceil(part.from * stats->bucket_s / step_s),
                           .to = (int)(fmin(part.to * stats->bucket_s, stats->seconds) / step_s)};
    const int width = step_s < 1 ? (int)lrint(1 / step_s) : 1;
    if (steps.to - steps.from < 4 * width) return (stk_reading){0};
    if (fill_series(stats, gpu, &steps, mean) > (steps.to - steps.from) / 5) return (stk_reading){0};
    const double sample_s = gpu->sample_count ? stats->seconds / (double)gpu->sample_count : 0;
    const double shortest_s = fmax(4, 4 * fmax(sample_s, step_s));
    const int count = smooth(stats->work.series, steps.to - steps.from, width);
    const double period = stk__period_find(&stats->work, count, (int)ceil(shortest_s / step_s));
    return period > 0 ? known(stats, period * step_s) : (stk_reading){0};
}

static void fill_load(stk__gpu_stats *stats, const stk__per_gpu_stats *gpu, stretch part,
                      stk_gpu_summary *summary)
{
    stk__gpu_bucket sum;
    add_up(gpu, part, &sum);
    summary->util_mean_percent = mean_of(stats, sum.sums[STK_SUM_LOAD]);
    if (summary->util_mean_percent.known != STK_KNOWN) return;
    summary->util_std_percent = deviation_of(stats, gpu, part, &sum);
    summary->util_p5_percent = percentile(stats, &sum, 0.05);
    summary->util_median_percent = percentile(stats, &sum, 0.5);
    summary->util_p95_percent = percentile(stats, &sum, 0.95);
    summary->below_half = mean_of(stats, sum.sums[STK_SUM_BELOW_HALF]);
    summary->dip_period_s = find_period(stats, gpu, part, summary->util_mean_percent.value);
}

/* Counters cover all the time, bits only the moments of a read. */
static stk_reading throttled(const stk__gpu_stats *stats, const stk__gpu_bucket *sum, int counter, int bit)
{
    const stk_reading counted = total_of(stats, sum->sums[counter]);
    return counted.known == STK_KNOWN ? counted : total_of(stats, sum->sums[bit]);
}

static void fill_rest(const stk__gpu_stats *stats, const stk__per_gpu_stats *gpu, stretch part,
                      stk_gpu_summary *summary)
{
    stk__gpu_bucket sum;
    add_up(gpu, (stretch){.to = stk__gpu_stats_buckets(stats)}, &sum);
    summary->energy_j = total_of(stats, sum.sums[STK_SUM_ENERGY]);
    add_up(gpu, part, &sum);
    summary->power_share = mean_of(stats, sum.sums[STK_SUM_POWER_SHARE]);
    summary->power_mean_w = mean_of(stats, sum.sums[STK_SUM_POWER]);
    summary->sm_active_mean_percent = mean_of(stats, sum.sums[STK_SUM_SM_ACTIVE]);
    summary->throttled_power_s = throttled(stats, &sum, STK_SUM_THROTTLED_POWER, STK_SUM_BIT_POWER);
    summary->throttled_heat_s = throttled(stats, &sum, STK_SUM_THROTTLED_HEAT, STK_SUM_BIT_HEAT);
    summary->throttled_brake_s = total_of(stats, sum.sums[STK_SUM_BIT_BRAKE]);
    summary->pcie_received_bytes_per_s = mean_of(stats, sum.sums[STK_SUM_PCIE_RECEIVED]);
    summary->pcie_sent_bytes_per_s = mean_of(stats, sum.sums[STK_SUM_PCIE_SENT]);
    summary->memory_peak_share = unless_negative(stats, gpu->memory_peak_share);
    summary->hottest_c = unless_negative(stats, gpu->hottest_c);
    summary->good_share = gpu->watched_s > 0 ? gpu->good_s / gpu->watched_s : 1;
    summary->last_state = gpu->last_state;
    summary->bad_state = gpu->bad_state;
    memcpy(summary->bad_note, gpu->bad_note, sizeof summary->bad_note);
}

/* --- all -------------------------------------------------------------------------------------------------
 */

static void fill_host(const stk__gpu_stats *stats, stretch part, stk_monitor_summary *summary)
{
    stk__weighted sums[STK_HOST_SUMS] = {{0}};
    for (int i = part.from; i < part.to; i++)
        for (int k = 0; k < STK_HOST_SUMS; k++)
            stk__weighted_join(&sums[k], stats->host_buckets[i][k]);
    summary->cpu_mean_percent = mean_of(stats, sums[STK_SUM_CPU]);
    summary->cpu_max_mean_percent = mean_of(stats, sums[STK_SUM_CPU_MAX]);
    summary->job_cpu_mean_percent = mean_of(stats, sums[STK_SUM_JOB_CPU]);
    summary->io_pressure_mean_percent = mean_of(stats, sums[STK_SUM_IO_PRESSURE]);
    summary->quota_throttled_s = total_of(stats, sums[STK_SUM_QUOTA]);
    summary->job_memory_peak_bytes = unless_negative(stats, stats->job_memory_peak_bytes);
    summary->cpu_count = stats->cpu_count;
}

static void fill_means(const stk__gpu_stats *stats, stk_monitor_summary *summary)
{
    stk__weighted util = {0}, deviation = {0};
    for (int i = 0; i < stats->gpu_count; i++) {
        const stk_gpu_summary *gpu = &stats->summaries[i];
        if (gpu->util_mean_percent.known == STK_KNOWN)
            stk__weighted_add(&util, 1, gpu->util_mean_percent.value);
        if (gpu->util_std_percent.known == STK_KNOWN)
            stk__weighted_add(&deviation, 1, gpu->util_std_percent.value);
    }
    summary->util_mean_percent = mean_of(stats, util);
    summary->util_std_percent = mean_of(stats, deviation);
}

void stk__gpu_stats_judge(stk__gpu_stats *stats, stk_monitor_summary *summary)
{
    *summary = (stk_monitor_summary){.seconds = stats->seconds,
                                     .frame_count = stats->frame_count,
                                     .gpu_count = stats->gpu_count,
                                     .gpus = stats->summaries};
    const stretch part = stats->frame_count ? find_steady(stats) : (stretch){0};
    summary->steady_from_s = part.from * stats->bucket_s;
    summary->steady_to_s = fmin(part.to * stats->bucket_s, stats->seconds);
    fill_host(stats, part, summary);
    for (int i = 0; i < stats->gpu_count; i++) {
        stk_gpu_summary *gpu = &stats->summaries[i];
        *gpu = (stk_gpu_summary){.gpu = &stats->described[i]};
        fill_load(stats, &stats->gpus[i], part, gpu);
        fill_rest(stats, &stats->gpus[i], part, gpu);
        stk__verdict_grade(gpu, summary);
        stk__verdict_speak(gpu, summary);
    }
    fill_means(stats, summary);
    stk__verdict_together(summary);
}
