/* SPDX-License-Identifier: Apache-2.0 */
/* From a header to the plan of one sample: upright size -> decoded size -> resolved augmentation. Decoding
 * comes after, so that what the matrix says (mirrored or not) decides how pixels are read. Any thread. */
#include "loader/sample_plan.h"

stk__extent stk__decoded_extent(const stk__recipe *recipe, stk__extent upright)
{
    const stk__extent target = {recipe->target_w, recipe->target_h};
    if (target.w && !recipe->plan) return target;
    return stk__plan_extent(recipe->crops, upright, target);
}

static stk__plan_at plan_at(const stk__recipe *recipe, stk__extent decoded, uint64_t epoch, uint64_t id)
{
    return (stk__plan_at){.epoch = (uint32_t)epoch,
                          .sample = (uint32_t)id,
                          .source_w = decoded.w,
                          .source_h = decoded.h,
                          .target_w = recipe->layout.w,
                          .target_h = recipe->layout.h,
                          .channels = recipe->layout.channels};
}

stk__plan_at stk__sample_plan_at(const stk__recipe *recipe, stk__extent upright, uint64_t epoch, uint64_t id)
{
    return plan_at(recipe, stk__decoded_extent(recipe, upright), epoch, id);
}

void stk__sample_plan_make(stk__sample_plan *plan, const stk__recipe *recipe, stk__extent upright,
                           uint64_t epoch, uint64_t id)
{
    plan->upright = upright;
    plan->decoded = stk__decoded_extent(recipe, upright);
    plan->swaps = false;
    if (!recipe->plan) return;
    plan->at = plan_at(recipe, plan->decoded, epoch, id);
    stk__plan_resolve(recipe->plan, &plan->at, &plan->resolved, NULL);
    plan->swaps = recipe->flip.on && stk__resolved_mirrors(&plan->resolved);
}

void stk__sample_plan_facts(const stk__sample_plan *plan, const stk__recipe *recipe, stk__slot *slot,
                            uint64_t place)
{
    const stk__layout *layout = &recipe->layout;
    if (layout->point_count) {
        float *points = stk__slot_points(slot, layout, place);
        stk__points_scale(points, layout->point_count, plan->upright, plan->decoded);
        if (recipe->plan) stk__plan_points(&plan->resolved, &plan->at, points, layout->point_count);
        if (plan->swaps) stk__flip_points(&recipe->flip, points);
    }
    if (plan->swaps && layout->label == STK_LABEL_SET) {
        stk__flip_set(&recipe->flip, stk__slot_set(slot, layout, place));
    } else if (plan->swaps && recipe->flip.labels.count) {
        int64_t *label = stk__slot_class(slot, layout, place);
        *label = stk__flip_label(&recipe->flip, *label);
    }
}
