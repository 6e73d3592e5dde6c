/* SPDX-License-Identifier: Apache-2.0 */
/* The period of regular dips in utilisation by autocorrelation: trend removed, correlation per lag, and
 * the first lag whose peaks stand clear of its troughs more than noise would. Work memory is the caller's.
 * */
#include "monitor/verdict/period.h"

#include <math.h>

static const double least_deviation = 3; /* percent: smaller dips are ignored */
enum { CYCLES = 6, PEAKS = 3, LANES = 8, LEAST_LAG = 2 };

/* Threshold above noise: with fewer cycles, similarity by chance is more likely. Determined empirically with
 * white, slow and shot noise (test_period.c). */
static double least_score(int count, int lag)
{
    return 0.4 + 3.0 * lag / count;
}

/* Removes mean and linear trend. Returns the standard deviation. */
static double remove_trend(float *series, int count)
{
    double sum = 0, slope = 0, scale = 0, squares = 0;
    for (int i = 0; i < count; i++) {
        const double t = i - 0.5 * (count - 1);
        sum += (double)series[i];
        slope += t * (double)series[i];
        scale += t * t;
    }
    for (int i = 0; i < count; i++) {
        series[i] -= (float)(sum / count + slope / scale * (i - 0.5 * (count - 1)));
        squares += (double)series[i] * (double)series[i];
    }
    return sqrt(squares / count);
}

/* In lanes, so that the compiler can vectorize. */
static float multiply(const float *a, const float *b, int count)
{
    float lanes[LANES] = {0}, sum = 0;
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++)
            lanes[k] += a[i + k] * b[i + k];
    for (; i < count; i++)
        sum += a[i] * b[i];
    for (int k = 0; k < LANES; k++)
        sum += lanes[k];
    return sum;
}

/* For lags 0 to last, each by the variance of the parts that overlap. */
static void correlate(stk__period_work *work, int count, int last)
{
    const float *series = work->series;
    work->squares[0] = 0;
    for (int i = 0; i < count; i++)
        work->squares[i + 1] = work->squares[i] + (double)series[i] * (double)series[i];
    for (int lag = 0; lag <= last; lag++) {
        const double front = work->squares[count - lag], back = work->squares[count] - work->squares[lag];
        const double scale = sqrt(front * back);
        work->correlation[lag] =
            scale > 0 ? (float)((double)multiply(series, series + lag, count - lag) / scale) : 0;
    }
}

/* Score of a lag: lowest peak minus highest trough. Peaks may be slightly shifted: epochs differ in length.
 */
static float score_of(const float *correlation, int lag, int last)
{
    float peak = 1, trough = -1;
    const int slack = lag / 16 + 1, quarter = lag / 4;
    for (int i = 1; i <= PEAKS; i++) {
        float high = -1, low = 1;
        const int around = i * lag, before = around - lag;
        for (int k = around - slack; k <= around + slack && k <= last; k++)
            high = fmaxf(high, correlation[k]);
        for (int k = before + quarter; k <= around - quarter; k++)
            low = fminf(low, correlation[k]);
        peak = fminf(peak, high);
        trough = fmaxf(trough, low);
    }
    return peak - trough;
}

/* The third peak gives the most precise period. */
static double refine(const float *correlation, int lag, int last)
{
    int best = PEAKS * lag;
    const int slack = lag / 16 + 1;
    for (int k = PEAKS * lag - slack; k <= PEAKS * lag + slack && k <= last; k++)
        if (correlation[k] > correlation[best]) best = k;
    return (double)best / PEAKS;
}

/* Multiples of a period are periods as well: the shortest counts. If that is below the allowed range, its
 * multiples are rejected, too. */
double stk__period_find(stk__period_work *work, int count, int shortest)
{
    const int longest = count / CYCLES, last = PEAKS * longest;
    float most = 0;
    if (longest < shortest || remove_trend(work->series, count) < least_deviation) return 0;
    correlate(work, count, last);
    float *scores = work->series; /* the series is no longer needed */
    for (int lag = LEAST_LAG; lag <= longest; lag++) {
        const float *at = &work->correlation[lag];
        scores[lag] = at[0] >= at[-1] && at[0] >= at[1] ? score_of(work->correlation, lag, last) : 0;
        if ((double)scores[lag] < least_score(count, lag)) scores[lag] = 0;
        most = fmaxf(most, scores[lag]);
    }
    if (most <= 0) return 0;
    int lag = LEAST_LAG;
    while (scores[lag] < 0.8F * most)
        lag++;
    return lag < shortest ? 0 : refine(work->correlation, lag, last);
}
