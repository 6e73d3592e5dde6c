/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's RandomResizedCrop: a part of the source, by share of its area and by proportions, becomes the
 * target. */
#include "augment/operation.h"

#include <math.h>

enum { TRIES = 10 };

typedef struct settings {
    double area[2], ratio[2];
    double prob;
} settings;

static const stk__option rows[] = {
    {.name = "crop",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(settings, area),
     .least = 0,
     .most = 1,
     .unit = "of the area",
     .help = "random resized crop: part of the image, a range, or s for s to 1"},
    {.name = "crop_ratio",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(settings, ratio),
     .least = 0.01,
     .most = 100,
     .fallback = "[0.75, 1.3333333333333333]",
     .unit = "width / height",
     .help = "aspect ratio of the random resized crop"},
    {.name = "crop_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(settings, prob),
     .fallback = "1",
     .help = "probability of a random resized crop; otherwise the whole image is resized"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    settings *s = given;
    *on = false;
    const bool single = isinf(s->area[1]);
    if (s->area[0] == 0 && (single || s->area[1] == 0)) return STK_OK;
    if (single) s->area[1] = 1;
    if (s->area[0] == 0) {
        stk__fail(error, STK_ERROR_CONFIG, "augment.crop starts at 0, an empty crop");
        stk__error_hint(error, "give a range [A, B] with 0 < A <= B <= 1, such as [0.08, 1]");
        return STK_ERROR_CONFIG;
    }
    stk__ratio_prepare(s->ratio);
    *on = s->prob > 0;
    return STK_OK;
}

typedef struct region {
    double x, y, w, h;
} region;

/* False when the part does not fit into the source. */
static bool try_region(const settings *s, stk__random r, const stk__plan_at *at, region *out)
{
    const double area = (double)at->source_w * at->source_h * stk__draw_between(r.word[0], s->area);
    const double ratio = stk__ratio_draw(r.word[1], s->ratio);
    const double w = rint(sqrt(area * ratio)), h = rint(sqrt(area / ratio));
    if (w < 1 || h < 1 || w > at->source_w || h > at->source_h) return false;
    *out = (region){stk__draw_below(r.word[2], at->source_w - (int32_t)w + 1),
                    stk__draw_below(r.word[3], at->source_h - (int32_t)h + 1), w, h};
    return true;
}

/* The largest one in the middle whose proportions are allowed. */
static region take_middle(const settings *s, const stk__plan_at *at)
{
    double w = at->source_w, h = at->source_h;
    if (w / h < s->ratio[0])
        h = fmax(rint(w / s->ratio[0]), 1);
    else if (w / h > s->ratio[1])
        w = fmax(rint(h * s->ratio[1]), 1);
    return (region){floor((at->source_w - w) / 2), floor((at->source_h - h) / 2), w, h};
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    const settings *s = given;
    if (!stk__chance_draw(s->prob, at, builder)) return;
    region part;
    bool found = false;
    for (uint32_t i = 1; i <= TRIES && !found; i++) {
        at.draw = i;
        found = try_region(s, stk__random_draw(at), builder->at, &part);
    }
    if (!found) part = take_middle(s, builder->at);
    stk__transform_builder_take_region(builder, part.x, part.y, part.w, part.h);
    stk__transform_builder_note(builder, "x", part.x);
    stk__transform_builder_note(builder, "y", part.y);
    stk__transform_builder_note(builder, "width", part.w);
    stk__transform_builder_note(builder, "height", part.h);
}

const stk__augment_operation stk__operation_crop = {.name = "crop",
                                                    .options = rows,
                                                    .option_count = sizeof rows / sizeof rows[0],
                                                    .settings_bytes = sizeof(settings),
                                                    .prepare = prepare,
                                                    .resolve = resolve};
