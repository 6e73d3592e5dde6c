/* SPDX-License-Identifier: Apache-2.0 */
/* Values that come from a range, with a probability. */
#include "augment/operation.h"

#include <math.h>

static stk_status refuse(const char *name, double value, const char *complaint, const char *hint,
                         stk_error *error)
{
    char number[32];
    stk__option_print_number(value, number, sizeof number);
    stk__fail(error, STK_ERROR_CONFIG, "augment.%s = '%s' %s", name, number, complaint);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_CONFIG;
}

static stk_status spread(stk__amount *amount, const stk__amount_rule *rule, stk_error *error)
{
    const double distance = amount->range[0];
    if (distance < 0)
        return refuse(rule->name, distance, "is below 0",
                      "give the largest change to both sides, or a range [A, B]", error);
    amount->range[0] = rule->neutral - distance;
    amount->range[1] = rule->neutral + distance;
    if (rule->clamped && amount->range[0] < 0) amount->range[0] = 0;
    if (rule->positive && !(amount->range[0] > 0))
        return refuse(rule->name, distance, "reaches down to 0 and below",
                      "give less than 1, or a range [A, B] above 0", error);
    return STK_OK;
}

/* All zero is a range that is not set. */
stk_status stk__amount_prepare(stk__amount *amount, const stk__amount_rule *rule, bool *on, stk_error *error)
{
    double *range = amount->range;
    *on = false;
    if (range[0] == 0 && range[1] == 0) return STK_OK;
    const bool single = isinf(range[1]), off = single && range[0] == 0;
    if (off) return STK_OK;
    if (single && !rule->fixed) STK__TRY(spread(amount, rule, error));
    if (single && rule->fixed) range[1] = range[0];
    if (rule->positive && !(range[0] > 0))
        return refuse(rule->name, range[0], "is not above 0", "give a range [A, B] above 0", error);
    *on = amount->prob > 0 && !(range[0] == rule->neutral && range[1] == rule->neutral);
    return STK_OK;
}

bool stk__amount_draw(const stk__amount *amount, stk__random_at at, stk__transform_builder *builder,
                      const char *what, double *value)
{
    const stk__random r = stk__random_draw(at);
    const bool applied = stk__draw_chance(r.word[0], amount->prob);
    *value = stk__draw_between(r.word[1], amount->range);
    stk__transform_builder_note(builder, applied ? what : "applied", applied ? *value : 0);
    return applied;
}

bool stk__chance_draw(double prob, stk__random_at at, stk__transform_builder *builder)
{
    const bool applied = prob >= 1 || stk__draw_chance(stk__random_draw(at).word[0], prob);
    stk__transform_builder_note(builder, "applied", applied);
    return applied;
}

void stk__ratio_prepare(double range[2])
{
    if (isinf(range[1])) range[1] = range[0];
}

double stk__ratio_draw(uint32_t word, const double range[2])
{
    const double logs[2] = {log(range[0]), log(range[1])};
    return exp(stk__draw_between(word, logs));
}
