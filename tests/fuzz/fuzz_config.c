/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as settings, over the options of all rooms: as YAML, as lines KEY = value of an INI and of a
 * Python file, each of its lines as KEY=VALUE of a command and as a variable of the environment. What was
 * taken is valid for its room, prints as a text that reads back as the same value, and the whole can be
 * written as YAML that reads back as the same settings. */
#include "fuzz.h"

#include "augment/operation.h"
#include "augment/settings.h"
#include "core/config.h"
#include "core/config_layers.h"
#include "loader/loader_open.h"
#include "train/train_settings.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES = 8, NAME_BYTES = 256 };

static const stk__option_table *const *all_tables(void)
{
    static stk__option_table val;
    static const stk__option_table *tables[TABLES] = {&stk__loader_options,
                                                      &val,
                                                      NULL,
                                                      &stk__model_options_table,
                                                      &stk__loss_options_table,
                                                      &stk__train_options_table,
                                                      &stk__optimizer_options_table,
                                                      &stk__run_options_table};
    val = stk__loader_options;
    val.section = "data.val";
    val.section_aliases = val.also = NULL;
    tables[2] = stk__augment_options();
    return tables;
}

static stk__config *make_config(void)
{
    stk__config *config = NULL;
    stk_status status = stk__config_create(&config, all_tables(), TABLES, NULL);
    if (status == STK_OK) status = stk__config_foreign(config, "doctor monitor", "a test", NULL);
    assert(status == STK_OK);
    return config;
}

/* --- what was taken ------------------------------------------------------------------------------------ */

/* Equal as numbers: a tuple's zeros may differ in their sign. */
static bool is_equal(const stk__option *option, const stk__config_scratch *a, const stk__config_scratch *b)
{
    if (option->type != STK_OPTION_PAIR && option->type != STK_OPTION_TRIPLE)
        return memcmp(a, b, sizeof *a) == 0;
    return a->triple[0] == b->triple[0] && a->triple[1] == b->triple[1] && a->triple[2] == b->triple[2];
}

static void check_value(const stk__config_setting *setting, const char *value)
{
    stk__config_scratch taken, again;
    char text[STK_OPTION_TEXT_BYTES];
    stk__option alone = *setting->option;
    stk_status status = stk__config_read_value(setting->option, value, &taken, NULL);
    assert(status == STK_OK);
    if (alone.type == STK_OPTION_TEXT) return;
    alone.offset = 0;
    stk__option_print(&alone, &taken, text, sizeof text);
    status = stk__config_read_value(setting->option, text, &again, NULL);
    if (status != STK_OK || !is_equal(&alone, &taken, &again))
        fprintf(stderr, "%s: '%s' printed as '%s'\n", setting->name, value, text);
    assert(status == STK_OK && is_equal(&alone, &taken, &again));
}

static void check_values(const stk__config *config)
{
    stk__origin origin;
    for (size_t i = 0; i < config->setting_count; i++) {
        const stk__config_setting *setting = &config->settings[i];
        const stk__config_slot *slot = stk__config_winner(setting, &origin);
        if (slot) check_value(setting, slot->value);
        if (slot && setting->option->map && strcmp(setting->option->name, "schedule") == 0) {
            stk__schedule schedule;
            stk_error error = {0};
            const stk_status status = stk__schedule_read(&schedule, slot->value, &error);
            if (status != STK_OK) fuzz_check_failure(status, &error);
            for (int k = 1; status == STK_OK && k < schedule.count; k++)
                assert(schedule.entries[k - 1].epoch < schedule.entries[k].epoch);
        }
    }
}

/* Every room gets a struct that passes its own checks. */
static void check_rooms(const stk__config *config)
{
    static _Alignas(max_align_t) uint8_t options[1 << 14];
    for (int i = 0; i < TABLES; i++) {
        const stk__option_table *table = all_tables()[i];
        stk_error error = {0};
        assert(table->struct_bytes <= sizeof options);
        memset(options, 0, table->struct_bytes);
        stk_status status = stk__config_apply(config, table->section, options, &error);
        assert(status == STK_OK);
        status = stk__options_check(table, options, &error);
        if (status != STK_OK) fprintf(stderr, "%s\n", error.message);
        assert(status == STK_OK);
        status = stk__options_fill(table, options, &error);
        assert(status == STK_OK);
    }
}

/* False: a value is not UTF-8. */
static bool write_yaml(const stk__config *config, stk__buffer *text)
{
    stk_error error = {0};
    const stk_status status = stk__config_write_yaml(config, text, &error);
    assert(status == STK_OK || (status == STK_ERROR_CONFIG && strstr(error.message, "not UTF-8")));
    const stk_status ended = stk__buffer_append(text, "", 1, NULL);
    assert(ended == STK_OK);
    return status == STK_OK;
}

/* The same value, however it is spelt; a text that is empty is unset. */
static bool is_same(const stk__config_setting *a, const stk__config_setting *b)
{
    stk__origin origin;
    stk__config_scratch first, second;
    const stk__config_slot *one = stk__config_winner(a, &origin), *two = stk__config_winner(b, &origin);
    if (!one || !two) return one == two || (one && a->option->type == STK_OPTION_TEXT && !*one->value);
    if (a->option->type == STK_OPTION_TEXT) return strcmp(one->value, two->value) == 0;
    return stk__config_read_value(a->option, one->value, &first, NULL) == STK_OK &&
           stk__config_read_value(b->option, two->value, &second, NULL) == STK_OK &&
           is_equal(a->option, &first, &second);
}

static void read_again(const stk__config *config, const char *text)
{
    stk__config *again = make_config();
    stk_error error = {0};
    const stk_status status = stk__config_read_text(again, text, "again", &error);
    if (status != STK_OK) fprintf(stderr, "%s\n%s: %s\n", text, error.place, error.message);
    assert(status == STK_OK);
    for (size_t i = 0; i < config->setting_count; i++) {
        const bool same = is_same(&config->settings[i], &again->settings[i]);
        if (!same) fprintf(stderr, "%s of\n%s", config->settings[i].name, text);
        assert(same);
    }
    stk__config_destroy(&again);
}

static void check_round(const stk__config *config)
{
    stk__buffer text = {0};
    if (write_yaml(config, &text)) read_again(config, (const char *)text.data);
    stk__buffer_fini(&text);
}

static void check_rows(const stk__config *config)
{
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect effect = stk__config_effect_at(config, i);
        assert(effect.name && effect.requested);
    }
    json_t *json = stk__config_effects_json(config);
    assert(json_array_size(json) == stk__config_effect_count(config));
    json_decref(json);
}

static void check_config(const stk__config *config)
{
    check_values(config);
    check_rooms(config);
    check_rows(config);
    check_round(config);
}

/* --- the ways in --------------------------------------------------------------------------------------- */

static void check_refusal(stk_status status, const stk_error *error, const char *place)
{
    assert(status == STK_ERROR_CONFIG);
    fuzz_check_failure(status, error);
    fuzz_check_place(error, place);
}

static void read_file(const char *name, const uint8_t *data, size_t size)
{
    stk__config *config = make_config();
    stk_error error = {0};
    const char *path = fuzz_file(name, data, size);
    const stk_status status = stk__config_read_file(config, path, &error);
    if (status == STK_OK)
        check_config(config);
    else
        check_refusal(status, &error, path);
    stk__config_destroy(&config);
}

/* A name of another program whose values are not ours. */
static bool is_translated(const char *key)
{
    const char *dot = strrchr(key, '.'), *name = dot ? dot + 1 : key;
    const stk__foreign_name *row = stk__foreign_find(name, strlen(name));
    if (!row) row = stk__foreign_find(key, strlen(key));
    return row && (row->kind == STK_FOREIGN_READ || row->kind == STK_FOREIGN_TURN);
}

static bool set_line(stk__config *config, const char *key, const char *value)
{
    stk_error error = {0};
    stk__origin origin;
    const bool known = stk__config_is_setting(config, key);
    const stk_status status = stk__config_set(config, key, value, STK_ORIGIN_COMMAND, "a test", &error);
    if (status != STK_OK) {
        check_refusal(status, &error, "a test");
    } else if (known) {
        const char *asked = stk__config_requested(config, key, &origin);
        assert(asked && (is_translated(key) || (strcmp(asked, value) == 0 && origin == STK_ORIGIN_COMMAND)));
    }
    return status == STK_OK;
}

static bool set_variable(stk__config *config, const char *key, const char *value)
{
    char *variable = malloc(strlen(key) + strlen(value) + 16);
    char *variables[] = {variable, NULL};
    stk_error error = {0};
    assert(variable);
    sprintf(variable, "STOKER_%s=%s", key, value);
    for (char *c = variable; *c != '='; c++)
        *c = (char)(*c == '.' ? '_' : toupper((unsigned char)*c));
    const stk_status status = stk__config_read_environment(config, variables, &error);
    if (status != STK_OK) check_refusal(status, &error, "environment STOKER_");
    free(variable);
    return status == STK_OK;
}

/* "  key: value" below "section:", in turns the one way and the other. What is refused costs a search for
 * similar names, so a few of those are enough. */
static void set_lines(char *text)
{
    stk__config *config = make_config();
    char section[NAME_BYTES] = "", key[2 * NAME_BYTES];
    int turn = 0, refused = 0;
    for (char *line = strtok(text, "\n"); line && refused < 3; line = strtok(NULL, "\n")) {
        char *colon = strchr(line, ':'), *name = line + strspn(line, " ");
        if (!colon || *name == '#') continue;
        *colon = '\0';
        const char *value = colon + 1 + strspn(colon + 1, " ");
        if (!*value && name == line) {
            snprintf(section, sizeof section, "%s", name);
            continue;
        }
        snprintf(key, sizeof key, "%s%s%.200s", name == line ? "" : section, name == line ? "" : ".", name);
        refused += turn++ % 2 ? !set_line(config, key, value) : !set_variable(config, key, value);
    }
    check_config(config);
    stk__config_destroy(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_limit_memory(64 << 20);
    read_file("settings.yaml", data, size);
    read_file("settings.ini", data, size);
    read_file("settings.py", data, size);
    uint8_t *text = fuzz_copy(data, size, 1);
    set_lines((char *)text);
    free(text);
    return 0;
}
