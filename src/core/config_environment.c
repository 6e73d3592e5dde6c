/* SPDX-License-Identifier: Apache-2.0 */
/* STOKER_SECTION_KEY. The variable does not show where the section ends or a dot was, so names are compared
 * the other way round: every known one is looked for in the variable. */
#include "core/config_layers.h"

#include <stdio.h>
#include <string.h>

static const char prefix[] = "STOKER_";

static char fold(char c)
{
    if (c == '.' || c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* What follows name in text, NULL when text does not start with it. */
static const char *skip(const char *text, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (fold(text[i]) != fold(name[i])) return NULL;
    return text + length;
}

static bool is_whole(const char *text, const char *name, size_t length)
{
    const char *end = skip(text, name, length);
    return end && !*end;
}

static bool names_option(const char *text, const stk__option *option)
{
    if (is_whole(text, option->name, strlen(option->name))) return true;
    const char *list = option->aliases;
    size_t length;
    for (const char *alias; (alias = stk__name_next(&list, &length));)
        if (is_whole(text, alias, length)) return true;
    return false;
}

static bool names_setting(const char *text, const stk__config_setting *setting)
{
    const char *section;
    size_t length;
    for (size_t k = 0; (section = stk__config_spelling(setting->table, k, &length)); k++) {
        const char *rest = skip(text, section, length);
        if (rest && *rest == '_' && names_option(rest + 1, setting->option)) return true;
    }
    return false;
}

/* A section as it is spelled in its table, or as foreign. */
typedef struct section_word {
    const char *text; /* NULL: none yet */
    size_t length;
} section_word;

/* Keeps the longer one of two sections that text may start with: "data.val" before "data". */
static void offer_section(section_word *best, section_word offered, const char *text)
{
    const char *rest = skip(text, offered.text, offered.length);
    if (rest && *rest == '_' && offered.length > best->length) *best = offered;
}

static section_word find_section(const stk__config *config, const char *text)
{
    section_word best = {0}, word;
    for (size_t i = 0; i < config->table_count; i++)
        for (size_t k = 0; (word.text = stk__config_spelling(config->tables[i], k, &word.length)); k++)
            offer_section(&best, word, text);
    for (size_t i = 0; i < stk__config_foreign_count(config); i++) {
        const char *names = stk__config_foreign_at(config, i)->names;
        while ((word.text = stk__name_next(&names, &word.length)))
            offer_section(&best, word, text);
    }
    return best;
}

/* The key that a variable seems to mean, in small letters: "DATA_VAL_BATCH" -> "data.val.batch". False: it
 * starts with no section that is known, so it is not ours ("CPU", "DATABASE"). */
static bool guess_key(const stk__config *config, const char *text, char *key, size_t size)
{
    const section_word section = find_section(config, text);
    if (!section.text) return false;
    snprintf(key, size, "%.*s.%s", (int)section.length, section.text, text + section.length + 1);
    for (char *c = key; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    return true;
}

static stk_status find_variable(const stk__config *config, const char *text, stk__config_target *target,
                                char *key, size_t size, stk_error *error)
{
    *target = (stk__config_target){0};
    for (size_t i = 0; i < config->setting_count; i++)
        if (names_setting(text, &config->settings[i])) {
            target->setting = &config->settings[i];
            return STK_OK;
        }
    if (!guess_key(config, text, key, size)) return STK_OK;
    return stk__config_find(config, key, target, error);
}

static stk_status read_variable(stk__config *config, const char *variable, uint32_t reading, stk_error *error)
{
    const char *equals = strchr(variable, '=');
    char name[192], place[224], key[224];
    if (strncmp(variable, prefix, strlen(prefix)) != 0 || !equals || !equals[1]) return STK_OK;
    const bool fits =
        snprintf(name, sizeof name, "%.*s", (int)(equals - variable), variable) < (int)sizeof name;
    snprintf(place, sizeof place, "environment %s", name);
    stk__config_target target;
    stk_status status = find_variable(config, name + strlen(prefix), &target, key, sizeof key, error);
    if (status == STK_OK && !fits && (target.setting || target.foreign))
        status = stk__fail(error, STK_ERROR_CONFIG, "the name of the variable is too long");
    if (status != STK_OK) {
        stk__error_place(error, "%s", place);
        return status;
    }
    if (!target.setting && !target.foreign) return STK_OK; /* STOKER_CPU and the like: not ours */
    return stk__config_take(config, target,
                            (stk__config_input){equals + 1, place, STK_ORIGIN_ENVIRONMENT, reading}, error);
}

stk_status stk__config_read_environment(stk__config *config, char **environment, stk_error *error)
{
    const uint32_t reading = ++config->readings;
    for (; *environment; environment++)
        STK__TRY(read_variable(config, *environment, reading, error));
    return STK_OK;
}
