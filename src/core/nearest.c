/* SPDX-License-Identifier: Apache-2.0 */
/* Spelling suggestions: optimal string alignment distance (insert, delete, replace, swap of neighbours;
 * case and '-' against '_' do not count), in three rows of a fixed length. A candidate is suggested when at
 * most a third of the shorter name's letters differ, or when the word is the beginning of it; of several the
 * nearest; in names of several parts (a_b) that holds for each. The shorter name counts: long words become
 * short unrelated ones by deletions alone ('dropout', 'root'). */
#include "core/nearest.h"

#include <stdbool.h>
#include <string.h>

static char fold(char c)
{
    if (c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t stk__edit_distance(const char *a, const char *b)
{
    const size_t rows = strlen(a), columns = strlen(b);
    if (rows > STK_NEAREST_MOST || columns > STK_NEAREST_MOST) return rows > columns ? rows : columns;
    size_t lines[3][STK_NEAREST_MOST + 1]; /* the row in work and the two before it, by turns */
    for (size_t k = 0; k <= columns; k++)
        lines[0][k] = k;
    for (size_t i = 1; i <= rows; i++) {
        size_t *now = lines[i % 3];
        const size_t *above = lines[(i + 2) % 3], *before = lines[(i + 1) % 3];
        now[0] = i;
        for (size_t k = 1; k <= columns; k++) {
            const char x = fold(a[i - 1]), y = fold(b[k - 1]);
            now[k] = smaller(smaller(above[k], now[k - 1]) + 1, above[k - 1] + (x != y));
            if (i > 1 && k > 1 && x == fold(b[k - 2]) && y == fold(a[i - 2]))
                now[k] = smaller(now[k], before[k - 2] + 1);
        }
    }
    return lines[rows % 3][columns];
}

/* Is word the beginning of a longer candidate: 'batch' of 'batch_size', 'warm' of 'warmup'? Three letters
 * begin too many names, and the first part of several is another word when it is longer ('horizon'). */
static bool begins(const char *word, size_t length, const char *candidate)
{
    for (size_t i = 0; i < length; i++)
        if (fold(word[i]) != fold(candidate[i])) return false;
    return length >= 4 && (fold(candidate[length]) == '_' || !strpbrk(candidate, "_-"));
}

static size_t most_slips(size_t length)
{
    return length / 3 ? length / 3 : 1;
}

/* Of three letters another letter makes another word ('tmp', 'amp'). */
static bool is_other_word(const char *word, size_t length, const char *candidate)
{
    int sum = 0; /* 0 if letters were only swapped */
    if (length > 3 || strlen(candidate) != length) return false;
    for (size_t i = 0; i < length; i++)
        sum += fold(word[i]) - fold(candidate[i]);
    return sum != 0;
}

/* The next part of a name in part; the rest behind its '_', or NULL after the last one. */
static const char *cut_part(const char *name, char part[STK_NEAREST_MOST + 1])
{
    const size_t length = smaller(strcspn(name, "_-"), STK_NEAREST_MOST);
    memcpy(part, name, length);
    part[length] = '\0';
    return name[length] ? name + length + 1 : NULL;
}

/* Slips are spread over the parts: 'flip_prob' is not 'crop_prob'. Names of different numbers of parts pass.
 */
static bool parts_are_near(const char *a, const char *b)
{
    char first[STK_NEAREST_MOST + 1], second[STK_NEAREST_MOST + 1];
    bool near = true;
    for (bool more = false; a && b; more = true) {
        a = cut_part(a, first);
        b = cut_part(b, second);
        if (!more && !a && !b) return true; /* one part each: the whole is judged */
        const size_t shorter = smaller(strlen(first), strlen(second));
        const size_t distance = stk__edit_distance(first, second);
        near = near && (!distance || (distance <= most_slips(shorter) && distance < shorter));
    }
    return near || a || b;
}

void stk__nearest_offer(stk__nearest *nearest, const char *candidate)
{
    const size_t length = strlen(nearest->word), distance = stk__edit_distance(nearest->word, candidate);
    const bool near = distance <= most_slips(smaller(length, strlen(candidate))) &&
                      distance < length && /* some letter of the word is left */
                      !(nearest->strict && is_other_word(nearest->word, length, candidate)) &&
                      parts_are_near(nearest->word, candidate);
    if (!near && !begins(nearest->word, length, candidate)) return;
    if (nearest->best && distance >= nearest->distance) return;
    nearest->best = candidate;
    nearest->distance = distance;
}
