/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling about the centre by a factor drawn from a range; above 1 what is in the image gets larger. */
#include "augment/operation.h"

static const stk__option rows[] = {
    {.name = "scale",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(stk__amount, range),
     .least = 0,
     .most = 100,
     .help = "random scaling (zoom) factor: a range, or s for 1 - s to 1 + s"},
    {.name = "scale_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__amount, prob),
     .fallback = "1",
     .help = "probability of random scaling"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "scale", .neutral = 1, .positive = true};
    return stk__amount_prepare(given, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    double factor;
    if (stk__amount_draw(given, at, builder, "factor", &factor))
        stk__transform_builder_map_centred(builder, (const double[4]){factor, 0, 0, factor});
}

const stk__augment_operation stk__operation_scale = {.name = "scale",
                                                     .options = rows,
                                                     .option_count = sizeof rows / sizeof rows[0],
                                                     .settings_bytes = sizeof(stk__amount),
                                                     .prepare = prepare,
                                                     .resolve = resolve};
