/* SPDX-License-Identifier: Apache-2.0 */
/* The period of regular dips in a series: evaluations, ends of epochs, checkpoints.
 *
 * By autocorrelation. A period counts only if it occurs six times, the autocorrelation has peaks after one,
 * two and three periods and troughs half-way between: the lowest peak must stand clearly above the highest
 * trough. Noise, also slow noise, does that once by chance, but not three times. */
#ifndef STK_MONITOR_PERIOD_H
#define STK_MONITOR_PERIOD_H

enum { STK_PERIOD_STEPS = 2048 };

/* Working memory. */
typedef struct stk__period_work {
    float series[STK_PERIOD_STEPS], correlation[STK_PERIOD_STEPS];
    double squares[STK_PERIOD_STEPS + 1]; /* sums of squares of all before */
} stk__period_work;

/* Of work->series [count], count <= STK_PERIOD_STEPS, which is overwritten. In steps; 0: none, or one below
 * shortest (at least 2): the rhythm of batches is ignored. */
double stk__period_find(stk__period_work *work, int count, int shortest);

#endif
