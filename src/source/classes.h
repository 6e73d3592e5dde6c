/* SPDX-License-Identifier: Apache-2.0 */
/* Names of classes and their numbers. */
#ifndef STK_SOURCE_CLASSES_H
#define STK_SOURCE_CLASSES_H

#include "source/catalog.h"
#include "source/kinds.h"

typedef struct stk__classes {
    stk__catalog names; /* sorted; row is the class number */
    const char **list;  /* [count] texts in the catalog */
    int32_t count;
} stk__classes;

/* classes.txt in the site's root or one above its parts: one name per line, line 1 is class 0. Without the
 * file count stays 0. */
stk_status stk__classes_read(stk__classes *classes, const stk__site *site, stk_error *error);

/* Names in the order of their numbers. */
stk_status stk__classes_take(stk__classes *classes, const char *const *names, int count, stk_error *error);

/* Numbers the names that were added to classes->names by their bytewise order; duplicates become one.
 * numbers[row] gets the number of the name that was added with that row; may be NULL. */
stk_status stk__classes_number(stk__classes *classes, uint32_t *numbers, stk_error *error);

/* The class number of a name, or -1. */
int32_t stk__classes_find(const stk__classes *classes, const char *name, size_t length);

/* Every name is "NUMBER NAME", counted from 1: a table of labels, not names of mask classes from 0 on. */
bool stk__classes_numbered_from_one(const stk__classes *classes);

/* Puts count and names into the info. */
void stk__classes_tell(const stk__classes *classes, stk__source_info *info);

void stk__classes_fini(stk__classes *classes);

#endif
