/* SPDX-License-Identifier: Apache-2.0 */
/* Greyscale (RandomGrayscale): with a probability all channels become the pixel's luma. */
#include "augment/operation.h"

typedef struct settings {
    double prob;
} settings;

static const stk__option rows[] = {
    {.name = "gray_prob",
     .aliases = "grey_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(settings, prob),
     .help = "probability of converting to grayscale (torchvision's RandomGrayscale)"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    (void)error;
    *on = ((const settings *)given)->prob > 0;
    return STK_OK;
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    if (stk__chance_draw(((const settings *)given)->prob, at, builder))
        stk__transform_builder_step(builder, STK_COLOUR_GRAY, 0);
}

const stk__augment_operation stk__operation_gray = {.name = "gray",
                                                    .options = rows,
                                                    .option_count = sizeof rows / sizeof rows[0],
                                                    .settings_bytes = sizeof(settings),
                                                    .prepare = prepare,
                                                    .resolve = resolve};
