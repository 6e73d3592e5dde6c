/* SPDX-License-Identifier: Apache-2.0 */
/* Translation by a fraction of width and height, each drawn evenly from -most to +most; not rounded to
 * whole pixels. */
#include "augment/operation.h"

typedef struct settings {
    double most[2]; /* of width, of height */
    double prob;
} settings;

static const stk__option rows[] = {
    {.name = "translate",
     .type = STK_OPTION_PAIR,
     .offset = offsetof(settings, most),
     .least = 0,
     .most = 1,
     .unit = "of width and height",
     .help = "random translation (shift): the largest to either side"},
    {.name = "translate_prob",
     .type = STK_OPTION_SHARE,
     .offset = offsetof(settings, prob),
     .fallback = "1",
     .help = "probability of random translation"},
};

static stk_status prepare(void *given, bool *on, stk_error *error)
{
    const settings *s = given;
    (void)error;
    *on = s->prob > 0 && (s->most[0] > 0 || s->most[1] > 0);
    return STK_OK;
}

static void resolve(const void *given, stk__random_at at, stk__transform_builder *builder)
{
    const settings *s = given;
    const stk__random r = stk__random_draw(at);
    if (!stk__draw_chance(r.word[0], s->prob)) {
        stk__transform_builder_note(builder, "applied", 0);
        return;
    }
    const double x = stk__draw_between(r.word[1], (const double[2]){-s->most[0], s->most[0]});
    const double y = stk__draw_between(r.word[2], (const double[2]){-s->most[1], s->most[1]});
    const double dx = x * builder->at->target_w, dy = y * builder->at->target_h;
    stk__transform_builder_map(builder, (const double[6]){1, 0, dx, 0, 1, dy});
    stk__transform_builder_note(builder, "x", dx);
    stk__transform_builder_note(builder, "y", dy);
}

const stk__augment_operation stk__operation_translate = {.name = "translate",
                                                         .options = rows,
                                                         .option_count = sizeof rows / sizeof rows[0],
                                                         .settings_bytes = sizeof(settings),
                                                         .prepare = prepare,
                                                         .resolve = resolve};
