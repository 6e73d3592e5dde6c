/* SPDX-License-Identifier: Apache-2.0 */
/* The file of `stoker load --state`: read whole or refused, written whole or not at all. Threads: no state.
 */
#include "session/loader_state_file.h"

#include "core/file.h"
#include "core/loader_state.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 };

static stk_status refuse(const char *path, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_STATE, "the state file is damaged: %s", why);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "remove it to start from the beginning");
    return STK_ERROR_STATE;
}

/* What changed in what a stream is, without changing its positions: 2: data.flip_pairs. Absent: 1. */
enum { RULES = 2 };

/* The state of the loader (core/loader_state.h), and beside it a digest and the rules; nothing else. */
static stk_status parse_state(stk__loader_state_file *state, json_t *root, const char *path, stk_error *error)
{
    char text[160];
    stk__loader_state_file read = {0};
    const char *fault = stk__loader_state_read(&read.loader, root, text);
    if (fault) return refuse(path, fault, error);
    const json_t *digest = json_object_get(root, "digest"), *rules = json_object_get(root, "rules");
    read.old = !rules;
    if (rules && json_integer_value(rules) != RULES)
        return refuse(path, "it is of a newer program: it has other rules than 2", error);
    if (!digest || json_object_size(root) != STK_LOADER_STATE_KEYS + 1 + (size_t)!read.old)
        return refuse(path, digest ? "it has a key that no state has" : "it has no digest", error);
    read.hashed = !json_is_null(digest);
    if (read.hashed &&
        !(json_is_string(digest) && stk__digest_parse(json_string_value(digest), &read.digest)))
        return refuse(path, "the digest is not one", error);
    *state = read;
    return STK_OK;
}

stk_status stk__loader_state_file_read(stk__loader_state_file *state, const char *path, bool *found,
                                       stk_error *error)
{
    stk__buffer text = {0};
    *found = false;
    stk_status status = stk__file_read(path, MOST_BYTES, &text, error);
    if (status == STK_ERROR_SAMPLE &&
        (error->damage == STK_DAMAGE_MISSING || error->damage == STK_DAMAGE_DANGLING_LINK)) {
        stk__buffer_fini(&text);
        return STK_OK;
    }
    if (status == STK_ERROR_SAMPLE) status = error->code = STK_ERROR_STATE;
    json_error_t wrong;
    json_t *root = status == STK_OK ? json_loadb((const char *)text.data, text.size_bytes, 0, &wrong) : NULL;
    if (status == STK_OK && !root) status = refuse(path, wrong.text, error);
    if (status == STK_OK) status = parse_state(state, root, path, error);
    *found = status == STK_OK;
    json_decref(root);
    stk__buffer_fini(&text);
    return status;
}

stk_status stk__loader_state_file_write(const stk__loader_state_file *state, const char *path,
                                        stk_error *error)
{
    char digest[STK_DIGEST_TEXT_BYTES];
    stk__digest_print(state->digest, digest);
    json_t *root = stk__loader_state_json(&state->loader);
    json_t *hashed = state->hashed ? json_string(digest) : json_null();
    const bool made = root && json_object_set_new(root, "rules", json_integer(RULES)) == 0 &&
                      json_object_set_new(root, "digest", hashed) == 0;
    char *text = made ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text) return stk__fail_memory(error, 512, "the state");
    const stk__buffer data = {.data = (uint8_t *)text, .size_bytes = strlen(text)};
    const stk_status status = stk__file_write(path, data, STK_FILE_DURABLE | STK_FILE_NAMED, error);
    free(text);
    return status;
}
