/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness (ColorJitter): every value times a factor drawn from a range, clipped. */
#include "augment/operation.h"

static const stk__option rows[] = {
    {.name = "brightness",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(stk__amount, range),
     .least = 0,
     .most = 100,
     .help = "brightness jitter, factor of all values: a range, or v for 1 - v to 1 + v"},
    {.name = "brightness_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__amount, prob),
     .fallback = "1",
     .help = "probability of brightness jitter"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "brightness", .neutral = 1, .clamped = true};
    return stk__amount_prepare(given, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    double value;
    if (stk__amount_draw(given, at, builder, "factor", &value))
        stk__transform_builder_step(builder, STK_COLOUR_BRIGHTNESS, value);
}

const stk__augment_operation stk__operation_brightness = {.name = "brightness",
                                                          .options = rows,
                                                          .option_count = sizeof rows / sizeof rows[0],
                                                          .settings_bytes = sizeof(stk__amount),
                                                          .prepare = prepare,
                                                          .resolve = resolve,
                                                          .gate = &stk__operation_jitter};
