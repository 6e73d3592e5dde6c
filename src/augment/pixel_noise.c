/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how strong the noise is; kernels draw that of each pixel by themselves, from the same key. */
#include "augment/operation.h"

static const stk__option rows[] = {
    {.name = "noise_std",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(stk__amount, range),
     .least = 0,
     .most = 1,
     .unit = "of the brightest level",
     .help = "Gaussian noise standard deviation, per pixel: a number, or a range to draw it from"},
    {.name = "noise_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__amount, prob),
     .fallback = "1",
     .help = "probability of Gaussian noise"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "noise_std", .fixed = true};
    return stk__amount_prepare(given, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    double std;
    if (!stk__amount_draw(given, at, builder, "std", &std)) return;
    stk__augment_block *block = &builder->out->block;
    block->noise_std = (float)(std * 255);
    block->noise_key[0] = (uint32_t)at.seed;
    block->noise_key[1] = (uint32_t)(at.seed >> 32);
    block->noise_epoch = at.epoch;
    block->noise_sample = at.sample;
}

const stk__augment_operation stk__operation_pixel_noise = {.name = "noise",
                                                           .options = rows,
                                                           .option_count = sizeof rows / sizeof rows[0],
                                                           .settings_bytes = sizeof(stk__amount),
                                                           .prepare = prepare,
                                                           .resolve = resolve};
