/* SPDX-License-Identifier: Apache-2.0 */
/* What labels mean, when all are known. Integers can be classes or values: what was taken is told with the
 * setting for the other reading, and where nothing speaks for one of them the list is refused with both.
 *
 * Labels that are several in one cell: "cat;dog", "haze primary", "16 0". Unless data.columns picks the
 * column, which takes each combination for a class, they become sets (list_sets.c). All names are looked at,
 * once, when they are known. One thread. */
#include "source/list/list.h"

#include <stdio.h>
#include <string.h>

enum { PARTS_MOST = 32, NAMES_MOST = 512 }; /* parts of a name; names that are compared with each other */

typedef struct label_parts {
    const char *part[PARTS_MOST];
    size_t length[PARTS_MOST];
    size_t count;
} label_parts;

static label_parts split(const char *name, const char *separators)
{
    label_parts parts = {.count = 0};
    while (*name && parts.count < PARTS_MOST) {
        name += strspn(name, separators);
        const size_t length = strcspn(name, separators);
        if (length == 0) break;
        parts.part[parts.count] = name;
        parts.length[parts.count++] = length;
        name += length;
    }
    return parts;
}

/* Is every part of the name a class of its own? */
static bool has_known_parts(const stk__classes *classes, const char *name, const char *separators)
{
    const label_parts parts = split(name, separators);
    for (size_t i = 0; i < parts.count; i++) {
        const char *part = parts.part[i];
        size_t length = parts.length[i];
        stk__column_trim(&part, &length);
        if (stk__classes_find(classes, part, length) < 0) return false;
    }
    return parts.count > 1;
}

/* "haze primary", "agriculture clear primary water": the same two words in another name too. */
static bool shares_parts(const stk__classes *classes, int32_t index, const char *separators)
{
    const label_parts parts = split(classes->list[index], separators);
    for (size_t i = 0; i < parts.count; i++) {
        bool shared = false;
        for (int32_t other = 0; other < classes->count && other < NAMES_MOST && !shared; other++) {
            const label_parts theirs = split(classes->list[other], separators);
            for (size_t k = 0; other != index && k < theirs.count && !shared; k++)
                shared = theirs.length[k] == parts.length[i] &&
                         memcmp(theirs.part[k], parts.part[i], parts.length[i]) == 0;
        }
        if (!shared) return false;
    }
    return parts.count >
           3; /* names of two or three words may share all of them: red car, red van, blue car */
}

static bool has_word(const label_parts *parts, const char *word, size_t length)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->length[i] == length && memcmp(parts->part[i], word, length) == 0) return true;
    return false;
}

/* "clear water" beside "clear" or "clear water road": all words of one name are in the other. A '_' joins the
 * words of one label, so that a blank is between labels; else every further word must be in a third name. */
static bool is_combination(const stk__classes *classes, int32_t index)
{
    const label_parts mine = split(classes->list[index], ", ");
    const bool joined = strchr(classes->list[index], '_') != NULL;
    bool known[PARTS_MOST] = {false}, within = false;
    for (int32_t other = 0; other < classes->count && other < NAMES_MOST; other++) {
        if (other == index) continue;
        const label_parts theirs = split(classes->list[other], ", ");
        size_t shared = 0;
        for (size_t i = 0; i < mine.count; i++)
            if (has_word(&theirs, mine.part[i], mine.length[i])) known[i] = ++shared;
        within |= theirs.count && theirs.count < mine.count && shared == theirs.count;
        within |= theirs.count > mine.count && shared == mine.count;
    }
    for (size_t i = 0; i < mine.count && !joined; i++)
        within &= known[i];
    return mine.count > 1 && within;
}

/* A name that is a combination, if at least half of the names of several words are: "sea lion" beside "lion"
 * and "sea snake" is one of many that are not. */
static const char *find_combination(const stk__classes *classes)
{
    const char *first = NULL;
    size_t several = 0, combined = 0;
    for (int32_t i = 0; i < classes->count && i < NAMES_MOST; i++) {
        if (split(classes->list[i], ", ").count < 2) continue;
        several++;
        if (!is_combination(classes, i)) continue;
        combined++;
        if (!first) first = classes->list[i];
    }
    return 2 * combined >= several ? first : NULL;
}

/* "16 0" */
static bool is_numbers(const char *name)
{
    return name[strspn(name, "0123456789 ,")] == '\0' && split(name, " ,").count > 1;
}

/* Where commas are between labels, blanks are within them. */
static const char *choose_comma(const stk__classes *classes)
{
    for (int32_t i = 0; i < classes->count; i++)
        if (strchr(classes->list[i], ',')) return ",";
    return " ";
}

/* What is between labels, if some names are several of them; NULL: they are not. */
static const char *find_separators(const stk__classes *classes)
{
    for (int32_t i = 0; i < classes->count; i++) {
        const char *name = classes->list[i];
        if (strpbrk(name, ";|") && split(name, ";|").count > 1) return ";|";
        if (is_numbers(name)) return ", ";
        if (has_known_parts(classes, name, ",")) return ",";
        if (has_known_parts(classes, name, ", ")) return choose_comma(classes);
        if (i < NAMES_MOST && (shares_parts(classes, i, ", ") || shares_parts(classes, i, ",")))
            return choose_comma(classes);
    }
    return find_combination(classes) ? choose_comma(classes) : NULL;
}

const char *stk__list_find_separators(const stk__columns *columns, const stk__classes *classes)
{
    const stk__column_wish *wish = &columns->wishes[STK_ROLE_LABEL];
    if (wish->name && !wish->several) return NULL;
    const char *found = find_separators(classes);
    if (found || !wish->several) return found;
    const char *comma = choose_comma(classes); /* labels=COLUMN; words of a name are no labels */
    return *comma == ',' ? comma : ";|";
}

const char *stk__list_known_separators(const stk__classes *classes, const char *label, size_t length)
{
    static const char *const separators[] = {";|", ",", " "};
    char text[256];
    if (length >= sizeof text) return NULL;
    memcpy(text, label, length);
    text[length] = '\0';
    for (size_t i = 0; i < sizeof separators / sizeof separators[0]; i++)
        if (has_known_parts(classes, text, separators[i])) return separators[i];
    return NULL;
}

/* Integers with something between them below the rows that were looked at. */
static stk_status refuse_late(const stk__list *list, stk_error *error)
{
    const int label = stk__columns_find(&list->columns, STK_ROLE_LABEL);
    stk__fail(error, STK_ERROR_DATA, "the column '%.60s' has class ids, but several in one cell of line %llu",
              label < 0 ? "label" : stk__columns_name(&list->columns, (size_t)label),
              (unsigned long long)list->several_line);
    stk__error_place(error, "%s:%llu", list->path, (unsigned long long)list->several_line);
    stk__error_hint(error, "where images have several labels, one of the first 256 rows must have several");
    return STK_ERROR_DATA;
}

stk_status stk__list_check_labels(stk__list *list, stk_error *error)
{
    const bool picked = stk__columns_is_wished(&list->columns, STK_ROLE_LABEL);
    const bool names = list->label_texts == STK_LABEL_TEXTS_NAMES;
    if (list->joins) return stk__list_make_sets(list, STK_LIST_JOINT, error);
    if (!list->has_label) return STK_OK;
    const char *separators = list->separators ? list->separators
                             : names && !list->shared_classes
                                 ? stk__list_find_separators(&list->columns, &list->files.classes)
                                 : NULL;
    if (separators) return stk__list_make_sets(list, separators, error);
    return list->several_line && !picked ? refuse_late(list, error) : STK_OK;
}

/* --- classes or values ---------------------------------------------------------------------------------- */

stk_status stk__list_check_values(const stk__list *list, stk_error *error)
{
    const int column = stk__columns_find(&list->columns, STK_ROLE_VALUE);
    if (column < 0 || list->other_values || stk__columns_is_wished(&list->columns, STK_ROLE_VALUE) ||
        !stk__columns_is_mixed(&list->columns, (size_t)column))
        return STK_OK;
    const char *name = stk__columns_name(&list->columns, (size_t)column);
    stk__columns_refuse(&list->columns, (size_t)column, error,
                        "the column '%.80s' has integers only, which can be class ids or values", name);
    stk__error_hint(error,
                    "data.columns='label=%.80s' reads them as classes, data.columns='value=%.80s' as values",
                    name, name);
    return STK_ERROR_DATA;
}

/* Ages from 20 to 70 as class ids leave 0 to 19 without a sample. */
static bool has_gaps(const stk__list *list)
{
    const stk__row *rows = (const stk__row *)(const void *)list->rows.data;
    const size_t count = list->rows.size_bytes / sizeof *rows;
    bool seen[NAMES_MOST] = {false};
    int64_t distinct = 0;
    if (list->highest_class >= NAMES_MOST) return true;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].state == STK_ROW_BAD) continue;
        distinct += !seen[(int)rows[i].label];
        seen[(int)rows[i].label] = true;
    }
    return distinct <= list->highest_class;
}

static void add_reading(stk__source_info *info, const char *format, const char *name, const char *other)
{
    char text[sizeof info->how];
    const size_t at = strlen(info->how);
    snprintf(text, sizeof text, format, name, other);
    snprintf(info->how + at, sizeof info->how - at, "%s%s", at ? "; " : "", text);
}

void stk__list_tell_reading(const stk__list *list, stk__source_info *info)
{
    const stk__columns *columns = &list->columns;
    const stk__role role = list->has_value ? STK_ROLE_VALUE : STK_ROLE_LABEL;
    const int column = stk__columns_find(columns, role);
    if (column < 0) return;
    const char *name = stk__columns_name(columns, (size_t)column);
    if (stk__columns_is_wished(columns, role) && !columns->wishes[role].several) {
        if (list->has_label &&
            (find_separators(&list->files.classes) || stk__columns_at(columns, (size_t)column)->nested))
            add_reading(info,
                        "each combination a class: column '%.40s' (several labels: "
                        "data.columns='labels=%.40s')",
                        name, name);
        return;
    }
    if (list->columns.flag_count) {
        char count[24];
        snprintf(count, sizeof count, "%zu", list->columns.flag_count);
        add_reading(info, "several labels: %s columns of 0 and 1%s", count, "");
    } else if (list->joins) {
        add_reading(info, "several labels: lists in column '%.60s'%s", name, "");
    } else if (list->set_bits.size_bytes) {
        add_reading(info,
                    "several labels: column '%.40s' (each combination a class: data.columns='label=%.40s')",
                    name, name);
    } else if (list->has_value && list->other_values)
        add_reading(info, "values: column '%.60s'%s", name, "");
    else if (list->has_value)
        add_reading(info, "values: column '%.40s' (as classes: data.columns='label=%.40s')", name, name);
    else if (list->label_texts == STK_LABEL_TEXTS_WHOLE && has_gaps(list))
        add_reading(info, "class ids: column '%.40s' (as values: data.columns='value=%.40s')", name, name);
}
