/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files that runs read back: the state of `stoker load --state`, state.json and SUMS of a
 * checkpoint, metrics.jsonl, and what a trainer goes on from (fuzz_state_trainer.c). Whatever is taken can be
 * written and read again as the same; whatever is refused says so and changes nothing. */
#include "fuzz_state.h"

#include "fuzz.h"

#include "core/file.h"
#include "session/loader_state_file.h"
#include "pack/pack_state.h"
#include "source/shards/pack_note.h"
#include "train/checkpoint/checkpoint.h"
#include "train/metrics_file.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- stoker load --state ------------------------------------------------------------------------------- */

static void write_again(const stk__loader_state_file *state)
{
    stk__loader_state_file again = {0};
    stk_error error = {0};
    bool found;
    const char *path = fuzz_file("again.state", "", 0);
    fuzz_file_remove("again.state"); /* a link to an open file would be written through */
    stk_status status = stk__loader_state_file_write(state, path, &error);
    assert(status == STK_OK);
    status = stk__loader_state_file_read(&again, path, &found, &error);
    assert(status == STK_OK && found);
    const stk_loader_state *a = &state->loader, *b = &again.loader;
    assert(a->sample_count == b->sample_count && a->seed == b->seed && a->epoch == b->epoch &&
           a->position == b->position);
    assert(strcmp(a->fingerprint, b->fingerprint) == 0 && strcmp(a->order, b->order) == 0 &&
           strcmp(a->part, b->part) == 0);
    assert(state->hashed == again.hashed && state->digest.high == again.digest.high &&
           state->digest.low == again.digest.low);
}

static void read_load_state(const uint8_t *data, size_t size)
{
    stk__loader_state_file state = {0};
    stk_error error = {0};
    bool found = false;
    const char *path = fuzz_file("load.state", data, size);
    const stk_status status = stk__loader_state_file_read(&state, path, &found, &error);
    assert(found == (status == STK_OK));
    if (found) {
        write_again(&state);
        return;
    }
    assert(status == STK_ERROR_STATE);
    fuzz_check_failure(status, &error);
    fuzz_check_place(&error, path);
}

/* --- checkpoints --------------------------------------------------------------------------------------- */

static void read_state_json(const uint8_t *data, size_t size)
{
    stk__checkpoint_state state;
    stk_error error = {0};
    fuzz_file("state.json", data, size);
    const stk_status status = stk__checkpoint_read_state(fuzz_folder(), &state, &error);
    if (status != STK_OK) {
        assert(status == STK_ERROR_DATA && !state.json);
        fuzz_check_failure(status, &error);
        return;
    }
    json_t *json = json_loadb((const char *)data, size, 0, NULL);
    assert((uint64_t)json_integer_value(json_object_get(json, "epoch")) == state.epoch);
    assert((uint64_t)json_integer_value(json_object_get(json, "step")) == state.step);
    assert(json_equal(json_object_get(json, "state"), state.json));
    assert(isnan(state.metric) == json_is_null(json_object_get(json, "metric")));
    fuzz_state_seek(json_object_get(state.json, "trainer"));
    json_decref(state.json);
    json_decref(json);
}

/* True when SUMS has this file's line. */
static bool lists(const uint8_t *sums, size_t size, const char *name, const char *content)
{
    char line[256], digest[STK_DIGEST_TEXT_BYTES];
    stk__digest_print(stk__digest_of(content, strlen(content)), digest);
    const int length = snprintf(line, sizeof line, "%s  %s\n", digest, name);
    return memmem(sums, size, line, (size_t)length) != NULL;
}

static void verify(const uint8_t *sums, size_t size)
{
    static const char model[] = "weights\n", state[] = "{}\n";
    stk_error error = {0};
    fuzz_file("model.safetensors", model, strlen(model));
    fuzz_file("state.json", state, strlen(state));
    fuzz_file("SUMS", sums, size);
    const stk_status status = stk__checkpoint_verify(fuzz_folder(), &error);
    if (status == STK_OK) {
        assert(lists(sums, size, "model.safetensors", model) && lists(sums, size, "state.json", state));
        return;
    }
    assert(status == STK_ERROR_DATA);
    fuzz_check_failure(status, &error);
    fuzz_check_place(&error, fuzz_folder());
}

/* With the last line that vouches for them; as they are, if they look as if they had one. */
static void read_sums(const uint8_t *data, size_t size)
{
    char digest[STK_DIGEST_TEXT_BYTES];
    uint8_t *sums = fuzz_copy(data, size, 64);
    if (size > STK_DIGEST_TEXT_BYTES + 2 && sums[size - STK_DIGEST_TEXT_BYTES - 2] == '#') verify(sums, size);
    stk__digest_print(stk__digest_of(data, size), digest);
    size += (size_t)sprintf((char *)sums + size, "# %s\n", digest);
    verify(sums, size);
    free(sums);
}

/* --- pack.json ----------------------------------------------------------------------------------------- */

/* Who reads the shards learns the same from it. */
static void check_note(const stk__pack_state *state)
{
    stk__buffer text = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), STK_PACK_STATE);
    const stk_status status = stk__file_read(path, 0, &text, NULL);
    assert(status == STK_OK);
    for (int i = 0; i < state->part_count; i++) {
        const stk__pack_part *part = &state->parts[i];
        stk__pack_note note;
        const bool known = stk__pack_note_read((const char *)text.data, text.size_bytes, part->name, &note);
        assert(known && note.complete == state->complete);
        assert(note.samples == -1 || note.samples == (int64_t)(part->count - part->left_out));
        assert(note.shards == -1 || note.shards == (int64_t)part->shards);
    }
    stk__buffer_fini(&text);
}

static void read_pack(const uint8_t *data, size_t size)
{
    stk__pack_note note;
    stk__pack_note_read((const char *)data, size, size % 2 ? "train" : NULL, &note);
    stk__pack_state state, again;
    stk_error error = {0};
    bool found = false;
    fuzz_file(STK_PACK_STATE, data, size);
    stk_status status = stk__pack_state_read(fuzz_folder(), &state, &found, &error);
    assert(found == (status == STK_OK));
    if (!found) {
        assert(status == STK_ERROR_STATE);
        fuzz_check_failure(status, &error);
        fuzz_check_place(&error, fuzz_folder());
        return;
    }
    status = stk__pack_state_write(fuzz_folder(), &state, &error);
    assert(status == STK_OK);
    status = stk__pack_state_read(fuzz_folder(), &again, &found, &error);
    assert(status == STK_OK && found && memcmp(&state, &again, sizeof state) == 0);
    for (int i = 0; i < state.part_count; i++)
        assert(state.parts[i].next <= state.parts[i].count);
    check_note(&state);
}

/* --- metrics.jsonl ------------------------------------------------------------------------------------- */

static void cut(stk__metrics_file *metrics, uint64_t step, stk__buffer *left)
{
    stk_error error = {0};
    stk_status status = stk__metrics_file_cut(metrics, (stk__metrics_end){step, step, 0}, &error);
    assert(status == STK_OK);
    status = stk__file_read(metrics->path, 0, left, &error);
    assert(status == STK_OK);
}

/* Every line that is left was there before, in this order, and none is of a later step. */
static void check_left(const uint8_t *data, size_t size, const stk__buffer *left, int64_t step)
{
    const uint8_t *from = data;
    for (size_t at = 0; at < left->size_bytes;) {
        const uint8_t *line = left->data + at, *end = memchr(line, '\n', left->size_bytes - at);
        assert(end);
        const size_t length = (size_t)(end - line) + 1;
        from = memmem(from, size - (size_t)(from - data), line, length);
        assert(from);
        from += length;
        json_t *json = json_loadb((const char *)line, length - 1, 0, NULL);
        assert(json_is_object(json) && json_integer_value(json_object_get(json, "step")) <= step);
        json_decref(json);
        at += length;
    }
}

static void cut_metrics(const uint8_t *data, size_t size)
{
    enum { STEP = 7 };
    stk__metrics_file metrics;
    stk__buffer left = {0}, again = {0};
    stk__metrics_file_init(&metrics, fuzz_file("metrics.jsonl", data, size));
    cut(&metrics, STEP, &left);
    check_left(data, size, &left, STEP);
    cut(&metrics, STEP, &again);
    assert(left.size_bytes == again.size_bytes);
    stk__metrics_file_fini(&metrics);
    stk__buffer_fini(&left);
    stk__buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_state_open();
    fuzz_limit_memory(64 << 20);
    read_load_state(data, size);
    read_state_json(data, size);
    read_sums(data, size);
    cut_metrics(data, size);
    read_pack(data, size);
    json_t *json = json_loadb((const char *)data, size, 0, NULL);
    fuzz_state_seek(json);
    json_decref(json);
    return 0;
}
