/* SPDX-License-Identifier: Apache-2.0 */
/* Names and values of other programs, from one list of rows. A value is translated only where its meaning is
 * exactly known; anything else is refused with what can be written here. No state; any thread. */
#include "core/foreign_name.h"

#include "core/text.h"

#include <stdio.h>

#define SAME(from, name, key)         {STK_FOREIGN_SAME, from, name, key, NULL},
#define READ(from, name, key, values) {STK_FOREIGN_READ, from, name, key, values},
#define TURN(from, name, key)         {STK_FOREIGN_TURN, from, name, key, NULL},
#define NEAR(from, name, key, why)    {STK_FOREIGN_NEAR, from, name, key, why},
#define NONE(from, name, why)         {STK_FOREIGN_NONE, from, name, NULL, why},
#define SECTION(name, ours)
static const stk__foreign_name rows[] = {
#include "core/foreign_names.list"
};
#undef SAME
#undef READ
#undef TURN
#undef NEAR
#undef NONE
#undef SECTION

#define SAME(from, name, key)
#define READ(from, name, key, values)
#define TURN(from, name, key)
#define NEAR(from, name, key, why)
#define NONE(from, name, why)
#define SECTION(name, ours) {name, ours},
static const struct {
    const char *name, *ours;
} sections[] = {
#include "core/foreign_names.list"
};

enum { ROWS = sizeof rows / sizeof rows[0], SECTIONS = sizeof sections / sizeof sections[0] };

size_t stk__foreign_count(void)
{
    return ROWS;
}

const stk__foreign_name *stk__foreign_at(size_t index)
{
    return &rows[index];
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && stk__name_equal(word, text, length);
}

const stk__foreign_name *stk__foreign_find(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++)
        if (is_word(rows[i].name, name, length)) return &rows[i];
    return NULL;
}

const char *stk__foreign_section(const char *name, size_t length)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (is_word(sections[i].name, name, length)) return sections[i].ours;
    return NULL;
}

/* --- values ------------------------------------------------------------------------------------------------
 */

static bool copy(stk__foreign_value *out, const char *text, size_t length)
{
    return (size_t)snprintf(out->text, sizeof out->text, "%.*s", (int)length, text) == length;
}

/* yes and on are true in YAML. */
static const char *plain_switch(const char *value)
{
    static const char *const words[][2] = {
        {"yes", "true"}, {"on", "true"}, {"no", "false"}, {"off", "false"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(value, words[i][0]) == 0) return words[i][1];
    return value;
}

static stk_status refuse_value(const stk__foreign_name *row, const stk__option *option, const char *value,
                               stk_error *error)
{
    char expected[192];
    stk__option_expects(option, expected, sizeof expected);
    stk__fail(error, STK_ERROR_CONFIG, "%s = '%.80s' has no counterpart in %s", row->name, value, row->key);
    stk__error_hint(error, "set %s: %s", row->key, expected);
    return STK_ERROR_CONFIG;
}

/* "16-mixed=fp16 32=false *": a '*' lets all other values through as they are. */
static stk_status read_value(const stk__foreign_name *row, const stk__option *option, const char *value,
                             stk__foreign_value *out, stk_error *error)
{
    const char *list = row->text, *word, *plain = plain_switch(value);
    size_t length;
    while ((word = stk__name_next(&list, &length))) {
        const char *equals = memchr(word, '=', length);
        if (!equals) { /* '*' */
            if (copy(out, value, strlen(value))) return STK_OK;
            break;
        }
        const size_t size = (size_t)(equals - word);
        if (strlen(plain) != size || !stk__name_equal(plain, word, size)) continue;
        copy(out, equals + 1, length - size - 1);
        if (strcasecmp(out->text, value) != 0)
            snprintf(out->note, sizeof out->note, "from %s = %.80s", row->name, value);
        return STK_OK;
    }
    return refuse_value(row, option, value, error);
}

/* "[512, 256]", "(512, 256)" or "512,256"; other ways to write a size are left to the option. */
static stk_status turn_size(const stk__foreign_name *row, const stk__option *option, const char *value,
                            stk__foreign_value *out, stk_error *error)
{
    char first[16], second[16], rest[16] = "";
    const bool opened = *value == '[' || *value == '(';
    const int count = sscanf(value + opened, " %15[0-9] , %15[0-9] %15s", first, second, rest);
    const bool closed = strcmp(rest, !opened ? "" : *value == '[' ? "]" : ")") == 0;
    if (count == 3 && *rest == ',') {
        stk__fail(error, STK_ERROR_CONFIG, "%s = '%.80s' has three numbers", row->name, value);
        stk__error_hint(error, "channels, height and width: set data.channels and %s=[H, W]", row->key);
        return STK_ERROR_CONFIG;
    }
    if (count < 2 || !closed || strcmp(first, second) == 0)
        return copy(out, value, strlen(value)) ? STK_OK : refuse_value(row, option, value, error);
    snprintf(out->text, sizeof out->text, "[%s, %s]", second, first);
    snprintf(out->note, sizeof out->note, "%s = %.80s is width, height", row->name, value);
    return STK_OK;
}

stk_status stk__foreign_translate(const stk__foreign_name *row, const stk__option *option, const char *value,
                                  stk__foreign_value *out, stk_error *error)
{
    out->text[0] = out->note[0] = '\0';
    if (row->kind == STK_FOREIGN_TURN) return turn_size(row, option, value, out, error);
    return read_value(row, option, value, out, error);
}
