/* SPDX-License-Identifier: Apache-2.0 */
/* Average precision of every class over a whole evaluation. */
#ifndef STK_TRAIN_AVERAGE_PRECISION_H
#define STK_TRAIN_AVERAGE_PRECISION_H

#include "core/memory.h"
#include "stoker/batch.h"

/* Logits and truths of all samples so far; zeroed: none. */
typedef struct stk__label_scores {
    stk__buffer scores; /* float [count][classes] */
    stk__buffer truths; /* u8 [count][classes] */
    stk__buffer order;  /* scratch */
    int64_t classes;
} stk__label_scores;

void stk__label_scores_begin(stk__label_scores *scores);
/* Dense host tensors: prediction and target [n classes], weights [n] or absent; weight 0 leaves a sample out.
 */
stk_status stk__label_scores_add(stk__label_scores *scores, const stk_tensor *prediction,
                                 const stk_tensor *target, const stk_tensor *weights, stk_error *error);
/* per_class [classes]: NAN where no sample has the class. *mean: of the others; NAN: none. */
stk_status stk__label_scores_end(stk__label_scores *scores, double *per_class, double *mean,
                                 stk_error *error);
void stk__label_scores_fini(stk__label_scores *scores);

#endif
