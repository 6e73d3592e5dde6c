/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that are several in one cell: "cat;dog", "haze primary", "16 0". A network that gives one class per
 * image would take each combination for a class of its own, so such a list is refused unless data.columns
 * picks the column. All class names are looked at, once, when they are known. One thread. */
#include "source/list.h"

#include <stdio.h>
#include <string.h>

enum { PARTS_MOST = 32 };

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
        for (int32_t other = 0; other < classes->count && other < 512 && !shared; other++) {
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
        if (i < 512 && (shares_parts(classes, i, ", ") || shares_parts(classes, i, ","))) return name;
    }
    return NULL;
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
