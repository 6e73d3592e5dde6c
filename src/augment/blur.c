/* SPDX-License-Identifier: Apache-2.0 */
/* Gaussian blur (GaussianBlur of torchvision): sigma is drawn from a range, and the 1-D weights exp(-x^2 /
 * 2 sigma^2), normalised to a sum of 1, become part of the sample's block; the fused pass applies them
 * along both axes. */
#include "augment/operation.h"

#include <math.h>

typedef struct settings {
    stk__amount sigma;
    int64_t kernel; /* a COUNT: -1 is 0 */
} settings;

static const stk__option rows[] = {
    {.name = "blur_kernel",
     .type = STK_OPTION_COUNT,
     .offset = offsetof(settings, kernel),
     .least = 0,
     .most = 2 * STK_AUGMENT_RADIUS + 1,
     .unit = "px",
     .help = "Gaussian blur kernel size: 3, 5 or 7; 0 = off"},
    {.name = "blur_sigma",
     .type = STK_OPTION_RANGE,
     .offset = offsetof(settings, sigma.range),
     .least = 0.01,
     .most = 100,
     .fallback = "[0.1, 2]",
     .unit = "px",
     .help = "Gaussian blur standard deviation (sigma): a number, or a range to draw it from"},
    {.name = "blur_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(settings, sigma.prob),
     .fallback = "1",
     .help = "probability of Gaussian blur"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    static const stk__amount_rule rule = {.name = "blur_sigma", .fixed = true, .positive = true};
    settings *s = given;
    *on = false;
    if (s->kernel <= 0) return STK_OK;
    if (s->kernel % 2 == 0 || s->kernel == 1) {
        stk__fail(error, STK_ERROR_CONFIG, "augment.blur_kernel = '%d' is not an odd kernel size from 3 to 7",
                  (int)s->kernel);
        stk__error_hint(error, "give 3, 5 or 7; 0 = off");
        return STK_ERROR_CONFIG;
    }
    return stk__amount_prepare(&s->sigma, &rule, on, error);
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    const settings *s = given;
    double sigma, weight[STK_AUGMENT_RADIUS + 1] = {1}, sum = 1;
    if (!stk__amount_draw(&s->sigma, at, builder, "sigma", &sigma)) return;
    stk__augment_block *block = &builder->out->block;
    block->blur_radius = (int32_t)(s->kernel / 2);
    for (int i = 1; i <= block->blur_radius; i++) {
        weight[i] = exp(-0.5 * (i / sigma) * (i / sigma));
        sum += 2 * weight[i];
    }
    for (int i = 0; i <= block->blur_radius; i++)
        block->blur_weight[i] = (float)(weight[i] / sum);
}

const stk__augment_operation stk__operation_blur = {.name = "blur",
                                                    .options = rows,
                                                    .option_count = sizeof rows / sizeof rows[0],
                                                    .settings_bytes = sizeof(settings),
                                                    .prepare = prepare,
                                                    .resolve = resolve};
