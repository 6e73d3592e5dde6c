/* SPDX-License-Identifier: Apache-2.0 */
/* A loader's state as a JSON object: what stk_loader_state_print and the files of `stoker load --state` hold.
 */
#ifndef STK_CORE_LOADER_STATE_H
#define STK_CORE_LOADER_STATE_H

#include "stoker/loader.h"

#include <jansson.h>

enum { STK_LOADER_STATE_KEYS = 8 };      /* of the object */
#define STK_LOADER_STATE_SCHEMA "schema" /* the key of its version, 1 */

/* NULL: the state cannot be written (a text without end or not UTF-8, a count above 2^63), or no memory. */
json_t *stk__loader_state_json(const stk_loader_state *state);

/* NULL: read. Else what is wrong with the object, and state is untouched; keys that are not the state's are
 * the caller's. why: memory for the text. */
const char *stk__loader_state_read(stk_loader_state *state, json_t *object, char why[160]);

#endif
