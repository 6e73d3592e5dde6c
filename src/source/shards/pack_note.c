/* SPDX-License-Identifier: Apache-2.0 */
/* Reads pack.json beside shards, if there is one: an unfinished pack and missing shards are reported when
 * the data set opens. */
#include "source/shards/pack_note.h"

#include "core/file.h"
#include "core/logger.h"

#include <jansson.h>
#include <string.h>

enum { NOTE_BYTES = 1 << 20 };

static int64_t number_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : -1;
}

/* The part of that name; without a name the one that has none. */
static const json_t *find_part(const json_t *root, const char *name)
{
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(root, "parts"), i, part)
    {
        const char *own = json_string_value(json_object_get(part, "part"));
        if (own && name ? strcmp(own, name) == 0 : own == name) return part;
    }
    return NULL;
}

bool stk__pack_note_read(const char *text, size_t length, const char *part, stk__pack_note *note)
{
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *complete = json_object_get(root, "complete"), *found = find_part(root, part);
    const bool known = json_is_boolean(complete) && found;
    if (known) {
        const int64_t count = number_of(found, "count"), left_out = number_of(found, "left_out");
        *note =
            (stk__pack_note){.complete = json_is_true(complete),
                             .samples = count < 0 || left_out < 0 || left_out > count ? -1 : count - left_out,
                             .shards = number_of(found, "shards")};
    }
    json_decref(root);
    return known;
}

static bool read_note(const char *folder, const char *part, stk__pack_note *note)
{
    char path[PATH_MAX];
    stk__buffer bytes = {0};
    const bool known = stk__path_join(path, folder, STK_PACK_NOTE_FILE) &&
                       stk__file_read(path, NOTE_BYTES, &bytes, NULL) == STK_OK &&
                       stk__pack_note_read((const char *)bytes.data, bytes.size_bytes, part, note);
    stk__buffer_fini(&bytes);
    return known;
}

void stk__pack_note_tell(const stk__shards *shards, const stk__site *site)
{
    stk__pack_note note;
    const bool is_part = *site->sibling;
    if (*site->file) return; /* single shards, or a range: as many as somebody wanted */
    if (!read_note(is_part ? site->options->root : site->root, is_part ? site->options->part : NULL, &note))
        return;
    const long long there = (long long)shards->files.source.info.count, samples = (long long)note.samples;
    if (note.samples < 0 || (samples == there && (!note.complete || note.shards == shards->part_count)))
        return;
    if (!note.complete)
        stk__log(
            STK_LOG_WARNING,
            "'%s' is an incomplete pack: it has %lld of %lld sample%s; the same 'stoker pack' resumes it",
            site->root, there, samples, stk__plural((unsigned long long)samples));
    else
        stk__log(STK_LOG_WARNING,
                 "'%s' does not match its pack: %lld sample%s in %lld shard%s packed, %lld in %u found",
                 site->root, samples, stk__plural((unsigned long long)samples), (long long)note.shards,
                 stk__plural((unsigned long long)note.shards), there, shards->part_count);
}

stk_status stk__pack_note_refuse(const char *folder, stk_error *error)
{
    static const char *const parts[] = {NULL, "train", "val", "test"};
    stk__pack_note note = {.complete = true};
    for (int i = 0; i < 4 && note.complete; i++)
        if (!read_note(folder, parts[i], &note)) note.complete = true;
    if (note.complete) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "'%s' is an incomplete pack", folder);
    stk__error_place(error, "%s", folder);
    stk__error_hint(error, "the same 'stoker pack' command resumes it");
    return STK_ERROR_DATA;
}
