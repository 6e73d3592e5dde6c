/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness, contrast, saturation and hue together: whether at all, and in which order. */
#include "augment/operation.h"

typedef struct settings {
    double prob;
    int order; /* 0: drawn, 1: fixed */
} settings;

static const stk__option rows[] = {
    {.name = "jitter_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(settings, prob),
     .fallback = "1",
     .help = "probability of color jitter (torchvision's ColorJitter): brightness, contrast, saturation and "
             "hue are all skipped otherwise"},
    {.name = "jitter_order",
     .type = STK_OPTION_WORD,
     .offset = offsetof(settings, order),
     .choices = "drawn|fixed",
     .help = "order of the four color jitter operations: drawn = random for each sample, fixed = as listed "
             "here"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    (void)error;
    *on = ((const settings *)given)->prob > 0;
    return STK_OK;
}

/* One of 24 permutations: the k-th of the four goes to one of the places that are left. */
static void draw_order(uint32_t word, int order[4])
{
    int places[4] = {0, 1, 2, 3}, code = stk__draw_below(word, 24);
    for (int k = 0; k < 4; k++) {
        const int left = 4 - k, pick = code % left;
        code /= left;
        order[k] = places[pick];
        places[pick] = places[left - 1];
    }
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    const settings *s = given;
    builder->open = true;
    if (s->prob >= 1 && s->order == 1) return;
    const stk__random r = stk__random_draw(at);
    builder->open = stk__draw_chance(r.word[0], s->prob);
    if (s->prob < 1) stk__transform_builder_note(builder, "applied", builder->open);
    if (builder->open && s->order == 0) draw_order(r.word[1], builder->order);
}

const stk__augment_operation stk__operation_jitter = {.name = "jitter",
                                                      .options = rows,
                                                      .option_count = sizeof rows / sizeof rows[0],
                                                      .settings_bytes = sizeof(settings),
                                                      .prepare = prepare,
                                                      .resolve = resolve};
