/* SPDX-License-Identifier: Apache-2.0 */
/* Which column of a list says whether a row is for training, validation or test: split, data_split, set, …
 * with the words of parts (part_words.c) in it, or is_valid, is_test and is_train with yes and no. A column
 * that has nothing but names of parts is never left unused without data.columns saying so. One thread, while
 * a source opens. */
#include "source/list/list_columns.h"

#include "source/part_words.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *plain;
    bool weak; /* may mean something else: what is in it decides */
} names[] = {
    {"split", false},        {"partition", false},    {"subset", false},   {"datasplit", false},
    {"datasetsplit", false}, {"splitname", false},    {"traintest", true}, {"traintestsplit", true},
    {"trainvaltest", true},  {"trainvalsplit", true}, {"set", true},       {"usage", true},
    {"dataset", true},       {"datatype", true},      {"phase", true},     {"fold", true},
};

/* What the name of a column says. */
typedef struct split_name {
    bool known, weak;
    uint8_t yes, no; /* parts of True and False; 0: the column has names of parts */
} split_name;

/* One of the table; is_valid; or, weak, valid. */
static split_name read_name(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (stk__column_named(name, names[i].plain))
            return (split_name){.known = true, .weak = names[i].weak};
    for (size_t i = 0; i < STK_PART_WORDS; i++) {
        const stk__part_word *word = &stk__part_words[i];
        char plain[16];
        snprintf(plain, sizeof plain, "is%s", word->name);
        const bool flag = stk__column_named(name, plain);
        if (flag || stk__column_named(name, word->name))
            return (split_name){.known = true,
                                .weak = !flag,
                                .yes = (uint8_t)word->part,
                                .no = word->part == STK_SOURCE_TRAIN ? STK_SOURCE_TEST : STK_SOURCE_TRAIN};
    }
    return (split_name){.known = false};
}

int stk__flag_named(const char *text, size_t length)
{
    static const char *const words[2][5] = {{"false", "0", "no", "0.0", "f"},
                                            {"true", "1", "yes", "1.0", "t"}};
    for (int flag = 0; flag < 2; flag++)
        for (size_t i = 0; i < sizeof words[0] / sizeof words[0][0]; i++)
            if (strlen(words[flag][i]) == length && strncasecmp(text, words[flag][i], length) == 0)
                return flag;
    return -1;
}

uint32_t stk__columns_part(const stk__columns *columns, const char *text, size_t length)
{
    const uint32_t part = stk__part_of_word(text, length);
    const int flag = part ? -1 : stk__flag_named(text, length);
    return flag < 0 ? part : columns->flag_parts[flag];
}

/* --- the choice ----------------------------------------------------------------------------------------- */

static stk_status refuse_two(const stk__columns *columns, size_t a, size_t b, stk_error *error)
{
    const char *first = stk__columns_name(columns, a), *second = stk__columns_name(columns, b);
    stk__columns_refuse(columns, b, error, "the columns '%.80s' and '%.80s' can both be the split", first,
                        second);
    stk__error_hint(error, "say which one: data.columns='split=%.80s' or data.columns='split=%.80s'", first,
                    second);
    return STK_ERROR_DATA;
}

static stk_status refuse_unclear(const stk__columns *columns, size_t index, stk_error *error)
{
    const char *name = stk__columns_name(columns, index);
    stk__columns_refuse(columns, index, error,
                        "the column '%.80s' can say which rows are for training, validation or test", name);
    stk__error_hint(error, "say if it does: data.columns='split=%.80s' or data.columns='split=none'", name);
    return STK_ERROR_DATA;
}

/* Does the column say the part of each row? sure: without asking. */
static bool is_split(const stk__columns *columns, size_t index, bool *sure)
{
    const stk__list_column *column = stk__columns_at(columns, index);
    const split_name name = read_name(stk__columns_name(columns, index));
    const bool words =
        column->cells && column->parts == column->cells && (column->part_set & (column->part_set - 1)) != 0;
    const bool flags = column->cells && column->booleans == column->cells;
    *sure = name.known;
    if (column->role != STK_ROLE_NONE) return false;
    if (!name.known) return words;
    if (!name.yes) return !name.weak || column->parts;
    if (flags) *sure = !name.weak;
    return flags || column->parts;
}

/* What yes and no mean, by the name of the chosen column. */
static void set_flags(stk__columns *columns, size_t index)
{
    const split_name name = read_name(stk__columns_name(columns, index));
    stk__columns_at(columns, index)->role = STK_ROLE_SPLIT;
    columns->flag_parts[0] = name.no;
    columns->flag_parts[1] = name.yes;
}

stk_status stk__columns_choose_split(stk__columns *columns, stk_error *error)
{
    int split = stk__columns_find(columns, STK_ROLE_SPLIT);
    if (split >= 0) set_flags(columns, (size_t)split);
    if (stk__columns_is_wished(columns, STK_ROLE_SPLIT)) return STK_OK;
    bool sure = false;
    for (size_t i = 0; i < stk__columns_count(columns); i++) {
        bool clear;
        if (!is_split(columns, i, &clear)) continue;
        if (split >= 0) return refuse_two(columns, (size_t)split, i, error);
        split = (int)i;
        sure = clear;
    }
    if (split < 0) return STK_OK;
    if (!sure) return refuse_unclear(columns, (size_t)split, error);
    set_flags(columns, (size_t)split);
    return STK_OK;
}

bool stk__columns_may_split(const stk__columns *columns, size_t index)
{
    const stk__list_column *column = stk__columns_at(columns, index);
    return column->cells && column->parts == column->cells &&
           (column->part_set & (column->part_set - 1)) == 0;
}
