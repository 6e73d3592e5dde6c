/* SPDX-License-Identifier: Apache-2.0 */
/* From names to settings: sections, aliases, bare keys, and what was probably meant. */
#include "core/config_layers.h"

#include "core/nearest.h"

#include <stdio.h>
#include <string.h>

const char *stk__config_spelling(const stk__option_table *table, size_t k, size_t *length)
{
    *length = strlen(table->section);
    if (k-- == 0) return table->section;
    const char *lists[] = {table->section_aliases, table->also};
    for (size_t i = 0; i < 2; i++)
        for (const char *word; (word = stk__name_next(&lists[i], length));)
            if (k-- == 0) return word;
    return NULL;
}

/* What follows "section." in key; NULL when key does not start so. */
static const char *skip_section(const char *key, const char *section, size_t length)
{
    return stk__name_equal(key, section, length) && key[length] == '.' ? key + length + 1 : NULL;
}

/* The section as a key without its first part has it: "val" of "data.val", nothing of "data". */
static const char *inner_section(const stk__option_table *table)
{
    const char *dot = strchr(table->section, '.');
    return dot ? dot + 1 : NULL;
}

static bool is_bare_name(const stk__config_setting *setting, const char *key)
{
    const char *inner = inner_section(setting->table);
    const char *rest = inner ? skip_section(key, inner, strlen(inner)) : key;
    return rest && stk__option_is_named(setting->option, rest, strlen(rest));
}

static bool is_full_name(const stk__config_setting *setting, const char *key)
{
    const char *section;
    size_t length;
    for (size_t k = 0; (section = stk__config_spelling(setting->table, k, &length)); k++) {
        const char *rest = skip_section(key, section, length);
        if (rest && stk__option_is_named(setting->option, rest, strlen(rest))) return true;
    }
    return false;
}

static stk__config_setting *find_full(const stk__config *config, const char *key)
{
    for (size_t i = 0; i < config->setting_count; i++)
        if (is_full_name(&config->settings[i], key)) return &config->settings[i];
    return NULL;
}

/* *other is a second candidate when the name alone does not decide. */
static stk__config_setting *find_bare(const stk__config *config, const char *key, stk__config_setting **other)
{
    stk__config_setting *found = NULL;
    *other = NULL;
    for (size_t i = 0; i < config->setting_count; i++) {
        stk__config_setting *setting = &config->settings[i];
        if (!is_bare_name(setting, key)) continue;
        if (setting->option->bare) {
            *other = NULL;
            return setting;
        }
        if (found)
            *other = setting;
        else
            found = setting;
    }
    return found;
}

/* Length of the section's spelling that starts key, up to a dot or the end; 0: none of these words. */
static size_t match_word(const char *key, const char *words)
{
    size_t length;
    for (const char *word; (word = stk__name_next(&words, &length));)
        if (stk__name_equal(key, word, length) && (key[length] == '.' || !key[length])) return length;
    return 0;
}

static const stk__config_foreign_section *find_foreign(const stk__config *config, const char *key,
                                                       const char **rest)
{
    for (size_t i = 0; i < stk__config_foreign_count(config); i++) {
        const stk__config_foreign_section *foreign = stk__config_foreign_at(config, i);
        const size_t length = match_word(key, foreign->names);
        if (!length) continue;
        *rest = key + length + (key[length] == '.');
        return foreign;
    }
    return NULL;
}

/* The part of key below the longest section that some table has; NULL: none. */
static const char *skip_known_section(const stk__config *config, const char *key)
{
    const char *rest = NULL, *section;
    size_t length;
    for (size_t i = 0; i < config->table_count; i++)
        for (size_t k = 0; (section = stk__config_spelling(config->tables[i], k, &length)); k++) {
            const char *found = skip_section(key, section, length);
            if (found && (!rest || found > rest)) rest = found;
        }
    return rest;
}

/* The claimed key that one slip of the finger makes of a foreign one: train.batch_sise. */
static const char *claimed_key_like(const stk__config *config, const char *key)
{
    const char *section;
    size_t length;
    for (size_t i = 0; i < config->setting_count; i++) {
        const stk__config_setting *setting = &config->settings[i];
        for (size_t k = 0; (section = stk__config_spelling(setting->table, k, &length)); k++) {
            const char *rest = skip_section(key, section, length), *name = setting->option->name;
            if (rest && strlen(rest) >= 6 && stk__edit_distance(rest, name) == 1) return name;
        }
    }
    return NULL;
}

bool stk__config_is_setting(const stk__config *config, const char *key)
{
    stk__config_setting *other;
    return find_full(config, key) || find_bare(config, key, &other);
}

stk_status stk__config_find(const stk__config *config, const char *key, stk__config_target *target,
                            stk_error *error)
{
    stk__config_setting *other = NULL;
    *target = (stk__config_target){.setting = find_full(config, key)};
    if (!target->setting) target->setting = find_bare(config, key, &other);
    if (target->setting && !other) return STK_OK;
    if (other) {
        stk__fail(error, STK_ERROR_CONFIG, "'%.80s' can mean '%s' or '%s'", key, target->setting->name,
                  other->name);
        stk__error_hint(error, "write it with its section");
        return STK_ERROR_CONFIG;
    }
    target->foreign = find_foreign(config, key, &target->rest);
    if (!target->foreign || !*target->rest) return stk__config_unknown(config, key, error);
    const char *meant = claimed_key_like(config, key);
    if (!meant) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG, "unknown key '%.80s' in section '%.*s'", target->rest,
              (int)(target->rest - key - 1), key);
    stk__error_hint(error, "did you mean '%s'?", meant);
    return STK_ERROR_CONFIG;
}

/* Is "group." the start of name? */
static bool starts_group(const char *name, const char *group)
{
    const size_t length = strlen(group);
    return strlen(name) > length && stk__name_equal(name, group, length) && name[length] == '.';
}

static bool is_group_of(const stk__option_table *table, const char *key)
{
    const char *section;
    size_t length;
    for (size_t k = 0; (section = stk__config_spelling(table, k, &length)); k++) {
        if (strlen(key) == length && stk__name_equal(key, section, length)) return true;
        if (starts_group(section, key)) return true;
    }
    return false;
}

bool stk__config_is_group(const stk__config *config, const char *key)
{
    const char *rest;
    if (find_foreign(config, key, &rest)) return true;
    for (size_t i = 0; i < config->table_count; i++) {
        const char *inner = inner_section(config->tables[i]);
        if (is_group_of(config->tables[i], key)) return true;
        if (inner && strlen(inner) == strlen(key) && stk__name_equal(inner, key, strlen(key))) return true;
    }
    const char *below = skip_known_section(config, key);
    for (size_t i = 0; i < config->setting_count; i++)
        if (starts_group(config->settings[i].option->name, below ? below : key)) return true;
    return false;
}

/* Offers a word that is part of a longer text; what is remembered is label. */
static void offer(stk__nearest *nearest, const char *text, size_t length, const char *label)
{
    char word[STK_NEAREST_MOST + 1];
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    stk__nearest trial = *nearest;
    stk__nearest_offer(&trial, word);
    if (trial.best == word) *nearest = (stk__nearest){nearest->word, label, trial.distance};
}

static void offer_option(stk__nearest *nearest, const stk__option *option, const char *label)
{
    const char *list = option->aliases;
    size_t length;
    offer(nearest, option->name, strlen(option->name), label);
    offer(nearest, option->name, strcspn(option->name, "."), label); /* "limts" as a map */
    for (const char *alias; (alias = stk__name_next(&list, &length));)
        offer(nearest, alias, length, label);
}

/* The nearest option of the section that key names, else the full name of the nearest of all. */
static const char *nearest_key(const stk__config *config, const char *key, const char *rest)
{
    stk__nearest here = {.word = rest}, anywhere = {.word = rest};
    for (size_t i = 0; i < config->setting_count; i++) {
        const stk__config_setting *setting = &config->settings[i];
        const char *section;
        size_t length;
        offer_option(&anywhere, setting->option, setting->name);
        for (size_t k = 0; (section = stk__config_spelling(setting->table, k, &length)); k++)
            if (skip_section(key, section, length) == rest)
                offer_option(&here, setting->option, setting->option->name);
    }
    for (size_t i = 0; i < config->table_count; i++) {
        const char *inner = inner_section(config->tables[i]);
        if (inner) offer(&anywhere, inner, strlen(inner), config->tables[i]->section);
    }
    return here.best ? here.best : anywhere.best;
}

/* Names of other programs, whose values may differ: "cudnn_benchmark". */
static bool hint_searched(const stk__config *config, const char *key, stk_error *error)
{
    for (size_t i = 0; i < config->setting_count; i++) {
        const stk__option *option = config->settings[i].option;
        const char *list = option->searched, *name;
        size_t length;
        while ((name = stk__name_next(&list, &length)))
            if (strlen(key) == length && stk__name_equal(key, name, length)) {
                stk__error_hint(error, "see %s: %s", config->settings[i].name, option->help);
                return true;
            }
    }
    return false;
}

static void hint_key(const stk__config *config, const char *key, const char *rest, stk_error *error)
{
    if (hint_searched(config, rest, error)) return;
    for (size_t i = 0; i < config->setting_count; i++)
        if (stk__option_is_named(config->settings[i].option, rest, strlen(rest))) {
            stk__error_hint(error, "'%.80s' belongs to section '%s'", rest,
                            config->settings[i].table->section);
            return;
        }
    const char *meant = nearest_key(config, key, rest);
    if (meant && key == rest) meant = strchr(meant, '.') + 1; /* a bare key is answered with one */
    if (meant)
        stk__error_hint(error, "did you mean '%s'?", meant);
    else if (key == rest)
        stk__error_hint(error, "all settings: stoker train --help");
    else
        stk__error_hint(error, "its settings: stoker help %.*s", (int)(rest - key - 1), key);
}

stk_status stk__config_unknown_section(const stk__config *config, const char *key, stk_error *error)
{
    char section[64];
    snprintf(section, sizeof section, "%.*s", (int)strcspn(key, "."), key);
    stk__fail(error, STK_ERROR_CONFIG, "unknown section '%s'", section);
    if (hint_searched(config, key, error)) return STK_ERROR_CONFIG;
    stk__nearest nearest = {.word = section};
    for (size_t i = 0; i < config->table_count; i++)
        stk__nearest_offer(&nearest, config->tables[i]->section);
    for (size_t i = 0; i < stk__config_foreign_count(config); i++) {
        const char *names = stk__config_foreign_at(config, i)->names;
        offer(&nearest, names, strcspn(names, " "), names);
    }
    if (nearest.best)
        stk__error_hint(error, "did you mean '%.*s'?", (int)strcspn(nearest.best, " "), nearest.best);
    return STK_ERROR_CONFIG;
}

/* optimizer.name, model.name, loss.name: what people set when they write optimizer=sgd. */
static bool has_name(const stk__config *config, const char *section)
{
    for (size_t i = 0; i < config->setting_count; i++)
        if (strlen(config->settings[i].table->section) == strlen(section) &&
            stk__name_equal(config->settings[i].table->section, section, strlen(section)) &&
            strcmp(config->settings[i].option->name, "name") == 0)
            return true;
    return false;
}

stk_status stk__config_unknown(const stk__config *config, const char *key, stk_error *error)
{
    const char *rest = skip_known_section(config, key);
    if (!rest && strchr(key, '.')) return stk__config_unknown_section(config, key, error);
    if (stk__config_is_group(config, key)) {
        stk__fail(error, STK_ERROR_CONFIG, "'%.80s' is a section and takes keys, not a value", key);
        stk__error_hint(error,
                        has_name(config, key) ? "set one of its keys: %.80s.name=value, …"
                                              : "set one of its keys: %.80s.KEY=value",
                        key);
    } else if (rest) {
        stk__fail(error, STK_ERROR_CONFIG, "unknown key '%.80s' in section '%.*s'", rest,
                  (int)(rest - key - 1), key);
        hint_key(config, key, rest, error);
    } else {
        stk__fail(error, STK_ERROR_CONFIG, "unknown key '%.80s'", key);
        hint_key(config, key, key, error);
    }
    return STK_ERROR_CONFIG;
}
