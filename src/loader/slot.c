#include "loader/slot.h"

#include <string.h>

static size_t take(size_t *cursor, size_t size_bytes)
{
    const size_t start = (*cursor + 63) / 64 * 64;
    *cursor = start + size_bytes;
    return start;
}

stk__layout stk__layout_make(const stk__source_info *info, int64_t batch_size, stk__pixels common,
                             size_t spare_bytes)
{
    const size_t n = (size_t)batch_size, area = (size_t)common.w * (size_t)common.h;
    stk__layout layout = {.batch_size = batch_size,
                          .w = common.w,
                          .h = common.h,
                          .channels = common.channels,
                          .images = info->images,
                          .masks = info->masks,
                          .label = info->label,
                          .point_count = info->point_count,
                          .window_rows = info->window_rows,
                          .window_columns = info->window_columns};
    size_t cursor = 0;
    take(&cursor, n * area * (size_t)common.channels);
    layout.mask_offset = take(&cursor, info->masks ? n * area : 0);
    layout.view_offset = take(&cursor, 2 * n * sizeof(stk_view));
    layout.label_offset = take(&cursor, n * 8);
    layout.point_offset = take(&cursor, n * (size_t)info->point_count * 3 * sizeof(float));
    layout.window_offset =
        take(&cursor, n * (size_t)info->window_rows * (size_t)info->window_columns * sizeof(float));
    layout.id_offset = take(&cursor, n * 8);
    layout.weight_offset = take(&cursor, n * sizeof(float));
    layout.spare_offset = take(&cursor, info->images ? spare_bytes : 0);
    layout.total_bytes = cursor;
    return layout;
}

/* A dense tensor [n, a, b, c] on the host; axes of 0 are left out. */
static stk_tensor dense(void *data, stk_dtype dtype, int64_t n, const int64_t axes[3])
{
    stk_tensor tensor = {.data = data, .device = STK_DEVICE_CPU, .dtype = dtype, .ndim = 1, .shape = {n}};
    for (int i = 0; i < 3 && axes[i]; i++)
        tensor.shape[tensor.ndim++] = axes[i];
    int64_t stride = 1;
    for (int i = tensor.ndim - 1; i >= 0; i--) {
        tensor.strides[i] = stride;
        stride *= tensor.shape[i];
    }
    return tensor;
}

stk_status stk__slot_init(stk__slot *slot, const stk__layout *layout, stk_error *error)
{
    STK__TRY(stk__host_reserve(&slot->memory, layout->total_bytes, layout->view_offset, error));
    slot->batch.arena = slot->memory.data;
    const stk_view *views = (const stk_view *)(const void *)(slot->memory.data + layout->view_offset);
    if (layout->images) slot->batch.image_views = views;
    if (layout->masks) slot->batch.mask_views = views + layout->batch_size;
    return STK_OK;
}

void stk__slot_fini(stk__slot *slot)
{
    stk__ledger_fini(&slot->ledger);
    stk__host_release(&slot->memory);
}

static stk_view *view_at(stk__slot *slot, const stk__layout *layout, stk__field field, uint64_t place)
{
    stk_view *views = (stk_view *)(void *)(slot->memory.data + layout->view_offset);
    return views + (field == STK_FIELD_MASK ? (uint64_t)layout->batch_size : 0) + place;
}

static float *floats_at(stk__slot *slot, size_t offset)
{
    return (float *)(void *)(slot->memory.data + offset);
}

static int64_t *integers_at(stk__slot *slot, size_t offset)
{
    return (int64_t *)(void *)(slot->memory.data + offset);
}

void stk__slot_begin(stk__slot *slot, const stk__layout *layout, const stk__step *step)
{
    slot->step = *step;
    slot->claimed = slot->finished = 0;
    slot->error.code = STK_OK;
    stk__ledger_clear(&slot->ledger);
    atomic_store_explicit(&slot->spare_used, 0, memory_order_relaxed);
    float *weights = floats_at(slot, layout->weight_offset);
    for (uint64_t i = 0; i < step->count; i++)
        weights[i] = 1;
}

/* Judged by what is in the batch in the end: a bad image of another size may have been replaced or skipped.
 */
static bool has_common_size(stk__slot *slot, const stk__layout *layout)
{
    const stk_view *views = view_at(slot, layout, STK_FIELD_IMAGE, 0);
    for (uint64_t i = 0; i < slot->step.count; i++)
        if (views[i].w != layout->w || views[i].h != layout->h) return false;
    return true;
}

void stk__slot_finish(stk__slot *slot, const stk__layout *layout)
{
    stk_batch *batch = &slot->batch;
    uint8_t *base = slot->memory.data;
    const int64_t n = (int64_t)slot->step.count;
    batch->count = n;
    batch->epoch = slot->step.epoch;
    batch->position = slot->step.position;
    batch->sample_ids = dense(base + layout->id_offset, STK_DTYPE_I64, n, (int64_t[3]){0});
    batch->weights = dense(base + layout->weight_offset, STK_DTYPE_F32, n, (int64_t[3]){0});
    const bool uniform = layout->images && has_common_size(slot, layout);
    batch->images = batch->masks = (stk_tensor){0};
    if (uniform)
        batch->images = dense(base, STK_DTYPE_U8, n, (int64_t[3]){layout->h, layout->w, layout->channels});
    if (uniform && layout->masks)
        batch->masks = dense(base + layout->mask_offset, STK_DTYPE_U8, n, (int64_t[3]){layout->h, layout->w});
    if (layout->label != STK_LABEL_NONE)
        batch->labels =
            dense(base + layout->label_offset,
                  layout->label == STK_LABEL_CLASS ? STK_DTYPE_I64 : STK_DTYPE_F32, n, (int64_t[3]){0});
    if (layout->point_count)
        batch->points =
            dense(base + layout->point_offset, STK_DTYPE_F32, n, (int64_t[3]){layout->point_count, 3});
    if (layout->window_rows)
        batch->windows = dense(base + layout->window_offset, STK_DTYPE_F32, n,
                               (int64_t[3]){layout->window_rows, layout->window_columns});
}

static size_t place_bytes(const stk__layout *layout, int32_t channels)
{
    return (size_t)layout->w * (size_t)layout->h * (size_t)channels;
}

static stk__pixels take_spare(stk__slot *slot, const stk__layout *layout, stk__pixels wanted)
{
    const size_t need = (wanted.pitch_bytes * (size_t)wanted.h + 63) / 64 * 64;
    const size_t start = atomic_fetch_add_explicit(&slot->spare_used, need, memory_order_relaxed);
    const size_t room = layout->total_bytes - layout->spare_offset;
    if (start > room || need > room - start) return (stk__pixels){0};
    wanted.data = slot->memory.data + layout->spare_offset + start;
    return wanted;
}

static void record_view(stk__slot *slot, stk_view *view, stk__pixels pixels)
{
    *view = (stk_view){.offset_bytes = pixels.data ? (uint64_t)(pixels.data - slot->memory.data) : 0,
                       .pitch_bytes = pixels.pitch_bytes,
                       .w = pixels.w,
                       .h = pixels.h,
                       .channels = pixels.channels};
}

static stk__pixels room_for(stk__slot *slot, const stk__layout *layout, uint64_t place, stk__pixels wanted,
                            stk__field field)
{
    if (wanted.w == layout->w && wanted.h == layout->h) {
        const size_t base = field == STK_FIELD_MASK ? layout->mask_offset : 0;
        wanted.data = slot->memory.data + base + place * place_bytes(layout, wanted.channels);
    } else {
        wanted = take_spare(slot, layout, wanted);
    }
    record_view(slot, view_at(slot, layout, field, place), wanted);
    return wanted;
}

stk__pixels stk__slot_image(stk__slot *slot, const stk__layout *layout, uint64_t place, int32_t w, int32_t h)
{
    return room_for(slot, layout, place, stk__pixels_dense(NULL, w, h, layout->channels), STK_FIELD_IMAGE);
}

stk__pixels stk__slot_mask(stk__slot *slot, const stk__layout *layout, uint64_t place, int32_t w, int32_t h)
{
    return room_for(slot, layout, place, stk__pixels_dense(NULL, w, h, 1), STK_FIELD_MASK);
}

float *stk__slot_points(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    return floats_at(slot, layout->point_offset) + place * (uint64_t)layout->point_count * 3;
}

static float *window_at(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    return floats_at(slot, layout->window_offset) +
           place * (uint64_t)layout->window_rows * (uint64_t)layout->window_columns;
}

static size_t window_bytes(const stk__layout *layout)
{
    return (size_t)layout->window_rows * (size_t)layout->window_columns * sizeof(float);
}

static void set_label(stk__slot *slot, const stk__layout *layout, uint64_t place, double label)
{
    if (layout->label == STK_LABEL_CLASS) integers_at(slot, layout->label_offset)[place] = (int64_t)label;
    if (layout->label == STK_LABEL_VALUE) floats_at(slot, layout->label_offset)[place] = (float)label;
}

void stk__slot_set_facts(stk__slot *slot, const stk__layout *layout, uint64_t place, const stk__facts *facts)
{
    set_label(slot, layout, place, facts->label);
    if (layout->point_count)
        memcpy(stk__slot_points(slot, layout, place), facts->points,
               (size_t)layout->point_count * 3 * sizeof(float));
    if (layout->window_rows) memcpy(window_at(slot, layout, place), facts->window, window_bytes(layout));
}

void stk__slot_set_id(stk__slot *slot, const stk__layout *layout, uint64_t place, uint64_t id)
{
    integers_at(slot, layout->id_offset)[place] = (int64_t)id;
}

void stk__slot_skip(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    floats_at(slot, layout->weight_offset)[place] = 0;
    set_label(slot, layout, place, layout->label == STK_LABEL_CLASS ? -1 : 0);
    if (layout->point_count)
        memset(stk__slot_points(slot, layout, place), 0, (size_t)layout->point_count * 3 * sizeof(float));
    if (layout->window_rows) memset(window_at(slot, layout, place), 0, window_bytes(layout));
    if (layout->images)
        memset(stk__slot_image(slot, layout, place, layout->w, layout->h).data, 0,
               place_bytes(layout, layout->channels));
    if (layout->masks)
        memset(stk__slot_mask(slot, layout, place, layout->w, layout->h).data, 255, place_bytes(layout, 1));
}
