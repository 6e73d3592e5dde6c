/* SPDX-License-Identifier: Apache-2.0 */
/* One of 256 files below the user's cache, masks/00.look to masks/ff.look, by the first byte of the request's
 * digest: another request with this byte replaces it, so that the cache cannot grow. The file is a head with
 * digests of request, files and content, then the survey as it is in memory; it is replaced as a whole. Its
 * numbers are checked before they are used. One thread, while a loader opens; processes share it without a
 * lock. */
#include "loader/survey_store.h"

#include "core/cache_folder.h"
#include "core/file.h"
#include "core/logger.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 2 }; /* another one whenever a survey counts something else */

typedef struct head {
    char magic[16];
    stk__digest key, state, content;
} head;

static const char magic[16] = "stoker look";

static void chain(stk__digest *digest, const void *data, size_t size_bytes)
{
    const stk__digest parts[2] = {*digest, stk__digest_of(data, size_bytes)};
    *digest = stk__digest_of(parts, sizeof parts);
}

static stk__digest key_of(const stk__survey_request *r)
{
    char path[4096], real[PATH_MAX];
    uint64_t time_bits;
    memcpy(&time_bits, &r->limits->time_s, sizeof time_bits);
    const uint64_t numbers[] = {FORMAT,
                                sizeof(stk__mask_survey),
                                r->source->info.fingerprint.high,
                                r->source->info.fingerprint.low,
                                r->source->info.count,
                                r->exif,
                                r->frames_only,
                                r->limits->bytes,
                                r->limits->pixels,
                                (uint64_t)r->limits->scans,
                                (uint64_t)r->limits->warnings,
                                time_bits};
    stk__digest key = {0};
    chain(&key, numbers, sizeof numbers);
    chain(&key, r->ids, r->count * sizeof *r->ids);
    chain(&key, stk_version(), strlen(stk_version()));
    r->source->ops->where(r->source, r->ids[0], STK_FIELD_MASK, path, sizeof path);
    const char *name = realpath(path, real) ? real : path;
    chain(&key, name, strlen(name));
    return key;
}

static bool stamp_field(const stk__source *source, uint64_t id, stk__field field, stk__file_stamp *stamp)
{
    return source->ops->stamp && source->ops->stamp(source, id, field, stamp);
}

stk__survey_place stk__survey_find(const stk__survey_request *request)
{
    stk__file_stamp stamp = {0};
    if (!request->count) return (stk__survey_place){0};
    for (size_t i = 0; i < request->count; i++) {
        if (!stamp_field(request->source, request->ids[i], STK_FIELD_IMAGE, &stamp) ||
            !stamp_field(request->source, request->ids[i], STK_FIELD_MASK, &stamp))
            return (stk__survey_place){0};
    }
    return (stk__survey_place){.known = true,
                               .settled = stk__file_stamp_is_settled(&stamp),
                               .key = key_of(request),
                               .state = stamp.digest};
}

static bool find_folder(char *path, size_t path_bytes)
{
    char folder[PATH_MAX - 64];
    return stk__cache_folder(folder, sizeof folder) &&
           (size_t)snprintf(path, path_bytes, "%s/masks", folder) < path_bytes;
}

static bool find_file(const stk__survey_place *place, char path[PATH_MAX])
{
    char folder[PATH_MAX - 32];
    return find_folder(folder, sizeof folder) &&
           (size_t)snprintf(path, PATH_MAX, "%s/%02x.look", folder, (unsigned)(place->key.high >> 56)) <
               PATH_MAX;
}

/* --- reading ----------------------------------------------------------------------------------------------
 */

/* The survey in a whole file for this place. */
static const stk__mask_survey *open_file(const stk__buffer *file, const stk__survey_place *place)
{
    head h;
    if (file->size_bytes != sizeof h + sizeof(stk__mask_survey)) return NULL;
    memcpy(&h, file->data, sizeof h);
    const stk__digest content = stk__digest_of(file->data + sizeof h, sizeof(stk__mask_survey));
    if (memcmp(h.magic, magic, sizeof magic) != 0 || memcmp(&h.key, &place->key, sizeof h.key) != 0 ||
        memcmp(&h.state, &place->state, sizeof h.state) != 0 ||
        memcmp(&h.content, &content, sizeof content) != 0)
        return NULL;
    return (const stk__mask_survey *)(const void *)(file->data + sizeof h);
}

static bool is_example(const stk__survey_example *example, uint64_t count)
{
    return !example->count || example->id < count;
}

/* What is used as an index, and what memory may not hold as a bool. */
static bool is_sound(const stk__mask_survey *s, uint64_t count)
{
    unsigned char more;
    memcpy(&more, &s->more_colors, 1);
    if (more > 1 || s->color_count < 0 || s->color_count > STK_SURVEY_COLORS || s->unusable.count)
        return false;
    for (int id = 0; id < 256; id++)
        if ((s->ids.masks[id] && s->ids.first[id] >= count) ||
            (s->palette.masks[id] && (s->palette.low_mask[id] >= count || s->palette.high_mask[id] >= count)))
            return false;
    return is_example(&s->colored, count) && is_example(&s->lossy, count) && is_example(&s->resized, count) &&
           is_example(&s->misfit, count) && is_example(&s->oriented, count) &&
           is_example(&s->stored, count) && is_example(&s->upright, count);
}

bool stk__survey_load(const stk__survey_place *place, const stk__survey_request *request,
                      stk__mask_survey *survey)
{
    char path[PATH_MAX];
    stk__buffer file = {0};
    const stk__mask_survey *kept = NULL;
    if (!place->known || !find_file(place, path)) return false;
    if (stk__file_read(path, sizeof(head) + sizeof *survey, &file, NULL) == STK_OK)
        kept = open_file(&file, place);
    const bool good = kept && is_sound(kept, request->source->info.count);
    if (good) *survey = *kept;
    stk__buffer_fini(&file);
    return good;
}

/* --- writing ----------------------------------------------------------------------------------------------
 */

static stk_status write_file(const stk__survey_place *place, const stk__mask_survey *survey, stk_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX];
    head h = {.key = place->key, .state = place->state, .content = stk__digest_of(survey, sizeof *survey)};
    stk__buffer file = {0};
    memcpy(h.magic, magic, sizeof magic);
    if (!find_folder(folder, sizeof folder) || !find_file(place, path)) return STK_OK;
    stk_status status = stk__folder_make(folder, error);
    if (status == STK_OK) status = stk__buffer_append(&file, &h, sizeof h, error);
    if (status == STK_OK) status = stk__buffer_append(&file, survey, sizeof *survey, error);
    if (status == STK_OK) status = stk__file_write(path, file, STK_FILE_QUICK, error);
    stk__buffer_fini(&file);
    return status;
}

void stk__survey_save(const stk__survey_place *place, const stk__mask_survey *survey)
{
    stk_error why = {0};
    if (!place->known || !place->settled || survey->unusable.count) return;
    if (write_file(place, survey, &why) != STK_OK)
        stk__log(STK_LOG_INFO, "the look at the masks is not kept: %s", why.message);
}
