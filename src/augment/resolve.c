/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to the numbers of one sample, or of one pair. */
#include "augment/plan_phases.h"

#include <string.h>

static const stk__plan_phase *find_phase(const stk__plan *plan, uint32_t epoch)
{
    int i = plan->phase_count - 1;
    while (i > 0 && plan->phases[i].first_epoch > epoch)
        i--;
    return &plan->phases[i];
}

static stk__random_at draws_of(const stk__plan *plan, uint32_t epoch, uint32_t sample, uint32_t operation)
{
    return (stk__random_at){.seed = plan->seed, .epoch = epoch, .sample = sample, .operation = operation};
}

/* In which order the colour steps come out, when there is more than one. */
static void note_order(const stk__transform_builder *builder)
{
    static const char *const names[STK_COLOUR_COUNT] = {"brightness", "contrast", "saturation",
                                                        "hue",        "gray",     "gamma"};
    stk__plan_trace *trace = builder->trace;
    const stk__augment_block *block = &builder->out->block;
    const int most = sizeof trace->facts / sizeof trace->facts[0];
    if (!trace || block->step_count < 2) return;
    for (int i = 0; i < block->step_count && trace->count < most; i++)
        trace->facts[trace->count++] = (stk__plan_fact){"order", names[block->step_kind[i]], i + 1};
}

void stk__plan_resolve(const stk__plan *plan, const stk__plan_at *at, stk__resolved *out,
                       stk__plan_trace *trace)
{
    const stk__plan_phase *phase = find_phase(plan, at->epoch);
    stk__transform_builder builder = {.at = at, .out = out, .trace = trace, .open = true};
    memset(out, 0, sizeof *out);
    if (trace) trace->count = 0;
    memcpy(out->block.fill, phase->fill, sizeof phase->fill);
    out->block.mask_fill = phase->mask_fill;
    stk__transform_builder_start(&builder);
    for (int i = 0; i < phase->turn_count; i++) {
        const stk__augment_operation *operation = phase->turns[i].operation;
        if (operation->gate && !builder.open) continue;
        builder.operation = operation;
        operation->resolve(phase->turns[i].settings,
                           draws_of(plan, at->epoch, at->sample, phase->turns[i].number), &builder);
    }
    stk__transform_builder_finish(&builder);
    note_order(&builder);
}

stk__extent stk__plan_extent(bool crops, stk__extent source, stk__extent target)
{
    if (!target.w || crops) return source;
    return (stk__extent){source.w < target.w ? source.w : target.w,
                         source.h < target.h ? source.h : target.h};
}

void stk__points_scale(float *point, int32_t count, stk__extent from, stk__extent to)
{
    for (int32_t i = 0; i < count; i++, point += 3) {
        point[0] = (float)((double)point[0] * to.w / from.w);
        point[1] = (float)((double)point[1] * to.h / from.h);
        if (!(point[0] >= 0 && point[0] < (float)to.w && point[1] >= 0 && point[1] < (float)to.h))
            point[2] = 0;
    }
}

void stk__plan_points(const stk__resolved *resolved, const stk__plan_at *at, float *points, int32_t count)
{
    const double *f = resolved->forward;
    for (int32_t i = 0; i < count; i++) {
        float *point = points + 3 * (size_t)i;
        const double x = point[0], y = point[1];
        point[0] = (float)(f[0] * x + f[1] * y + f[2]);
        point[1] = (float)(f[3] * x + f[4] * y + f[5]);
        const bool inside = point[0] >= 0 && point[1] >= 0 && point[0] < (float)at->target_w &&
                            point[1] < (float)at->target_h;
        if (!inside) point[2] = 0;
    }
}

/* det < 0 */
bool stk__resolved_mirrors(const stk__resolved *resolved)
{
    const double *f = resolved->forward;
    return f[0] * f[4] < f[1] * f[3];
}

static bool has_turn(const stk__plan *plan, const stk__augment_operation *operation)
{
    for (int p = 0; p < plan->phase_count; p++)
        for (int i = 0; i < plan->phases[p].turn_count; i++)
            if (plan->phases[p].turns[i].operation == operation) return true;
    return false;
}

bool stk__plan_mirrors(const stk__plan *plan)
{
    return has_turn(plan, &stk__operation_horizontal_flip) || has_turn(plan, &stk__operation_vertical_flip);
}

bool stk__plan_crops(const stk__plan *plan)
{
    return has_turn(plan, &stk__operation_crop);
}

bool stk__plan_mixes(const stk__plan *plan)
{
    for (int p = 0; p < plan->phase_count; p++)
        if (plan->phases[p].mix_count) return true;
    return false;
}

const stk__augment_settings *stk__plan_settings(const stk__plan *plan, uint32_t epoch)
{
    return &find_phase(plan, epoch)->settings;
}

/* One draw decides between the ways of mixing and none, whichever of them are on. */
stk__mix stk__plan_mix(const stk__plan *plan, uint32_t epoch, uint32_t sample, int32_t w, int32_t h)
{
    const stk__plan_phase *phase = find_phase(plan, epoch);
    stk__mix mix = {.lambda = 1};
    if (!phase->mix_count) return mix;
    const stk__random r = stk__random_draw(draws_of(plan, epoch, sample, STK_OPERATION_MIX));
    for (int i = 0; i < phase->mix_count; i++) {
        const stk__plan_turn turn = phase->mixes[i];
        if (!stk__draw_chance(r.word[0], phase->mix_below[i])) continue;
        turn.operation->mix(turn.settings, draws_of(plan, epoch, sample, turn.number), &mix, w, h);
        break;
    }
    return mix;
}

stk__kernel_mix stk__mix_entry(const stk__mix *mix, uint32_t a, uint32_t b)
{
    static const int32_t kinds[] = {[STK_MIX_NONE] = STK_KERNEL_MIX_ALONE,
                                    [STK_MIX_MIXUP] = STK_KERNEL_MIX_BLEND,
                                    [STK_MIX_CUTMIX] = STK_KERNEL_MIX_PASTE};
    return (stk__kernel_mix){.kind = kinds[mix->kind],
                             .a = a,
                             .b = b,
                             .lambda = mix->lambda,
                             .x = mix->x,
                             .y = mix->y,
                             .w = mix->w,
                             .h = mix->h};
}
