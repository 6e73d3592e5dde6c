/* SPDX-License-Identifier: Apache-2.0 */
/* Batches and predictions of an evaluation lie in host memory when the trainer shows them, f32 and dense. No
 * state; nothing is allocated. */
#include "session/sample_score.h"

#include "core/distance.h"

#include <math.h>

const stk__sample_score_info *stk__sample_score_describe(stk__task task)
{
    static const stk__sample_score_info scores[] = {
        [STK_TASK_SEGMENTATION] = {"miou", "mIoU", "", false},
        [STK_TASK_POINTS] = {"error_px", "error", "px", true},
        [STK_TASK_CLASSIFICATION] = {"loss", "cross entropy", "", true},
        [STK_TASK_REGRESSION] = {"abs_error", "absolute error", "", true},
        [STK_TASK_IMAGE_REGRESSION] = {"abs_error", "absolute error", "", true},
        [STK_TASK_MULTILABEL] = {"loss", "binary cross entropy", "", true}};
    return &scores[task];
}

bool stk__sample_is_skipped(const stk_batch *batch, int64_t i)
{
    return batch->weights.dtype != STK_DTYPE_NONE && !(((const float *)batch->weights.data)[i] > 0);
}

/* --- answers -----------------------------------------------------------------------------------------------
 */

stk__pixels stk__batch_mask(const stk_batch *batch, int64_t i)
{
    return stk__pixels_dense((uint8_t *)batch->masks.data + i * batch->masks.strides[0],
                             (int32_t)batch->masks.shape[2], (int32_t)batch->masks.shape[1], 1);
}

stk__pixels stk__answer_ids(const stk_tensor *prediction, int64_t i, uint8_t *ids)
{
    const int64_t classes = prediction->shape[3], pixels = prediction->shape[1] * prediction->shape[2];
    const float *logits = (const float *)prediction->data + i * prediction->strides[0];
    for (int64_t p = 0; p < pixels; p++, logits += classes) {
        int64_t best = 0;
        for (int64_t c = 1; c < classes; c++)
            if (logits[c] > logits[best]) best = c;
        ids[p] = (uint8_t)best;
    }
    return stk__pixels_dense(ids, (int32_t)prediction->shape[2], (int32_t)prediction->shape[1], 1);
}

void stk__answer_point(const stk_tensor *maps, int64_t i, int64_t k, stk__pixels picture, double at[2])
{
    const int64_t h = maps->shape[1], w = maps->shape[2], channels = maps->shape[3], points = channels / 3;
    const float *cells = (const float *)maps->data + i * maps->strides[0];
    int64_t best = 0;
    for (int64_t p = 1; p < h * w; p++)
        if (cells[p * channels + k] > cells[best * channels + k]) best = p;
    const float *offset = cells + best * channels + points + 2 * k;
    at[0] = ((double)(best % w) + 0.5 + offset[0]) * picture.w / (double)w;
    at[1] = ((double)(best / w) + 0.5 + offset[1]) * picture.h / (double)h;
}

int64_t stk__answer_class(const stk_tensor *prediction, int64_t i, double *probability)
{
    const int64_t classes = prediction->shape[prediction->ndim - 1];
    const float *logits = (const float *)prediction->data + i * prediction->strides[0];
    int64_t best = 0;
    double sum = 0;
    for (int64_t c = 1; c < classes; c++)
        if (logits[c] > logits[best]) best = c;
    for (int64_t c = 0; c < classes; c++)
        sum += exp((double)logits[c] - (double)logits[best]);
    *probability = 1 / sum;
    return best;
}

/* --- scores ------------------------------------------------------------------------------------------------
 */

/* IoU of a class = hits / (truth + found - hits), over all pixels whose true class the network knows. */
static double score_mask(const stk_batch *batch, const stk_tensor *prediction, int64_t i, uint8_t *ids)
{
    int64_t truth[STK_OP_CLASSES] = {0}, found[STK_OP_CLASSES] = {0}, hits[STK_OP_CLASSES] = {0};
    const stk__pixels answer = stk__answer_ids(prediction, i, ids), mask = stk__batch_mask(batch, i);
    const int64_t pixels = (int64_t)answer.w * answer.h, classes = prediction->shape[3];
    double sum = 0;
    int present = 0;
    for (int64_t p = 0; p < pixels; p++) {
        if (mask.data[p] >= classes) continue;
        truth[mask.data[p]]++;
        found[answer.data[p]]++;
        hits[answer.data[p]] += answer.data[p] == mask.data[p];
    }
    for (int64_t c = 0; c < classes; c++) {
        const int64_t either = truth[c] + found[c] - hits[c];
        if (!either) continue;
        sum += (double)hits[c] / (double)either;
        present++;
    }
    return present ? sum / present : NAN;
}

static double score_points(const stk_batch *batch, const stk_tensor *prediction, int64_t i)
{
    const stk__pixels picture = {.w = (int32_t)batch->images.shape[2], .h = (int32_t)batch->images.shape[1]};
    double sum = 0;
    int visible = 0;
    for (int64_t k = 0; k < batch->points.shape[1]; k++) {
        const float *truth = (const float *)batch->points.data + i * batch->points.strides[0] + k * 3;
        double at[2];
        if (!(truth[2] > 0)) continue;
        stk__answer_point(prediction, i, k, picture, at);
        sum += stk__distance(at[0] - truth[0], at[1] - truth[1]);
        visible++;
    }
    return visible ? sum / visible : NAN;
}

/* -log softmax of the true class. */
static double score_class(const stk_batch *batch, const stk_tensor *prediction, int64_t i)
{
    const int64_t label = ((const int64_t *)batch->labels.data)[i];
    const float *logits = (const float *)prediction->data + i * prediction->strides[0];
    double probability;
    if (label < 0 || label >= prediction->shape[prediction->ndim - 1]) return NAN;
    const int64_t best = stk__answer_class(prediction, i, &probability);
    return (double)logits[best] - (double)logits[label] - log(probability);
}

/* Mean over the classes, as the loss. */
static double score_labels(const stk_batch *batch, const stk_tensor *prediction, int64_t i)
{
    const int64_t classes = prediction->shape[1];
    const float *logits = (const float *)prediction->data + i * classes,
                *truth = (const float *)batch->labels.data + i * classes;
    double sum = 0;
    for (int64_t c = 0; c < classes; c++) {
        const double x = (double)logits[c];
        sum += fmax(x, 0) - x * (double)truth[c] + log1p(exp(-fabs(x)));
    }
    return sum / (double)classes;
}

double stk__sample_score(stk__task task, const stk_batch *batch, const stk_tensor *prediction, int64_t i,
                         uint8_t *ids)
{
    if (stk__sample_is_skipped(batch, i)) return NAN;
    switch (task) {
    case STK_TASK_SEGMENTATION:
        return score_mask(batch, prediction, i, ids);
    case STK_TASK_POINTS:
        return score_points(batch, prediction, i);
    case STK_TASK_CLASSIFICATION:
        return score_class(batch, prediction, i);
    case STK_TASK_MULTILABEL:
        return score_labels(batch, prediction, i);
    default:
        break;
    }
    return fabs((double)((const float *)batch->labels.data)[i] -
                (double)((const float *)prediction->data)[i * prediction->strides[0]]);
}
