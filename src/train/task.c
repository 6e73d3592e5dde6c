/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks (classification, segmentation, points, regression of windows and of images): the loss and metric of
 * each, and scores from summed counts: mean IoU, F-score and accuracy from a confusion matrix, R2 and mean
 * errors from sums. */
#include "train/task.h"

#include <math.h>
#include <string.h>

static const stk__task_info tasks[] = {
    [STK_TASK_SEGMENTATION] = {.loss = STK_OP_CROSS_ENTROPY,
                               .metric = STK_OP_CONFUSION,
                               .input = "images",
                               .target = "masks",
                               .network = "unet",
                               .value_count = 3,
                               .values = {"miou", "f_score", "pixel_accuracy"}},
    [STK_TASK_POINTS] = {.loss = STK_OP_POINTS,
                         .metric = STK_OP_POINT_ERROR,
                         .input = "images",
                         .target = "points",
                         .network = "locator",
                         .value_count = 2,
                         .values = {"error_px", "within_5_px"},
                         .low = {true, false}},
    [STK_TASK_CLASSIFICATION] = {.loss = STK_OP_CROSS_ENTROPY,
                                 .metric = STK_OP_TOP_K,
                                 .input = "images",
                                 .target = "classes",
                                 .network = "resnet",
                                 .value_count = 2,
                                 .values = {"top1", "top5"}},
    [STK_TASK_REGRESSION] = {.loss = STK_OP_MSE,
                             .metric = STK_OP_VALUE_ERROR,
                             .input = "windows",
                             .target = "values",
                             .network = "lstm",
                             .value_count = 3,
                             .values = {"r2", "mae", "rmse"},
                             .low = {false, true, true}},
    [STK_TASK_IMAGE_REGRESSION] = {.loss = STK_OP_MSE,
                                   .metric = STK_OP_VALUE_ERROR,
                                   .input = "images",
                                   .target = "values",
                                   .network = "resnet",
                                   .value_count = 3,
                                   .values = {"r2", "mae", "rmse"},
                                   .low = {false, true, true}},
    [STK_TASK_MULTILABEL] = {.loss = STK_OP_BCE,
                             .metric = STK_OP_LABEL_HITS,
                             .input = "images",
                             .target = "sets of labels",
                             .network = "resnet",
                             .value_count = 2,
                             .values = {"map", "f_score"}},
};

const stk__task_info *stk__task_describe(stk__task task)
{
    return &tasks[task];
}

stk__task stk__task_of_data(const stk__feed_facts *facts)
{
    if (facts->window) return STK_TASK_REGRESSION;
    if (facts->masks) return STK_TASK_SEGMENTATION;
    if (facts->points) return STK_TASK_POINTS;
    if (facts->label_sets) return STK_TASK_MULTILABEL;
    return facts->values ? STK_TASK_IMAGE_REGRESSION : STK_TASK_CLASSIFICATION;
}

bool stk__task_fits(stk__task task, const stk__feed_facts *facts)
{
    const bool fits[STK_TASK_COUNT] = {[STK_TASK_SEGMENTATION] = facts->image_w && facts->masks,
                                       [STK_TASK_POINTS] = facts->image_w && facts->points,
                                       [STK_TASK_CLASSIFICATION] = facts->image_w && facts->classes,
                                       [STK_TASK_REGRESSION] = facts->window && facts->values,
                                       [STK_TASK_IMAGE_REGRESSION] = facts->image_w && facts->values,
                                       [STK_TASK_MULTILABEL] = facts->image_w && facts->label_sets};
    return fits[task];
}

int stk__task_value(stk__task task, const char *name)
{
    for (int i = 0; i < tasks[task].value_count; i++)
        if (strcmp(tasks[task].values[i], name) == 0) return i;
    return -1;
}

/* Of five classes or fewer the truth is always among the best five. */
bool stk__task_has_value(stk__task task, int value, int64_t classes)
{
    enum { TOP5 = 1, FIVE = 5 };
    return task != STK_TASK_CLASSIFICATION || value != TOP5 || classes > FIVE;
}

static double quotient(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* Means over the classes that came up, in truth or prediction. */
static void score_confusion(const int64_t *counts, int64_t classes, double *values, double *per_class)
{
    double iou = 0, f_score = 0, right = 0, all = 0;
    int64_t present = 0;
    for (int64_t c = 0; c < classes; c++) {
        double truth = 0, found = 0;
        for (int64_t k = 0; k < classes; k++) {
            truth += (double)counts[c * classes + k];
            found += (double)counts[k * classes + c];
        }
        const double hits = (double)counts[c * classes + c], either = truth + found - hits;
        if (per_class) per_class[c] = quotient(2 * hits, truth + found);
        right += hits;
        all += truth;
        if (either <= 0) continue;
        iou += hits / either;
        f_score += 2 * hits / (truth + found);
        present++;
    }
    values[0] = quotient(iou, (double)present);
    values[1] = quotient(f_score, (double)present);
    values[2] = quotient(right, all);
}

/* R2 about the mean of the targets themselves. */
static void score_values(const double *sums, double *values)
{
    const double n = sums[0], spread = sums[4] - (n > 0 ? sums[3] * sums[3] / n : 0);
    values[0] = spread > 0 ? 1 - sums[2] / spread : NAN;
    values[1] = quotient(sums[1], n);
    values[2] = n > 0 ? sqrt(sums[2] / n) : NAN;
}

void stk__task_score(stk__task task, const void *sums, int64_t classes, double *values, double *per_class)
{
    const int64_t *counts = sums;
    const double *reals = sums;
    switch (task) {
    case STK_TASK_SEGMENTATION:
        score_confusion(counts, classes, values, per_class);
        return;
    case STK_TASK_POINTS:
        values[0] = quotient(reals[1], reals[0]);
        values[1] = quotient(reals[2], reals[0]);
        return;
    case STK_TASK_CLASSIFICATION:
        values[0] = quotient((double)counts[1], (double)counts[0]);
        values[1] =
            stk__task_has_value(task, 1, classes) ? quotient((double)counts[2], (double)counts[0]) : NAN;
        return;
    case STK_TASK_REGRESSION:
    case STK_TASK_IMAGE_REGRESSION:
        score_values(reals, values);
        return;
    case STK_TASK_MULTILABEL:
        values[0] = NAN;
        values[1] = quotient(2 * (double)counts[0], (double)(counts[1] + counts[2]));
        return;
    case STK_TASK_COUNT:
        return;
    }
}
