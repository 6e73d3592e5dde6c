/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and offsets of everything in a slot. */
#include "loader/layout.h"

#include "core/align.h"
#include "device/host.h"
#include "device/kernel/kernel_launch.h"

static size_t take(size_t *cursor, size_t size_bytes)
{
    const size_t start = stk__align_up(*cursor, STK_LINE_BYTES);
    *cursor = start + size_bytes;
    return start;
}

static void place_pixels(stk__layout *layout, size_t *cursor)
{
    const size_t n = (size_t)layout->places, area = (size_t)layout->w * (size_t)layout->h;
    const stk__storage *store = &layout->store;
    layout->image_bytes = area * (size_t)layout->channels * (size_t)stk_dtype_bytes(store->image);
    layout->mask_bytes = layout->masks ? area * (size_t)stk_dtype_bytes(store->mask) : 0;
    take(cursor, n * layout->image_bytes);
    layout->mask_offset = take(cursor, n * layout->mask_bytes);
    layout->mask2_offset = take(cursor, store->mixed ? n * layout->mask_bytes : 0);
    layout->pixel_bytes = *cursor;
    if (store->remote) *cursor = 0;
    layout->view_offset = take(cursor, 2 * n * sizeof(stk_view));
    layout->block_offset = take(cursor, store->staged ? n * sizeof(stk__augment_block) : 0);
    layout->mix_offset = take(cursor, store->remote ? n * sizeof(stk__kernel_mix) : 0);
}

static void place_facts(stk__layout *layout, size_t *cursor)
{
    const size_t n = (size_t)layout->places;
    const bool mixed = layout->store.mixed;
    const bool set = layout->label == STK_LABEL_SET;
    layout->label_offset = take(cursor, set ? n * (size_t)layout->label_count * sizeof(float) : n * 8);
    layout->label2_offset = take(cursor, mixed ? n * 8 : 0);
    layout->lambda_offset = take(cursor, mixed ? n * sizeof(float) : 0);
    layout->point_offset = take(cursor, n * (size_t)layout->point_count * 3 * sizeof(float));
    layout->window_offset =
        take(cursor, n * (size_t)layout->window_rows * (size_t)layout->window_columns * sizeof(float));
    layout->id_offset = take(cursor, n * 8);
    layout->weight_offset = take(cursor, n * sizeof(float));
    layout->fact_bytes = *cursor - layout->label_offset;
}

stk__layout stk__layout_make(const stk__source_info *info, const stk__layout_options *options)
{
    const stk__pixels common = options->common;
    stk__layout layout = {.batch_size = options->batch_size,
                          .places = options->batch_size + (options->store.mixed ? STK_LAYOUT_PARTNERS : 0),
                          .w = common.w,
                          .h = common.h,
                          .channels = common.channels,
                          .images = info->images,
                          .masks = info->masks,
                          .store = options->store,
                          .label = info->label,
                          .label_count = info->label == STK_LABEL_SET ? info->class_count : 1,
                          .point_count = info->point_count,
                          .window_rows = info->window_rows,
                          .window_columns = info->window_columns};
    size_t cursor = 0;
    place_pixels(&layout, &cursor);
    place_facts(&layout, &cursor);
    layout.spare_offset = take(&cursor, info->images ? options->spare_bytes : 0);
    layout.arena_offset = options->store.staged ? layout.spare_offset : 0;
    layout.total_bytes = cursor;
    layout.spare_limit_bytes = info->images ? options->spare_limit_bytes : 0;
    layout.pin_bytes = stk__host_pages(layout.spare_offset + options->usual_spare_bytes);
    if (!options->store.resident) return layout;
    size_t device_cursor = layout.pixel_bytes;
    layout.device_fact_offset = take(&device_cursor, layout.fact_bytes);
    layout.device_bytes = device_cursor;
    return layout;
}
