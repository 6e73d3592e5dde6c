/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation about the centre by an angle drawn from a range: the map from source to target gets the matrix
 * [c s; -s c] (y points down, so positive angles turn counter-clockwise). */
#include "augment/operation.h"

#include <math.h>

static const stk__option rows[] = {
    {.name = "rotation_degrees",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(stk__amount, range),
     .least = -360,
     .most = 360,
     .unit = "degrees",
     .help = "random rotation about the center, counter-clockwise: a range, or d for -d to d"},
    {.name = "rotation_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__amount, prob),
     .fallback = "1",
     .help = "probability of random rotation"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "rotation_degrees"};
    return stk__amount_prepare(given, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    double degrees;
    if (!stk__amount_draw(given, at, builder, "degrees", &degrees)) return;
    const double turn = degrees * (3.141592653589793 / 180), c = cos(turn), s = sin(turn);
    stk__transform_builder_map_centred(builder, (const double[4]){c, s, -s, c}); /* y points down */
}

const stk__augment_operation stk__operation_rotation = {.name = "rotation",
                                                        .options = rows,
                                                        .option_count = sizeof rows / sizeof rows[0],
                                                        .settings_bytes = sizeof(stk__amount),
                                                        .prepare = prepare,
                                                        .resolve = resolve};
