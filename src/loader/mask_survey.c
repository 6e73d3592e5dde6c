/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread of the pool counts into a survey of its own with its own decoder; sums and smallest ids are
 * then put together, so that no order of the threads can be seen in the result. Colors are counted through
 * the table that maps them (decode/mask_colors.h), whose ids are not used here. What was counted before, of
 * the same files, is taken from the user's cache (survey_store.h). */
#include "loader/mask_survey.h"

#include "core/clock.h"
#include "core/pool.h"
#include "decode/format.h"
#include "decode/mask_colors.h"
#include "loader/open_watchdog.h"
#include "loader/pump.h"
#include "loader/survey_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a thread has. */
typedef struct surveyor {
    stk__decoder *decoder;
    stk__buffer bytes, pixels;
    stk__mask_survey found;
    stk__survey_ids gray;   /* of RGB masks that are gray */
    stk__mask_colors table; /* of the colors of found.colors, in the order they came */
    uint64_t color_pixels[STK_MASK_COLORS_MOST], color_masks[STK_MASK_COLORS_MOST];
    stk_error failure; /* other than a corrupt sample */
} surveyor;

typedef struct survey_job {
    const stk_loader *loader;
    const uint64_t *ids; /* [count] */
    size_t count;
    surveyor *crew;
    bool frames_only;
} survey_job;

static void note(stk__survey_example *example, uint64_t id)
{
    if (example->count++ == 0 || id < example->id) example->id = id;
}

/* --- one mask ----------------------------------------------------------------------------------------------
 */

static void count_ids(stk__survey_ids *ids, uint64_t sample, stk__pixels mask, uint64_t seen[256])
{
    bool others = false, beside = false;
    memset(seen, 0, 256 * sizeof *seen);
    for (int32_t y = 0; y < mask.h; y++) {
        const uint8_t *row = stk__pixels_row(mask, y);
        for (int32_t x = 0; x < mask.w; x++)
            seen[row[x]]++;
    }
    for (int id = 0; id < 256; id++) {
        if (!seen[id]) continue;
        if (!ids->masks[id]++ || sample < ids->first[id]) ids->first[id] = sample;
        ids->pixels[id] += seen[id];
        others |= id > 0;
        beside |= id > 0 && id < 255;
    }
    ids->empty += !others;
    ids->beside_255 += beside && seen[255];
}

/* True: all pixels are gray. Colors beyond the room are not counted. */
static bool count_colors(surveyor *s, stk__pixels rgb)
{
    bool in_mask[STK_MASK_COLORS_MOST] = {false}, gray = true;
    uint32_t last = UINT32_MAX;
    int index = -1;
    for (int32_t y = 0; y < rgb.h; y++) {
        const uint8_t *at = stk__pixels_row(rgb, y);
        for (int32_t x = 0; x < rgb.w; x++, at += 3) {
            const uint32_t color = stk__mask_color_of(at);
            if (color != last) {
                last = color;
                gray &= at[0] == at[1] && at[1] == at[2];
                index = stk__mask_colors_find(&s->table, color);
                if (index < 0) index = stk__mask_colors_add(&s->table, color, 0);
                if (index >= 0) in_mask[index] = true;
                s->found.more_colors |= index < 0;
            }
            if (index >= 0) s->color_pixels[index]++;
        }
    }
    for (int i = 0; i < s->table.count; i++)
        s->color_masks[i] += in_mask[i];
    return gray;
}

static stk_status open_mask(surveyor *s, const survey_job *job, uint64_t id, stk__picture *mask)
{
    const stk__source *source = job->loader->source;
    const char *extension = NULL;
    STK__TRY(source->ops->read(source, id, STK_FIELD_MASK, &s->bytes, &extension, &s->failure));
    const stk__encoded bytes = {s->bytes.data, s->bytes.size_bytes};
    STK__TRY(stk__decode_header(s->decoder, bytes, extension, mask, &s->failure));
    mask->orientation = 1;
    return STK_OK;
}

static stk_status count_mask(surveyor *s, uint64_t id, const stk__picture *mask)
{
    stk_error *error = &s->failure;
    uint64_t seen[256];
    const stk__encoded bytes = {s->bytes.data, s->bytes.size_bytes};
    const bool rgb = mask->channels == 3 && !mask->indexed;
    const stk__mask_options options = {.orientation = 1, .ignore = 255};
    stk__pixels room = stk__pixels_dense(NULL, mask->w, mask->h, rgb ? 3 : 1);
    STK__TRY(stk__buffer_reserve(&s->pixels, room.pitch_bytes * (size_t)room.h, error));
    room.data = s->pixels.data;
    if (!mask->format->mask) { /* nothing but its format counts */
        note(&s->found.lossy, id);
    } else if (!rgb) {
        STK__TRY(stk__decode_mask(s->decoder, bytes, mask, &options, room, error));
        count_ids(&s->found.ids, id, room, seen);
        s->found.indexed += mask->indexed;
        if (mask->indexed) stk__survey_palette_note(&s->found.palette, bytes, seen, id);
    } else {
        STK__TRY(stk__decode_image(s->decoder, bytes, mask, room, error));
        if (!count_colors(s, room)) {
            note(&s->found.colored, id);
            return STK_OK;
        }
        for (size_t i = 0, n = (size_t)room.w * (size_t)room.h; i < n; i++)
            room.data[i] = room.data[3 * i];
        count_ids(&s->gray, id, stk__pixels_dense(room.data, room.w, room.h, 1), seen);
        s->found.gray_rgb++;
    }
    return STK_OK;
}

/* --- one sample --------------------------------------------------------------------------------------------
 */

static stk_status read_image(surveyor *s, const survey_job *job, uint64_t id, stk__picture *image)
{
    const stk__source *source = job->loader->source;
    const char *extension = NULL;
    STK__TRY(source->ops->read(source, id, STK_FIELD_IMAGE, &s->bytes, &extension, &s->failure));
    const stk__encoded bytes = {s->bytes.data, s->bytes.size_bytes};
    STK__TRY(stk__decode_header(s->decoder, bytes, extension, image, &s->failure));
    if (!job->loader->recipe.exif) image->orientation = 1;
    return STK_OK;
}

static void compare_sizes(stk__mask_survey *found, uint64_t id, const stk__picture *image,
                          const stk__picture *mask)
{
    const bool swaps = stk__orientation_swaps(image->orientation);
    const stk__frame_proof proof = stk__mask_frame_prove(image, mask);
    const stk__mask_fit stored = stk__mask_fit_of(mask, image->w, image->h),
                        upright = swaps ? stk__mask_fit_of(mask, image->h, image->w) : stored,
                        best = stored < upright ? stored : upright;
    if (best == STK_MASK_SCALED) note(&found->resized, id);
    if (best == STK_MASK_OTHER) note(&found->misfit, id);
    if (proof != STK_FRAME_SAME) note(&found->oriented, id);
    if (proof == STK_FRAME_STORED) note(&found->stored, id);
    if (proof == STK_FRAME_UPRIGHT) note(&found->upright, id);
}

static stk_status look_at_sample(surveyor *s, const survey_job *job, uint64_t id)
{
    stk__picture image, mask;
    STK__TRY(read_image(s, job, id, &image));
    if (job->frames_only && image.orientation == 1) return STK_OK;
    STK__TRY(open_mask(s, job, id, &mask));
    if (!job->frames_only) STK__TRY(count_mask(s, id, &mask));
    compare_sizes(&s->found, id, &image, &mask);
    s->found.looked++;
    return STK_OK;
}

static void look(void *context, size_t item, int worker)
{
    const survey_job *job = context;
    surveyor *s = &job->crew[worker];
    const uint64_t id = job->ids[item];
    if (s->failure.code != STK_OK) return;
    const stk_status status = look_at_sample(s, job, id);
    if (status != STK_ERROR_SAMPLE) return;
    if (!s->found.unusable.count || id < s->found.unusable.id) s->found.first_error = s->failure;
    note(&s->found.unusable, id);
    stk__error_clear(&s->failure);
}

/* --- which samples -----------------------------------------------------------------------------------------
 */

typedef struct ranked {
    uint64_t hash, id;
} ranked;

static bool is_before(ranked a, ranked b)
{
    return a.hash != b.hash ? a.hash < b.hash : a.id < b.id;
}

/* A heap whose first element is the last by rank: what is in front of it takes its place. */
static void sink(ranked *heap, size_t count, ranked new)
{
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(heap[child], heap[child + 1])) child++;
        if (!is_before(new, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = new;
}

static int compare_ids(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static ranked rank_of(const stk__source *source, uint64_t id)
{
    char key[4096];
    source->ops->key(source, id, key, sizeof key);
    return (ranked){stk__digest_of(key, strlen(key)).low, id};
}

/* What is looked at: the part, or all of its source. */
typedef struct survey_set {
    const stk_loader *loader;
    bool whole;
    uint64_t count;
} survey_set;

static survey_set choose_set(const stk_loader *loader, bool both_parts)
{
    const stk__stream *stream = &loader->stream;
    const stk__split *split = &stream->split;
    const bool whole = both_parts && split->held && !stream->take_held &&
                       stream->count == split->count - split->held; /* no data.limit */
    return (survey_set){loader, whole, whole ? split->count : stream->count};
}

static uint64_t id_at(const survey_set *set, uint64_t position)
{
    const stk__stream *stream = &set->loader->stream;
    const stk__order order = {.kind = STK_ORDER_SEQUENTIAL, .count = stream->count};
    return set->whole ? position : stk__stream_id(stream, &order, position);
}

/* The `count` samples whose keys have the smallest hashes, by id. */
static stk_status choose_by_key(const survey_set *set, uint64_t *ids, size_t count, stk_error *error)
{
    ranked *heap = stk__alloc(count * sizeof *heap);
    if (!heap) return stk__fail_memory(error, count * sizeof *heap, "the samples to look at");
    for (size_t i = 0; i < count; i++)
        heap[i] = (ranked){UINT64_MAX, UINT64_MAX};
    for (uint64_t i = 0; i < set->count; i++) {
        const ranked next = rank_of(set->loader->source, id_at(set, i));
        if (is_before(next, heap[0])) sink(heap, count, next);
    }
    for (size_t i = 0; i < count; i++)
        ids[i] = heap[i].id;
    stk__free(heap);
    qsort(ids, count, sizeof *ids, compare_ids);
    return STK_OK;
}

static stk_status choose_samples(const survey_set *set, uint64_t *ids, size_t count, stk_error *error)
{
    if (count < set->count) return choose_by_key(set, ids, count, error);
    for (size_t i = 0; i < count; i++)
        ids[i] = id_at(set, i);
    return STK_OK;
}

/* --- all together ------------------------------------------------------------------------------------------
 */

static void add_example(stk__survey_example *sum, const stk__survey_example *more)
{
    if (more->count && (!sum->count || more->id < sum->id)) sum->id = more->id;
    sum->count += more->count;
}

static void add_ids(stk__survey_ids *sum, const stk__survey_ids *more)
{
    for (int id = 0; id < 256; id++) {
        if (more->masks[id] && (!sum->masks[id] || more->first[id] < sum->first[id]))
            sum->first[id] = more->first[id];
        sum->pixels[id] += more->pixels[id];
        sum->masks[id] += more->masks[id];
    }
    sum->beside_255 += more->beside_255;
    sum->empty += more->empty;
}

static void add_colors(stk__mask_survey *sum, const surveyor *from)
{
    sum->more_colors |= from->found.more_colors;
    for (int i = 0; i < from->table.count && !sum->more_colors; i++) {
        int at = 0;
        while (at < sum->color_count && sum->colors[at].color < from->table.color[i])
            at++;
        const bool known = at < sum->color_count && sum->colors[at].color == from->table.color[i];
        if (!known && sum->color_count == STK_SURVEY_COLORS) {
            sum->more_colors = true;
            break;
        }
        if (!known) {
            memmove(&sum->colors[at + 1], &sum->colors[at],
                    (size_t)(sum->color_count++ - at) * sizeof sum->colors[0]);
            sum->colors[at] = (stk__survey_color){.color = from->table.color[i]};
        }
        sum->colors[at].pixels += from->color_pixels[i];
        sum->colors[at].masks += from->color_masks[i];
    }
    if (sum->more_colors) sum->color_count = 0;
}

static void add_survey(stk__mask_survey *sum, const stk__mask_survey *more)
{
    if (more->unusable.count && (!sum->unusable.count || more->unusable.id < sum->unusable.id))
        sum->first_error = more->first_error;
    add_example(&sum->unusable, &more->unusable);
    add_ids(&sum->ids, &more->ids);
    add_example(&sum->colored, &more->colored);
    add_example(&sum->lossy, &more->lossy);
    add_example(&sum->resized, &more->resized);
    add_example(&sum->misfit, &more->misfit);
    add_example(&sum->oriented, &more->oriented);
    add_example(&sum->stored, &more->stored);
    add_example(&sum->upright, &more->upright);
    sum->looked += more->looked;
    sum->indexed += more->indexed;
    stk__survey_palette_add(&sum->palette, &more->palette);
    sum->gray_rgb += more->gray_rgb;
}

static void name_examples(const stk__source *source, stk__mask_survey *survey)
{
    stk__survey_example *const all[] = {&survey->unusable, &survey->colored, &survey->lossy,
                                        &survey->resized,  &survey->misfit,  &survey->oriented,
                                        &survey->stored,   &survey->upright};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char path[4096];
        if (!all[i]->count) continue;
        source->ops->where(source, all[i]->id, STK_FIELD_MASK, path, sizeof path);
        stk__place_copy(all[i]->path, sizeof all[i]->path, path);
    }
    const stk__survey_palette *palette = &survey->palette;
    const int index = stk__survey_palette_conflict(palette);
    for (int i = 0; i < 2 && index >= 0; i++) {
        char path[4096];
        source->ops->where(source, i ? palette->high_mask[index] : palette->low_mask[index], STK_FIELD_MASK,
                           path, sizeof path);
        stk__place_copy(survey->palette_paths[i], sizeof survey->palette_paths[i], path);
    }
}

static stk_status put_together(const survey_job *job, int crew_count, stk__mask_survey *survey,
                               stk_error *error)
{
    for (int i = 0; i < crew_count; i++) {
        const surveyor *s = &job->crew[i];
        if (s->failure.code != STK_OK) {
            if (error) *error = s->failure;
            return s->failure.code;
        }
        add_survey(survey, &s->found);
        add_colors(survey, s);
    }
    for (int i = 0; i < crew_count && !survey->colored.count; i++)
        add_ids(&survey->ids, &job->crew[i].gray);
    name_examples(job->loader->source, survey);
    return STK_OK;
}

static stk_status run_job(survey_job *job, int crew_count, stk__mask_survey *survey, stk_error *error)
{
    char what[64];
    stk__open_watchdog watchdog;
    for (int i = 0; i < crew_count; i++)
        STK__TRY(stk__decoder_create(&job->crew[i].decoder, &job->loader->recipe.limits, error));
    snprintf(what, sizeof what, "looking at %zu masks", job->count);
    STK__TRY(stk__open_watchdog_start(&watchdog, what, job->loader->timeout_s, error));
    stk__pool_run(&(stk__pool_job){look, job, job->count, crew_count});
    stk__open_watchdog_stop(&watchdog);
    return put_together(job, crew_count, survey, error);
}

static void dismiss(surveyor *crew, int count)
{
    for (int i = 0; crew && i < count; i++) {
        stk__decoder_destroy(&crew[i].decoder);
        stk__buffer_fini(&crew[i].bytes);
        stk__buffer_fini(&crew[i].pixels);
    }
    stk__free(crew);
}

/* A look that was kept for these files, or one that is taken now. */
static stk_status look_or_recall(survey_job *job, int crew_count, stk__mask_survey *survey, stk_error *error)
{
    const stk_loader *loader = job->loader;
    const stk__survey_request request = {.source = loader->source,
                                         .ids = job->ids,
                                         .count = job->count,
                                         .limits = &loader->recipe.limits,
                                         .exif = loader->recipe.exif,
                                         .frames_only = job->frames_only};
    const stk__survey_place place = stk__survey_find(&request);
    if (stk__survey_load(&place, &request, survey)) {
        name_examples(loader->source, survey);
        survey->kept = true;
        return STK_OK;
    }
    STK__TRY(run_job(job, crew_count, survey, error));
    stk__survey_save(&place, survey);
    return STK_OK;
}

stk_status stk__mask_survey_run(const stk_loader *loader, stk__survey_options options,
                                stk__mask_survey *survey, stk_error *error)
{
    const survey_set set = choose_set(loader, options.both_parts);
    const uint64_t all = set.count, start_ns = stk__clock_ns();
    const size_t count = options.most && options.most < all ? options.most : all;
    int crew_count = options.workers ? options.workers : stk__pool_default_workers();
    if ((size_t)crew_count > count) crew_count = (int)count;
    *survey = (stk__mask_survey){0};
    uint64_t *ids = stk__alloc(count * sizeof *ids);
    surveyor *crew = stk__alloc((size_t)crew_count * sizeof *crew);
    survey_job job = {
        .loader = loader, .ids = ids, .count = count, .crew = crew, .frames_only = options.frames_only};
    stk_status status = ids && crew ? choose_samples(&set, ids, count, error)
                                    : stk__fail_memory(error, count * sizeof *ids, "a look at the masks");
    if (status == STK_OK) status = look_or_recall(&job, crew_count, survey, error);
    dismiss(crew, crew_count);
    stk__free(ids);
    survey->part_count = all;
    survey->chosen = count;
    survey->seconds = (double)(stk__clock_ns() - start_ns) / 1e9;
    return status;
}
