/* SPDX-License-Identifier: Apache-2.0 */
/* A slot's memory: one arena per batch, laid out once (layout.h), from which images, masks, labels and the
 * rest are views, and spare memory for images of other sizes; after warm-up nothing is allocated. Workers
 * write different places of a filling slot without a lock; states change under the loader's lock only. */
#include "loader/slot.h"

#include "device/mix.h"

#include <string.h>

/* Where the consumer finds something. */
typedef struct coord {
    void *data;
    const stk__device *device; /* NULL: on the host */
} coord;

static coord pixels_at(const stk__slot *slot, const stk__layout *layout, size_t offset)
{
    if (!layout->store.resident) return (coord){slot->memory.data + offset, NULL};
    return (coord){slot->device->data + offset, slot->device->device};
}

static coord facts_at(const stk__slot *slot, const stk__layout *layout, size_t offset)
{
    if (!layout->store.resident) return (coord){slot->memory.data + offset, NULL};
    return (coord){slot->device->data + layout->device_fact_offset + (offset - layout->label_offset),
                   slot->device->device};
}

/* A dense tensor [n, a, b, c]; axes of 0 are left out. */
static stk_tensor dense(coord at, stk_dtype dtype, int64_t n, const int64_t axes[3])
{
    stk_tensor tensor = {.data = at.data, .dtype = dtype, .ndim = 1, .shape = {n}};
    if (at.device) {
        tensor.device = at.device->info.kind;
        tensor.device_index = at.device->index;
    }
    for (int i = 0; i < 3 && axes[i]; i++)
        tensor.shape[tensor.ndim++] = axes[i];
    int64_t stride = 1;
    for (int i = tensor.ndim - 1; i >= 0; i--) {
        tensor.strides[i] = stride;
        stride *= tensor.shape[i];
    }
    return tensor;
}

static stk_status reserve_on_device(stk__slot *slot, const stk__layout *layout, stk__slot_memory memory,
                                    stk_error *error)
{
    const stk__device_room room = {.host = slot->memory.data,
                                   .host_bytes = memory.pinned ? layout->pin_bytes : 0,
                                   .size_bytes = layout->device_bytes,
                                   .places = (uint64_t)layout->places};
    return stk__device_memory_create(memory.device, &room, &slot->device, error);
}

stk_status stk__slot_init(stk__slot *slot, const stk__layout *layout, stk__slot_memory memory,
                          stk_error *error)
{
    const size_t note_bytes = (size_t)layout->places * sizeof *slot->file_notes;
    slot->file_notes = stk__alloc(note_bytes);
    if (!slot->file_notes) return stk__fail_memory(error, note_bytes, "the notes about files");
    const size_t touched_bytes = memory.filled ? layout->view_offset : 0;
    STK__TRY(stk__host_reserve(&slot->memory, layout->total_bytes, touched_bytes, error));
    if (stk__device_keeps(memory.device)) STK__TRY(reserve_on_device(slot, layout, memory, error));
    if (layout->store.image == STK_DTYPE_U8) slot->batch.arena = slot->memory.data;
    const stk__host_memory planned = {slot->memory.data + layout->spare_offset,
                                      layout->total_bytes - layout->spare_offset};
    STK__TRY(stk__spare_init(&slot->spare, planned, layout->spare_limit_bytes, error));
    const stk_view *views = (const stk_view *)(const void *)(slot->memory.data + layout->view_offset);
    const bool decoded = layout->store.image == STK_DTYPE_U8;
    if (layout->images && decoded) slot->batch.image_views = views;
    if (layout->masks && decoded) slot->batch.mask_views = views + layout->places;
    return STK_OK;
}

void stk__slot_fini(stk__slot *slot)
{
    stk__ledger_fini(&slot->ledger);
    stk__free(slot->file_notes);
    if (!stk__device_memory_destroy(&slot->device)) return; /* the device may still use it */
    stk__spare_fini(&slot->spare);
    stk__host_release(&slot->memory);
}

static stk_view *view_at(stk__slot *slot, const stk__layout *layout, stk__field field, uint64_t place)
{
    stk_view *views = (stk_view *)(void *)(slot->memory.data + layout->view_offset);
    return views + (field == STK_FIELD_MASK ? (uint64_t)layout->places : 0) + place;
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
    slot->places = step->count;
    slot->error.code = STK_OK;
    stk__ledger_clear(&slot->ledger);
    stk__spare_begin(&slot->spare);
    memset(view_at(slot, layout, STK_FIELD_IMAGE, 0), 0, 2 * (size_t)layout->places * sizeof(stk_view));
    float *weights = stk__slot_weights(slot, layout);
    for (int64_t i = 0; i < layout->places; i++)
        weights[i] = 1;
}

/* Judged by what is in the batch in the end: a bad image of another size may have been replaced or skipped.
 * A skipped one has no width, and its place is empty. */
static bool has_common_size(stk__slot *slot, const stk__layout *layout)
{
    const stk_view *views = view_at(slot, layout, STK_FIELD_IMAGE, 0);
    for (uint64_t i = 0; i < slot->step.count; i++)
        if (views[i].w && (views[i].w != layout->w || views[i].h != layout->h)) return false;
    return true;
}

static stk_tensor image_tensor(stk__slot *slot, const stk__layout *layout, int64_t n)
{
    const int64_t h = layout->h, w = layout->w, c = layout->channels;
    const int64_t interleaved[3] = {h, w, c}, planar[3] = {c, h, w};
    return dense(pixels_at(slot, layout, 0), layout->store.image, n,
                 layout->store.planar ? planar : interleaved);
}

static stk_tensor mask_tensor(stk__slot *slot, const stk__layout *layout, size_t offset, int64_t n)
{
    return dense(pixels_at(slot, layout, offset), layout->store.mask, n, (int64_t[3]){layout->h, layout->w});
}

static void finish_pixels(stk__slot *slot, const stk__layout *layout, int64_t n)
{
    stk_batch *batch = &slot->batch;
    const bool finished = layout->store.image != STK_DTYPE_U8;
    const bool uniform = layout->images && (finished || has_common_size(slot, layout));
    batch->images = batch->masks = (stk_tensor){0};
    if (uniform) batch->images = image_tensor(slot, layout, n);
    if (uniform && layout->masks) batch->masks = mask_tensor(slot, layout, layout->mask_offset, n);
    if (layout->masks && layout->store.mixed)
        batch->masks2 = mask_tensor(slot, layout, layout->mask2_offset, n);
}

static void finish_labels(stk__slot *slot, const stk__layout *layout, int64_t n)
{
    stk_batch *batch = &slot->batch;
    const bool classes = layout->label == STK_LABEL_CLASS, mixed = layout->store.mixed;
    const int64_t scalar[3] = {0}, set[3] = {layout->label_count};
    if (layout->label != STK_LABEL_NONE)
        batch->labels =
            dense(facts_at(slot, layout, layout->label_offset), classes ? STK_DTYPE_I64 : STK_DTYPE_F32, n,
                  layout->label == STK_LABEL_SET ? set : scalar);
    if (classes && mixed)
        batch->labels2 = dense(facts_at(slot, layout, layout->label2_offset), STK_DTYPE_I64, n, scalar);
    if (mixed) batch->lambda = dense(facts_at(slot, layout, layout->lambda_offset), STK_DTYPE_F32, n, scalar);
}

static uint8_t *pixels_of(stk__slot *slot, const stk__layout *layout, const stk_view *view)
{
    const uint64_t offset = view->offset_bytes + layout->arena_offset;
    return offset < layout->spare_offset ? slot->memory.data + offset
                                         : stk__spare_at(&slot->spare, offset - layout->spare_offset);
}

/* Spare memory that has grown lies anywhere: the lowest address becomes the one that views count from. */
static void count_from_lowest(stk__slot *slot, const stk__layout *layout)
{
    stk_view *views = view_at(slot, layout, STK_FIELD_IMAGE, 0);
    const size_t count = 2 * (size_t)layout->places;
    uintptr_t lowest = (uintptr_t)slot->memory.data;
    for (size_t i = 0; i < count; i++) {
        const uintptr_t at = (uintptr_t)pixels_of(slot, layout, &views[i]);
        if (at < lowest) lowest = at;
    }
    for (size_t i = 0; i < count; i++)
        views[i].offset_bytes = (uintptr_t)pixels_of(slot, layout, &views[i]) - lowest;
    slot->batch.arena = (const uint8_t *)lowest;
}

static void finish_views(stk__slot *slot, const stk__layout *layout)
{
    if (layout->store.image != STK_DTYPE_U8) return;
    slot->batch.arena = slot->memory.data;
    if (stk__spare_has_grown(&slot->spare)) count_from_lowest(slot, layout);
}

void stk__slot_finish(stk__slot *slot, const stk__layout *layout)
{
    stk_batch *batch = &slot->batch;
    const int64_t n = (int64_t)slot->step.count, scalar[3] = {0};
    const coord ids = {slot->memory.data + layout->id_offset, NULL};
    batch->count = n;
    batch->epoch = slot->step.epoch;
    batch->position = slot->step.position;
    batch->ready = layout->store.resident && n ? slot->device : NULL;
    batch->sample_ids = dense(ids, STK_DTYPE_I64, n, scalar);
    batch->weights = dense(facts_at(slot, layout, layout->weight_offset), STK_DTYPE_F32, n, scalar);
    finish_views(slot, layout);
    finish_pixels(slot, layout, n);
    finish_labels(slot, layout, n);
    if (layout->point_count)
        batch->points = dense(facts_at(slot, layout, layout->point_offset), STK_DTYPE_F32, n,
                              (int64_t[3]){layout->point_count, 3});
    if (layout->window_rows)
        batch->windows = dense(facts_at(slot, layout, layout->window_offset), STK_DTYPE_F32, n,
                               (int64_t[3]){layout->window_rows, layout->window_columns});
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* A sample that stands in for a bad one takes its room. What a device will finish has a whole place, however
 * small it is: the next one fits in, too. The view gets the offset. */
static stk__pixels take_spare(stk__slot *slot, const stk__layout *layout, stk_view *before,
                              stk__pixels wanted)
{
    const size_t least =
        layout->store.staged ? (size_t)layout->w * (size_t)layout->h * (size_t)wanted.channels : 0;
    const size_t size = wanted.pitch_bytes * (size_t)wanted.h;
    const bool there = before->w && before->offset_bytes + layout->arena_offset >= layout->spare_offset;
    if (there && larger(before->pitch_bytes * (size_t)before->h, least) >= size) {
        wanted.data = pixels_of(slot, layout, before);
        return wanted;
    }
    uint64_t start;
    wanted.data = stk__spare_take(&slot->spare, larger(size, least), &start);
    if (!wanted.data) return (stk__pixels){0};
    before->offset_bytes = layout->spare_offset - layout->arena_offset + start;
    return wanted;
}

static void record_view(stk_view *view, stk__pixels pixels)
{
    *view = (stk_view){.offset_bytes = pixels.data ? view->offset_bytes : 0,
                       .pitch_bytes = pixels.pitch_bytes,
                       .w = pixels.w,
                       .h = pixels.h,
                       .channels = pixels.channels};
}

static stk__pixels room_for(stk__slot *slot, const stk__layout *layout, uint64_t place, stk__pixels wanted,
                            stk__field field)
{
    stk_view *view = view_at(slot, layout, field, place);
    if (layout->store.image == STK_DTYPE_U8 && wanted.w == layout->w && wanted.h == layout->h) {
        view->offset_bytes = field == STK_FIELD_MASK ? layout->mask_offset + place * layout->mask_bytes
                                                     : place * layout->image_bytes;
        wanted.data = slot->memory.data + view->offset_bytes;
    } else {
        wanted = take_spare(slot, layout, view, wanted);
    }
    record_view(view, wanted);
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

stk__augment_target stk__slot_target(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    uint8_t *base = layout->store.remote ? slot->device->data : slot->memory.data;
    return (stk__augment_target){
        .image = base + place * layout->image_bytes,
        .mask = layout->masks ? base + layout->mask_offset + place * layout->mask_bytes : NULL,
        .dtype = layout->store.image,
        .mask_dtype = layout->store.mask,
        .w = layout->w,
        .h = layout->h,
        .channels = layout->channels,
        .planar = layout->store.planar};
}

void *stk__slot_mask2(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    return slot->memory.data + layout->mask2_offset + place * layout->mask_bytes;
}

stk__augment_block *stk__slot_block(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    return (stk__augment_block *)(void *)(slot->memory.data + layout->block_offset) + place;
}

const stk_view *stk__slot_views(stk__slot *slot, const stk__layout *layout, stk__field field)
{
    return view_at(slot, layout, field, 0);
}

float *stk__slot_weights(stk__slot *slot, const stk__layout *layout)
{
    return floats_at(slot, layout->weight_offset);
}

float *stk__slot_lambdas(stk__slot *slot, const stk__layout *layout)
{
    return floats_at(slot, layout->lambda_offset);
}

float *stk__slot_points(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    return floats_at(slot, layout->point_offset) + place * (uint64_t)layout->point_count * 3;
}

int64_t *stk__slot_class(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    return integers_at(slot, layout->label_offset) + place;
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

float *stk__slot_set(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    return floats_at(slot, layout->label_offset) + place * (uint64_t)layout->label_count;
}

void stk__slot_mix_labels(stk__slot *slot, const stk__layout *layout, uint64_t a, uint64_t b, float lambda)
{
    if (layout->label == STK_LABEL_CLASS) {
        const int64_t *first = integers_at(slot, layout->label_offset);
        int64_t *second = integers_at(slot, layout->label2_offset);
        second[a] = first[b];
        second[b] = first[a];
    }
    if (layout->label == STK_LABEL_VALUE || layout->label == STK_LABEL_SET) /* bce is linear in its targets */
        stk__mix_blend(stk__slot_set(slot, layout, a), stk__slot_set(slot, layout, b),
                       (size_t)layout->label_count, STK_DTYPE_F32, lambda);
}

void stk__slot_set_facts(stk__slot *slot, const stk__layout *layout, uint64_t place,
                         const stk__sample_facts *facts)
{
    set_label(slot, layout, place, facts->label);
    for (int32_t c = 0; layout->label == STK_LABEL_SET && c < layout->label_count; c++)
        stk__slot_set(slot, layout, place)[c] = facts->set[c];
    if (layout->point_count)
        memcpy(stk__slot_points(slot, layout, place), facts->points,
               (size_t)layout->point_count * 3 * sizeof(float));
    if (layout->window_rows) memcpy(window_at(slot, layout, place), facts->window, window_bytes(layout));
}

void stk__slot_set_id(stk__slot *slot, const stk__layout *layout, uint64_t place, uint64_t id)
{
    integers_at(slot, layout->id_offset)[place] = (int64_t)id;
}

/* The place as empty as the common size: its view has all of that but the width. */
static void empty_view(stk__slot *slot, const stk__layout *layout, stk__field field, uint64_t place)
{
    const int32_t channels = field == STK_FIELD_MASK ? 1 : layout->channels;
    room_for(slot, layout, place, stk__pixels_dense(NULL, layout->w, layout->h, channels), field);
    view_at(slot, layout, field, place)->w = 0;
}

static void clear_pixels(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    const bool decoded = layout->store.image == STK_DTYPE_U8;
    const stk__augment_target target = stk__slot_target(slot, layout, place);
    memset(target.image, 0, layout->image_bytes);
    if (decoded) empty_view(slot, layout, STK_FIELD_IMAGE, place);
    if (!layout->masks) return;
    if (decoded) empty_view(slot, layout, STK_FIELD_MASK, place);
    if (layout->store.mask == STK_DTYPE_U8) memset(target.mask, 255, layout->mask_bytes);
    int64_t *wide = target.mask;
    for (size_t i = 0; layout->store.mask == STK_DTYPE_I64 && i < layout->mask_bytes / sizeof *wide; i++)
        wide[i] = 255;
}

void stk__slot_skip(stk__slot *slot, const stk__layout *layout, uint64_t place)
{
    floats_at(slot, layout->weight_offset)[place] = 0;
    set_label(slot, layout, place, layout->label == STK_LABEL_CLASS ? -1 : 0);
    if (layout->label == STK_LABEL_SET)
        memset(stk__slot_set(slot, layout, place), 0, (size_t)layout->label_count * sizeof(float));
    if (layout->point_count)
        memset(stk__slot_points(slot, layout, place), 0, (size_t)layout->point_count * 3 * sizeof(float));
    if (layout->window_rows) memset(window_at(slot, layout, place), 0, window_bytes(layout));
    if (layout->images && !layout->store.remote) clear_pixels(slot, layout, place); /* else the device does */
}
