/* SPDX-License-Identifier: Apache-2.0 */
/* Called with each batch of an evaluation, whose prediction is on the host already: nothing is waited for and
 * nothing is allocated. One thread: the one that trains. */
#include "session/predict/prediction_stats.h"

#include "session/sheet/eval_sheet.h"

#include <math.h>

static void widen(stk__prediction_range *range, bool first, double value)
{
    if (first) *range = (stk__prediction_range){value, value};
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

static void add_class(stk__prediction_stats *s, const stk_batch *batch, const stk_tensor *prediction,
                      int64_t i)
{
    const int64_t classes = prediction->shape[prediction->ndim - 1];
    const int64_t truth = ((const int64_t *)batch->labels.data)[i];
    const float *logits = (const float *)prediction->data + i * prediction->strides[0];
    int64_t best = 0;
    if (truth < 0 || truth >= classes) return; /* ignored */
    for (int64_t c = 1; c < classes; c++)
        if (logits[c] > logits[best]) best = c;
    if (s->count++ == 0) s->said_class = best;
    s->said_varies |= best != s->said_class;
    s->truth_counts[truth]++;
}

static void add_value(stk__prediction_stats *s, const stk_batch *batch, const stk_tensor *prediction,
                      int64_t i)
{
    const bool first = s->count++ == 0;
    widen(&s->truth[0], first, ((const float *)batch->labels.data)[i]);
    widen(&s->said[0], first, ((const float *)prediction->data)[i * prediction->strides[0]]);
}

static void add_point(stk__prediction_stats *s, const stk_batch *batch, const stk_tensor *prediction,
                      int64_t i)
{
    const float *truth = (const float *)batch->points.data + i * batch->points.strides[0];
    const stk__pixels image = {.w = (int32_t)batch->images.shape[2], .h = (int32_t)batch->images.shape[1]};
    double at[2];
    if (truth[2] <= 0) return; /* not visible */
    const bool first = s->count++ == 0;
    stk__answer_point(prediction, i, 0, image, at);
    for (int k = 0; k < 2; k++) {
        widen(&s->truth[k], first, truth[k]);
        widen(&s->said[k], first, at[k]);
    }
}

void stk__prediction_stats_add(stk__prediction_stats *s, stk__task task, const stk_batch *batch,
                               const stk_tensor *prediction)
{
    const float *weights = batch->weights.data;
    for (int64_t i = 0; i < batch->count && task != STK_TASK_SEGMENTATION && task != STK_TASK_MULTILABEL;
         i++) {
        if (weights && weights[i] == 0) continue; /* corrupt */
        if (task == STK_TASK_CLASSIFICATION)
            add_class(s, batch, prediction, i);
        else if (stk__task_has_values(task))
            add_value(s, batch, prediction, i);
        else
            add_point(s, batch, prediction, i);
    }
}

int64_t stk__prediction_stats_common(const stk__prediction_stats *s, double *share)
{
    int64_t common = 0;
    for (int64_t c = 1; c < STK_OP_CLASSES; c++)
        if (s->truth_counts[c] > s->truth_counts[common]) common = c;
    *share = s->count ? (double)s->truth_counts[common] / (double)s->count : NAN;
    return common;
}
