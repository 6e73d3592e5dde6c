/* SPDX-License-Identifier: Apache-2.0 */
/* How good the answer to one sample is, and what the answer means: as the metrics of engine/op.h define it,
 * but for a single sample, on the host. Pure functions. */
#ifndef STK_SESSION_SAMPLE_SCORE_H
#define STK_SESSION_SAMPLE_SCORE_H

#include "image/pixels.h"
#include "train/task.h"

typedef struct stk__sample_score_info {
    const char *name;  /* key in JSON: "miou" */
    const char *words; /* for people: "mIoU" */
    const char *unit;  /* "px", or "" */
    bool low;          /* better when lower */
} stk__sample_score_info;

const stk__sample_score_info *stk__sample_score_describe(stk__task task);

/* Mean IoU of the classes that come up, mean error of the visible points in pixels, cross entropy, absolute
 * error; NAN: nothing of the sample counts (it was skipped, or has no target). ids: memory for the pixels of
 * a predicted mask, which are in it afterwards; not used by other tasks. */
double stk__sample_score(stk__task task, const stk_batch *batch, const stk_tensor *prediction, int64_t i,
                         uint8_t *ids);

bool stk__sample_is_skipped(const stk_batch *batch, int64_t i);

/* What a prediction means. */
stk__pixels stk__answer_ids(const stk_tensor *prediction, int64_t i, uint8_t *ids); /* the largest logit */
/* As op.h defines it: the largest cell of map k, and its offset; in pixels of a picture of that size. */
void stk__answer_point(const stk_tensor *maps, int64_t i, int64_t k, stk__pixels picture, double at[2]);
/* The class of the largest logit; its probability by softmax. */
int64_t stk__answer_class(const stk_tensor *logits, int64_t i, double *probability);
/* The true mask of a sample, u8. */
stk__pixels stk__batch_mask(const stk_batch *batch, int64_t i);

#endif
