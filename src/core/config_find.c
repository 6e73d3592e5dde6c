/* SPDX-License-Identifier: Apache-2.0 */
/* From names to settings: sections, aliases, bare keys. */
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
const char *stk__config_below(const char *key, const char *section, size_t length)
{
    return stk__name_equal(key, section, length) && key[length] == '.' ? key + length + 1 : NULL;
}

/* The section as a key without its first part has it: "val" of "data.val", nothing of "data". */
const char *stk__config_inner_section(const stk__option_table *table)
{
    const char *dot = strchr(table->section, '.');
    return dot ? dot + 1 : NULL;
}

static bool is_bare_name(const stk__config_setting *setting, const char *key)
{
    const char *inner = stk__config_inner_section(setting->table);
    const char *rest = inner ? stk__config_below(key, inner, strlen(inner)) : key;
    return rest && stk__option_is_named(setting->option, rest, strlen(rest));
}

static bool is_full_name(const stk__config_setting *setting, const char *key)
{
    const char *section;
    size_t length;
    for (size_t k = 0; (section = stk__config_spelling(setting->table, k, &length)); k++) {
        const char *rest = stk__config_below(key, section, length);
        if (rest && stk__option_is_named(setting->option, rest, strlen(rest))) return true;
    }
    return false;
}

stk__config_setting *stk__config_find_full(const stk__config *config, const char *key)
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

const stk__config_foreign_section *stk__config_find_foreign(const stk__config *config, const char *key,
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
const char *stk__config_skip_section(const stk__config *config, const char *key)
{
    const char *rest = NULL, *section;
    size_t length;
    for (size_t i = 0; i < config->table_count; i++)
        for (size_t k = 0; (section = stk__config_spelling(config->tables[i], k, &length)); k++) {
            const char *found = stk__config_below(key, section, length);
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
            const char *rest = stk__config_below(key, section, length), *name = setting->option->name;
            if (rest && strlen(rest) >= 6 && stk__edit_distance(rest, name) == 1) return name;
        }
    }
    return NULL;
}

/* *other is a second candidate, see find_bare. */
static bool look_up(const stk__config *config, const char *key, stk__config_target *target,
                    stk__config_setting **other)
{
    *other = NULL;
    *target = (stk__config_target){.setting = stk__config_find_full(config, key)};
    if (!target->setting) target->setting = find_bare(config, key, other);
    return target->setting || stk__config_find_row(config, key, target);
}

stk__config_setting *stk__config_look_up(const stk__config *config, const char *key)
{
    stk__config_setting *other;
    stk__config_target target;
    return look_up(config, key, &target, &other) && !other ? target.setting : NULL;
}

/* key as it was written, ours with its section renamed: in Lightning's trainer stands everything, whatever
 * section it has here. */
static bool look_up_renamed(const stk__config *config, const char *key, const char *ours,
                            stk__config_target *target, stk__config_setting **other)
{
    if (look_up(config, ours, target, other)) return true;
    if (ours == key || strncmp(ours, "train.", 6) != 0) return false;
    return look_up(config, ours + 6, target, other);
}

bool stk__config_is_setting(const stk__config *config, const char *key)
{
    char renamed[STK_CONFIG_KEY_BYTES];
    stk__config_setting *other;
    stk__config_target target;
    const char *ours = stk__config_rename(config, key, renamed);
    return look_up_renamed(config, key, ours, &target, &other) && target.setting;
}

static stk_status refuse_ambiguous(const char *key, const char *first, const char *second, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "'%.80s' can mean '%s' or '%s'", key, first, second);
    stk__error_hint(error, "write it with its section");
    return STK_ERROR_CONFIG;
}

/* The option of another room that a bare key names, and its section; NULL: none, or several. */
static const char *find_foreign_option(const stk__config *config, const char *key, const char **section)
{
    const size_t count = config->foreign_tables.size_bytes / sizeof(const stk__option_table *);
    const stk__option_table *const *tables = (const stk__option_table *const *)config->foreign_tables.data;
    const char *found = NULL;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            if (!stk__option_is_named(&tables[t]->options[i], key, strlen(key))) continue;
            if (found) return NULL;
            found = tables[t]->options[i].name;
            *section = tables[t]->section;
        }
    return found;
}

/* A key in a section of another room: anything but a slip of the finger. */
static stk_status find_in_foreign(const stk__config *config, const char *key, stk__config_target *target,
                                  stk_error *error)
{
    const char *section, *name = find_foreign_option(config, key, &section), *unused;
    *target = (stk__config_target){.rest = name};
    if (name) target->foreign = stk__config_find_foreign(config, section, &unused);
    if (target->foreign) return STK_OK;
    target->foreign = stk__config_find_foreign(config, key, &target->rest);
    if (!target->foreign || !*target->rest) return stk__config_unknown(config, key, error);
    const char *meant = claimed_key_like(config, key);
    if (!meant) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG, "unknown key '%.80s' in section '%.*s'", target->rest,
              (int)(target->rest - key - 1), key);
    stk__error_hint(error, "did you mean '%s'?", meant);
    return STK_ERROR_CONFIG;
}

stk_status stk__config_find(const stk__config *config, const char *key, stk__config_target *target,
                            stk_error *error)
{
    char renamed[STK_CONFIG_KEY_BYTES];
    const char *ours = stk__config_rename(config, key, renamed);
    stk__config_setting *other;
    const bool found = look_up_renamed(config, key, ours, target, &other);
    if (other) return refuse_ambiguous(key, target->setting->name, other->name, error);
    if (found) return STK_OK;
    *target = (stk__config_target){0};
    STK__TRY(find_in_foreign(config, ours, target, error));
    if (ours == renamed && target->rest >= renamed && target->rest < renamed + sizeof renamed)
        target->rest = key + strlen(key) - strlen(target->rest); /* renamed ends here, the key does not */
    return STK_OK;
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
    char renamed[STK_CONFIG_KEY_BYTES];
    key = stk__config_rename(config, key, renamed);
    if (stk__foreign_section(key, strlen(key))) return true;
    if (stk__config_find_foreign(config, key, &rest)) return true;
    for (size_t i = 0; i < config->table_count; i++) {
        const char *inner = stk__config_inner_section(config->tables[i]);
        if (is_group_of(config->tables[i], key)) return true;
        if (inner && strlen(inner) == strlen(key) && stk__name_equal(inner, key, strlen(key))) return true;
    }
    const char *below = stk__config_skip_section(config, key);
    for (size_t i = 0; i < config->setting_count; i++)
        if (starts_group(config->settings[i].option->name, below ? below : key)) return true;
    return false;
}
