/* SPDX-License-Identifier: Apache-2.0 */
/* Shear along x by an angle drawn from a range, about the centre. */
#include "augment/operation.h"

#include <math.h>

static const stk__option rows[] = {
    {.name = "shear",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(stk__amount, range),
     .least = -89,
     .most = 89,
     .unit = "degrees",
     .help = "random shear along x: a range, or d for -d to d"},
    {.name = "shear_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__amount, prob),
     .fallback = "1",
     .help = "probability of random shear"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "shear"};
    return stk__amount_prepare(given, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    double degrees;
    if (!stk__amount_draw(given, at, builder, "degrees", &degrees)) return;
    const double slope = tan(degrees * (3.141592653589793 / 180));
    stk__transform_builder_map_centred(builder, (const double[4]){1, -slope, 0, 1});
}

const stk__augment_operation stk__operation_shear = {.name = "shear",
                                                     .options = rows,
                                                     .option_count = sizeof rows / sizeof rows[0],
                                                     .settings_bytes = sizeof(stk__amount),
                                                     .prepare = prepare,
                                                     .resolve = resolve};
