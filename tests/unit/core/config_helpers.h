/* SPDX-License-Identifier: Apache-2.0 */
/* A config over the fixture's tables as `stoker load` would have it, and calls that must succeed. */
#ifndef STK_TESTS_CONFIG_HELPERS_H
#define STK_TESTS_CONFIG_HELPERS_H

#include "config_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const stk__option_table *const tables[] = {&data_table, &val_table, &run_table, &augment_table};
enum { TABLE_COUNT = sizeof tables / sizeof tables[0] };

static inline stk__config *config_new(void)
{
    stk__config *config;
    stk_error error = {0};
    if (stk__config_create(&config, tables, TABLE_COUNT, &error) != STK_OK) fail_msg("%s", error.message);
    assert_int_equal(stk__config_foreign(config, "train training", "stoker load does not train", NULL),
                     STK_OK);
    assert_int_equal(stk__config_foreign(config, "optimizer", "stoker load has no optimiser", NULL), STK_OK);
    assert_int_equal(stk__config_foreign(config, "model", "stoker load has no network", NULL), STK_OK);
    return config;
}

static inline stk__config *config_of(const char *yaml)
{
    stk__config *config = config_new();
    stk_error error = {0};
    if (stk__config_read_text(config, yaml, "t.yaml", &error) != STK_OK)
        fail_msg("%s: %s (%s)", error.place, error.message, error.hint);
    return config;
}

static inline data_options applied(const stk__config *config, const char *section)
{
    data_options options = {0};
    assert_int_equal(stk__config_apply(config, section, &options, NULL), STK_OK);
    return options;
}

static inline void check_set(stk__config *config, const char *key, const char *value, stk__origin origin)
{
    stk_error error = {0};
    if (stk__config_set(config, key, value, origin, "command line", &error) != STK_OK)
        fail_msg("%s: %s", key, error.message);
}

/* prefix + unit repeated count times + suffix; stk__free it */
static inline char *repeat(const char *prefix, const char *unit, size_t count, const char *suffix)
{
    const size_t step = strlen(unit);
    char *text = stk__alloc(strlen(prefix) + step * count + strlen(suffix) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, prefix);
    for (size_t i = 0; i < count; i++, at += step)
        memcpy(at, unit, step);
    strcpy(at, suffix);
    return text;
}

#endif
