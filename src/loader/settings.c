/* SPDX-License-Identifier: Apache-2.0 */
/* From options to decisions: every default that depends on the machine or the data set is taken here, and
 * reported as an effect. */
#include "loader/loader_memory.h"
#include "loader/loader_open.h"
#include "loader/pump.h"

#include "core/number.h"

#include <stdio.h>
#include <string.h>

static stk_status refuse_order(const char *text, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.order = '%s' is not a sample order", text);
    stk__error_hint(error, "sequential, full or blocks(k), such as blocks(256)");
    return STK_ERROR_CONFIG;
}

static stk_status read_order(const char *text, stk__stream *stream, stk_error *error)
{
    if (strcmp(text, "sequential") == 0) {
        stream->order = STK_ORDER_SEQUENTIAL;
    } else if (strcmp(text, "full") == 0) {
        stream->order = STK_ORDER_FULL;
    } else if (strncmp(text, "blocks(", 7) == 0 && text[strlen(text) - 1] == ')') {
        int64_t size = 0;
        if (!stk__number_whole(text + 7, strlen(text) - 8, &size) || size < 1)
            return refuse_order(text, error);
        stream->order = STK_ORDER_BLOCKS;
        stream->block = (uint64_t)size;
    } else {
        return refuse_order(text, error);
    }
    return STK_OK;
}

static stk_status choose_order(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    stk__stream *stream = &loader->stream;
    const bool shuffle = o->shuffle == STK_SWITCH_ON || (o->shuffle == STK_SWITCH_DEFAULT &&
                                                         o->part != STK_PART_VAL && o->part != STK_PART_TEST);
    const char *text = o->order ? o->order : shuffle ? "full" : "sequential";
    STK__TRY(read_order(text, stream, error));
    if (o->shuffle == STK_SWITCH_OFF && stream->order != STK_ORDER_SEQUENTIAL) {
        stream->order = STK_ORDER_SEQUENTIAL;
        text = "sequential";
        stk__loader_note(loader, "data.order", text, "shuffle is off");
    }
    if (o->shuffle == STK_SWITCH_ON && stream->order == STK_ORDER_SEQUENTIAL)
        stk__loader_note(loader, "data.shuffle", "false", "order is sequential");
    if (snprintf(loader->order, sizeof loader->order, "%s", text) >= (int)sizeof loader->order)
        return refuse_order(text, error);
    loader->seed = o->seed;
    stream->seed = (uint64_t)o->seed;
    return STK_OK;
}

static stk_status choose_steps(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    stk__stream *stream = &loader->stream;
    stream->batch_size = (uint64_t)o->batch_size;
    stream->ranks = (uint64_t)o->ranks;
    stream->rank = (uint64_t)o->rank;
    stream->drop_last = o->drop_last == STK_SWITCH_ON;
    loader->epochs = o->epochs;
    if (stream->rank >= stream->ranks)
        return stk__fail(error, STK_ERROR_CONFIG, "data.rank = %lld is not below data.ranks = %lld",
                         (long long)o->rank, (long long)o->ranks);
    if (stk__stream_steps(stream, 0) > 0) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "too few samples for one batch of %llu, and data.drop_last is on: %llu",
              (unsigned long long)(stream->batch_size * stream->ranks), (unsigned long long)stream->count);
    stk__error_hint(error, "lower data.batch_size, or set data.drop_last=false");
    return STK_ERROR_DATA;
}

static stk_status choose_recipe(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    stk__recipe *recipe = &loader->recipe;
    recipe->source = loader->source;
    recipe->limits = (stk__limits){.bytes = o->limit_bytes,
                                   .pixels = o->limit_pixels,
                                   .scans = o->limit_scans,
                                   .warnings = o->limit_warnings,
                                   .time_s = o->limit_time_s,
                                   .gate = &loader->gate};
    recipe->target_h = o->image_size[0];
    recipe->target_w = o->image_size[1];
    recipe->exif = o->exif == STK_SWITCH_ON;
    recipe->coarse = o->jpeg == STK_JPEG_FAST;
    recipe->policy = o->on_bad_sample;
    recipe->mask.ignore = 255;
    loader->timeout_s = o->timeout_s;
    const uint64_t pixels = (uint64_t)o->image_size[0] * (uint64_t)o->image_size[1];
    if (pixels > o->limit_pixels)
        return stk__fail(error, STK_ERROR_CONFIG,
                         "data.image_size has %llu pixels, data.limits.pixels is %llu",
                         (unsigned long long)pixels, (unsigned long long)o->limit_pixels);
    if (o->channels == 2) return stk__fail(error, STK_ERROR_CONFIG, "data.channels is 1, 3 or 0, not 2");
    return STK_OK;
}

static stk_status choose_common_size(stk_loader *loader, const stk_loader_options *o, stk__pixels *common,
                                     stk_error *error)
{
    stk__picture picture = {0};
    if (!loader->source->info.images) return STK_OK;
    STK__TRY(stk__loader_probe(loader, &picture, error));
    loader->common = picture;
    *common =
        stk__pixels_dense(NULL, picture.w, picture.h, o->channels ? (int32_t)o->channels : picture.channels);
    if (o->image_size[0]) {
        common->h = o->image_size[0];
        common->w = o->image_size[1];
    }
    loader->recipe.must_be_grey = !o->channels && common->channels == 1;
    if (!o->channels)
        stk__loader_note_number(loader, "data.channels", (uint64_t)common->channels,
                                common->channels == 1 ? "the images that were checked are grayscale"
                                                      : "the images that were checked are RGB");
    return STK_OK;
}

/* finished: batches are tensors, so all images have one size. */
static void note_size(stk_loader *loader, const stk_loader_options *o, stk__pixels common, bool finished)
{
    char text[32];
    if (!loader->source->info.images || o->image_size[0]) return;
    snprintf(text, sizeof text, "%dx%d", common.w, common.h);
    stk__loader_note(loader, "data.image_size", text,
                     finished ? "size of the first image that was checked; others are resized to it"
                              : "as stored; images of other sizes keep theirs");
}

/* Memory for decoded images that have no place of their own: those that a device will finish, and those of
 * other sizes. Planned is what a batch of the common size takes; images that a device crops keep their size,
 * and twice as much lets a batch of larger ones stay where part of it is pinned.
 * The limit is not divided by the slots: what fits into a batch must not depend on the number of workers. */
static void choose_spare(const stk_loader *loader, const stk_loader_options *o, stk__layout_options *layout)
{
    enum { ROUNDING = 64 };
    const stk__pixels common = layout->common;
    const bool crops = loader->recipe.crops, staged = layout->store.staged;
    const uint64_t planes = (uint64_t)common.channels + loader->source->info.masks,
                   places = (uint64_t)o->batch_size + STK_LAYOUT_PARTNERS,
                   pixels = crops ? (uint64_t)loader->common.w * (uint64_t)loader->common.h
                                  : (uint64_t)common.w * (uint64_t)common.h,
                   usual = places * planes * (pixels + ROUNDING),
                   largest = places * planes * (o->limit_pixels + ROUNDING),
                   most = o->limit_memory_bytes < largest ? o->limit_memory_bytes : largest;
    if (staged && !crops)
        layout->spare_limit_bytes = usual;
    else if (staged || (layout->store.image == STK_DTYPE_U8 && !o->image_size[0]))
        layout->spare_limit_bytes = most;
    if (!staged) return;
    const uint64_t limit = layout->spare_limit_bytes, planned = crops ? 2 * usual : usual;
    layout->usual_spare_bytes = usual < limit ? usual : limit;
    layout->spare_bytes = planned < limit ? planned : limit;
}

static void choose_slots(stk_loader *loader, const stk_loader_options *o, stk__pixels common,
                         stk__storage store)
{
    const stk__source_info *info = &loader->source->info;
    stk__layout_options options = {.batch_size = o->batch_size, .common = common, .store = store};
    loader->recipe.layout = stk__layout_make(info, &options);
    loader->prefetch_factor = o->prefetch_factor;
    loader->limit_memory_bytes = o->limit_memory_bytes;
    const stk__slot_choice choice = stk__loader_slots_at(loader, o->batch_size);
    const uint64_t slot_bytes = choice.slot_bytes, affordable = choice.affordable, wanted = choice.wanted;
    const uint64_t waiting = (uint64_t)choice.count - 1;
    loader->slot_count = choice.count;
    if (waiting < wanted) {
        char text[32];
        snprintf(text, sizeof text, "%llu in all", (unsigned long long)waiting);
        stk__loader_note(loader, "data.prefetch_factor", text,
                         "%llu batches would take more than limits.memory", (unsigned long long)wanted);
    }
    if (affordable < 1)
        stk__loader_note_number(loader, "data.limits.memory", slot_bytes, "a single batch needs that much");
    choose_spare(loader, o, &options);
    loader->recipe.layout = stk__layout_make(info, &options);
    loader->info.slot_bytes = slot_bytes;
    const uint64_t half = o->limit_memory_bytes / 2, taken = slot_bytes * (uint64_t)loader->slot_count,
                   left = taken < o->limit_memory_bytes ? o->limit_memory_bytes - taken : 0;
    loader->gate.limit_bytes = left > half ? left : half;
}

static void describe(stk_loader *loader, const stk_loader_options *o, stk__pixels common)
{
    const stk__source_info *source = &loader->source->info;
    stk_loader_info *info = &loader->info;
    stk__digest_print(source->fingerprint, info->fingerprint);
    info->layout = source->layout;
    info->sample_count = loader->stream.count;
    info->dataset_count = source->count;
    info->batches_per_epoch = stk__stream_steps(&loader->stream, 0);
    info->batch_size = o->batch_size;
    info->num_workers = loader->thread_count;
    info->slot_count = loader->slot_count;
    info->h = common.h;
    info->w = common.w;
    info->channels = common.channels;
    info->masks = source->masks;
    info->class_count = source->class_count;
    info->class_names = info->class_count ? source->class_names : NULL;
    if (source->masks) stk__loader_describe_masks(loader);
    info->classes = source->label == STK_LABEL_CLASS;
    info->values = source->label == STK_LABEL_VALUE;
    info->label_sets = source->label == STK_LABEL_SET;
    info->point_count = source->point_count;
    info->point_names = source->point_names;
    info->window_rows = source->window_rows;
    info->feature_count = source->window_columns;
    stk__loader_describe_data(loader);
}

stk_status stk__loader_configure(stk_loader *loader, const stk__loader_setup *setup, stk_error *error)
{
    const stk_loader_options *requested = setup->options;
    stk_loader_options o = *requested;
    loader->asked = requested;
    STK__TRY(stk__options_check(&stk__loader_options, &o, error));
    STK__TRY(stk__options_fill(&stk__loader_options, &o, error));
    STK__TRY(stk__loader_open_source(loader, &o, error));
    STK__TRY(stk__loader_choose_part(loader, &o, error));
    STK__TRY(choose_order(loader, &o, error));
    STK__TRY(choose_steps(loader, &o, error));
    STK__TRY(choose_recipe(loader, &o, error));
    STK__TRY(stk__loader_choose_masks(loader, setup, &o, error));
    stk__loader_choose_workers(loader, &o);
    stk__pixels common = {0};
    STK__TRY(choose_common_size(loader, &o, &common, error));
    stk__storage store;
    STK__TRY(stk__loader_choose_storage(loader, &o, setup->augment, &store, error));
    STK__TRY(stk__loader_choose_flip(loader, &o, error));
    note_size(loader, &o, common, store.image != STK_DTYPE_U8);
    if (store.image != STK_DTYPE_U8) {
        loader->recipe.target_is_found = !o.image_size[0];
        loader->recipe.target_w = common.w;
        loader->recipe.target_h = common.h;
    }
    choose_slots(loader, &o, common, store);
    loader->pinned = o.pin_memory != STK_SWITCH_OFF;
    STK__TRY(stk__loader_choose_cache(loader, &o, error));
    stk__loader_note_all(loader, requested);
    describe(loader, &o, common);
    return STK_OK;
}
