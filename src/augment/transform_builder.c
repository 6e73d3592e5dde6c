/* SPDX-License-Identifier: Apache-2.0 */
/* Geometry in double, rounded once at the end; the colour program in its order; notes for people. */
#include "augment/operation.h"

#include <assert.h>
#include <string.h>

void stk__transform_builder_start(stk__transform_builder *builder)
{
    for (int i = 0; i < STK_COLOUR_COUNT; i++)
        builder->order[i] = i;
    stk__transform_builder_take_region(builder, 0, 0, builder->at->source_w, builder->at->source_h);
}

/* Whole regions of whole sizes give whole factors exactly: 1 without resizing. */
void stk__transform_builder_take_region(stk__transform_builder *builder, double x, double y, double w,
                                        double h)
{
    const double sx = builder->at->target_w / w, sy = builder->at->target_h / h;
    const double forward[6] = {sx, 0, -x * sx, 0, sy, -y * sy};
    memcpy(builder->forward, forward, sizeof forward);
}

void stk__transform_builder_map(stk__transform_builder *builder, const double m[6])
{
    const double *f = builder->forward;
    const double mapped[6] = {m[0] * f[0] + m[1] * f[3],        m[0] * f[1] + m[1] * f[4],
                              m[0] * f[2] + m[1] * f[5] + m[2], m[3] * f[0] + m[4] * f[3],
                              m[3] * f[1] + m[4] * f[4],        m[3] * f[2] + m[4] * f[5] + m[5]};
    memcpy(builder->forward, mapped, sizeof mapped);
}

void stk__transform_builder_map_centred(stk__transform_builder *builder, const double m[4])
{
    const double cx = builder->at->target_w * 0.5, cy = builder->at->target_h * 0.5;
    stk__transform_builder_map(builder, (const double[6]){m[0], m[1], cx - m[0] * cx - m[1] * cy, m[2], m[3],
                                                          cy - m[2] * cx - m[3] * cy});
}

void stk__transform_builder_step(stk__transform_builder *builder, stk__colour_step kind, double value)
{
    stk__augment_block *block = &builder->out->block;
    const bool needs_colour =
        kind == STK_COLOUR_SATURATION || kind == STK_COLOUR_HUE || kind == STK_COLOUR_GRAY;
    if (needs_colour && builder->at->channels == 1) return;
    assert(block->step_count < STK_AUGMENT_STEPS);
    int32_t place = block->step_count++;
    for (; place > 0 && builder->order[block->step_kind[place - 1]] > builder->order[kind]; place--) {
        block->step_kind[place] = block->step_kind[place - 1];
        block->step_value[place] = block->step_value[place - 1];
    }
    block->step_kind[place] = (int32_t)kind;
    block->step_value[place] = (float)value;
}

void stk__transform_builder_note(stk__transform_builder *builder, const char *what, double value)
{
    stk__plan_trace *trace = builder->trace;
    if (!trace || trace->count == (int)(sizeof trace->facts / sizeof trace->facts[0])) return;
    trace->facts[trace->count++] = (stk__plan_fact){builder->operation->name, what, value};
}

/* From centres of the target to indices of the source, which are half a pixel less than its points. + 0.0:
 * no minus before a zero. */
void stk__transform_builder_finish(stk__transform_builder *builder)
{
    const double *f = builder->forward;
    const double det = f[0] * f[4] - f[1] * f[3];
    const double a = f[4] / det, b = -f[1] / det, c = -f[3] / det, d = f[0] / det;
    const double inverse[6] = {a, b, -(a * f[2] + b * f[5]) - 0.5, c, d, -(c * f[2] + d * f[5]) - 0.5};
    for (int i = 0; i < 6; i++) {
        builder->out->block.matrix[i] = (float)(inverse[i] + 0.0);
        builder->out->forward[i] = f[i] + 0.0;
    }
}
