/* SPDX-License-Identifier: Apache-2.0 */
/* Public structs that begin with their size (`size_t struct_size`, see STK_INIT in stoker/status.h): how a
 * program and a library of different versions agree on what is in them. */
#ifndef STK_CORE_SIZED_H
#define STK_CORE_SIZED_H

#include "core/error.h"

#include <stddef.h>

typedef struct stk__sized {
    const char *name; /* "stk_loader_options" */
    size_t first;     /* bytes of its first version: what a struct_size of 0 means */
    size_t known;     /* bytes of this version */
} stk__sized;

/* The caller's struct as this version has it: fields that the caller does not have are zero. Fails when the
 * caller has set a field that is not known here, or when the size cannot be one. */
stk_status stk__sized_take(void *to, const void *from, const stk__sized *sized, stk_error *error);

/* The other way round, into the caller's struct, whose struct_size is kept; fields that it does not have are
 * left out. */
stk_status stk__sized_give(void *to, const void *from, const stk__sized *sized, stk_error *error);

#endif
