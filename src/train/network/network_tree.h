/* SPDX-License-Identifier: Apache-2.0 */
/* A network file as it was written: texts, lists and maps that know their places. */
#ifndef STK_TRAIN_NETWORK_TREE_H
#define STK_TRAIN_NETWORK_TREE_H

#include "train/network/network_store.h"

#include <stdbool.h>

typedef enum stk__node_kind { STK_NODE_TEXT, STK_NODE_LIST, STK_NODE_MAP } stk__node_kind;

typedef struct stk__mark { /* from 1 */
    int line, column;
} stk__mark;

typedef struct stk__node {
    stk__node_kind kind;
    stk__mark mark;
    const char *text; /* of a text; may be empty */
    bool straight;    /* a text on one line, without escapes: its columns can be counted on */
    const char *key;  /* inside a map */
    stk__mark key_mark;
    int count; /* of a list or map: entries, first to last by next */
    struct stk__node *first, *next;
} stk__node;

/* Reads YAML; everything lies in store. Anchors, aliases, tags, several documents, a key twice and what is
 * deeper or larger than any network are refused; place: file:line:column. */
stk_status stk__tree_read(const char *text, size_t size_bytes, const char *place, stk__store *store,
                          const stk__node **root, stk_error *error);

const stk__node *stk__node_find(const stk__node *map, const char *key); /* NULL: none */

enum { STK_NETWORK_BYTES_MOST = 256 << 10 }; /* of a file */

#endif
