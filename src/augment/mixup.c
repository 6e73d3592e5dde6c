/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp (Zhang et al., 2018): draws lambda from Beta(alpha, alpha) for a pair of samples; loader/mixing.c
 * blends images and labels by it. */
#include "augment/operation.h"

static const stk__option rows[] = {
    {.name = "mixup_alpha",
     .type = STK_OPTION_NUMBER,
     .offset = offsetof(stk__mix_settings, alpha),
     .least = 0,
     .most = 1000,
     .help = "mixup of pairs of samples: the share is drawn from Beta(alpha, alpha)"},
    {.name = "mixup_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__mix_settings, prob),
     .help = "probability of mixup for a pair; unset = 1, or with cutmix: half of what is left"},
};

static void mix(const void *given, stk__random_at at, stk__mix *out, int32_t w, int32_t h)
{
    (void)w;
    (void)h;
    out->kind = STK_MIX_MIXUP;
    out->lambda = (float)stk__draw_beta(at, ((const stk__mix_settings *)given)->alpha);
}

const stk__augment_operation stk__operation_mixup = {.name = "mixup",
                                                     .options = rows,
                                                     .option_count = sizeof rows / sizeof rows[0],
                                                     .settings_bytes = sizeof(stk__mix_settings),
                                                     .prepare = stk__mix_prepare,
                                                     .mix = mix};
