/* SPDX-License-Identifier: Apache-2.0 */
/* What a network is trained for: which loss and metric belong to it, and what people call the numbers. */
#ifndef STK_TRAIN_TASK_H
#define STK_TRAIN_TASK_H

#include "engine/op.h"
#include "train/network/network.h"

enum { STK_TASK_VALUES = 4 };

typedef struct stk__task_info {
    stk__op_kind loss;   /* by default */
    stk__op_kind metric; /* the operation that counts */
    const char *input;   /* "images" or "windows" */
    const char *target;  /* "masks", "points", "classes", "values" */
    const char *network; /* shipped for it */
    int value_count;
    const char *values[STK_TASK_VALUES]; /* names; the first decides which checkpoint is best by default */
    bool low[STK_TASK_VALUES];           /* better when lower */
} stk__task_info;

const stk__task_info *stk__task_describe(stk__task task);

/* Index of a value by name; -1: none. */
int stk__task_value(stk__task task, const char *name);

/* From what a metric counted (op.h) to the task's values; NAN where nothing was counted. per_class (may be
 * NULL, [classes]): F-score of each class of a segmentation, NAN where it never came up. */
void stk__task_score(stk__task task, const void *sums, int64_t classes, double *values, double *per_class);

#endif
