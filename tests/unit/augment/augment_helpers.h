/* SPDX-License-Identifier: Apache-2.0 */
/* Plans out of texts, and what a trace says, for the tests of src/augment. */
#ifndef STK_TESTS_AUGMENT_HELPERS_H
#define STK_TESTS_AUGMENT_HELPERS_H

#include "augment/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { TEXTS_BYTES = 1024 };

/* "rotation_degrees=15 scale=0.2": values without blanks, at most as long as texts; settings point into it.
 */
static inline stk__augment_settings settings_of(const char *keys, char texts[TEXTS_BYTES])
{
    stk__augment_settings settings = {0};
    stk_error error = {0};
    snprintf(texts, TEXTS_BYTES, "%s", keys);
    for (char *rest = texts, *pair; (pair = strsep(&rest, " "));) {
        if (!*pair) continue;
        const char *key = strsep(&pair, "=");
        if (stk__augment_set(&settings, key, pair, &error) != STK_OK)
            fail_msg("%s: %s (%s)", keys, error.message, error.hint);
    }
    return settings;
}

static inline stk__plan *plan_seeded(const char *keys, int64_t seed)
{
    char texts[TEXTS_BYTES];
    stk__plan *plan;
    stk_error error = {0};
    const stk__augment_settings settings = settings_of(keys, texts);
    if (stk__plan_create(&plan, &settings, seed, &error) != STK_OK)
        fail_msg("%s: %s (%s)", keys, error.message, error.hint);
    return plan;
}

static inline stk__plan *plan_of(const char *keys)
{
    return plan_seeded(keys, 7);
}

/* The fact's value, or missing. */
static inline double fact_or(const stk__plan_trace *trace, const char *operation, const char *what,
                             double missing)
{
    for (int i = 0; i < trace->count; i++)
        if (strcmp(trace->facts[i].operation, operation) == 0 && strcmp(trace->facts[i].what, what) == 0)
            return trace->facts[i].value;
    return missing;
}

static inline stk__resolved resolved_of(const char *keys, stk__plan_at at)
{
    stk__plan *plan = plan_of(keys);
    stk__resolved out;
    stk__plan_resolve(plan, &at, &out, NULL);
    stk__plan_destroy(&plan);
    return out;
}

#endif
