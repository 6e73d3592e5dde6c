/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of left and right as people write them: "auto", or "4:5,l_eye:r_eye". */
#ifndef STK_AUGMENT_FLIP_LIST_H
#define STK_AUGMENT_FLIP_LIST_H

#include "augment/flip_pairs.h"

/* Things with numbers that have sides: classes, or points. */
typedef struct stk__flip_kind {
    const char *what;      /* "class" */
    bool there;            /* samples have it */
    stk__flip_names names; /* count 0: unknown */
    int32_t most;          /* numbers are below it */
    bool numbers;          /* bare numbers of a list are its */
    stk__flip_pairs *pairs;
} stk__flip_kind;

typedef struct stk__flip_list {
    const char *option;          /* "data.flip_pairs", for errors */
    const stk__flip_kind *kinds; /* [count] */
    int count;
} stk__flip_list;

/* auto: all pairs by their names. Else a list; a name that several kinds have is meant for all of them. After
 * a failure there may be pairs. */
stk_status stk__flip_list_read(const stk__flip_list *list, const char *text, stk_error *error);

/* "4:5,6:7", "points 0:1", or both, cut with "…". */
void stk__flip_print(const stk__flip *flip, char *text, size_t size);

#endif
