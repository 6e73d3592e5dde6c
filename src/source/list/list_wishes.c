/* SPDX-License-Identifier: Apache-2.0 */
/* data.columns: "file=Image Name,label=species,split=none" (or with ':', as YAML maps arrive), and the roles
 * that columns get by it. One thread, while a source opens. */
#include "source/list/list_columns.h"

#include "core/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *const stk__role_words[STK_ROLE_COUNT] = {"", "file", "label", "value", "mask", "split", "points"};
static const char role_list[] = "file, label (or labels), value, mask, split and points";
static const char several_word[] = "labels"; /* a label that is several in one cell */

void stk__column_trim(const char **text, size_t *length)
{
    for (; *length && stk__is_space(**text); (*length)--)
        (*text)++;
    while (*length && stk__is_space((*text)[*length - 1]))
        (*length)--;
}

static stk_status refuse_wish(const char *text, size_t length, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.columns has '%.*s', which does not say ROLE=COLUMN",
              (int)(length < 80 ? length : 80), text);
    stk__error_hint(error, "roles are %s, each once: data.columns='file=Image Name,label=species,split=none'",
                    role_list);
    return STK_ERROR_CONFIG;
}

static stk_status take_wish(stk__columns *columns, const char *text, size_t length, stk_error *error)
{
    const size_t role_end = strcspn(text, "=:,");
    if (role_end >= length) return refuse_wish(text, length, error);
    const char *word = text, *name = text + role_end + 1;
    size_t word_length = role_end, name_length = length - role_end - 1;
    stk__column_trim(&word, &word_length);
    stk__column_trim(&name, &name_length);
    const bool several =
        word_length == strlen(several_word) && strncasecmp(word, several_word, word_length) == 0;
    if (several) word_length--;
    int role = 1;
    while (role < STK_ROLE_COUNT && (strlen(stk__role_words[role]) != word_length ||
                                     strncasecmp(word, stk__role_words[role], word_length) != 0))
        role++;
    if (role == STK_ROLE_COUNT || name_length == 0 || columns->wishes[role].name)
        return refuse_wish(text, length, error);
    const bool none = name_length == 4 && strncasecmp(name, "none", 4) == 0;
    columns->wishes[role] = (stk__column_wish){name, name_length, none, several && !none};
    return STK_OK;
}

stk_status stk__columns_wish(stk__columns *columns, const char *text, stk_error *error)
{
    while (text && *text) {
        const size_t length = strcspn(text, ",");
        STK__TRY(take_wish(columns, text, length, error));
        text += length + (text[length] == ',');
    }
    return STK_OK;
}

static bool equals(const char *name, const char *wish, size_t length)
{
    while (stk__is_blank(*name))
        name++;
    size_t name_length = strlen(name);
    while (name_length && stk__is_blank(name[name_length - 1]))
        name_length--;
    return name_length == length && strncasecmp(name, wish, length) == 0;
}

static stk_status refuse_unknown(const stk__columns *columns, stk__role role, stk_error *error)
{
    const stk__column_wish *wish = &columns->wishes[role];
    char names[400] = "";
    size_t size = 0;
    for (size_t i = 0; i < stk__columns_count(columns) && size < sizeof names - 70; i++)
        size += (size_t)snprintf(names + size, sizeof names - size, "%s'%.60s'", i ? ", " : "",
                                 stk__columns_name(columns, i));
    stk__fail(error, STK_ERROR_CONFIG,
              "data.columns takes the %s from '%.*s', which is not a column of the list",
              stk__role_words[role], (int)(wish->length < 80 ? wish->length : 80), wish->name);
    stk__error_place(error, "%s:%llu", columns->path, (unsigned long long)columns->line);
    stk__error_hint(error, "the columns are %s", names);
    return STK_ERROR_CONFIG;
}

/* The column that a wish names; the number of columns: there is none. */
static size_t find_wished(const stk__columns *columns, const stk__column_wish *wish)
{
    size_t at = 0;
    while (at < stk__columns_count(columns) &&
           !equals(stk__columns_name(columns, at), wish->name, wish->length))
        at++;
    return at;
}

bool stk__columns_lack(const stk__columns *columns)
{
    for (int role = 1; role < STK_ROLE_POINTS; role++) {
        const stk__column_wish *wish = &columns->wishes[role];
        if (wish->name && !wish->none && find_wished(columns, wish) == stk__columns_count(columns))
            return true;
    }
    return false;
}

stk_status stk__columns_grant(stk__columns *columns, stk_error *error)
{
    for (int role = 1; role < STK_ROLE_POINTS; role++) {
        const stk__column_wish *wish = &columns->wishes[role];
        if (!wish->name || wish->none) continue;
        const size_t at = find_wished(columns, wish);
        if (at == stk__columns_count(columns)) return refuse_unknown(columns, (stk__role)role, error);
        stk__list_column *column = stk__columns_at(columns, at);
        if (column->role != STK_ROLE_NONE) {
            stk__columns_refuse(columns, at, error, "data.columns takes both %s and %s from '%.80s'",
                                stk__role_words[column->role], stk__role_words[role],
                                stk__columns_name(columns, at));
            if (error) error->code = STK_ERROR_CONFIG;
            return STK_ERROR_CONFIG;
        }
        column->role = (uint8_t)role;
    }
    return STK_OK;
}
