/* SPDX-License-Identifier: Apache-2.0 */
/* Whether predictions and targets differ from sample to sample: sums over the samples of an evaluation, for
 * advice. Of masks nothing is kept: their scores by class show it. */
#ifndef STK_SESSION_PREDICTION_STATS_H
#define STK_SESSION_PREDICTION_STATS_H

#include "train/trainer.h"

typedef struct stk__prediction_range {
    double least, most;
} stk__prediction_range;

typedef struct stk__prediction_stats { /* zeroed: of no samples */
    uint64_t count;                    /* samples that count */
    /* Classification. */
    int64_t said_class; /* of the first sample */
    bool said_varies;   /* another one was predicted, too */
    uint64_t truth_counts[STK_OP_CLASSES];
    /* Values [0]; or x [0] and y [1] of the first point, in pixels. */
    stk__prediction_range said[2], truth[2];
} stk__prediction_stats;

void stk__prediction_stats_add(stk__prediction_stats *stats, stk__task task, const stk_batch *batch,
                               const stk_tensor *prediction);

/* The class that most samples have, and their share. */
int64_t stk__prediction_stats_common(const stk__prediction_stats *stats, double *share);

#endif
