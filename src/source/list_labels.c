/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that are several in one cell: "cat;dog", "haze primary", "16 0". A network that gives one class per
 * image would take each combination for a class of its own, so such a list is refused unless data.columns
 * picks the column. All class names are looked at, once, when they are known. One thread. */
#include "source/list.h"

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
    for (size_t i = 0; i < parts.count; i++)
        if (stk__classes_find(classes, parts.part[i], parts.length[i]) < 0) return false;
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

static const char *find_several(const stk__classes *classes)
{
    for (int32_t i = 0; i < classes->count; i++) {
        const char *name = classes->list[i];
        if (is_numbers(name)) return name;
        if (strpbrk(name, ";|") && split(name, ";|").count > 1) return name;
        if (has_known_parts(classes, name, ",") || has_known_parts(classes, name, ", ")) return name;
        if (i < NAMES_MOST && (shares_parts(classes, i, ", ") || shares_parts(classes, i, ","))) return name;
    }
    return find_combination(classes);
}

stk_status stk__list_check_labels(const stk__list *list, stk_error *error)
{
    const bool picked = list->columns.wishes[STK_ROLE_LABEL].name != NULL;
    const bool names = list->label_texts == STK_LABEL_TEXTS_NAMES;
    if (picked || !list->has_label) return STK_OK;
    const char *several = names ? find_several(&list->files.classes) : NULL;
    if (!several && !list->several_line) return STK_OK;
    const int label = stk__columns_find(&list->columns, STK_ROLE_LABEL);
    const char *column = label < 0 ? "label" : stk__columns_name(&list->columns, (size_t)label);
    if (several)
        stk__fail(
            error, STK_ERROR_DATA,
            "the column '%.60s' has several labels in one cell ('%.80s'): multi-label classification is not "
            "supported",
            column, several);
    else
        stk__fail(
            error, STK_ERROR_DATA,
            "the column '%.60s' has several labels in one cell (line %llu): multi-label classification is "
            "not supported",
            column, (unsigned long long)list->several_line);
    stk__error_place(error, "%s", list->path);
    stk__error_hint(
        error, "one label per image; data.columns='label=%.80s' takes each combination for a class", column);
    return STK_ERROR_DATA;
}
