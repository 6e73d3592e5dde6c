/* SPDX-License-Identifier: Apache-2.0 */
/* Samples to look at on the page of a data set: loaded one by one from a loader of their own on the same
 * source, scaled down, with masks and points drawn over them, as JPEG. Then the page. One thread. */
#include "session/stats/data_scan.h"

#include "image/jpeg_write.h"
#include "image/resize.h"
#include "loader/loader_open.h"
#include "report/data_page.h"
#include "session/sheet/eval_sheet.h"
#include "session/sheet/sheet_ink.h"

#include <stdio.h>
#include <string.h>

enum { MOST_THUMBS = 24, NAMED_THUMBS = 16, THUMB_PX = 224, QUALITY = 82, MOST_TARGETS = 2000 };

typedef struct thumb_maker {
    stk__data_scan *scan;
    stk_loader *loader;
    stk__data_thumb *thumbs; /* [MOST_THUMBS] */
    uint64_t positions[MOST_THUMBS];
    int count;
    stk__buffer scaled, ids, rgb, scratch;
    double *targets; /* [2 * MOST_TARGETS]: rows, then values */
    size_t target_count;
} thumb_maker;

/* --- which ----------------------------------------------------------------------------------------------
 */

/* Its number among those that are wanted; -1: not yet. */
static int find_wanted(const thumb_maker *m, uint64_t position)
{
    for (int i = 0; i < m->count; i++)
        if (m->positions[i] == position) return i;
    return -1;
}

static stk__data_thumb *want(thumb_maker *m, uint64_t position)
{
    int i = find_wanted(m, position);
    if (i < 0) m->positions[i = m->count++] = position;
    return &m->thumbs[i];
}

static void name_finding(stk__data_thumb *thumb, const char *id)
{
    const size_t size = strlen(thumb->why);
    if (size && strstr(thumb->why, id)) return;
    snprintf(thumb->why + size, sizeof thumb->why - size, "%s%s", size ? ", " : "", id);
}

/* Those of the findings first, then others at even distances. */
static void choose_samples(thumb_maker *m)
{
    const stk__data_scan *scan = m->scan;
    const uint64_t samples = scan->stats->info.sample_count;
    for (int i = 0; i < scan->finding_count; i++)
        for (int k = 0; k < 2; k++) {
            const stk__finding *f = &scan->findings[i];
            uint64_t position;
            if (f->sample_ids[k] < 0 || m->count == NAMED_THUMBS) continue;
            if (stk__loader_find(scan->loader, (uint64_t)f->sample_ids[k], &position))
                name_finding(want(m, position), f->id);
        }
    const uint64_t more = (uint64_t)(MOST_THUMBS - m->count);
    for (uint64_t i = 0; i < more && (uint64_t)m->count < samples; i++) {
        uint64_t position = (2 * i + 1) * samples / (2 * more);
        while (find_wanted(m, position) >= 0)
            position = (position + 1) % samples;
        want(m, position);
    }
}

/* --- pictures -------------------------------------------------------------------------------------------
 */

static stk__pixels view_pixels(const stk_batch *batch, const stk_view *view)
{
    return (stk__pixels){(uint8_t *)batch->arena + view->offset_bytes, view->pitch_bytes, view->w, view->h,
                         view->channels};
}

/* Smaller where it is large; never larger. */
static stk__pixels thumb_shape(const stk_view *view, int32_t channels)
{
    const int32_t longer = view->w > view->h ? view->w : view->h;
    const double scale = longer > THUMB_PX ? (double)THUMB_PX / longer : 1;
    const int32_t w = (int32_t)(view->w * scale + 0.5), h = (int32_t)(view->h * scale + 0.5);
    return stk__pixels_dense(NULL, w > 0 ? w : 1, h > 0 ? h : 1, channels);
}

static stk_status reserve(stk__buffer *buffer, stk__pixels *pixels, stk_error *error)
{
    STK__TRY(stk__buffer_reserve(buffer, pixels->pitch_bytes * (size_t)pixels->h, error));
    pixels->data = buffer->data;
    return STK_OK;
}

static stk_status draw_image(thumb_maker *m, const stk_batch *batch, stk__pixels *rgb, stk_error *error)
{
    const stk_view *view = &batch->image_views[0];
    stk__pixels small = thumb_shape(view, view->channels);
    *rgb = thumb_shape(view, 3);
    STK__TRY(reserve(&m->scaled, &small, error));
    STK__TRY(reserve(&m->rgb, rgb, error));
    STK__TRY(stk__resize_image(view_pixels(batch, view), small, &m->scratch, error));
    for (int32_t y = 0; y < rgb->h; y++)
        for (int32_t x = 0; x < rgb->w; x++)
            for (int c = 0; c < 3; c++)
                stk__pixels_row(*rgb, y)[3 * x + c] =
                    stk__pixels_row(small, y)[x * small.channels + (small.channels == 3 ? c : 0)];
    return STK_OK;
}

static stk_status draw_mask(thumb_maker *m, const stk_batch *batch, stk__pixels rgb, stk_error *error)
{
    stk__pixels ids = stk__pixels_dense(NULL, rgb.w, rgb.h, 1);
    STK__TRY(reserve(&m->ids, &ids, error));
    stk__resize_mask(view_pixels(batch, &batch->mask_views[0]), ids);
    for (int32_t y = 0; y < rgb.h; y++)
        for (int32_t x = 0; x < rgb.w; x++)
            stk__sheet_tint(stk__pixels_row(rgb, y) + 3 * x, stk__pixels_row(ids, y)[x]);
    return STK_OK;
}

static void draw_points(const stk_batch *batch, stk__pixels rgb)
{
    const stk_view *view = &batch->image_views[0];
    const float *points = batch->points.data;
    for (int64_t k = 0; k < batch->points.shape[1]; k++, points += 3) {
        uint8_t colour[3];
        stk__sheet_colour((uint8_t)(k + 1), colour);
        if (points[2] > 0)
            stk__ink_point(rgb, (double)points[0] * rgb.w / view->w, (double)points[1] * rgb.h / view->h,
                           STK_SYMBOL_RING, colour);
    }
}

static void name_label(const thumb_maker *m, const stk_batch *batch, stk__data_thumb *thumb)
{
    const stk_loader_info *info = &m->scan->stats->info;
    if (info->label_sets)
        stk__label_set_print(info, batch->labels.data, 0.5F, thumb->label, sizeof thumb->label);
    else if (batch->labels.dtype == STK_DTYPE_F32)
        snprintf(thumb->label, sizeof thumb->label, "%.4g", (double)((const float *)batch->labels.data)[0]);
    if (batch->labels.dtype != STK_DTYPE_I64) return;
    const int64_t label = ((const int64_t *)batch->labels.data)[0];
    if (label < 0 || label >= info->class_count) return;
    if (info->class_names && !info->masks)
        snprintf(thumb->label, sizeof thumb->label, "%s", info->class_names[label]);
    else
        snprintf(thumb->label, sizeof thumb->label, "class %lld", (long long)label);
}

static stk_status draw_sample(thumb_maker *m, const stk_batch *batch, stk__data_thumb *thumb,
                              stk_error *error)
{
    stk__pixels rgb;
    const int64_t id = ((const int64_t *)batch->sample_ids.data)[0];
    if (stk_loader_sample_path(m->loader, id, thumb->path, sizeof thumb->path, NULL) != STK_OK)
        snprintf(thumb->path, sizeof thumb->path, "sample %lld", (long long)id);
    thumb->bad = ((const float *)batch->weights.data)[0] == 0;
    if (thumb->bad) return STK_OK;
    thumb->w = batch->image_views[0].w;
    thumb->h = batch->image_views[0].h;
    name_label(m, batch, thumb);
    STK__TRY(draw_image(m, batch, &rgb, error));
    if (batch->points.dtype != STK_DTYPE_NONE) draw_points(batch, rgb);
    STK__TRY(stk__jpeg_write(rgb, QUALITY, &thumb->picture, error));
    if (!batch->mask_views) return STK_OK;
    STK__TRY(draw_mask(m, batch, rgb, error));
    return stk__jpeg_write(rgb, QUALITY, &thumb->overlay, error);
}

/* --- all of it ------------------------------------------------------------------------------------------
 */

static stk_status open_samples(thumb_maker *m, stk_error *error)
{
    stk_loader_options options = m->scan->loading.options;
    options.batch_size = 1;
    options.num_workers = 1;
    options.prefetch_factor = 1;
    options.epochs = 0;
    options.on_bad_sample = STK_BAD_SKIP;
    if (m->scan->stats->masks_binary && !options.mask_map) options.mask_map = STK_DATA_BINARY_MAP;
    const stk__loader_setup setup = {.options = &options, .source = stk__loader_source(m->scan->loader)};
    STK__TRY(stk__loader_open(&m->loader, &setup, error));
    if (m->scan->opened) m->scan->opened(m->scan->context, m->loader);
    return STK_OK;
}

static stk_status draw_samples(thumb_maker *m, stk_error *error)
{
    stk_loader_state at;
    stk_batch *batch;
    choose_samples(m);
    STK__TRY(open_samples(m, error));
    stk_loader_tell(m->loader, &at);
    for (int i = 0; i < m->count; i++) {
        at.epoch = 0;
        at.position = m->positions[i];
        STK__TRY(stk_loader_seek(m->loader, &at, error));
        STK__TRY(stk_loader_next(m->loader, &batch, error));
        const stk_status status = draw_sample(m, batch, &m->thumbs[i], error);
        stk_batch_release(batch);
        STK__TRY(status);
    }
    return STK_OK;
}

/* The target of rows at even distances. */
static stk_status take_targets(thumb_maker *m, stk_error *error)
{
    const stk__source *source = stk__loader_source(m->scan->loader);
    const stk__data_stats *stats = m->scan->stats;
    const size_t bytes = 2 * MOST_TARGETS * sizeof *m->targets;
    stk__series_table table;
    if (!source->ops->table || !stats->rows) return STK_OK;
    source->ops->table(source, &table);
    m->targets = stk__alloc(bytes);
    if (!m->targets) return stk__fail_memory(error, bytes, "a chart");
    m->target_count = stats->rows < MOST_TARGETS ? (size_t)stats->rows : MOST_TARGETS;
    for (size_t i = 0; i < m->target_count; i++) {
        const uint64_t row = (uint64_t)stats->first_id + i * stats->rows / m->target_count;
        m->targets[i] = (double)row;
        m->targets[MOST_TARGETS + i] = (double)table.targets[row];
    }
    return STK_OK;
}

static stk_status write_page(thumb_maker *m, const json_t *report, const char *path, stk_error *error)
{
    const size_t bytes = MOST_THUMBS * sizeof *m->thumbs;
    m->thumbs = stk__alloc(bytes);
    if (!m->thumbs) return stk__fail_memory(error, bytes, "the pictures of a page");
    if (m->scan->stats->info.w) STK__TRY(draw_samples(m, error));
    STK__TRY(take_targets(m, error));
    const stk__data_pictures pictures = {.thumbs = m->thumbs,
                                         .count = m->count,
                                         .target_rows = m->targets,
                                         .targets = m->targets ? m->targets + MOST_TARGETS : NULL,
                                         .target_count = m->target_count};
    return stk__data_page_write(report, &pictures, path, error);
}

stk_status stk__data_scan_write_page(stk__data_scan *scan, const json_t *report, const char *path,
                                     stk_error *error)
{
    thumb_maker m = {.scan = scan};
    const stk_status status = write_page(&m, report, path, error);
    if (m.loader && scan->opened) scan->opened(scan->context, NULL);
    scan->hung += stk_loader_close(&m.loader);
    for (int i = 0; i < m.count; i++) {
        stk__buffer_fini(&m.thumbs[i].picture);
        stk__buffer_fini(&m.thumbs[i].overlay);
    }
    stk__buffer_fini(&m.scaled);
    stk__buffer_fini(&m.ids);
    stk__buffer_fini(&m.rgb);
    stk__buffer_fini(&m.scratch);
    stk__free(m.targets);
    stk__free(m.thumbs);
    return status;
}
