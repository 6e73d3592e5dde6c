/* SPDX-License-Identifier: Apache-2.0 */
/* Contrast (ColorJitter): the distance of every value from the image's mean grey times a factor drawn from
 * a range. The mean is taken over the whole image at this step, so the fused pass computes it first. */
#include "augment/operation.h"

static const stk__option rows[] = {
    {.name = "contrast",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(stk__amount, range),
     .least = 0,
     .most = 100,
     .help = "contrast jitter, factor of the distance from the mean gray: a range, or v for 1 - v to 1 + v"},
    {.name = "contrast_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__amount, prob),
     .fallback = "1",
     .help = "probability of contrast jitter"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "contrast", .neutral = 1, .clamped = true};
    return stk__amount_prepare(given, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    double value;
    if (stk__amount_draw(given, at, builder, "factor", &value))
        stk__transform_builder_step(builder, STK_COLOUR_CONTRAST, value);
}

const stk__augment_operation stk__operation_contrast = {.name = "contrast",
                                                        .options = rows,
                                                        .option_count = sizeof rows / sizeof rows[0],
                                                        .settings_bytes = sizeof(stk__amount),
                                                        .prepare = prepare,
                                                        .resolve = resolve,
                                                        .gate = &stk__operation_jitter};
