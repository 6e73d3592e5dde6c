/* SPDX-License-Identifier: Apache-2.0 */
/* The part is read once in sequential order by all workers. Where there is another part (train or val), its
 * files are read, too, for their contents alone. The caller's thread adds up; workers take digests. */
#include "session/stats/data_scan.h"

#include "loader/loader_open.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void note_bad(void *context, const stk_ledger_entry *entry)
{
    stk__data_scan *scan = context;
    stk__data_stats_add_bad(scan->stats, entry);
    if (scan->bad) scan->bad(scan->context, entry);
}

static void show(const stk__data_scan *scan, const char *what, uint64_t done, uint64_t total)
{
    if (scan->progress) scan->progress(scan->context, what, done, total);
}

static stk_status open_part(stk__data_scan *scan, stk_error *error)
{
    stk_loader_options *options = &scan->loading.options;
    scan->loading.images = STK_SESSION_AS_DECODED;
    scan->loading.observer = &scan->stats->observer;
    options->dedicated_cpus = true;
    options->epochs = 1;
    options->order = "sequential";
    options->on_bad_sample = STK_BAD_SKIP;
    const stk_status status = stk__session_loader_open(scan->config, &scan->loading, &scan->loader, error);
    if (scan->loader && scan->opened) scan->opened(scan->context, scan->loader);
    STK__TRY(status);
    stk_loader_set_ledger(scan->loader, note_bad, scan);
    return stk__data_stats_start(scan->stats, scan->loader, options, error);
}

static stk_status read_part(stk__data_scan *scan, stk_error *error)
{
    const uint64_t total = stk_loader_describe(scan->loader)->sample_count;
    stk_batch *batch;
    stk_status status;
    while ((status = stk_loader_next(scan->loader, &batch, error)) == STK_OK) {
        stk__data_stats_add(scan->stats, batch);
        stk_batch_release(batch);
        show(scan, "reading", scan->stats->samples, total);
    }
    return status == STK_END ? STK_OK : status;
}

/* --- the other part -------------------------------------------------------------------------------------
 */

typedef struct other_part {
    stk_loader *loader;
    stk__file_observer observer;
    pthread_mutex_t lock;
    stk__content_index content;
} other_part;

static stk_status begin_other(void *context, uint64_t sample_count, stk_error *error)
{
    return stk__content_index_open(&((other_part *)context)->content, sample_count, error);
}

static void see_other(void *context, const stk__observed_file *file)
{
    other_part *other = context;
    if (file->field != STK_FIELD_IMAGE) return;
    const stk__digest digest = stk__digest_of(file->bytes.data, file->bytes.size_bytes);
    pthread_mutex_lock(&other->lock);
    stk__content_index_add(&other->content, file->id, digest);
    pthread_mutex_unlock(&other->lock);
}

static stk_status read_other(stk__data_scan *scan, other_part *other, stk_error *error)
{
    const uint64_t total = stk_loader_describe(other->loader)->sample_count;
    stk_batch *batch;
    stk_status status;
    if (scan->opened) scan->opened(scan->context, other->loader);
    while ((status = stk_loader_next(other->loader, &batch, error)) == STK_OK) {
        scan->stats->other_samples += (uint64_t)batch->count;
        stk_batch_release(batch);
        show(scan, "comparing", scan->stats->other_samples, total);
    }
    return status == STK_END ? STK_OK : status;
}

static bool is_bad_row(const stk__source *source, uint64_t id)
{
    stk__sample_facts facts;
    stk_error error;
    return source->ops->facts(source, id, &facts, &error) != STK_OK && error.damage == STK_DAMAGE_BAD_ROW;
}

/* Of the rows of one list for the same file all but the first are bad and not read: they have no content to
 * compare. Both sources are in the order of their keys. */
static stk__content_matches match_rows(const stk__source *own, const stk__source *theirs)
{
    stk__content_matches found = {.example = {-1, -1}};
    char key[PATH_MAX], other[PATH_MAX];
    for (uint64_t i = 0, k = 0; i < own->info.count && k < theirs->info.count;) {
        own->ops->key(own, i, key, sizeof key);
        theirs->ops->key(theirs, k, other, sizeof other);
        const int order = strcmp(key, other);
        if (order == 0 && (is_bad_row(own, i) || is_bad_row(theirs, k)) && found.samples++ == 0) {
            found.example[0] = (int64_t)i;
            found.example[1] = (int64_t)k;
        }
        i += order <= 0;
        k += order >= 0;
    }
    found.groups = found.samples;
    return found;
}

static void match_parts(stk__data_scan *scan, other_part *other)
{
    stk__data_stats *stats = scan->stats;
    const stk__source *own = stk__loader_source(scan->loader), *theirs = stk__loader_source(other->loader);
    stk_loader_stats loaded;
    stk_loader_get_stats(other->loader, &loaded);
    stats->other_bad = loaded.bad_samples;
    stk__content_index_sort(&other->content);
    stats->overlap = stk__content_index_overlap(&stats->content, &other->content);
    const uint64_t bad_rows = loaded.damages[STK_DAMAGE_BAD_ROW] + stats->damages[STK_DAMAGE_BAD_ROW].count;
    if (bad_rows && stats->parts && !stats->limited && !scan->loading.options.val_root) {
        const stk__content_matches rows = match_rows(own, theirs);
        if (rows.samples > stats->overlap.samples) stats->overlap = rows;
    }
    if (!stats->overlap.samples) return;
    own->ops->where(own, (uint64_t)stats->overlap.example[0], STK_FIELD_IMAGE, stats->overlap_paths[0],
                    sizeof stats->overlap_paths[0]);
    theirs->ops->where(theirs, (uint64_t)stats->overlap.example[1], STK_FIELD_IMAGE, stats->overlap_paths[1],
                       sizeof stats->overlap_paths[1]);
}

/* A part that is split off by the loader comes from the same source; others have one of their own. */
static stk_status open_other(stk__data_scan *scan, other_part *other, stk_error *error)
{
    stk_loader_options options = scan->loading.options;
    other->observer = (stk__file_observer){.begin = begin_other, .see = see_other, .context = other};
    options.part = options.part == STK_PART_TRAIN ? STK_PART_VAL : STK_PART_TRAIN;
    options.on_bad_sample = STK_BAD_SKIP;
    stk__loader_setup setup = {.options = &options, .observer = &other->observer};
    if (!scan->stats->parts && !options.val_root) setup.source = stk__loader_source(scan->loader);
    scan->stats->other_part = options.part == STK_PART_VAL ? "val" : "train";
    return stk__loader_open(&other->loader, &setup, error);
}

static stk_status compare_with(stk__data_scan *scan, other_part *other, stk_error *error)
{
    stk_status status = open_other(scan, other, error);
    if (status == STK_ERROR_DATA || status == STK_ERROR_IO || status == STK_ERROR_CONFIG) {
        snprintf(scan->stats->other_error, sizeof scan->stats->other_error, "%s", error->message);
        return STK_OK;
    }
    STK__TRY(status);
    status = read_other(scan, other, error);
    if (status == STK_OK) match_parts(scan, other);
    if (scan->opened) scan->opened(scan->context, NULL);
    scan->hung += stk_loader_close(&other->loader);
    return status;
}

/* Images to compare with: a training part has a validation part, every other one a training part; by the data
 * set or by the settings. */
static bool has_other_part(const stk__data_scan *scan)
{
    const stk_loader_options *options = &scan->loading.options;
    const uint32_t other = options->part == STK_PART_TRAIN ? STK_SOURCE_VAL : STK_SOURCE_TRAIN;
    if (!scan->stats->content.count || options->part == STK_PART_ALL) return false;
    return options->val_split > 0 || options->val_root || scan->stats->parts & other;
}

static stk_status compare_parts(stk__data_scan *scan, stk_error *error)
{
    if (!has_other_part(scan)) return STK_OK;
    other_part *other = stk__alloc(sizeof *other); /* a thread that hangs may still use it */
    if (!other) return stk__fail_memory(error, sizeof *other, "a look at the other part");
    pthread_mutex_init(&other->lock, NULL);
    const stk_status status = compare_with(scan, other, error);
    if (scan->hung) return status;
    pthread_mutex_destroy(&other->lock);
    stk__content_index_close(&other->content);
    stk__free(other);
    return status;
}

/* --- all of it ------------------------------------------------------------------------------------------
 */

stk_status stk__data_scan_run(stk__data_scan *scan, stk_error *error)
{
    STK__TRY(stk__data_stats_create(&scan->stats, error));
    STK__TRY(open_part(scan, error));
    STK__TRY(read_part(scan, error));
    STK__TRY(stk__data_stats_finish(scan->stats, scan->loader, error));
    STK__TRY(stk__data_frames_judge(scan->stats, scan->loader, scan->loading.options.mask_frame, error));
    const char *mask_map = scan->loading.options.mask_map;
    STK__TRY(stk__data_palettes_judge(scan->stats, scan->loader, mask_map, error));
    STK__TRY(stk__data_masks_judge(scan->stats, mask_map, error));
    STK__TRY(compare_parts(scan, error));
    scan->finding_count = stk__data_findings(scan->stats, scan->findings);
    return STK_OK;
}

int stk__data_scan_fini(stk__data_scan *scan)
{
    if (scan->opened) scan->opened(scan->context, NULL);
    scan->hung += stk_loader_close(&scan->loader);
    if (!scan->hung) stk__data_stats_destroy(&scan->stats);
    return scan->hung;
}
