/* SPDX-License-Identifier: Apache-2.0 */
/* Options as data: each row of a table names one field of an options struct with its type, range, default
 * and help. Reading, writing, range checks and defaults all walk over these rows, so that a new option is
 * one new row. Tables are constant; no state. */
#include "core/option.h"

#include "core/option_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static char fold(char c)
{
    if (c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool stk__name_equal(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (fold(a[i]) != fold(b[i])) return false;
        if (!a[i]) return false; /* both end too early */
    }
    return true;
}

const char *stk__name_next(const char **list, size_t *length)
{
    if (!*list) return NULL;
    const char *word = *list + strspn(*list, " ");
    *length = strcspn(word, " ");
    *list = word + *length;
    return *length ? word : NULL;
}

bool stk__option_is_named(const stk__option *option, const char *name, size_t length)
{
    if (strlen(option->name) == length && stk__name_equal(option->name, name, length)) return true;
    const char *list = option->aliases;
    size_t size;
    for (const char *alias; (alias = stk__name_next(&list, &size));)
        if (size == length && stk__name_equal(alias, name, length)) return true;
    return false;
}

size_t stk__option_value_bytes(stk__option_type type)
{
    switch (type) {
    case STK_OPTION_TEXT:
        return sizeof(const char *);
    case STK_OPTION_SWITCH:
    case STK_OPTION_WORD:
        return sizeof(int);
    case STK_OPTION_RANGE:
    case STK_OPTION_PAIR:
        return sizeof(double[2]);
    case STK_OPTION_TRIPLE:
        return sizeof(double[3]);
    default:
        return sizeof(int64_t);
    }
}

int stk__option_tuple_count(stk__option_type type)
{
    return type == STK_OPTION_PAIR ? 2 : type == STK_OPTION_TRIPLE ? 3 : 0;
}

stk__option_value stk__option_load(const stk__option *option, const void *options)
{
    stk__option_value value = {0};
    memcpy(&value, (const uint8_t *)options + option->offset, stk__option_value_bytes(option->type));
    return value;
}

bool stk__option_is_zero(const stk__option *option, const void *options)
{
    const stk__option_value value = stk__option_load(option, options), zero = {0};
    return memcmp(&value, &zero, sizeof value) == 0;
}

static bool has_range(const stk__option *option)
{
    return option->least != 0 || option->most != 0;
}

void stk__option_range(const stk__option *option, char *text, size_t size)
{
    char least[32], most[32];
    text[0] = '\0';
    if (!has_range(option)) return;
    stk__option_print_number(option->least, least, sizeof least);
    stk__option_print_number(option->most, most, sizeof most);
    if (isinf(option->most))
        snprintf(text, size, "%s or more", least);
    else
        snprintf(text, size, "%s to %s", least, most);
}

void stk__option_choices(const stk__option *option, char *text, size_t size)
{
    const int count = stk__option_choice_count(option);
    size_t used = 0;
    for (int i = 0; i < count && used < size; i++) {
        const char *joint = i == 0 ? "" : i == count - 1 ? " or " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s", joint);
        if (used < size) used += stk__option_choice_print(option, i, text + used, size - used);
    }
}

void stk__option_expects(const stk__option *option, char *text, size_t size)
{
    static const char *const kinds[] = {
        [STK_OPTION_TEXT] = "a text",
        [STK_OPTION_INT] = "an integer",
        [STK_OPTION_COUNT] = "auto or an integer",
        [STK_OPTION_NUMBER] = "a number",
        [STK_OPTION_SWITCH] = "true, false or auto",
        [STK_OPTION_BYTES] = "a size such as 4096, 64M or 2GiB",
        [STK_OPTION_SECONDS] = "a time such as 30, 500ms or 2m",
        [STK_OPTION_SIZE2] = "a size as N, [H, W] or WxH",
        [STK_OPTION_SHARE] = "a probability from 0 to 1",
        [STK_OPTION_RANGE] = "a number or a range [A, B]",
        [STK_OPTION_PAIR] = "a number or two, [A, B]",
        [STK_OPTION_TRIPLE] = "a number or three, [A, B, C]",
    };
    if (option->type == STK_OPTION_WORD) {
        stk__option_choices(option, text, size);
        return;
    }
    char range[96];
    stk__option_range(option, range, sizeof range);
    snprintf(text, size, "%s%s%s", kinds[option->type], *range ? ", " : "", range);
}

static stk_status refuse(const stk__option *option, const char *text, const char *complaint, stk_error *error)
{
    char expected[192];
    stk__option_expects(option, expected, sizeof expected);
    stk__fail(error, STK_ERROR_CONFIG, "%s = '%.80s' %s", option->name, text, complaint);
    stk__error_hint(error, "give %s", expected);
    return STK_ERROR_CONFIG;
}

static stk_status check_number(const stk__option *option, double number, const char *text, stk_error *error)
{
    const bool side = option->type == STK_OPTION_SIZE2;
    const double least = has_range(option) ? option->least : side ? 1 : -INFINITY;
    const double most = has_range(option) ? option->most : INFINITY;
    if (number >= least && number <= most) return STK_OK;
    char bound[32], complaint[64];
    stk__option_print_number(number < least ? least : most, bound, sizeof bound);
    snprintf(complaint, sizeof complaint, "is %s %s", number < least ? "below" : "above", bound);
    return refuse(option, text, isnan(number) ? "is not a number" : complaint, error);
}

/* Ranges hold for the value as people write it: a COUNT of -1 is their 0. */
static stk_status check_value(const stk__option *option, stk__option_value value, const char *text,
                              stk_error *error)
{
    switch (option->type) {
    case STK_OPTION_TEXT:
    case STK_OPTION_SWITCH:
    case STK_OPTION_WORD:
        return STK_OK;
    case STK_OPTION_INT:
        return check_number(option, (double)value.whole, text, error);
    case STK_OPTION_COUNT:
        if (value.whole == 0) return STK_OK;
        return check_number(option, value.whole == -1 ? 0 : (double)value.whole, text, error);
    case STK_OPTION_NUMBER:
    case STK_OPTION_SECONDS:
        return check_number(option, value.number, text, error);
    case STK_OPTION_BYTES:
        return check_number(option, (double)value.bytes, text, error);
    case STK_OPTION_SIZE2:
        STK__TRY(check_number(option, value.size[0], text, error));
        return check_number(option, value.size[1], text, error);
    case STK_OPTION_SHARE:
        return check_number(option, value.number < 0 ? 0 : value.number, text, error);
    case STK_OPTION_RANGE:
        STK__TRY(check_number(option, value.range[0], text, error));
        return isinf(value.range[1]) ? STK_OK : check_number(option, value.range[1], text, error);
    case STK_OPTION_PAIR:
    case STK_OPTION_TRIPLE:
        for (int i = 0; i < stk__option_tuple_count(option->type); i++)
            STK__TRY(check_number(option, value.triple[i], text, error));
        return STK_OK;
    }
    return STK_OK;
}

stk_status stk__option_parse(const stk__option *option, const char *text, void *options, stk_error *error)
{
    static const char *const complaints[] = {
        [STK_OPTION_INT] = "is not an integer",
        [STK_OPTION_COUNT] = "is neither auto nor an integer",
        [STK_OPTION_NUMBER] = "is not a number",
        [STK_OPTION_SWITCH] = "is neither true nor false",
        [STK_OPTION_WORD] = "is not one of the choices",
        [STK_OPTION_BYTES] = "is not a size in bytes",
        [STK_OPTION_SECONDS] = "is not a time",
        [STK_OPTION_SIZE2] = "is not a height and width",
        [STK_OPTION_SHARE] = "is not a probability",
        [STK_OPTION_RANGE] = "is neither a number nor a range",
        [STK_OPTION_PAIR] = "is neither one number nor two",
        [STK_OPTION_TRIPLE] = "is neither one number nor three",
    };
    stk__option_value value = {0};
    if (!stk__option_value_read(option, text, &value))
        return refuse(option, text, complaints[option->type], error);
    STK__TRY(check_value(option, value, text, error));
    memcpy((uint8_t *)options + option->offset, &value, stk__option_value_bytes(option->type));
    return STK_OK;
}

void stk__option_error_section(stk_error *error, const char *section)
{
    if (!error) return;
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    snprintf(error->message, sizeof error->message, "%.100s.%.280s", section, message);
}

stk_status stk__options_fill(const stk__option_table *table, void *options, stk_error *error)
{
    for (size_t i = 0; i < table->count; i++) {
        const stk__option *option = &table->options[i];
        if (!option->fallback || !stk__option_is_zero(option, options)) continue;
        const stk_status status = stk__option_parse(option, option->fallback, options, error);
        if (status == STK_OK) continue;
        stk__option_error_section(error, table->section);
        return status;
    }
    return STK_OK;
}

/* What the type alone forbids; text that was parsed never gets here with such a value. */
static bool is_impossible(const stk__option *option, stk__option_value value)
{
    switch (option->type) {
    case STK_OPTION_COUNT:
        return value.whole < -1;
    case STK_OPTION_SWITCH:
        return value.flag < -1 || value.flag > 1;
    case STK_OPTION_WORD:
        return value.flag < 0 || value.flag >= stk__option_choice_count(option);
    case STK_OPTION_SECONDS:
        return !(value.number >= 0) || isinf(value.number);
    case STK_OPTION_NUMBER:
        return !isfinite(value.number);
    case STK_OPTION_PAIR:
    case STK_OPTION_TRIPLE: /* those of a PAIR are followed by zero */
        return !isfinite(value.triple[0]) || !isfinite(value.triple[1]) || !isfinite(value.triple[2]);
    default:
        return false;
    }
}

stk_status stk__options_check(const stk__option_table *table, const void *options, stk_error *error)
{
    for (size_t i = 0; i < table->count; i++) {
        const stk__option *option = &table->options[i];
        if (stk__option_is_zero(option, options)) continue;
        const stk__option_value value = stk__option_load(option, options);
        char text[STK_OPTION_TEXT_BYTES];
        stk__option_print(option, options, text, sizeof text);
        if (option->type == STK_OPTION_SWITCH) snprintf(text, sizeof text, "%d", value.flag);
        const stk_status status = is_impossible(option, value)
                                      ? refuse(option, text, "is not possible", error)
                                      : check_value(option, value, text, error);
        if (status == STK_OK) continue;
        stk__option_error_section(error, table->section);
        return status;
    }
    return STK_OK;
}

static stk_status check_names(const stk__option_table *table, size_t index, stk_error *error)
{
    const char *name = table->options[index].name;
    for (size_t k = 0; k < table->count; k++)
        if (k != index && stk__option_is_named(&table->options[k], name, strlen(name)))
            return stk__fail(error, STK_ERROR_ARGUMENT, "%s.%s is declared twice", table->section, name);
    return STK_OK;
}

/* Zero means default, so an explicit 0 must be out of range or the default itself. */
static bool loses_zero(const stk__option *option, stk__option_value fallback)
{
    const bool in_range = !has_range(option) || (option->least <= 0 && option->most >= 0);
    switch (option->type) {
    case STK_OPTION_WORD:
        return fallback.flag != 0;
    case STK_OPTION_INT:
        return in_range && fallback.whole != 0;
    case STK_OPTION_BYTES:
        return in_range && fallback.bytes != 0;
    case STK_OPTION_NUMBER:
    case STK_OPTION_SECONDS:
        return in_range && fallback.number != 0;
    default:
        return false;
    }
}

static stk_status check_option(const stk__option_table *table, const stk__option *option, stk_error *error)
{
    const char *section = table->section, *name = option->name;
    if (option->offset + stk__option_value_bytes(option->type) > table->struct_bytes)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s.%s lies outside its struct", section, name);
    if (option->map && option->type != STK_OPTION_TEXT)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s.%s takes a map but is not a text option", section,
                         name);
    if (!option->help || (option->type == STK_OPTION_WORD && !option->choices))
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s.%s lacks its help or its choices", section, name);
    if (!option->fallback) return STK_OK;
    stk__option here = *option;
    stk__option_value value = {0};
    here.offset = 0;
    const stk_status status = stk__option_parse(&here, option->fallback, &value, error);
    if (status != STK_OK) {
        stk__option_error_section(error, section);
        if (error) error->code = STK_ERROR_ARGUMENT; /* the table's mistake, not the user's */
        return STK_ERROR_ARGUMENT;
    }
    if (loses_zero(option, value))
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s.%s takes 0, but 0 means its default '%s'", section,
                         name, option->fallback);
    return STK_OK;
}

stk_status stk__option_table_check(const stk__option_table *table, stk_error *error)
{
    for (size_t i = 0; i < table->count; i++) {
        STK__TRY(check_names(table, i, error));
        STK__TRY(check_option(table, &table->options[i], error));
    }
    return STK_OK;
}
