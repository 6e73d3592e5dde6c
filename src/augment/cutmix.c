/* SPDX-License-Identifier: Apache-2.0 */
/* A box of the partner in the own sample. */
#include "augment/operation.h"

#include <math.h>

enum { DRAW_PLACE = 0, DRAW_SHARE = 1 };

static const stk__option rows[] = {
    {.name = "cutmix_alpha",
     .type = STK_OPTION_NUMBER,
     .offset = offsetof(stk__mix_settings, alpha),
     .least = 0,
     .most = 1000,
     .help = "cutmix: paste boxes between pairs of samples, their area drawn from Beta(alpha, alpha)"},
    {.name = "cutmix_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(stk__mix_settings, prob),
     .help = "probability of cutmix for a pair; unset = 1, or with mixup: half of what is left"},
};

/* From middle - half to middle + half, within 0 … size. */
static int32_t clip(int32_t middle, int32_t half, int32_t size, int32_t *start)
{
    const int32_t end = middle + half > size ? size : middle + half;
    *start = middle - half < 0 ? 0 : middle - half;
    return end - *start;
}

static void mix(const void *given, stk__random_at at, stk__mix *out, int32_t w, int32_t h)
{
    at.draw = DRAW_SHARE;
    const double share = 1 - stk__draw_beta(at, ((const stk__mix_settings *)given)->alpha);
    const double half = 0.5 * sqrt(share);
    at.draw = DRAW_PLACE;
    const stk__random r = stk__random_draw(at);
    out->w = clip(stk__draw_below(r.word[0], w), (int32_t)(half * w), w, &out->x);
    out->h = clip(stk__draw_below(r.word[1], h), (int32_t)(half * h), h, &out->y);
    if (!out->w || !out->h) { /* nothing of the partner is left: not mixed */
        *out = (stk__mix){.lambda = 1};
        return;
    }
    out->kind = STK_MIX_CUTMIX;
    out->lambda = (float)(1 - (double)out->w * out->h / ((double)w * h));
}

const stk__augment_operation stk__operation_cutmix = {.name = "cutmix",
                                                      .options = rows,
                                                      .option_count = sizeof rows / sizeof rows[0],
                                                      .settings_bytes = sizeof(stk__mix_settings),
                                                      .prepare = stk__mix_prepare,
                                                      .mix = mix};
