/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's RandomErasing: a box of the fill colour. */
#include "augment/operation.h"

#include <math.h>

enum { TRIES = 10 };

typedef struct settings {
    double prob;
    double area[2], ratio[2];
} settings;

static const stk__option rows[] = {
    {.name = "erase_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(settings, prob),
     .help = "probability of random erasing of a box"},
    {.name = "erase_scale",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(settings, area),
     .least = 0.0001,
     .most = 1,
     .fallback = "[0.02, 0.33]",
     .unit = "of the area",
     .help = "random erasing: area of the box, a number, or a range to draw it from"},
    {.name = "erase_ratio",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(settings, ratio),
     .least = 0.01,
     .most = 100,
     .fallback = "[0.3, 3.3]",
     .unit = "height / width",
     .help = "random erasing: aspect ratio of the box"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    settings *s = given;
    (void)error;
    *on = s->prob > 0;
    if (isinf(s->area[1])) s->area[1] = s->area[0];
    stk__ratio_prepare(s->ratio);
    return STK_OK;
}

/* False when the box is not smaller than the image. */
static bool try_box(const settings *s, stk__random r, const stk__plan_at *at, stk__augment_block *block)
{
    const double area = (double)at->target_w * at->target_h * stk__draw_between(r.word[0], s->area);
    const double ratio = stk__ratio_draw(r.word[1], s->ratio);
    const double w = rint(sqrt(area / ratio)), h = rint(sqrt(area * ratio));
    if (w < 1 || h < 1 || w >= at->target_w || h >= at->target_h) return false;
    block->erase_w = (int32_t)w;
    block->erase_h = (int32_t)h;
    block->erase_x = stk__draw_below(r.word[2], at->target_w - block->erase_w + 1);
    block->erase_y = stk__draw_below(r.word[3], at->target_h - block->erase_h + 1);
    return true;
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    const settings *s = given;
    stk__augment_block *block = &builder->out->block;
    if (!stk__chance_draw(s->prob, at, builder)) return;
    bool found = false;
    for (uint32_t i = 1; i <= TRIES && !found; i++) {
        at.draw = i;
        found = try_box(s, stk__random_draw(at), builder->at, block);
    }
    stk__transform_builder_note(builder, "x", block->erase_x);
    stk__transform_builder_note(builder, "y", block->erase_y);
    stk__transform_builder_note(builder, "width", block->erase_w);
    stk__transform_builder_note(builder, "height", block->erase_h);
}

const stk__augment_operation stk__operation_erase = {.name = "erase",
                                                     .options = rows,
                                                     .option_count = sizeof rows / sizeof rows[0],
                                                     .settings_bytes = sizeof(settings),
                                                     .prepare = prepare,
                                                     .resolve = resolve};
