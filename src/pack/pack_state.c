/* SPDX-License-Identifier: Apache-2.0 */
/* pack.json: settings, progress and digests of a pack, written atomically after each shard; reading it
 * back checks everything, and resuming compares it with the settings and data of now. */
#include "pack/pack_state.h"

#include "core/durable.h"
#include "core/file.h"
#include "core/json_text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1, STATE_BYTES_MOST = 65536, LOOK_TEXT_BYTES = 17 };

static const char *const part_names[] = {"train", "val", "test"};

/* The numbers of a part that are written as they are. */
static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
#define NUMBER(field)                                                                                        \
    {                                                                                                        \
#field, offsetof(stk__pack_part, field)                                                              \
    }
    NUMBER(count),    NUMBER(next), NUMBER(shards),       NUMBER(bytes),        NUMBER(packed),
    NUMBER(left_out), NUMBER(kept), NUMBER(source_bytes), NUMBER(ledger_bytes),
#undef NUMBER
};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

bool stk__pack_digest_known(stk__digest digest)
{
    return digest.high || digest.low;
}

bool stk__pack_digest_equal(stk__digest a, stk__digest b)
{
    return a.high == b.high && a.low == b.low;
}

stk__digest stk__pack_stamps_add(stk__digest stamps, uint64_t size_bytes, int64_t time_s)
{
    const struct {
        stk__digest before;
        uint64_t size_bytes;
        int64_t time_s;
    } all = {stamps, size_bytes, time_s};
    return stk__digest_of(&all, sizeof all);
}

/* --- writing ------------------------------------------------------------------------------------------- */

static json_t *looks_json(const stk__pack_looks *looks)
{
    json_t *json = json_array();
    for (int i = 0; i < STK_PACK_LOOKS; i++) {
        char text[LOOK_TEXT_BYTES];
        snprintf(text, sizeof text, "%016" PRIx64, looks->hashes[i]);
        json_array_append_new(json, looks->hashes[i] ? json_string(text) : json_null());
    }
    if (json_array_size(json) == STK_PACK_LOOKS) return json;
    json_decref(json); /* no memory */
    return NULL;
}

static json_t *part_json(const stk__pack_part *part)
{
    char fingerprint[STK_DIGEST_TEXT_BYTES], facts[STK_DIGEST_TEXT_BYTES], stamps[STK_DIGEST_TEXT_BYTES];
    stk__digest_print(part->fingerprint, fingerprint);
    stk__digest_print(part->facts, facts);
    stk__digest_print(part->stamps, stamps);
    json_t *json = json_pack("{s:s?, s:s, s:o, s:s, s:s, s:I}", "part", part->name, "fingerprint",
                             fingerprint, "looks", looks_json(&part->looks), "facts", facts, "stamps", stamps,
                             "stored_bytes", (json_int_t)part->stored_bytes);
    bool whole = json != NULL;
    for (int i = 0; whole && i < NUMBERS; i++) {
        uint64_t value;
        memcpy(&value, (const char *)part + numbers[i].offset, sizeof value);
        whole = json_object_set_new(json, numbers[i].key, json_integer((json_int_t)value)) == 0;
    }
    if (whole) return json;
    json_decref(json);
    return NULL;
}

static json_t *state_json(const stk__pack_state *state)
{
    json_t *parts = json_array();
    bool whole = parts != NULL;
    for (int i = 0; whole && i < state->part_count; i++)
        whole = json_array_append_new(parts, part_json(&state->parts[i])) == 0;
    if (!whole) {
        json_decref(parts);
        return NULL;
    }
    char colors[STK_DIGEST_TEXT_BYTES];
    stk__digest_print(state->mask_colors, colors);
    return json_pack("{s:i, s:b, s:{s:I, s:I, s:s*}, s:o}", "schema", SCHEMA, "complete", state->complete,
                     "settings", "shard_bytes", (json_int_t)state->shard_bytes, "shard_samples",
                     (json_int_t)state->shard_samples, "mask_colors",
                     stk__pack_digest_known(state->mask_colors) ? colors : NULL, "parts", parts);
}

stk_status stk__pack_state_write(const char *folder, const stk__pack_state *state, stk_error *error)
{
    char path[PATH_MAX];
    stk__buffer text = {0};
    STK__TRY(stk__durable_join(path, sizeof path, folder, STK_PACK_STATE, error));
    stk_status status = stk__json_text(&text, state_json(state), JSON_INDENT(2), error);
    if (status == STK_OK) status = stk__file_write(path, text, STK_FILE_DURABLE, error);
    stk__buffer_fini(&text);
    return status;
}

/* --- reading ------------------------------------------------------------------------------------------- */

static bool read_number(const json_t *json, const char *key, uint64_t *value)
{
    const json_t *number = json_object_get(json, key);
    if (!json_is_integer(number) || json_integer_value(number) < 0) return false;
    *value = (uint64_t)json_integer_value(number);
    return true;
}

static bool read_looks(const json_t *json, stk__pack_looks *looks)
{
    if (json_array_size(json) != STK_PACK_LOOKS) return false;
    for (size_t i = 0; i < STK_PACK_LOOKS; i++) {
        const json_t *look = json_array_get(json, i);
        const char *text = json_string_value(look);
        if (json_is_null(look)) continue;
        if (!text || strlen(text) != LOOK_TEXT_BYTES - 1 ||
            strspn(text, "0123456789abcdef") != LOOK_TEXT_BYTES - 1)
            return false;
        looks->hashes[i] = strtoull(text, NULL, 16);
    }
    return true;
}

/* One that is missing is unknown. */
static bool read_digest(const json_t *json, const char *key, stk__digest *digest)
{
    const json_t *text = json_object_get(json, key);
    return !text || (json_is_string(text) && stk__digest_parse(json_string_value(text), digest));
}

/* index: which part this must be; count: of how many. */
/* null, or one of the names behind those of the parts before, which *next counts. */
static bool read_name(const json_t *name, int *next, const char **text)
{
    *text = NULL;
    if (json_is_null(name)) return *next == 0;
    const char *read = json_string_value(name);
    while (read && *next < STK_PACK_PARTS_MOST && !*text)
        if (strcmp(read, part_names[(*next)++]) == 0) *text = part_names[*next - 1];
    return *text;
}

static bool read_part(const json_t *json, int *next, int count, stk__pack_part *part)
{
    if (!read_name(json_object_get(json, "part"), next, &part->name) || (count > 1 && !part->name))
        return false;
    const char *fingerprint = json_string_value(json_object_get(json, "fingerprint"));
    if (!fingerprint || !stk__digest_parse(fingerprint, &part->fingerprint)) return false;
    if (!read_looks(json_object_get(json, "looks"), &part->looks)) return false;
    if (!read_digest(json, "facts", &part->facts) || !read_digest(json, "stamps", &part->stamps))
        return false;
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t value;
        if (!read_number(json, numbers[i].key, &value)) return false;
        memcpy((char *)part + numbers[i].offset, &value, sizeof value);
    }
    part->stored_bytes = part->bytes; /* all that earlier versions recorded */
    if (json_object_get(json, "stored_bytes") && !read_number(json, "stored_bytes", &part->stored_bytes))
        return false;
    return part->next <= part->count && part->packed + part->left_out == part->next;
}

static bool read_state(const json_t *json, stk__pack_state *state)
{
    const json_t *settings = json_object_get(json, "settings"), *parts = json_object_get(json, "parts");
    const json_t *complete = json_object_get(json, "complete");
    const size_t count = json_array_size(parts);
    uint64_t schema;
    if (!read_number(json, "schema", &schema) || schema != SCHEMA || !json_is_boolean(complete)) return false;
    if (!read_number(settings, "shard_bytes", &state->shard_bytes) ||
        !read_number(settings, "shard_samples", &state->shard_samples) ||
        !read_digest(settings, "mask_colors", &state->mask_colors))
        return false;
    if (count < 1 || count > STK_PACK_PARTS_MOST) return false;
    state->complete = json_is_true(complete);
    state->part_count = (int)count;
    int next = 0;
    for (int i = 0; i < state->part_count; i++)
        if (!read_part(json_array_get(parts, (size_t)i), &next, state->part_count, &state->parts[i]))
            return false;
    return true;
}

static stk_status refuse_text(const char *path, stk_error *error)
{
    stk__fail(error, STK_ERROR_STATE, "'%s' cannot be read: it is corrupt, or of another version", path);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "choose another folder, or remove this one to pack again");
    return STK_ERROR_STATE;
}

static stk_status parse_text(const char *path, const stk__buffer *text, stk__pack_state *state,
                             stk_error *error)
{
    json_t *json = json_loadb((const char *)text->data, text->size_bytes, JSON_REJECT_DUPLICATES, NULL);
    const bool whole = json_is_object(json) && read_state(json, state);
    json_decref(json);
    return whole ? STK_OK : refuse_text(path, error);
}

stk_status stk__pack_state_read(const char *folder, stk__pack_state *state, bool *found, stk_error *error)
{
    char path[PATH_MAX];
    stk__buffer text = {0};
    stk_error refused;
    *found = false;
    *state = (stk__pack_state){0};
    STK__TRY(stk__durable_join(path, sizeof path, folder, STK_PACK_STATE, error));
    stk_status status = stk__file_read(path, STATE_BYTES_MOST, &text, &refused);
    if (status == STK_ERROR_SAMPLE && refused.damage == STK_DAMAGE_MISSING) return STK_OK;
    if (status == STK_OK)
        status = parse_text(path, &text, state, error);
    else if (status == STK_ERROR_SAMPLE)
        status = refuse_text(path, error);
    else if (error)
        *error = refused;
    *found = status == STK_OK;
    stk__buffer_fini(&text);
    return status;
}

/* --- resuming ------------------------------------------------------------------------------------------ */

static stk_status refuse_other(const char *folder, const char *what, stk_error *error)
{
    stk__fail(error, STK_ERROR_STATE, "'%s' was started with %s", folder, what);
    stk__error_place(error, "%s/" STK_PACK_STATE, folder);
    stk__error_hint(error, "choose another folder, or remove this one to pack again");
    return STK_ERROR_STATE;
}

static stk_status compare_settings(const stk__pack_state *state, const stk__pack_state *found,
                                   const char *folder, stk_error *error)
{
    const struct {
        const char *name;
        uint64_t now, then;
    } settings[] = {{"shard_bytes", state->shard_bytes, found->shard_bytes},
                    {"shard_samples", state->shard_samples, found->shard_samples}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (settings[i].now == settings[i].then) continue;
        stk__fail(error, STK_ERROR_STATE, "'%s' was started with pack.%s=%llu, this is %llu", folder,
                  settings[i].name, (unsigned long long)settings[i].then,
                  (unsigned long long)settings[i].now);
        stk__error_place(error, "%s/" STK_PACK_STATE, folder);
        stk__error_hint(error, "resume with the same setting, choose another folder, or remove this one");
        return STK_ERROR_STATE;
    }
    if (!stk__pack_digest_equal(state->mask_colors, found->mask_colors))
        return refuse_other(folder, "another data.mask_colors", error);
    return STK_OK;
}

static stk_status compare_parts(const stk__pack_part *now, const stk__pack_part *then, const char *folder,
                                stk_error *error)
{
    const char *what = NULL;
    if (now->count != then->count || !stk__pack_digest_equal(now->fingerprint, then->fingerprint))
        what = "another data set: its samples have other names";
    else if (!stk__pack_looks_agree(&now->looks, &then->looks))
        what = "another data set: its samples have the same names but differ";
    else if (stk__pack_digest_known(then->facts) && !stk__pack_digest_equal(now->facts, then->facts))
        what = "another data set: its samples have the same names but other labels, points or class names";
    else if (now->source_bytes && !then->left_out && now->source_bytes != then->source_bytes)
        what = "another data set: its samples have the same names but files of other sizes";
    return what ? refuse_other(folder, what, error) : STK_OK;
}

bool stk__pack_state_restarts(const stk__pack_state *state, const stk__pack_state *found)
{
    if (state->part_count != found->part_count) return false;
    for (int i = 0; i < found->part_count; i++) {
        const char *now = state->parts[i].name, *then = found->parts[i].name;
        const bool same = now && then ? strcmp(now, then) == 0 : now == then;
        if (!same || found->parts[i].next) return false;
    }
    return true;
}

stk_status stk__pack_state_adopt(stk__pack_state *state, const stk__pack_state *found, const char *folder,
                                 stk_error *error)
{
    if (state->part_count != found->part_count)
        return refuse_other(
            folder, found->part_count > 1 ? "a data set of two parts" : "a data set without parts", error);
    for (int i = 0; i < state->part_count; i++)
        STK__TRY(compare_parts(&state->parts[i], &found->parts[i], folder, error));
    STK__TRY(compare_settings(state, found, folder, error));
    *state = *found;
    return STK_OK;
}
