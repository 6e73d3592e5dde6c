/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of one sample, known from its header before any pixel is decoded: its sizes, the numbers of
 * its augmentation, and whether they mirror it. Pure functions of their arguments. */
#ifndef STK_LOADER_SAMPLE_PLAN_H
#define STK_LOADER_SAMPLE_PLAN_H

#include "loader/worker.h"

typedef struct stk__sample_plan {
    stk__extent upright; /* as stored, turned upright: points are given in its pixels */
    stk__extent decoded; /* what it is decoded to */
    stk__plan_at at;     /* this and below only if the recipe has a plan */
    stk__resolved resolved;
    bool swaps; /* it is mirrored, and the data set has left and right: ids, points and label change sides */
} stk__sample_plan;

/* The size that an upright image is decoded to. */
stk__extent stk__decoded_extent(const stk__recipe *recipe, stk__extent upright);

/* What the plan needs to know about a sample of this size. */
stk__plan_at stk__sample_plan_at(const stk__recipe *recipe, stk__extent upright, uint64_t epoch, uint64_t id);

/* Fills plan; `resolved` stays as it is without a plan in the recipe. */
void stk__sample_plan_make(stk__sample_plan *plan, const stk__recipe *recipe, stk__extent upright,
                           uint64_t epoch, uint64_t id);

/* Points and label at a place of the slot, as the source gave them, follow the image. */
void stk__sample_plan_facts(const stk__sample_plan *plan, const stk__recipe *recipe, stk__slot *slot,
                            uint64_t place);

#endif
