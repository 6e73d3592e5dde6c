/* SPDX-License-Identifier: Apache-2.0 */
/* Names of other programs over the options of all rooms: the right meaning, a hint or a reason, and never an
 * unrelated suggestion; the rows of the list themselves are sound. */
#include "foreign_names_fixture.h"

#include "core/config.h"
#include "core/foreign_name.h"
#include "session/loader_settings.h"
#include "session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static stk__config *make_config(void)
{
    stk__config *config = NULL;
    assert_int_equal(stk__config_create(&config, stk__session_tables(), STK_SESSION_TABLES, NULL), STK_OK);
    return config;
}

static void check_taken(const taken_name *row)
{
    stk__config *config = make_config();
    stk_error error = {0};
    if (stk__config_set(config, row->name, row->value, STK_ORIGIN_COMMAND, "a test", &error) != STK_OK)
        fail_msg("%s=%s: %s (%s)", row->name, row->value, error.message, error.hint);
    assert_int_equal(stk__config_effect_count(config), 1);
    const stk__effect effect = stk__config_effect_at(config, 0);
    const char *asked = row->asked ? row->asked : row->value;
    if (strcmp(effect.name, row->key) != 0 || strcmp(effect.requested, asked) != 0)
        fail_msg("%s=%s is %s=%s, not %s=%s", row->name, row->value, effect.name, effect.requested, row->key,
                 asked);
    assert_true(stk__config_is_setting(config, row->name));
    stk__config_destroy(&config);
}

static void names_are_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(taken); i++)
        check_taken(&taken[i]);
}

static void check_hint(const char *name, const char *value, const char *hint)
{
    stk__config *config = make_config();
    stk_error error = {0};
    const stk_status status = stk__config_set(config, name, value, STK_ORIGIN_COMMAND, "a test", &error);
    if (status != STK_ERROR_CONFIG) fail_msg("%s=%s is taken", name, value);
    if (!strstr(error.hint, hint))
        fail_msg("%s=%s: %s; the hint is '%s', not '%s'", name, value, error.message, error.hint, hint);
    assert_string_equal(error.place, "a test");
    stk__config_destroy(&config);
}

static void others_have_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++)
        check_hint(refused[i].name, refused[i].value, refused[i].hint);
}

static void slips_and_parts_are_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(meant); i++)
        check_hint(meant[i].name, meant[i].value, meant[i].hint);
}

static void strangers_get_no_suggestion(void **state)
{
    (void)state;
    int suggested = 0;
    for (size_t i = 0; i < COUNT(strangers); i++) {
        stk__config *config = make_config();
        stk_error error = {0};
        assert_int_equal(stk__config_set(config, strangers[i], "1", STK_ORIGIN_COMMAND, NULL, &error),
                         STK_ERROR_CONFIG);
        const bool silent = strcmp(error.hint, "all settings: stoker train --help") == 0;
        if (!silent) print_error("%s: %s\n", strangers[i], error.hint);
        suggested += !silent;
        stk__config_destroy(&config);
    }
    assert_int_equal(suggested, 0);
}

/* Every section in which it is written is that of its setting, and its value is a value of that. */
static void check_row(const stk__foreign_name *row)
{
    stk__config *config = make_config();
    stk__foreign_value value;
    stk__option option;
    char text[256];
    assert_true(row->from && *row->from && row->name && *row->name);
    if (!row->key) assert_true(row->kind == STK_FOREIGN_NONE && row->text);
    if (row->key && !stk__config_is_setting(config, row->key)) fail_msg("%s: no %s", row->name, row->key);
    if (row->kind == STK_FOREIGN_NEAR) assert_non_null(row->text);
    memset(&option, 0, sizeof option);
    option.type = STK_OPTION_TEXT;
    const char *list = row->kind == STK_FOREIGN_READ ? row->text : NULL, *word;
    for (size_t length; (word = stk__name_next(&list, &length));) {
        if (*word == '*') continue;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(word, "="), word);
        assert_int_equal(stk__foreign_translate(row, &option, text, &value, NULL), STK_OK);
        stk_error error = {0};
        if (stk__config_set(config, row->name, text, STK_ORIGIN_COMMAND, NULL, &error) != STK_OK)
            fail_msg("%s=%s: %s", row->name, text, error.message);
    }
    stk__config_destroy(&config);
}

static void rows_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < stk__foreign_count(); i++) {
        const stk__foreign_name *row = stk__foreign_at(i);
        check_row(row);
        if (stk__foreign_find(row->name, strlen(row->name)) != row) fail_msg("%s is there twice", row->name);
    }
}

/* A name of ours comes first, so a row for it would never be read. */
static void rows_are_not_ours(void **state)
{
    (void)state;
    const stk__option_table *const *tables = stk__session_tables();
    for (size_t i = 0; i < stk__foreign_count(); i++)
        for (int t = 0; t < STK_SESSION_TABLES; t++)
            for (size_t k = 0; k < tables[t]->count; k++)
                if (strcmp(tables[t]->options[k].name, stk__foreign_at(i)->name) == 0)
                    fail_msg("%s is %s's own", stk__foreign_at(i)->name, tables[t]->section);
}

static void conversions_are_said(void **state)
{
    (void)state;
    stk__config *config = make_config();
    assert_int_equal(stk__config_set(config, "input_size", "[512, 256]", STK_ORIGIN_FILE, "c.yaml:1:3", NULL),
                     STK_OK);
    assert_int_equal(stk__config_effect(config, "data.image_size", "[256, 512]", NULL, NULL), STK_OK);
    const stk__effect size = stk__config_effect_at(config, 0);
    assert_string_equal(size.why, "input_size = [512, 256] is width, height");
    assert_string_equal(size.place, "c.yaml:1:3 (input_size)");
    assert_true(size.differs);
    assert_int_equal(stk__config_set(config, "hidden_size", "64", STK_ORIGIN_FILE, "c.yaml:2:3", NULL),
                     STK_OK);
    assert_int_equal(stk__config_effect(config, "model.hidden", "64", NULL, NULL), STK_OK);
    const stk__effect hidden = stk__config_effect_at(config, 1);
    assert_null(hidden.why);
    assert_false(hidden.differs);
    assert_string_equal(hidden.place, "c.yaml:2:3 (hidden_size)");
    stk__config_destroy(&config);
}

/* Hugging Face has two switches for one setting of ours. */
static void switches_of_one_setting_go_together(void **state)
{
    (void)state;
    static const struct {
        const char *text, *amp;
    } files[] = {{"fp16: false\nbf16: true\n", "bf16"},      {"bf16: true\nfp16: false\n", "bf16"},
                 {"fp16: true\nbf16: false\n", "fp16"},      {"fp16: false\nbf16: false\n", "false"},
                 {"fp16: false\nprecision: bf16\n", "bf16"}, {"fp16: true\nbf16: true\n", NULL},
                 {"amp: true\nfp16: false\n", NULL},         {"precision: 32\nfp16: true\n", NULL}};
    for (size_t i = 0; i < COUNT(files); i++) {
        stk__config *config = make_config();
        const stk_status status = stk__config_read_text(config, files[i].text, "t.yaml", NULL);
        assert_int_equal(status, files[i].amp ? STK_OK : STK_ERROR_CONFIG); /* set twice */
        if (files[i].amp) assert_string_equal(stk__config_requested(config, "amp", NULL), files[i].amp);
        stk__config_destroy(&config);
    }
    stk__config *config = make_config();
    assert_int_equal(stk__config_read_text(config, "fp16: true\n", "t.yaml", NULL), STK_OK);
    assert_int_equal(stk__config_set(config, "fp16", "false", STK_ORIGIN_COMMAND, NULL, NULL), STK_OK);
    assert_string_equal(stk__config_requested(config, "amp", NULL), "false");
    stk__config_destroy(&config);
}

/* A file for training is taken by stoker load, too: its rows have our names. */
static void loaders_know_them(void **state)
{
    (void)state;
    stk__config *config = NULL;
    assert_int_equal(
        stk__config_create(&config, stk__session_loader_tables(), STK_SESSION_LOADER_TABLES, NULL), STK_OK);
    assert_int_equal(stk__session_loader_foreign(config, NULL), STK_OK);
    stk_error error = {0};
    if (stk__config_read_text(config, "trainer: {max_epochs: 3}\nhidden_size: 4\nlr: 0.1\nimg_size: 64\n",
                              "t.yaml", &error) != STK_OK)
        fail_msg("%s: %s", error.place, error.message);
    const char *const names[] = {"data.image_size", "train.epochs", "model.hidden", "optimizer.lr"};
    assert_int_equal(stk__config_set(config, "name", "x", STK_ORIGIN_COMMAND, NULL, NULL), STK_ERROR_CONFIG);
    assert_int_equal(stk__config_effect_count(config), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(stk__config_effect_at(config, i).name, names[i]);
    stk__config_destroy(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_taken),
        cmocka_unit_test(others_have_a_reason),
        cmocka_unit_test(slips_and_parts_are_understood),
        cmocka_unit_test(strangers_get_no_suggestion),
        cmocka_unit_test(rows_are_sound),
        cmocka_unit_test(rows_are_not_ours),
        cmocka_unit_test(conversions_are_said),
        cmocka_unit_test(loaders_know_them),
        cmocka_unit_test(switches_of_one_setting_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
