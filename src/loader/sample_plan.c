/* SPDX-License-Identifier: Apache-2.0 */
/* From a header to the plan of one sample: upright size -> decoded size -> resolved augmentation. Decoding
 * comes after, so that what the matrix says (mirrored or not) decides how pixels are read. Any thread. */
#include "loader/sample_plan.h"

/* What is augmented is only made smaller here, and by a better filter; the fused pass makes it larger, or
 * cuts its part out of the full size. */
stk__extent stk__decoded_extent(const stk__recipe *recipe, stk__extent upright)
{
    const stk__extent target = {recipe->target_w, recipe->target_h};
    if (!target.w || recipe->crops) return upright;
    if (!recipe->plan) return target;
    return (stk__extent){upright.w < target.w ? upright.w : target.w,
                         upright.h < target.h ? upright.h : target.h};
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

/* Points are given in the image's own pixels and follow it to its new size. */
static void scale_points(float *point, int32_t count, stk__extent from, stk__extent to)
{
    for (int32_t i = 0; i < count; i++, point += 3) {
        point[0] = (float)((double)point[0] * to.w / from.w);
        point[1] = (float)((double)point[1] * to.h / from.h);
        if (!(point[0] >= 0 && point[0] < (float)to.w && point[1] >= 0 && point[1] < (float)to.h))
            point[2] = 0;
    }
}

void stk__sample_plan_facts(const stk__sample_plan *plan, const stk__recipe *recipe, stk__slot *slot,
                            uint64_t place)
{
    const stk__layout *layout = &recipe->layout;
    if (layout->point_count) {
        float *points = stk__slot_points(slot, layout, place);
        scale_points(points, layout->point_count, plan->upright, plan->decoded);
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
