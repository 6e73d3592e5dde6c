/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean …?": the known name nearest to a misspelt one. */
#ifndef STK_CORE_NEAREST_H
#define STK_CORE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; case and '-' against '_'
 * cost nothing. Names longer than STK_NEAREST_MOST are not compared: the distance is then their length. */
enum { STK_NEAREST_MOST = 63 };
size_t stk__edit_distance(const char *a, const char *b);

/* Start with {.word = …}, offer every candidate; best is the nearest one, the first among equals, and NULL
 * when none is near enough to be a typing error (a third of the letters) or to begin with the word. */
typedef struct stk__nearest {
    const char *word;
    bool strict; /* of three letters another letter makes another word: settings, not a network's layers */
    const char *best;
    size_t distance; /* of best */
} stk__nearest;

void stk__nearest_offer(stk__nearest *nearest, const char *candidate);

#endif
