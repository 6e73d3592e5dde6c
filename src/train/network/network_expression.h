/* SPDX-License-Identifier: Apache-2.0 */
/* Integer expressions of network files: "width * 2 ^ (i - 1)". */
#ifndef STK_TRAIN_NETWORK_EXPRESSION_H
#define STK_TRAIN_NETWORK_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One name and its value; the names around it follow by outer. */
typedef struct stk__scope {
    const struct stk__scope *outer;
    const char *name;
    int64_t value;
    bool *used;   /* set when an expression has the name; NULL: not needed */
    bool unknown; /* a fact that the data does not have: using it is a mistake */
} stk__scope;

const stk__scope *stk__scope_find(const stk__scope *scope, const char *name, size_t length); /* NULL: none */

typedef struct stk__mistake {
    size_t at; /* offset in the text */
    char message[160], hint[96];
} stk__mistake;

typedef struct stk__expression {
    const char *text;
    size_t length;
    const stk__scope *scope;
    bool check; /* grammar and names only; the value means nothing */
} stk__expression;

/* False: *mistake says why, *value is untouched. */
bool stk__expression_value(const stk__expression *expression, int64_t *value, stk__mistake *mistake);

#endif
