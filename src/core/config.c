/* SPDX-License-Identifier: Apache-2.0 */
/* Layered settings: one slot per option and origin (default, preset, file, environment, command line); the
 * highest origin that is set wins. Values are kept as text and parsed against their option table when they
 * are set, so that a bad value is refused with the place it was written at. One owner, no locks. */
#include "core/config_layers.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *stk__config_keep(stk__config *config, const char *text, size_t length)
{
    stk__config_text *node = stk__alloc(sizeof *node + length + 1);
    if (!node) return NULL;
    memcpy(node->bytes, text, length);
    node->next = config->texts;
    config->texts = node;
    return node->bytes;
}

static stk_status keep(stk__config *config, const char *text, const char **copy, stk_error *error)
{
    *copy = NULL;
    if (!text) return STK_OK;
    *copy = stk__config_keep(config, text, strlen(text));
    return *copy ? STK_OK : stk__fail_memory(error, strlen(text), "a setting");
}

static stk_status keep_name(stk__config *config, const char *section, int section_length, const char *name,
                            const char **copy, stk_error *error)
{
    char full[256];
    if (snprintf(full, sizeof full, "%.*s.%s", section_length, section, name) >= (int)sizeof full)
        return stk__fail(error, STK_ERROR_CONFIG, "the key '%.60s…' is too long", full);
    return keep(config, full, copy, error);
}

static stk_status add_table(stk__config *config, const stk__option_table *table, stk_error *error)
{
    for (size_t i = 0; i < table->count; i++) {
        stk__config_setting *setting = &config->settings[config->setting_count];
        setting->table = table;
        setting->option = &table->options[i];
        STK__TRY(keep_name(config, table->section, (int)strlen(table->section), setting->option->name,
                           &setting->name, error));
        config->setting_count++;
    }
    config->tables[config->table_count++] = table;
    return STK_OK;
}

stk_status stk__config_create(stk__config **config, const stk__option_table *const *tables, size_t count,
                              stk_error *error)
{
    *config = NULL;
    size_t options = 0;
    for (size_t i = 0; i < count; i++) {
        STK__TRY(stk__option_table_check(tables[i], error));
        options += tables[i]->count;
    }
    stk__config *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "the settings");
    made->tables = stk__alloc((count + 1) * sizeof(const stk__option_table *));
    made->settings = stk__alloc((options + 1) * sizeof *made->settings);
    stk_status status = STK_OK;
    if (!made->tables || !made->settings)
        status = stk__fail_memory(error, options * sizeof *made->settings, "the settings");
    for (size_t i = 0; i < count && status == STK_OK; i++)
        status = add_table(made, tables[i], error);
    if (status != STK_OK) stk__config_destroy(&made);
    *config = made;
    return status;
}

void stk__config_destroy(stk__config **config)
{
    if (!config || !*config) return;
    stk__config *gone = *config;
    for (stk__config_text *next, *node = gone->texts; node; node = next) {
        next = node->next;
        stk__free(node);
    }
    stk__buffer_fini(&gone->foreign_sections);
    stk__buffer_fini(&gone->foreign_tables);
    stk__buffer_fini(&gone->foreign_rows);
    stk__free(gone->tables);
    stk__free(gone->settings);
    stk__free(gone);
    *config = NULL;
}

stk_status stk__config_foreign(stk__config *config, const char *section_and_aliases, const char *why,
                               stk_error *error)
{
    stk__config_foreign_section section;
    char sentence[256];
    snprintf(sentence, sizeof sentence, "not used here: %s", why);
    STK__TRY(keep(config, section_and_aliases, &section.names, error));
    STK__TRY(keep(config, sentence, &section.why, error));
    return stk__buffer_append(&config->foreign_sections, &section, sizeof section, error);
}

stk_status stk__config_foreign_options(stk__config *config, const stk__option_table *table, stk_error *error)
{
    return stk__buffer_append(&config->foreign_tables, &table, sizeof table, error);
}

stk_status stk__config_read_value(const stk__option *option, const char *text, stk__config_scratch *value,
                                  stk_error *error)
{
    stk__option alone = *option;
    alone.offset = 0;
    *value = (stk__config_scratch){0};
    return stk__option_parse(&alone, text, value, error);
}

static stk_status refuse_twice(const char *name, const char *first_place, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "'%s' is set twice", name);
    if (first_place) stk__error_hint(error, "the other one is at %s", first_place);
    return STK_ERROR_CONFIG;
}

static bool is_single(stk__option_type type)
{
    return type != STK_OPTION_TEXT && type != STK_OPTION_SIZE2 && type != STK_OPTION_RANGE &&
           type != STK_OPTION_PAIR && type != STK_OPTION_TRIPLE;
}

/* "[30, 60, 90]" where one value is expected: every one of them would be taken, so it is a grid. */
static void hint_grid(const stk__config_setting *setting, const char *value, stk_error *error)
{
    char list[256], word[128];
    size_t used = 0, count = 0;
    stk__config_scratch unused;
    const stk__option *option = setting->option;
    if (!is_single(option->type) || strlen(value) >= sizeof list / 2) return;
    for (const char *at = value + strspn(value, "[( "); *at && !strchr("])", *at); count++) {
        const size_t length = strcspn(at, ",])");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        word[strcspn(word, " ")] = '\0';
        if (stk__config_read_value(option, word, &unused, NULL) != STK_OK) return;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", count ? "," : "", word);
        at += length + (at[length] == ',');
        at += strspn(at, " ");
    }
    if (count == 1) stk__error_hint(error, "it takes one value, not a list: %s=%s", setting->name, list);
    if (count > 1)
        stk__error_hint(error, "it takes one value; to try each: --grid %s=%s", setting->name, list);
}

static stk_status take_setting(stk__config *config, stk__config_setting *setting, stk__config_input input,
                               stk_error *error)
{
    stk__config_slot *slot = &setting->slots[input.origin];
    if (input.reading && slot->reading == input.reading)
        return refuse_twice(setting->name, slot->place, error);
    stk__config_scratch unused;
    if (input.value && stk__config_read_value(setting->option, input.value, &unused, error) != STK_OK) {
        stk__option_error_section(error, setting->table->section);
        hint_grid(setting, input.value, error);
        return STK_ERROR_CONFIG;
    }
    stk__config_slot taken = {.reading = input.reading};
    STK__TRY(keep(config, input.value, &taken.value, error));
    STK__TRY(keep(config, input.place, &taken.place, error));
    *slot = taken;
    return STK_OK;
}

/* Where it stands, and how it is called there: "c.yaml:3:5 (hidden_size)". */
static stk_status remember_row(stk__config *config, stk__config_target target, stk__config_input input,
                               const char *note, stk_error *error)
{
    char place[PATH_MAX + 128];
    stk__config_slot *slot = &target.setting->slots[input.origin];
    snprintf(place, sizeof place, "%s (%s)", input.place ? input.place : "", target.row->name);
    if (*note) STK__TRY(keep(config, note, &slot->note, error));
    return input.place ? keep(config, place, &slot->place, error) : STK_OK;
}

/* Has the setting a value that a denial of `word` leaves alone: bf16, when fp16 is denied? */
static bool is_left_alone(const stk__config_setting *setting, const char *word, size_t length)
{
    stk__origin origin;
    const stk__config_slot *slot = stk__config_winner(setting, &origin);
    if (!slot || slot->denial || strcmp(slot->value, "true") == 0) return false;
    return strlen(slot->value) != length || strncmp(slot->value, word, length) != 0;
}

static stk_status take_translated(stk__config *config, stk__config_target target, stk__config_input input,
                                  stk_error *error)
{
    stk__foreign_value value;
    stk__config_slot *slot = &target.setting->slots[input.origin];
    const char *word;
    size_t length;
    STK__TRY(stk__config_translate(target, &input, &value, error));
    const bool denial = stk__config_is_denial(target.row, input.value, &word, &length);
    if (denial && is_left_alone(target.setting, word, length)) return STK_OK;
    if (slot->denial) slot->reading = 0;
    STK__TRY(take_setting(config, target.setting, input, error));
    slot->denial = denial;
    return target.row ? remember_row(config, target, input, value.note, error) : STK_OK;
}

static stk__config_foreign_row *find_row(const stk__config *config, const char *name)
{
    for (size_t i = 0; i < stk__config_row_count(config); i++)
        if (strcmp(stk__config_row_at(config, i)->name, name) == 0) return stk__config_row_at(config, i);
    return NULL;
}

static stk_status take_foreign(stk__config *config, stk__config_target target, stk__config_input input,
                               stk_error *error)
{
    if (!input.value) return STK_OK;
    stk__config_foreign_row taken = {
        .why = target.foreign->why, .origin = input.origin, .reading = input.reading};
    const int section_length = (int)strcspn(target.foreign->names, " ");
    STK__TRY(keep_name(config, target.foreign->names, section_length, target.rest, &taken.name, error));
    STK__TRY(keep(config, input.value, &taken.value, error));
    stk__config_foreign_row *row = find_row(config, taken.name);
    if (!row) return stk__buffer_append(&config->foreign_rows, &taken, sizeof taken, error);
    if (row->reading && row->reading == taken.reading) return refuse_twice(taken.name, NULL, error);
    if (taken.origin >= row->origin) *row = taken;
    return STK_OK;
}

stk_status stk__config_take(stk__config *config, stk__config_target target, stk__config_input input,
                            stk_error *error)
{
    const stk_status status = target.setting ? take_translated(config, target, input, error)
                                             : take_foreign(config, target, input, error);
    if (status != STK_OK && input.place) stk__error_place(error, "%s", input.place);
    return status;
}

stk_status stk__config_set(stk__config *config, const char *key, const char *value, stk__origin origin,
                           const char *place, stk_error *error)
{
    stk__config_target target;
    const stk_status status = stk__config_find(config, key, &target, error);
    if (status != STK_OK) {
        if (place) stk__error_place(error, "%s", place);
        return status;
    }
    return stk__config_take(config, target, (stk__config_input){value, place, origin, 0}, error);
}

const stk__config_slot *stk__config_winner(const stk__config_setting *setting, stk__origin *origin)
{
    for (int layer = STK_ORIGIN_COUNT - 1; layer >= 0; layer--)
        if (setting->slots[layer].value) {
            *origin = (stk__origin)layer;
            return &setting->slots[layer];
        }
    *origin = STK_ORIGIN_DEFAULT;
    return NULL;
}

const char *stk__config_requested(const stk__config *config, const char *name, stk__origin *origin)
{
    stk__config_target target;
    stk__origin found = STK_ORIGIN_DEFAULT;
    const stk__config_slot *slot = NULL;
    if (stk__config_find(config, name, &target, NULL) == STK_OK && target.setting)
        slot = stk__config_winner(target.setting, &found);
    if (origin) *origin = found;
    return slot ? slot->value : NULL;
}

static const stk__option_table *find_table(const stk__config *config, const char *section, size_t length)
{
    for (size_t i = 0; i < config->table_count; i++)
        if (strlen(config->tables[i]->section) == length &&
            stk__name_equal(config->tables[i]->section, section, length))
            return config->tables[i];
    return NULL;
}

static stk_status apply_table(const stk__config *config, const stk__option_table *table, void *options,
                              stk_error *error)
{
    for (size_t i = 0; i < config->setting_count; i++) {
        const stk__config_setting *setting = &config->settings[i];
        stk__origin origin;
        const stk__config_slot *slot = setting->table == table ? stk__config_winner(setting, &origin) : NULL;
        if (slot) STK__TRY(stk__option_parse(setting->option, slot->value, options, error));
    }
    return STK_OK;
}

stk_status stk__config_apply(const stk__config *config, const char *section, void *options, stk_error *error)
{
    const stk__option_table *table = find_table(config, section, strlen(section));
    if (!table) return stk__fail(error, STK_ERROR_ARGUMENT, "there are no options of section '%s'", section);
    const char *dot = strrchr(section, '.');
    const stk__option_table *parent = dot ? find_table(config, section, (size_t)(dot - section)) : NULL;
    if (parent && parent->options == table->options) STK__TRY(apply_table(config, parent, options, error));
    return apply_table(config, table, options, error);
}
