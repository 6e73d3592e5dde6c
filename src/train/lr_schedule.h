/* SPDX-License-Identifier: Apache-2.0 */
/* The learning rate of a step: a pure function, so that a run can resume anywhere. */
#ifndef STK_TRAIN_LR_SCHEDULE_H
#define STK_TRAIN_LR_SCHEDULE_H

#include "train/train_settings.h"

typedef struct stk__lr_schedule {
    stk__lr_schedule_kind kind;
    double lr;               /* the largest */
    int64_t warmup;          /* steps of linear rise; one_cycle has its own */
    int64_t total_steps;     /* of the whole run */
    int64_t steps_per_epoch; /* step */
    int64_t step_size;       /* step: epochs */
    double gamma;            /* step */
} stk__lr_schedule;

/* step: 0, 1, … below total_steps; beyond, the last rate stays.
 *   cosine     lr x (1 + cos(pi x p)) / 2, p = share of the steps after the warm-up
 *   step       lr x gamma ^ (epoch / step_size)
 *   one_cycle  PyTorch's OneCycleLR with its defaults: 30 % of the steps up from lr / 25, then down to lr /
 * 250000 */
double stk__lr_at(const stk__lr_schedule *schedule, int64_t step);

#endif
