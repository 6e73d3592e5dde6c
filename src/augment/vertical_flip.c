/* SPDX-License-Identifier: Apache-2.0 */
/* Vertical flip: with a probability the geometry mirrors y about the image's centre. */
#include "augment/operation.h"

typedef struct settings {
    double prob;
} settings;

static const stk__option rows[] = {
    {.name = "vertical_flip_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(settings, prob),
     .help = "probability of a random vertical flip (vflip, top-bottom)"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    (void)error;
    *on = ((const settings *)given)->prob > 0;
    return STK_OK;
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    if (!stk__chance_draw(((const settings *)given)->prob, at, builder)) return;
    stk__transform_builder_map(builder, (const double[6]){1, 0, 0, 0, -1, builder->at->target_h});
}

const stk__augment_operation stk__operation_vertical_flip = {.name = "vertical flip",
                                                             .options = rows,
                                                             .option_count = sizeof rows / sizeof rows[0],
                                                             .settings_bytes = sizeof(settings),
                                                             .prepare = prepare,
                                                             .resolve = resolve};
