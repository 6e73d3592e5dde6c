/* SPDX-License-Identifier: Apache-2.0 */
/* Hue (ColorJitter): the hue of every pixel is turned by a fraction of the circle drawn from a range, in
 * HSV. */
#include "augment/operation.h"

static const stk__option rows[] = {
    {.name = "hue",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(stk__amount, range),
     .least = -0.5,
     .most = 0.5,
     .unit = "of the circle",
     .help = "hue jitter, shift of the hue: a range, or v for -v to v"},
    {.name = "hue_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__amount, prob),
     .fallback = "1",
     .help = "probability of hue jitter"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "hue"};
    return stk__amount_prepare(given, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    double value;
    if (stk__amount_draw(given, at, builder, "turn", &value))
        stk__transform_builder_step(builder, STK_COLOUR_HUE, value);
}

const stk__augment_operation stk__operation_hue = {.name = "hue",
                                                   .options = rows,
                                                   .option_count = sizeof rows / sizeof rows[0],
                                                   .settings_bytes = sizeof(stk__amount),
                                                   .prepare = prepare,
                                                   .resolve = resolve,
                                                   .gate = &stk__operation_jitter};
