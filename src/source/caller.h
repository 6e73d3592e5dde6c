/* SPDX-License-Identifier: Apache-2.0 */
/* A data set of the program's own functions: what caller_open.c makes and caller.c asks. */
#ifndef STK_SOURCE_CALLER_H
#define STK_SOURCE_CALLER_H

#include "source/catalog.h"
#include "source/kinds.h"

enum { STK_CALLER_KEY_BYTES = 1024 }; /* room for a key */

typedef struct stk__caller {
    stk__source source;    /* first */
    stk_dataset set;       /* the caller's, with names of ours */
    char **names;          /* [class_count + point_count]: copies */
    size_t name_count;     /* of those that are there */
    stk__catalog catalog;  /* sorted: the index of an entry is the id; its row is the caller's index */
    uint64_t limit_bytes;  /* of a file or of pixels */
    bool has_facts, owned; /* facts is called; close is called at the end */
} stk__caller;

static inline const stk__entry *stk__caller_entry(const stk__caller *self, uint64_t id)
{
    return stk__catalog_at(&self->catalog, id);
}

extern const stk__source_ops stk__caller_ops;

#endif
