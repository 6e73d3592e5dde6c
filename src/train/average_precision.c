/* SPDX-License-Identifier: Apache-2.0 */
/* Exact average precision, as scikit-learn's average_precision_score: samples in falling order of score,
 *
 *     AP = sum over n of (R_n - R_(n-1)) P_n,
 *
 * P_n and R_n being precision and recall of all samples whose score is at or above the n-th distinct score.
 * Samples of equal score come in together, so their order does not matter. No interpolation. Without a true
 * sample scikit-learn says 0; here the class is left out of the mean. One thread. */
#include "train/average_precision.h"

#include <math.h>
#include <stdlib.h>

typedef struct scored {
    float score;
    bool truth;
} scored;

void stk__label_scores_begin(stk__label_scores *s)
{
    s->scores.size_bytes = s->truths.size_bytes = 0;
}

stk_status stk__label_scores_add(stk__label_scores *s, const stk_tensor *prediction, const stk_tensor *target,
                                 const stk_tensor *weights, stk_error *error)
{
    const int64_t classes = s->classes = prediction->shape[1];
    const size_t row = (size_t)classes * sizeof(float);
    for (int64_t n = 0; n < prediction->shape[0]; n++) {
        const float *logits = (const float *)prediction->data + n * classes,
                    *truths = (const float *)target->data + n * classes;
        if (weights->data && ((const float *)weights->data)[n] == 0) continue;
        STK__TRY(stk__buffer_append(&s->scores, logits, row, error));
        STK__TRY(stk__buffer_reserve(&s->truths, s->truths.size_bytes + (size_t)classes, error));
        for (int64_t c = 0; c < classes; c++)
            s->truths.data[s->truths.size_bytes++] = truths[c] > 0.5F;
    }
    return STK_OK;
}

static int from_the_highest(const void *one, const void *other)
{
    const float a = ((const scored *)one)->score, b = ((const scored *)other)->score;
    return (a < b) - (a > b);
}

static double average_precision(const scored *list, size_t count, size_t positives)
{
    double sum = 0;
    size_t hits = 0, hits_before = 0;
    for (size_t i = 0; i < count; i++) {
        hits += list[i].truth;
        if (i + 1 < count && list[i + 1].score == list[i].score) continue;
        sum += (double)(hits - hits_before) * ((double)hits / (double)(i + 1));
        hits_before = hits;
    }
    return sum / (double)positives; /* divided once: without a mistake it is 1 exactly */
}

stk_status stk__label_scores_end(stk__label_scores *s, double *per_class, double *mean, stk_error *error)
{
    const size_t classes = (size_t)s->classes, count = classes ? s->truths.size_bytes / classes : 0;
    const float *scores = (const float *)(const void *)s->scores.data;
    double sum = 0;
    int present = 0;
    STK__TRY(stk__buffer_reserve(&s->order, count * sizeof(scored), error));
    scored *list = (scored *)(void *)s->order.data;
    for (size_t c = 0; c < classes; c++) {
        size_t positives = 0;
        for (size_t i = 0; i < count; i++) {
            list[i] = (scored){scores[i * classes + c], s->truths.data[i * classes + c]};
            positives += list[i].truth;
        }
        per_class[c] = NAN;
        if (!positives) continue;
        qsort(list, count, sizeof *list, from_the_highest);
        per_class[c] = average_precision(list, count, positives);
        sum += per_class[c];
        present++;
    }
    *mean = present ? sum / present : NAN;
    return STK_OK;
}

void stk__label_scores_fini(stk__label_scores *s)
{
    stk__buffer_fini(&s->scores);
    stk__buffer_fini(&s->truths);
    stk__buffer_fini(&s->order);
}
