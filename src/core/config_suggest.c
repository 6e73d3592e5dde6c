/* SPDX-License-Identifier: Apache-2.0 */
/* What was probably meant by a key that does not exist, in this order: a name of another program that is not
 * taken, with the reason; a name of ours in another section; a typing error or a beginning; a name with words
 * around it (my_batch_size); a part of names (flip_prob); a typing error in a name of another program. An
 * unrelated suggestion is worse than none. */
#include "core/config_layers.h"

#include "core/nearest.h"

#include <stdio.h>
#include <string.h>

/* --- typing errors ---------------------------------------------------------------------------------------
 */

/* Offers a word that is part of a longer text; what is remembered is label. */
static void offer(stk__nearest *nearest, const char *text, size_t length, const char *label)
{
    char word[STK_NEAREST_MOST + 1];
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    stk__nearest trial = *nearest;
    stk__nearest_offer(&trial, word);
    if (trial.best != word) return;
    *nearest = trial;
    nearest->best = label;
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
    stk__nearest here = {.word = rest, .strict = true}, anywhere = here;
    for (size_t i = 0; i < config->setting_count; i++) {
        const stk__config_setting *setting = &config->settings[i];
        const char *section;
        size_t length;
        offer_option(&anywhere, setting->option, setting->name);
        for (size_t k = 0; (section = stk__config_spelling(setting->table, k, &length)); k++)
            if (stk__config_below(key, section, length) == rest)
                offer_option(&here, setting->option, setting->option->name);
    }
    for (size_t i = 0; i < config->table_count; i++) {
        const char *inner = stk__config_inner_section(config->tables[i]);
        if (inner) offer(&anywhere, inner, strlen(inner), config->tables[i]->section);
    }
    return here.best ? here.best : anywhere.best;
}

/* The row whose name word is with a slip; short names are too near to everything. NULL: none. */
static const stk__foreign_name *nearest_row(const stk__config *config, const char *word)
{
    enum { LEAST_LETTERS = 6, LETTERS_PER_SLIP = 6 };
    const stk__foreign_name *best = NULL;
    stk__nearest nearest = {.word = word, .strict = true};
    const size_t length = strlen(word);
    for (size_t i = 0; i < stk__foreign_count(); i++) {
        const stk__foreign_name *row = stk__foreign_at(i);
        const size_t size = strlen(row->name), slips = size / LETTERS_PER_SLIP;
        if (size < LEAST_LETTERS || size + slips < length || length + slips < size) continue;
        if (stk__edit_distance(word, row->name) > slips) continue;
        const char *before = nearest.best;
        stk__nearest_offer(&nearest, row->name);
        if (nearest.best != before) best = row;
    }
    return best && stk__config_row_of(config, best->name) ? best : NULL;
}

/* --- names of other programs -----------------------------------------------------------------------------
 */

/* start: "see ", "if 'x' is meant: ". */
static void hint_row(const stk__foreign_name *row, const char *start, stk_error *error)
{
    if (stk__foreign_is_taken(row))
        stk__error_hint(error, "did you mean '%s'?", row->key);
    else
        stk__error_hint(error, "%s%s%s%s", start, row->key ? row->key : "", row->key ? ": " : "", row->text);
}

static void hint_meant_row(const stk__foreign_name *row, stk_error *error)
{
    char start[96];
    snprintf(start, sizeof start, "if '%s' is meant: ", row->name);
    hint_row(row, start, error);
}

/* --- words around a name, parts of names -----------------------------------------------------------------
 */

static bool is_among(const char *words, const char *text, size_t length)
{
    size_t other;
    for (const char *word; (word = stk__name_next(&words, &other));)
        if (other == length && stk__name_equal(word, text, length)) return true;
    return false;
}

/* A whole name that is left of key when words before or behind it are taken away. */
static bool hint_inner_name(const stk__config *config, const char *name, const char *section,
                            stk_error *error)
{
    enum { LEAST_LETTERS = 5 };
    const stk__config_setting *setting = stk__config_look_up(config, name);
    if (setting) {
        const size_t length = strcspn(setting->name, ".");
        const bool own =
            section && strlen(section) == length && stk__name_equal(section, setting->name, length);
        if (section ? !own : strlen(name) < LEAST_LETTERS) return false;
        stk__error_hint(error, "did you mean '%s'?", setting->name);
        return true;
    }
    const stk__foreign_name *row = section ? NULL : stk__foreign_find(name, strlen(name));
    if (!row || stk__foreign_is_taken(row) || !stk__config_row_of(config, name)) return false;
    hint_meant_row(row, error);
    return true;
}

static bool hint_without_words(const stk__config *config, const char *key, stk_error *error)
{
    static const char around[] =
        "my the use enable do default initial init base num n nb total cfg config args "
        "hp param loader dataloader dataset trainer value flag train training";
    static const char sections[] = "data model loss train optimizer augment run";
    char name[96], section[16];
    if (strlen(key) >= sizeof name) return false;
    const char *cut = strpbrk(key, "_-");
    const size_t first = cut ? (size_t)(cut - key) : 0;
    if (first && first < sizeof section && is_among(sections, key, first)) {
        snprintf(section, sizeof section, "%.*s", (int)first, key);
        if (hint_inner_name(config, cut + 1, section, error)) return true;
    }
    if (first && is_among(around, key, first) && hint_inner_name(config, cut + 1, NULL, error)) return true;
    snprintf(name, sizeof name, "%s", key);
    char *end = strrchr(name, '_');
    if (!end || !is_among(around, end + 1, strlen(end + 1))) return false;
    *end = '\0';
    return hint_inner_name(config, name, NULL, error);
}

/* Is word a run of whole parts of name: "flip_prob" of "horizontal_flip_prob"? */
static bool has_parts(const char *name, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = name; strlen(at) >= length; at++) {
        const bool starts = at == name || strchr("_.", at[-1]);
        if (starts && stk__name_equal(at, word, length) && strchr("_.", at[length])) return true;
    }
    return false;
}

/* Up to three settings that have the word in their names; more would be a list, not an answer. */
static bool hint_parts(const stk__config *config, const char *word, int least, stk_error *error)
{
    enum { LEAST_LETTERS = 4, MOST = 3 };
    static const char common[] =
        "name file root mode time last index sample steps prob interval class type path list kernel";
    char list[256];
    size_t used = 0;
    int count = 0;
    if (strlen(word) < LEAST_LETTERS || is_among(common, word, strlen(word))) return false;
    for (size_t i = 0; i < config->setting_count; i++) {
        const stk__config_setting *setting = &config->settings[i];
        if (stk__config_inner_section(setting->table) || !has_parts(setting->option->name, word)) continue;
        if (++count > MOST) return false;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", used ? ", " : "", setting->name);
        if (used >= sizeof list) return false;
    }
    if (count < least) return false;
    stk__error_hint(error, "did you mean %s?", list);
    return true;
}

/* --- keys ------------------------------------------------------------------------------------------------
 */

static bool hint_section(const stk__config *config, const char *rest, stk_error *error)
{
    for (size_t i = 0; i < config->setting_count; i++)
        if (stk__option_is_named(config->settings[i].option, rest, strlen(rest))) {
            stk__error_hint(error, "'%.80s' belongs to section '%s'", rest,
                            config->settings[i].table->section);
            return true;
        }
    const stk__foreign_name *row = stk__config_row_of(config, rest);
    if (row) stk__error_hint(error, "'%.80s' is %s here", rest, row->key);
    return row;
}

static void hint_key(const stk__config *config, const char *key, const char *rest, stk_error *error)
{
    if (hint_section(config, rest, error) || hint_parts(config, rest, 2, error)) return;
    const char *meant = nearest_key(config, key, rest);
    if (meant && key == rest) meant = strchr(meant, '.') + 1; /* a bare key is answered with one */
    if (meant) {
        stk__error_hint(error, "did you mean '%s'?", meant);
        return;
    }
    if (hint_without_words(config, rest, error) || hint_parts(config, rest, 1, error)) return;
    const stk__foreign_name *row = nearest_row(config, rest);
    if (row)
        hint_meant_row(row, error);
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

/* A name of another program that is not taken, whatever section it stands in. */
static stk_status refuse_row(const stk__foreign_name *row, const char *key, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "there is no setting '%.80s'", key);
    hint_row(row, row->key ? "see " : "leave it out: ", error);
    return STK_ERROR_CONFIG;
}

stk_status stk__config_unknown(const stk__config *config, const char *key, stk_error *error)
{
    const char *rest = stk__config_skip_section(config, key);
    const stk__foreign_name *row = stk__config_row_of(config, key);
    if (row && !stk__foreign_is_taken(row)) return refuse_row(row, key, error);
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
