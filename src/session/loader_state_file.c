/* A small JSON object, read strictly: unknown or missing keys, negative counts and texts that are too long
 * are refused with the place of the file. Written to a temporary name first, so that a crash leaves the old
 * one. */
#include "session/loader_state_file.h"

#include "core/file.h"

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

static stk_status parse_state(stk__loader_state_file *state, json_t *root, const char *path, stk_error *error)
{
    const char *fingerprint, *order, *part;
    json_t *digest;
    json_int_t schema, count, seed, epoch, position;
    json_error_t wrong;
    if (json_unpack_ex(root, &wrong, JSON_STRICT, "{s:I, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:o}", "schema",
                       &schema, "fingerprint", &fingerprint, "sample_count", &count, "seed", &seed, "order",
                       &order, "part", &part, "epoch", &epoch, "position", &position, "digest", &digest) != 0)
        return refuse(path, wrong.text, error);
    if (schema != 1) return refuse(path, "it has another schema than 1", error);
    if (count < 0 || epoch < 0 || position < 0) return refuse(path, "a count is negative", error);
    stk__loader_state_file read = {.loader = {.sample_count = (uint64_t)count,
                                              .seed = seed,
                                              .epoch = (uint64_t)epoch,
                                              .position = (uint64_t)position},
                                   .hashed = !json_is_null(digest)};
    if (read.hashed &&
        !(json_is_string(digest) && stk__digest_parse(json_string_value(digest), &read.digest)))
        return refuse(path, "the digest is not one", error);
    const int lengths[] = {
        snprintf(read.loader.fingerprint, sizeof read.loader.fingerprint, "%s", fingerprint),
        snprintf(read.loader.order, sizeof read.loader.order, "%s", order),
        snprintf(read.loader.part, sizeof read.loader.part, "%s", part)};
    if (lengths[0] >= (int)sizeof read.loader.fingerprint || lengths[1] >= (int)sizeof read.loader.order ||
        lengths[2] >= (int)sizeof read.loader.part)
        return refuse(path, "a text is too long", error);
    *state = read;
    return STK_OK;
}

stk_status stk__loader_state_file_read(stk__loader_state_file *state, const char *path, bool *found,
                                       stk_error *error)
{
    stk__buffer text = {0};
    *found = false;
    stk_status status = stk__file_read(path, MOST_BYTES, &text, error);
    if (status == STK_ERROR_SAMPLE && error->damage == STK_DAMAGE_MISSING) {
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
    json_t *root =
        json_pack("{s:i, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:s?}", "schema", 1, "fingerprint",
                  state->loader.fingerprint, "sample_count", (json_int_t)state->loader.sample_count, "seed",
                  (json_int_t)state->loader.seed, "order", state->loader.order, "part", state->loader.part,
                  "epoch", (json_int_t)state->loader.epoch, "position", (json_int_t)state->loader.position,
                  "digest", state->hashed ? digest : NULL);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text) return stk__fail_memory(error, 512, "the state");
    const stk__buffer data = {.data = (uint8_t *)text, .size_bytes = strlen(text)};
    const stk_status status = stk__file_write(path, data, STK_FILE_DURABLE, error);
    free(text);
    return status;
}
