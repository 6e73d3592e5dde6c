/* SPDX-License-Identifier: Apache-2.0 */
/* Layers by name patterns ("enc stem.conv1 head*"): matching with '*', and a refusal with suggestions for
 * patterns that match nothing or only layers without parameters. */
#include "train/freeze.h"

#include "core/nearest.h"

#include <stdio.h>
#include <string.h>

static const char separators[] = ", \t\n";

/* The next pattern at or after text; *length 0: there is none. */
static const char *next_pattern(const char *text, size_t *length)
{
    text += strspn(text, separators);
    *length = strcspn(text, separators);
    return text;
}

/* The last '*' takes one more letter whenever what follows it does not fit: no recursion, no surprise. */
static bool match(const char *pattern, size_t length, const char *name)
{
    size_t at = 0, star = length, resume = 0;
    for (size_t i = 0;;) {
        if (at == length && (name[i] == '\0' || name[i] == '.')) return true;
        if (at < length && pattern[at] == '*') {
            star = at++;
            resume = i;
        } else if (at < length && name[i] != '\0' && pattern[at] == name[i]) {
            at++;
            i++;
        } else {
            if (star == length || name[resume] == '\0') return false;
            at = star + 1;
            i = ++resume;
        }
    }
}

bool stk__freeze_matches(const char *freeze, const char *layer)
{
    if (!freeze) return false;
    size_t length;
    for (const char *at = next_pattern(freeze, &length); length; at = next_pattern(at + length, &length))
        if (match(at, length, layer)) return true;
    return false;
}

/* Offers "down1" and "down1.conv1" of "down1.conv1". */
static void offer_layer(stk__nearest *nearest, const char *name, char *best, size_t size)
{
    char part[STK_NEAREST_MOST + 1];
    for (size_t i = 1; i < sizeof part && name[i - 1]; i++) {
        if (name[i] != '.' && name[i] != '\0') continue;
        snprintf(part, sizeof part, "%.*s", (int)i, name);
        stk__nearest_offer(nearest, part);
        if (nearest->best != part) continue;
        snprintf(best, size, "%s", part);
        nearest->best = best;
    }
}

/* Any layer, or any that has parameters. */
static bool matches_any(const char *pattern, const stk__network *network, const stk__op_form *with_params)
{
    for (int i = 0; i < network->layer_count; i++)
        if ((!with_params || with_params[i].param_count) &&
            match(pattern, strlen(pattern), network->layers[i].name))
            return true;
    return false;
}

static stk_status refuse(const char *pattern, const stk__network *network, const stk__op_form *forms,
                         stk_error *error)
{
    char best[STK_NEAREST_MOST + 1];
    stk__nearest nearest = {.word = pattern};
    if (matches_any(pattern, network, NULL))
        return stk__fail(error, STK_ERROR_CONFIG, "freeze: '%s' has no parameters", pattern);
    for (int i = 0; i < network->layer_count; i++)
        if (forms[i].param_count) offer_layer(&nearest, network->layers[i].name, best, sizeof best);
    stk__fail(error, STK_ERROR_CONFIG, "freeze: no layer with parameters is called '%s'", pattern);
    if (nearest.best)
        stk__error_hint(error, "did you mean '%s'?", nearest.best);
    else
        stk__error_hint(error, "--plan lists the layers; a name's beginning up to a dot is enough");
    return STK_ERROR_CONFIG;
}

stk_status stk__freeze_check(const char *freeze, const stk__network *network, const stk__op_form *forms,
                             stk_error *error)
{
    if (!freeze) return STK_OK;
    size_t length;
    for (const char *at = next_pattern(freeze, &length); length; at = next_pattern(at + length, &length)) {
        char pattern[256];
        snprintf(pattern, sizeof pattern, "%.*s", (int)(length < 255 ? length : 255), at);
        if (!matches_any(pattern, network, forms)) return refuse(pattern, network, forms, error);
    }
    return STK_OK;
}
