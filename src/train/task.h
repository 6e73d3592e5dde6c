/* SPDX-License-Identifier: Apache-2.0 */
/* What a network is trained for: which loss and metric belong to it, and what people call the numbers. */
#ifndef STK_TRAIN_TASK_H
#define STK_TRAIN_TASK_H

#include "engine/op.h"
#include "train/feed.h"
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

/* What data of this kind is for, whether or not it has the targets of that task. */
stk__task stk__task_of_data(const stk__feed_facts *facts);
/* Inputs and targets of the task are there. */
bool stk__task_fits(stk__task task, const stk__feed_facts *facts);

static inline bool stk__task_has_classes(stk__task task)
{
    return task == STK_TASK_SEGMENTATION || task == STK_TASK_CLASSIFICATION || task == STK_TASK_MULTILABEL;
}

/* The target is a number for each sample, and so is the prediction. */
static inline bool stk__task_has_values(stk__task task)
{
    return task == STK_TASK_REGRESSION || task == STK_TASK_IMAGE_REGRESSION;
}

static inline bool stk__task_reads_windows(stk__task task)
{
    return task == STK_TASK_REGRESSION;
}

/* Index of a value by name; -1: none. */
int stk__task_value(stk__task task, const char *name);
/* Whether it says anything of so many classes. */
bool stk__task_has_value(stk__task task, int value, int64_t classes);

/* From what a metric counted (op.h) to the task's values; NAN where nothing was counted. Mean average
 * precision needs all predictions (average_precision.h): NAN. per_class (may be NULL, [classes]): F-score of
 * each class of a segmentation, NAN where it never came up. */
void stk__task_score(stk__task task, const void *sums, int64_t classes, double *values, double *per_class);

#endif
