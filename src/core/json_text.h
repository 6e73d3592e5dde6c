/* SPDX-License-Identifier: Apache-2.0 */
/* JSON into a buffer, and values that it takes only with care. */
#ifndef STK_CORE_JSON_TEXT_H
#define STK_CORE_JSON_TEXT_H

#include "core/memory.h"

#include <jansson.h>

/* Appends json (flags as json_dumps) and an end of line; takes the reference. NULL is out of memory. */
stk_status stk__json_text(stk__buffer *text, json_t *json, size_t flags, stk_error *error);

/* A string of JSON; bytes that are not UTF-8, which names of files may have, become \\xNN. NULL: out of
 * memory.
 */
json_t *stk__json_string(const char *text);

/* null for NaN and infinities, which JSON does not have. NULL: out of memory. */
json_t *stk__json_number(double value);

#endif
