/* SPDX-License-Identifier: Apache-2.0 */
/* Requested, in effect, why: the rows, as values, JSON and YAML. */
#include "core/config_layers.h"

#include "core/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char unused_why[] = "not used by this command";

stk_status stk__config_effect(stk__config *config, const char *name, const char *in_effect, const char *why,
                              stk_error *error)
{
    stk__config_target target;
    STK__TRY(stk__config_find(config, name, &target, error));
    if (!target.setting)
        return stk__fail(error, STK_ERROR_ARGUMENT, "'%.80s' belongs to a section that is not used here",
                         name);
    const char *kept = stk__config_keep(config, in_effect, strlen(in_effect));
    const char *reason = why ? stk__config_keep(config, why, strlen(why)) : NULL;
    if (!kept || (why && !reason)) return stk__fail_memory(error, strlen(in_effect), "an effect");
    target.setting->in_effect = kept;
    target.setting->why = reason;
    return STK_OK;
}

static const char *keep_printed(stk__config *config, const stk__option *option, const void *options)
{
    if (option->type == STK_OPTION_TEXT) {
        const char *text;
        memcpy(&text, (const uint8_t *)options + option->offset, sizeof text);
        return stk__config_keep(config, text ? text : "", text ? strlen(text) : 0);
    }
    char text[STK_OPTION_TEXT_BYTES];
    stk__option_print(option, options, text, sizeof text);
    return stk__config_keep(config, text, strlen(text));
}

stk_status stk__config_effects_from(stk__config *config, const char *section, const void *options,
                                    stk_error *error)
{
    for (size_t i = 0; i < config->setting_count; i++) {
        stk__config_setting *setting = &config->settings[i];
        if (setting->in_effect || strcmp(setting->table->section, section) != 0) continue;
        /* Zero where zero cannot be: it was left open, and its effect was not reported. */
        if (setting->option->least > 0 && stk__option_is_zero(setting->option, options)) continue;
        setting->in_effect = keep_printed(config, setting->option, options);
        if (!setting->in_effect) return stk__fail_memory(error, STK_OPTION_TEXT_BYTES, "an effect");
    }
    return STK_OK;
}

/* Same value, however it is spelt; auto leaves the choice open and agrees with anything. */
static bool agrees(const stk__option *option, const char *requested, const char *in_effect)
{
    if (strcmp(requested, in_effect) == 0) return true;
    if (option->type == STK_OPTION_TEXT) return false;
    stk__config_scratch asked, got;
    if (stk__config_read_value(option, requested, &asked, NULL) != STK_OK) return false;
    const bool open = option->type == STK_OPTION_COUNT || option->type == STK_OPTION_SWITCH;
    if (open && asked.whole == 0) return true;
    if (stk__config_read_value(option, in_effect, &got, NULL) != STK_OK) return false;
    return memcmp(&asked, &got, sizeof got) == 0;
}

static bool is_row(const stk__config_setting *setting)
{
    stk__origin origin;
    return setting->in_effect || stk__config_winner(setting, &origin);
}

size_t stk__config_effect_count(const stk__config *config)
{
    size_t count = stk__config_row_count(config);
    for (size_t i = 0; i < config->setting_count; i++)
        count += is_row(&config->settings[i]);
    return count;
}

static stk__effect effect_of(const stk__config_setting *setting)
{
    stk__effect effect = {setting->name, NULL, setting->in_effect, setting->why, STK_ORIGIN_DEFAULT,
                          false,         NULL};
    const stk__config_slot *slot = stk__config_winner(setting, &effect.origin);
    if (slot) effect.requested = slot->value;
    if (slot) effect.place = slot->place;
    if (slot && !effect.why) effect.why = slot->note;
    if (!effect.in_effect) effect.why = unused_why;
    const bool told_unused = slot && effect.why && effect.in_effect && !*effect.in_effect;
    if (told_unused) effect.in_effect = NULL;
    effect.differs = effect.why || (slot && !agrees(setting->option, slot->value, effect.in_effect));
    return effect;
}

/* The setting behind a row, NULL for a foreign row, whose number *index then is. */
static const stk__config_setting *setting_at(const stk__config *config, size_t *index)
{
    for (size_t i = 0; i < config->setting_count; i++)
        if (is_row(&config->settings[i]) && (*index)-- == 0) return &config->settings[i];
    return NULL;
}

stk__effect stk__config_effect_at(const stk__config *config, size_t index)
{
    const stk__config_setting *setting = setting_at(config, &index);
    if (setting) return effect_of(setting);
    const stk__config_foreign_row *row = stk__config_row_at(config, index);
    return (stk__effect){row->name, row->value, NULL, row->why, row->origin, true, NULL};
}

/* JSON is UTF-8, file names need not be. */
static json_t *text_json(const char *text)
{
    if (!text) return json_null();
    json_t *json = json_string(text);
    if (json) return json;
    char *readable = stk__text_copy(text);
    for (char *c = readable; c && *c; c++)
        if (*c & 0x80) *c = '?';
    json = readable ? json_string(readable) : NULL;
    stk__free(readable);
    return json;
}

static json_t *value_json(const stk__option *option, const char *text)
{
    stk__config_scratch value;
    if (!text || !option || stk__config_read_value(option, text, &value, NULL) != STK_OK)
        return text_json(text);
    switch (option->type) {
    case STK_OPTION_COUNT:
        return value.whole ? json_integer(value.whole < 0 ? 0 : value.whole) : json_string("auto");
    case STK_OPTION_INT:
    case STK_OPTION_BYTES:
        return json_integer(value.whole);
    case STK_OPTION_NUMBER:
    case STK_OPTION_SECONDS:
        return json_real(value.number);
    case STK_OPTION_SWITCH:
        return value.flag ? json_boolean(value.flag > 0) : json_string("auto");
    case STK_OPTION_SHARE:
        return json_real(value.number < 0 ? 0 : value.number);
    case STK_OPTION_RANGE:
        return isinf(value.range[1]) ? json_real(value.range[0])
                                     : json_pack("[ff]", value.range[0], value.range[1]);
    case STK_OPTION_PAIR: /* + 0.0: an explicit 0 is stored as -0.0 */
        return json_pack("[ff]", value.range[0] + 0.0, value.range[1] + 0.0);
    case STK_OPTION_TRIPLE:
        return json_pack("[fff]", value.triple[0] + 0.0, value.triple[1] + 0.0, value.triple[2] + 0.0);
    case STK_OPTION_SIZE2:
        return json_pack("[ii]", value.size[0], value.size[1]);
    default:
        return text_json(text);
    }
}

json_t *stk__config_effects_json(const stk__config *config)
{
    json_t *rows = json_array();
    const size_t count = stk__config_effect_count(config);
    for (size_t i = 0; i < count && rows; i++) {
        size_t index = i;
        const stk__config_setting *setting = setting_at(config, &index);
        const stk__option *option = setting ? setting->option : NULL;
        const stk__effect effect = stk__config_effect_at(config, i);
        /* 'o' takes the reference even when packing fails */
        json_t *row = json_pack("{s:o, s:o, s:o, s:o}", "name", text_json(effect.name), "requested",
                                value_json(option, effect.requested), "in_effect",
                                value_json(option, effect.in_effect), "why", text_json(effect.why));
        if (row && json_array_append_new(rows, row) == 0) continue;
        json_decref(rows);
        rows = NULL;
    }
    return rows;
}

static stk_status add(stk__buffer *out, const char *text, stk_error *error)
{
    return stk__buffer_append(out, text, strlen(text), error);
}

/* Letters that libyaml refuses, or takes for the end of a line. */
static const struct {
    char bytes[4], escape[8];
} special_letters[] = {{"\xe2\x80\xa8", "\\u2028"},
                       {"\xe2\x80\xa9", "\\u2029"},
                       {"\xef\xbb\xbf", "\\ufeff"},
                       {"\xef\xbf\xbe", "\\ufffe"},
                       {"\xef\xbf\xbf", "\\uffff"}};

/* How the letter at text is written in double quotes; returns its length. */
static size_t quote_letter(const char *text, char quoted[8])
{
    const unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];
    if (c < 0x20 || c == 0x7f) {
        snprintf(quoted, 8, "\\x%02x", c);
        return 1;
    }
    if (c == 0xc2 && next < 0xa0) {
        snprintf(quoted, 8, "\\x%02x", next);
        return 2;
    }
    for (size_t i = 0; i < sizeof special_letters / sizeof special_letters[0]; i++)
        if (strncmp(text, special_letters[i].bytes, 3) == 0) {
            memcpy(quoted, special_letters[i].escape, 8);
            return 3;
        }
    snprintf(quoted, 8, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    return 1;
}

/* Double quotes with YAML's escapes. */
static stk_status add_quoted(stk__buffer *out, const char *text, stk_error *error)
{
    STK__TRY(add(out, "\"", error));
    while (*text) {
        char quoted[8];
        text += quote_letter(text, quoted);
        STK__TRY(add(out, quoted, error));
    }
    return add(out, "\"", error);
}

static stk_status refuse_bytes(const stk__config_setting *setting, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "'%s' is not UTF-8 and cannot be kept in a file of settings",
              setting->name);
    stk__error_hint(error, "rename it, or reach it through a symbolic link");
    return STK_ERROR_CONFIG;
}

static const char *value_of(const stk__config_setting *setting)
{
    const stk__effect effect = effect_of(setting);
    return effect.in_effect ? effect.in_effect : effect.requested;
}

/* A text that is empty is unset. */
static bool is_written(const stk__config_setting *setting)
{
    return is_row(setting) && !(setting->option->type == STK_OPTION_TEXT && !*value_of(setting));
}

static stk_status write_setting(const stk__config_setting *setting, stk__buffer *out, stk_error *error)
{
    const char *value = value_of(setting);
    stk__config_scratch parsed;
    if (!stk__utf8_valid(value)) return refuse_bytes(setting, error);
    const bool readable = stk__config_read_value(setting->option, value, &parsed, NULL) == STK_OK;
    STK__TRY(add(out, readable ? "  " : "  # in words: ", error));
    STK__TRY(add(out, strchr(setting->name, '.') + 1, error));
    STK__TRY(add(out, ": ", error));
    if (!readable || setting->option->type == STK_OPTION_TEXT)
        STK__TRY(add_quoted(out, value, error));
    else
        STK__TRY(add(out, value, error));
    return add(out, "\n", error);
}

/* Length of the first part of the section, which becomes the map; the rest stays dotted inside. */
static size_t top_length(const stk__config_setting *setting)
{
    return strcspn(setting->name, ".");
}

static bool is_same_top(const stk__config_setting *a, const stk__config_setting *b)
{
    return top_length(a) == top_length(b) && strncmp(a->name, b->name, top_length(a)) == 0;
}

static bool is_first_of_top(const stk__config *config, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_written(&config->settings[i]) && is_same_top(&config->settings[i], &config->settings[index]))
            return false;
    return true;
}

stk_status stk__config_write_yaml(const stk__config *config, stk__buffer *text, stk_error *error)
{
    for (size_t i = 0; i < config->setting_count; i++) {
        const stk__config_setting *first = &config->settings[i];
        if (!is_written(first) || !is_first_of_top(config, i)) continue;
        STK__TRY(stk__buffer_append(text, first->name, top_length(first), error));
        STK__TRY(add(text, ":\n", error));
        for (size_t k = i; k < config->setting_count; k++)
            if (is_written(&config->settings[k]) && is_same_top(first, &config->settings[k]))
                STK__TRY(write_setting(&config->settings[k], text, error));
    }
    return STK_OK;
}
