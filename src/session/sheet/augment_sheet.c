/* SPDX-License-Identifier: Apache-2.0 */
/* The part is opened in sequential order with batches of one sample, so that a sample is a position and can
 * be sought; which positions are shown is drawn by data.seed. It is opened twice: augmented, then as stored.
 */
#include "session/sheet/augment_sheet.h"

#include "core/order.h"
#include "session/sheet/eval_sheet.h"
#include "session/sheet/sheet_ink.h"

#include <math.h>
#include <stdio.h>

enum { DRAWS = STK_AUGMENT_DRAWS, LEGEND = 80 };

static stk_status close_part(stk__augment_sheet *s, stk_error *error)
{
    if (s->opened) s->opened(s->context, NULL);
    s->hung += stk_loader_close(&s->loader);
    return s->hung ? stk__fail(error, STK_ERROR_TIMEOUT, "a worker of the loader does not end") : STK_OK;
}

static stk_status open_part(stk__augment_sheet *s, stk__session_images images, const stk_loader_info *shape,
                            stk_error *error)
{
    STK__TRY(close_part(s, error));
    s->loading = (stk__session_loading){.images = images, .single = true};
    s->loading.options.dedicated_cpus = true;
    s->loading.options.on_bad_sample = STK_BAD_REPLACE;
    if (shape) {
        s->loading.options.image_size[0] = shape->h;
        s->loading.options.image_size[1] = shape->w;
    }
    STK__TRY(stk__session_loader_open(s->config, &s->loading, &s->loader, error));
    if (s->opened) s->opened(s->context, s->loader);
    return STK_OK;
}

/* The first ones of a shuffled epoch. */
static void choose_samples(stk__augment_sheet *s, const stk_loader_info *info)
{
    const stk__order order =
        stk__order_make(STK_ORDER_FULL, info->sample_count, 1, (uint64_t)s->loading.options.seed, 0);
    if ((uint64_t)s->count > info->sample_count) s->count = (int64_t)info->sample_count;
    for (int64_t i = 0; i < s->count; i++)
        s->positions[i] = stk__order_at(&order, (uint64_t)i);
}

/* --- texts -------------------------------------------------------------------------------------------------
 */

static stk_status start_sheet(stk__augment_sheet *s, stk_error *error)
{
    const stk_loader_info *info = stk_loader_describe(s->loader);
    if (!info->w) return stk__fail(error, STK_ERROR_DATA, "there are no images to show: %s", info->layout);
    const char *headings[2 * (1 + DRAWS)];
    char epochs[DRAWS][32], title[640];
    stk__sheet_entry legend[LEGEND];
    s->masks = info->masks;
    choose_samples(s, info);
    const int32_t wide = s->masks ? 2 : 1;
    for (int32_t c = 0; c <= DRAWS; c++) {
        headings[wide * c] = c ? epochs[c - 1] : "as stored";
        if (s->masks) headings[wide * c + 1] = "mask";
        if (c) snprintf(epochs[c - 1], sizeof epochs[0], "epoch %lld", (long long)s->epoch + c);
    }
    snprintf(title, sizeof title, "%lld of %llu samples of %s, chosen by data.seed=%lld", (long long)s->count,
             (unsigned long long)info->sample_count,
             s->loading.options.root ? s->loading.options.root : "data", (long long)s->loading.options.seed);
    const stk__sheet_form form = {
        .columns = wide * (1 + DRAWS),
        .rows = (int32_t)s->count,
        .shape = stk__pixels_dense(NULL, info->w, info->h, 3),
        .title = title,
        .headings = headings,
        .caption_lines = 1,
        .legend = legend,
        .legend_count = s->masks
                            ? stk__sheet_list_classes(legend, LEGEND, info->class_count, info->class_names)
                            : stk__eval_sheet_list_points(legend, LEGEND, info, STK_SYMBOL_BOX)};
    return stk__sheet_init(&s->sheet, &form, error);
}

static void write_name(stk__augment_sheet *s, int32_t row)
{
    char key[512], text[560];
    if (stk_loader_sample_key(s->loader, s->ids[row], key, sizeof key, NULL) != STK_OK) *key = '\0';
    snprintf(text, sizeof text, "id %lld %s", (long long)s->ids[row], key);
    stk__sheet_caption(&s->sheet, (stk__sheet_place){0, row}, s->sheet.columns, 0, STK_INK_SOFT, text);
}

/* --- pictures ----------------------------------------------------------------------------------------------
 */

static stk__pixels place_of(const stk_tensor *tensor)
{
    const int32_t channels = tensor->ndim == 4 ? (int32_t)tensor->shape[3] : 1;
    return stk__pixels_dense(tensor->data, (int32_t)tensor->shape[2], (int32_t)tensor->shape[1], channels);
}

/* Shares of f32 to levels. */
static stk_status picture_of(stk__augment_sheet *s, const stk_batch *batch, stk__pixels *picture,
                             stk_error *error)
{
    *picture = place_of(&batch->images);
    if (batch->images.dtype == STK_DTYPE_U8) return STK_OK;
    const float *shares = (const float *)(const void *)picture->data;
    const size_t values = (size_t)batch->images.strides[0];
    STK__TRY(stk__buffer_reserve(&s->levels, values, error));
    for (size_t v = 0; v < values; v++)
        s->levels.data[v] = (uint8_t)lrintf(shares[v] * 255);
    picture->data = s->levels.data;
    return STK_OK;
}

/* Those that are visible. */
static void draw_points(stk__augment_sheet *s, stk__sheet_place place, const stk_batch *batch,
                        stk__pixels picture)
{
    const stk__pixels cell = stk__sheet_cell(&s->sheet, place);
    const float *points = batch->points.data;
    if (batch->points.dtype == STK_DTYPE_NONE) return;
    for (int64_t k = 0; k < batch->points.shape[1]; k++, points += 3) {
        uint8_t rgb[3];
        stk__sheet_colour((uint8_t)(k + 1), rgb);
        if (points[2] > 0)
            stk__ink_point(cell, (double)points[0] * cell.w / picture.w,
                           (double)points[1] * cell.h / picture.h, STK_SYMBOL_RING, rgb);
    }
}

/* From that column on: the picture with its points, and with its mask. */
static stk_status draw_sample(stk__augment_sheet *s, const stk_batch *batch, stk__sheet_place place,
                              stk_error *error)
{
    stk__pixels picture;
    s->ids[place.row] = ((const int64_t *)batch->sample_ids.data)[0];
    STK__TRY(picture_of(s, batch, &picture, error));
    STK__TRY(stk__sheet_draw(&s->sheet, place, picture, (stk__pixels){0}, error));
    draw_points(s, place, batch, picture);
    place.column++;
    return s->masks ? stk__sheet_draw(&s->sheet, place, picture, place_of(&batch->masks), error) : STK_OK;
}

/* One epoch of the chosen samples, from the loader that is open. */
static stk_status draw_epoch(stk__augment_sheet *s, uint64_t epoch, int32_t column, stk_error *error)
{
    stk_loader_state at;
    stk_batch *batch;
    stk_loader_tell(s->loader, &at);
    at.epoch = epoch;
    for (int32_t row = 0; row < s->count; row++) {
        at.position = s->positions[row];
        STK__TRY(stk_loader_seek(s->loader, &at, error));
        STK__TRY(stk_loader_next(s->loader, &batch, error));
        const stk_status status = draw_sample(s, batch, (stk__sheet_place){column, row}, error);
        stk_batch_release(batch);
        STK__TRY(status);
    }
    return STK_OK;
}

/* --- all of it ---------------------------------------------------------------------------------------------
 */

stk_status stk__augment_sheet_make(stk__augment_sheet *s, stk_error *error)
{
    STK__TRY(open_part(s, STK_SESSION_AS_SHARES, NULL, error));
    STK__TRY(start_sheet(s, error));
    const int32_t wide = s->masks ? 2 : 1;
    for (int32_t draw = 0; draw < DRAWS; draw++)
        STK__TRY(draw_epoch(s, (uint64_t)s->epoch + (uint64_t)draw, wide * (draw + 1), error));
    const stk_loader_info info = *stk_loader_describe(s->loader);
    STK__TRY(open_part(s, STK_SESSION_AS_DECODED, &info, error));
    STK__TRY(draw_epoch(s, 0, 0, error));
    for (int32_t row = 0; row < s->count; row++)
        write_name(s, row);
    return stk__sheet_write(&s->sheet, s->path, error);
}

int stk__augment_sheet_fini(stk__augment_sheet *s)
{
    close_part(s, NULL);
    stk__sheet_fini(&s->sheet);
    stk__buffer_fini(&s->levels);
    return s->hung;
}
