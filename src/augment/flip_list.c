/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of left and right as people write them: "auto", by the names of classes and points, or a list of
 * numbers and names. Threads: everything is the caller's. */
#include "augment/flip_list.h"

#include "core/number.h"

#include <stdio.h>
#include <string.h>

static stk_status find_all(const stk__flip_list *list, stk_error *error)
{
    for (int k = 0; k < list->count; k++) {
        const stk__flip_kind *kind = &list->kinds[k];
        stk__flip_names names = kind->names;
        if (!kind->there || !names.texts) continue;
        if (names.count > kind->most) names.count = kind->most;
        STK__TRY(stk__flip_pairs_find(kind->pairs, names, error));
    }
    return STK_OK;
}

typedef struct word {
    const char *text;
    size_t length;
} word;

static word trim(const char *text, size_t length)
{
    while (length && text[0] == ' ') {
        text++;
        length--;
    }
    while (length && text[length - 1] == ' ')
        length--;
    return (word){text, length};
}

static bool read_number(word from, int64_t *number)
{
    return from.length && from.text[0] >= '0' && from.text[0] <= '9' &&
           stk__number_whole(from.text, from.length, number);
}

/* The number of a class or point; -1: there is none of that name. */
static int64_t find_number(const stk__flip_kind *of, word name)
{
    int64_t number;
    if (of->numbers && read_number(name, &number)) return number;
    for (int32_t i = 0; of->there && i < of->names.count; i++)
        if (strlen(of->names.texts[i]) == name.length &&
            memcmp(of->names.texts[i], name.text, name.length) == 0)
            return i;
    return -1;
}

static stk_status refuse(const stk__flip_list *list, word pair, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "%s has '%.*s': %s", list->option, (int)pair.length, pair.text, why);
    stk__error_hint(error,
                    "pairs of class ids, class names or point names, such as 4:5,l_ear:r_ear; or auto, "
                    "or none");
    return STK_ERROR_CONFIG;
}

static stk_status add_pair(const stk__flip_list *list, const stk__flip_kind *to, word pair,
                           const int64_t numbers[2], stk_error *error)
{
    char why[96];
    const int64_t a = numbers[0], b = numbers[1];
    if (a >= to->most || b >= to->most) {
        snprintf(why, sizeof why, "there are %d %s, numbered from 0", to->most,
                 to->what[0] == 'p' ? "points" : "classes");
        return refuse(list, pair, why, error);
    }
    if (stk__flip_pairs_add(to->pairs, (int32_t)a, (int32_t)b)) return STK_OK;
    snprintf(why, sizeof why, "a %s has one other side", to->what);
    return refuse(list, pair, why, error);
}

/* A name that classes and points have is meant for both. */
static stk_status read_pair(const stk__flip_list *list, word pair, stk_error *error)
{
    const char *colon = memchr(pair.text, ':', pair.length);
    if (!colon) return refuse(list, pair, "not two names or numbers with a colon between them", error);
    const word left = trim(pair.text, (size_t)(colon - pair.text)),
               right = trim(colon + 1, pair.length - (size_t)(colon + 1 - pair.text));
    word missing = left;
    bool found = false;
    for (int k = 0; k < list->count; k++) {
        const stk__flip_kind *kind = &list->kinds[k];
        const int64_t numbers[2] = {find_number(kind, left), find_number(kind, right)};
        if (numbers[0] >= 0) missing = right;
        if (numbers[0] < 0 || numbers[1] < 0) continue;
        STK__TRY(add_pair(list, kind, pair, numbers, error));
        found = true;
    }
    if (found) return STK_OK;
    char why[160];
    snprintf(why, sizeof why, "no class or point is called '%.*s'",
             (int)(missing.length < 100 ? missing.length : 100), missing.text);
    return refuse(list, pair, why, error);
}

/* Braces of a YAML map may stay. */
static stk_status read_all(const stk__flip_list *list, const char *text, stk_error *error)
{
    word rest = trim(text, strlen(text));
    int32_t most = 1;
    if (rest.length >= 2 && rest.text[0] == '{' && rest.text[rest.length - 1] == '}')
        rest = (word){rest.text + 1, rest.length - 2};
    for (size_t i = 0; i < rest.length; i++)
        most += rest.text[i] == ',';
    for (int k = 0; k < list->count; k++)
        STK__TRY(stk__flip_pairs_reserve(list->kinds[k].pairs, most, error));
    while (rest.length) {
        const char *comma = memchr(rest.text, ',', rest.length);
        const size_t length = comma ? (size_t)(comma - rest.text) : rest.length;
        STK__TRY(read_pair(list, trim(rest.text, length), error));
        rest = (word){rest.text + length + (comma != NULL), rest.length - length - (comma != NULL)};
    }
    return STK_OK;
}

stk_status stk__flip_list_read(const stk__flip_list *list, const char *text, stk_error *error)
{
    return strcmp(text, "auto") == 0 ? find_all(list, error) : read_all(list, text, error);
}

void stk__flip_print(const stk__flip *flip, char *text, size_t size)
{
    const stk__flip_pairs *classes = flip->masks.count ? &flip->masks : &flip->labels;
    stk__flip_pairs_print(classes, text, flip->points.count ? size / 2 : size);
    if (!flip->points.count) return;
    const size_t used = strlen(text);
    const int more = snprintf(text + used, size - used, "%spoints ", used ? "; " : "");
    stk__flip_pairs_print(&flip->points, text + used + more, size - used - (size_t)more);
}
