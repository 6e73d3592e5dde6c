/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a loader to text and back. The text is JSON with a schema number, so that it can be kept in
 * files and sent to other machines; nothing in it depends on the build. Threads: no state of its own. */
#include "core/loader_state.h"

#include "core/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1 };

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

json_t *stk__loader_state_json(const stk_loader_state *s)
{
    if (!is_text(s->fingerprint, sizeof s->fingerprint) || !is_text(s->order, sizeof s->order) ||
        !is_text(s->part, sizeof s->part) || s->sample_count > INT64_MAX || s->epoch > INT64_MAX ||
        s->position > INT64_MAX)
        return NULL;
    return json_pack("{s:i, s:s, s:I, s:I, s:s, s:s, s:I, s:I}", STK_LOADER_STATE_SCHEMA, SCHEMA,
                     "fingerprint", s->fingerprint, "sample_count", (json_int_t)s->sample_count, "seed",
                     (json_int_t)s->seed, "order", s->order, "part", s->part, "epoch", (json_int_t)s->epoch,
                     "position", (json_int_t)s->position);
}

static bool copy_text(char *to, size_t size, const char *text)
{
    return snprintf(to, size, "%s", text) < (int)size;
}

const char *stk__loader_state_read(stk_loader_state *state, json_t *object, char why[160])
{
    const char *fingerprint, *order, *part;
    json_int_t schema, count, seed, epoch, position;
    json_error_t wrong;
    if (json_unpack_ex(object, &wrong, 0, "{s:I, s:s, s:I, s:I, s:s, s:s, s:I, s:I}", STK_LOADER_STATE_SCHEMA,
                       &schema, "fingerprint", &fingerprint, "sample_count", &count, "seed", &seed, "order",
                       &order, "part", &part, "epoch", &epoch, "position", &position) != 0) {
        snprintf(why, 160, "%s", wrong.text);
        return why;
    }
    if (schema != SCHEMA) return "it has another schema than 1";
    if (count < 0 || epoch < 0 || position < 0) return "a count is negative";
    stk_loader_state read = {.sample_count = (uint64_t)count,
                             .seed = seed,
                             .epoch = (uint64_t)epoch,
                             .position = (uint64_t)position};
    if (!copy_text(read.fingerprint, sizeof read.fingerprint, fingerprint) ||
        !copy_text(read.order, sizeof read.order, order) || !copy_text(read.part, sizeof read.part, part))
        return "a text is too long";
    *state = read;
    return NULL;
}

stk_status stk_loader_state_print(const stk_loader_state *state, char *text, size_t size, stk_error *error)
{
    if (text && size) *text = '\0';
    if (!state || !text || !size)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_loader_state_print needs a state and a text");
    json_t *object = stk__loader_state_json(state);
    if (!object)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the loader state holds values that no loader gives");
    const size_t length = json_dumpb(object, text, size, 0); /* without its final zero; 0: no memory */
    json_decref(object);
    if (length && length < size) {
        text[length] = '\0';
        return STK_OK;
    }
    *text = '\0';
    if (!length) return stk__fail_memory(error, size, "the text of a loader state");
    return stk__fail(error, STK_ERROR_ARGUMENT, "the text of the loader state takes %zu bytes, not %zu",
                     length + 1, size);
}

stk_status stk_loader_state_parse(stk_loader_state *state, const char *text, stk_error *error)
{
    if (!state || !text)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_loader_state_parse needs a state and a text");
    json_error_t wrong;
    char why[160];
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
    const char *fault = object ? stk__loader_state_read(state, object, why) : wrong.text;
    json_decref(object);
    return fault ? stk__fail(error, STK_ERROR_STATE, "the text is not a loader state: %s", fault) : STK_OK;
}
