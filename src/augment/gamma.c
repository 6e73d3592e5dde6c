/* SPDX-License-Identifier: Apache-2.0 */
/* Gamma: values from 0 to 1 raised to an exponent drawn from a range. */
#include "augment/operation.h"

static const stk__option rows[] = {
    {.name = "gamma",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(stk__amount, range),
     .least = 0,
     .most = 100,
     .help = "gamma correction, exponent of values from 0 to 1: a range, or v for 1 - v to 1 + v"},
    {.name = "gamma_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__amount, prob),
     .fallback = "1",
     .help = "probability of gamma correction"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "gamma", .neutral = 1, .positive = true};
    return stk__amount_prepare(given, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    double value;
    if (stk__amount_draw(given, at, builder, "exponent", &value))
        stk__transform_builder_step(builder, STK_COLOUR_GAMMA, value);
}

const stk__augment_operation stk__operation_gamma = {.name = "gamma",
                                                     .options = rows,
                                                     .option_count = sizeof rows / sizeof rows[0],
                                                     .settings_bytes = sizeof(stk__amount),
                                                     .prepare = prepare,
                                                     .resolve = resolve};
