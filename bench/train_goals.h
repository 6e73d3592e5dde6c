/* SPDX-License-Identifier: Apache-2.0 */
/* Goals of `stoker bench train`. */
#ifndef STK_BENCH_TRAIN_GOALS_H
#define STK_BENCH_TRAIN_GOALS_H

#include "measurements.h"
#include "train_case.h"

/* Of a train case; NAN: not measured. */
typedef struct stk__train_result {
    double speed;         /* times as fast as the fastest peer */
    double first, memory; /* ours by theirs */
    double own_share;     /* with the engine torch: CPU time outside of PyTorch's operators */
} stk__train_result;

/* As both sides are measured: as they are, or both capped to AVX2; with an engine: as they are, with full
 * batches and with small ones (batches of 1 to 4, and fewer windows). */
typedef enum stk__train_level {
    STK_TRAIN_OWN,
    STK_TRAIN_CAPPED,
    STK_TRAIN_SMALL,
    STK_TRAIN_LEVELS
} stk__train_level;

typedef stk__train_result stk__train_results[STK_TRAIN_LEVELS][STK_TRAIN_CASES];

/* files: our rate by theirs in training from files; capped: nothing was measured but capped. */
void stk__train_judge(stk__bench *bench, stk__train_results results, bool capped, double files);
/* Our path through PyTorch, the engine torch, beside eager PyTorch in Python. */
void stk__train_judge_torch(stk__bench *bench, stk__train_results results);

#endif
