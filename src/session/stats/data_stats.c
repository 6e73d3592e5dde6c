/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up batches as they come out of a loader: labels and points; at the end mean and standard deviation of
 * all sums. Files and pixels are counted by the workers (data_files.c, data_pixels.c), columns of a series at
 * the end (data_columns.c). The consumer's thread. */
#include "session/stats/data_stats.h"

#include "loader/loader_open.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

stk_status stk__data_stats_create(stk__data_stats **out, stk_error *error)
{
    stk__data_stats *stats = *out = stk__alloc(sizeof *stats);
    if (!stats) return stk__fail_memory(error, sizeof *stats, "the statistics of a data set");
    pthread_mutex_init(&stats->lock, NULL);
    stats->observer = (stk__file_observer){.begin = stk__data_files_begin,
                                           .see = stk__data_files_see,
                                           .see_pixels = stk__data_pixels_see,
                                           .context = stats};
    stats->first_id = -1;
    stats->duplicates = stats->overlap = (stk__content_matches){.example = {-1, -1}};
    return STK_OK;
}

void stk__data_stats_destroy(stk__data_stats **pointer)
{
    stk__data_stats *stats = *pointer;
    if (!stats) return;
    *pointer = NULL;
    stk__content_index_close(&stats->content);
    stk__free(stats->labels);
    stk__free(stats->points);
    stk__free(stats->columns);
    pthread_mutex_destroy(&stats->lock);
    stk__free(stats);
}

/* --- what is known before the first batch ---------------------------------------------------------------
 */

/* A map that the loader found by itself is listed in its effects, as one that was asked for. */
static void read_mask_map(stk__data_stats *stats, const stk_loader *loader, const char *asked)
{
    int count;
    const char *map = asked;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(effects[i].name, "data.mask_map") == 0) map = effects[i].in_effect;
    stats->masks_binary = map && strstr(map, "255:1");
    stats->masks_mapped = map && strchr(map, ':');
}

static void copy_source(stk__data_stats *stats, const stk__source_info *source)
{
    memcpy(stats->left_out, source->left_out, sizeof stats->left_out);
    stats->left_out_count = source->left_out_count;
    stats->parts = source->parts;
    stats->orphans = source->orphans;
}

stk_status stk__data_stats_start(stk__data_stats *stats, const stk_loader *loader,
                                 const stk_loader_options *options, stk_error *error)
{
    const stk_loader_info *info = stk_loader_describe(loader);
    stats->info = *info;
    stats->limited = options->limit > 0 && (uint64_t)options->limit <= info->sample_count;
    stats->size_fixed = options->image_size[0] > 0;
    stats->channels_fixed = options->channels > 0;
    read_mask_map(stats, loader, options->mask_map);
    copy_source(stats, &stk__loader_source(loader)->info);
    const bool labels =
        (info->classes || info->label_sets) && info->class_count > 0 && info->class_count <= STK_DATA_CLASSES;
    const size_t label_bytes = labels ? (size_t)info->class_count * sizeof *stats->labels : 0,
                 point_bytes = (size_t)info->point_count * sizeof *stats->points;
    stats->labels = stk__alloc(label_bytes);
    stats->points = stk__alloc(point_bytes);
    if ((label_bytes && !stats->labels) || (point_bytes && !stats->points))
        return stk__fail_memory(error, label_bytes + point_bytes, "the statistics of classes and points");
    return STK_OK;
}

/* --- batches --------------------------------------------------------------------------------------------
 */

static void add_value(stk__data_stats *stats, double value)
{
    if (!stats->value_count || value < stats->value_least) stats->value_least = value;
    if (!stats->value_count || value > stats->value_most) stats->value_most = value;
    stats->value_sum += value;
    stats->value_squares += value * value;
    stats->value_count++;
}

static void add_label(stk__data_stats *stats, const stk_batch *batch, int64_t i, int64_t id)
{
    const int32_t classes = stats->info.label_sets ? stats->info.class_count : 0;
    stats->labelled += classes > 0;
    for (int32_t c = 0; c < classes && stats->labels; c++)
        stats->labels[c] += ((const float *)batch->labels.data)[i * classes + c] > 0.5F;
    if (batch->labels.dtype == STK_DTYPE_F32 && !classes)
        add_value(stats, (double)((const float *)batch->labels.data)[i]);
    if (batch->labels.dtype != STK_DTYPE_I64 || !stats->info.classes) return;
    const int64_t label = ((const int64_t *)batch->labels.data)[i];
    if (label < 0)
        stk__data_event_add(&stats->unlabelled, id);
    else if (stats->labels && label < stats->info.class_count)
        stats->labels[label]++;
}

static void widen(stk__data_point *point, double x, double y)
{
    const bool first = point->visible++ == 0;
    if (first || x < point->x_least) point->x_least = x;
    if (first || x > point->x_most) point->x_most = x;
    if (first || y < point->y_least) point->y_least = y;
    if (first || y > point->y_most) point->y_most = y;
}

/* The loader makes points outside the image invisible, and leaves their coordinates. */
static void add_points(stk__data_stats *stats, const stk_batch *batch, int64_t i, int64_t id)
{
    const int32_t count = stats->info.point_count;
    const float *points = (const float *)batch->points.data + i * count * 3;
    const stk_view *view = &batch->image_views[i];
    bool any = false;
    for (int32_t k = 0; k < count; k++) {
        const double x = (double)points[3 * k], y = (double)points[3 * k + 1];
        const bool visible = points[3 * k + 2] > 0, inside = x >= 0 && y >= 0 && x < view->w && y < view->h;
        if (visible) widen(&stats->points[k], x, y);
        stats->points[k].missing += !visible && inside;
        stats->points[k].outside += !inside;
        any |= !inside;
    }
    if (any) stk__data_event_add(&stats->outside, id);
}

void stk__data_stats_add(stk__data_stats *stats, const stk_batch *batch)
{
    const float *weights = batch->weights.data;
    const int64_t *ids = batch->sample_ids.data;
    for (int64_t i = 0; i < batch->count; i++) {
        stats->samples++;
        if (stats->first_id < 0 || ids[i] < stats->first_id) stats->first_id = ids[i];
        if (ids[i] > stats->last_id) stats->last_id = ids[i];
        if (weights[i] == 0) continue; /* a bad one: in the ledger, not in the numbers */
        if (batch->points.dtype != STK_DTYPE_NONE && stats->points && batch->image_views)
            add_points(stats, batch, i, ids[i]);
        add_label(stats, batch, i, ids[i]);
    }
}

void stk__data_stats_add_bad(stk__data_stats *stats, const stk_ledger_entry *entry)
{
    stk__data_event *event = &stats->damages[entry->damage];
    if (event->count == 0) snprintf(event->path, sizeof event->path, "%s", entry->path);
    stk__data_event_add(event, entry->sample_id);
}

/* --- at the end -----------------------------------------------------------------------------------------
 */

static void find_path(const stk_loader *loader, stk__data_event *event, stk__field field)
{
    const stk__source *source = stk__loader_source(loader);
    if (event->count) source->ops->where(source, (uint64_t)event->id, field, event->path, sizeof event->path);
}

stk_status stk__data_stats_finish(stk__data_stats *stats, stk_loader *loader, stk_error *error)
{
    const stk__source *source = stk__loader_source(loader);
    stk_loader_get_stats(loader, &stats->loaded);
    find_path(loader, &stats->files[STK_FIELD_IMAGE].misnamed, STK_FIELD_IMAGE);
    find_path(loader, &stats->files[STK_FIELD_MASK].misnamed, STK_FIELD_MASK);
    find_path(loader, &stats->sizes.tiny, STK_FIELD_IMAGE);
    find_path(loader, &stats->constant, STK_FIELD_IMAGE);
    find_path(loader, &stats->unlabelled, STK_FIELD_IMAGE);
    find_path(loader, &stats->all_zero, STK_FIELD_MASK);
    find_path(loader, &stats->no_class, STK_FIELD_MASK);
    find_path(loader, &stats->outside, STK_FIELD_IMAGE);
    stk__content_index_sort(&stats->content);
    stats->duplicates = stk__content_index_duplicates(&stats->content);
    for (int i = 0; i < 2 && stats->duplicates.samples; i++)
        source->ops->where(source, (uint64_t)stats->duplicates.example[i], STK_FIELD_IMAGE,
                           stats->duplicate_paths[i], sizeof stats->duplicate_paths[i]);
    if (!source->info.window_rows || !source->ops->table || stats->first_id < 0) return STK_OK;
    stk__series_table table;
    source->ops->table(source, &table);
    return stk__data_columns_make(stats, &table, error);
}

static stk__data_moments moments_of(double sum, double squares, double count)
{
    const double mean = sum / count, variance = squares / count - mean * mean;
    return (stk__data_moments){.mean = mean, .std = sqrt(variance > 0 ? variance : 0)};
}

stk__data_moments stk__data_stats_channel(const stk__data_stats *stats, int channel)
{
    const stk__data_moments levels = moments_of((double)stats->sum[channel], (double)stats->squares[channel],
                                                (double)stats->pixels[channel]);
    return (stk__data_moments){.mean = levels.mean / 255, .std = levels.std / 255};
}

stk__data_moments stk__data_stats_values(const stk__data_stats *stats)
{
    return moments_of(stats->value_sum, stats->value_squares, (double)stats->value_count);
}

stk__data_classes stk__data_classes_of(const stk__data_stats *stats)
{
    stk__data_classes classes = {.count = stats->info.class_count, .counts = stats->labels};
    if (stats->info.masks) {
        classes.counts = stats->mask_pixels;
        classes.samples = stats->mask_samples;
        for (int id = 0; id < STK_DATA_IGNORED && !stats->info.class_count; id++)
            if (stats->mask_pixels[id]) classes.count = id + 1;
        if (classes.count > STK_DATA_IGNORED) classes.count = STK_DATA_IGNORED; /* a mask has no others */
    }
    if (!classes.counts) classes.count = 0;
    for (int i = 0; i < classes.count; i++)
        classes.total += classes.counts[i];
    if (stats->info.label_sets) classes.total = stats->labelled; /* shares of samples: together more than 1 */
    return classes;
}
