/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and values of other programs on their way into a config: sections by our names, a row's setting in the
 * section that was written, values translated. The rows themselves: foreign_name.h. */
#include "core/config_layers.h"

#include <stdio.h>
#include <string.h>

static size_t part_length(const char *key)
{
    return strcspn(key, ".");
}

/* Has some table, or some other room, a section of that name? */
static bool is_section(const stk__config *config, const char *name)
{
    const char *rest, *section;
    size_t length;
    if (stk__config_find_foreign(config, name, &rest)) return true;
    for (size_t i = 0; i < config->table_count; i++)
        for (size_t k = 0; (section = stk__config_spelling(config->tables[i], k, &length)); k++)
            if (strlen(name) == length && stk__name_equal(name, section, length)) return true;
    return false;
}

const char *stk__config_rename(const stk__config *config, const char *key, char renamed[STK_CONFIG_KEY_BYTES])
{
    const size_t length = part_length(key);
    const char *ours = key[length] ? stk__foreign_section(key, length) : NULL;
    if (!ours || (*ours && !is_section(config, ours))) return key;
    const int made = snprintf(renamed, STK_CONFIG_KEY_BYTES, "%s%s", ours, key + length + !*ours);
    return made < STK_CONFIG_KEY_BYTES ? renamed : key;
}

/* What follows the section of key, of a table or of another room; NULL: it has none. */
static const char *skip_any_section(const stk__config *config, const char *key)
{
    const char *rest = stk__config_skip_section(config, key);
    if (rest) return rest;
    return stk__config_find_foreign(config, key, &rest) && *rest ? rest : NULL;
}

static bool is_known(const stk__config *config, const char *key)
{
    const char *rest;
    return stk__config_find_full(config, key) || stk__config_find_foreign(config, key, &rest);
}

const stk__foreign_name *stk__config_row_of(const stk__config *config, const char *key)
{
    const char *rest = skip_any_section(config, key);
    const stk__foreign_name *row = stk__foreign_find(key, strlen(key));
    if (!row && rest) row = stk__foreign_find(rest, strlen(rest));
    return row && row->key && !is_known(config, row->key) ? NULL : row;
}

/* May the keys of the row's section stand in the section that was written: data.* in train? */
static bool is_allowed_in(const stk__config *config, const char *ours, const char *section, size_t length)
{
    const char *spelling;
    size_t other;
    for (size_t i = 0; i < config->table_count; i++) {
        const char *name = config->tables[i]->section;
        if (part_length(name) != part_length(ours) || strncmp(name, ours, part_length(name)) != 0) continue;
        for (size_t k = 0; (spelling = stk__config_spelling(config->tables[i], k, &other)); k++)
            if (other == length && stk__name_equal(spelling, section, length)) return true;
    }
    return part_length(ours) == length && stk__name_equal(ours, section, length);
}

bool stk__config_find_row(const stk__config *config, const char *key, stk__config_target *target)
{
    const stk__foreign_name *row = stk__config_row_of(config, key);
    const char *rest = skip_any_section(config, key);
    char moved[STK_CONFIG_KEY_BYTES];
    *target = (stk__config_target){.row = row};
    if (!row || !stk__foreign_is_taken(row)) return false;
    if (rest && strlen(key) != strlen(row->name)) {
        const int length = (int)(rest - key - 1);
        snprintf(moved, sizeof moved, "%.*s%s", length, key, strchr(row->key, '.'));
        target->setting = stk__config_find_full(config, moved); /* data.val.input_size stays in data.val */
        if (!target->setting && !is_allowed_in(config, row->key, key, (size_t)length)) return false;
    }
    if (!target->setting) target->setting = stk__config_find_full(config, row->key);
    if (!target->setting) target->foreign = stk__config_find_foreign(config, row->key, &target->rest);
    return target->setting || target->foreign;
}

stk_status stk__config_translate(stk__config_target target, stk__config_input *input, stk__foreign_value *out,
                                 stk_error *error)
{
    const stk__foreign_name *row = target.row;
    out->note[0] = '\0';
    if (!row || row->kind == STK_FOREIGN_SAME || !input->value || !target.setting) return STK_OK;
    STK__TRY(stk__foreign_translate(row, target.setting->option, input->value, out, error));
    input->value = out->text;
    return STK_OK;
}

bool stk__config_is_denial(const stk__foreign_name *row, const char *value, const char **word, size_t *length)
{
    if (!row || row->kind != STK_FOREIGN_READ || !value || strcmp(value, "false") != 0) return false;
    *word = strncmp(row->text, "true=", 5) == 0 ? row->text + 5 : NULL;
    if (!*word) return false;
    *length = strcspn(*word, " ");
    return strncmp(*word, "true", *length) != 0;
}
