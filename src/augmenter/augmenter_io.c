/* SPDX-License-Identifier: Apache-2.0 */
/* From what a caller gives to a call that later steps may trust. Sources first (how many, which sizes), then
 * results, whose shapes follow from them, then whether two of them share memory. Threads: the caller's. */
#include "augmenter/augmenter.h"
#include "augmenter/tensor_check.h"

#include <string.h>

enum {
    U8 = 1 << STK_DTYPE_U8,
    I64 = 1 << STK_DTYPE_I64,
    F32 = 1 << STK_DTYPE_F32,
    MOST_COUNT = 65535,
    MOST_SIDE = 65535,
    MOST_PIXELS = 1 << 28,
    OUTPUTS = 7,
    SOURCES = 4
};

static bool is_there(const stk_tensor *tensor)
{
    return tensor->dtype != STK_DTYPE_NONE;
}

static stk_status refuse(const char *what, stk_error *error)
{
    return stk__fail(error, STK_ERROR_ARGUMENT, "%s", what);
}

static stk_status check_numbers(const stk_augment_io *io, stk_error *error)
{
    if (io->count < 1 || io->count > MOST_COUNT)
        return stk__fail(error, STK_ERROR_ARGUMENT, "io.count is %lld, not 1 to %d", (long long)io->count,
                         MOST_COUNT);
    if (io->epoch > UINT32_MAX)
        return stk__fail(error, STK_ERROR_ARGUMENT, "io.epoch is %llu, not below 2^32",
                         (unsigned long long)io->epoch);
    if ((unsigned)io->axes > STK_AXES_NCHW) return refuse("io.axes is no stk_axes", error);
    for (int64_t i = 0; io->ids && i < io->count; i++)
        if (io->ids[i] < 0 || io->ids[i] > UINT32_MAX)
            return stk__fail(error, STK_ERROR_ARGUMENT, "io.ids[%lld] is %lld, not 0 to 4294967295",
                             (long long)i, (long long)io->ids[i]);
    return STK_OK;
}

/* Which of the ways to give images and masks? */
static stk_status check_ways(const stk_augment_io *io, stk_error *error)
{
    if (is_there(&io->images) && io->image_list)
        return refuse("io.images and io.image_list are both set", error);
    if (!is_there(&io->images) && !io->image_list)
        return refuse("io.images is absent, and so is io.image_list", error);
    if (is_there(&io->masks) && io->image_list)
        return refuse("io.masks is set beside io.image_list, where io.mask_list belongs", error);
    if (io->mask_list && !io->image_list)
        return refuse("io.mask_list is set beside io.images, where io.masks belongs", error);
    return STK_OK;
}

static stk_status check_extent(const char *name, const stk__pixel_source *image, stk_error *error)
{
    if (image->channels != 1 && image->channels != 3) {
        stk__fail(error, STK_ERROR_ARGUMENT, "%s has %d channels, not 1 or 3", name, image->channels);
        stk__error_hint(error, "io.axes says whether images are NHWC (default) or NCHW");
        return STK_ERROR_ARGUMENT;
    }
    if (image->w <= MOST_SIDE && image->h <= MOST_SIDE && (int64_t)image->w * image->h < MOST_PIXELS)
        return STK_OK;
    return stk__fail(error, STK_ERROR_ARGUMENT, "%s is %d x %d, more than 65535 on a side or 2^28 pixels",
                     name, image->h, image->w);
}

/* Lengths that do not fit into 32 bits would be cut: they are looked at before. */
static bool is_small(const stk_tensor *tensor)
{
    for (int i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] > INT32_MAX) return false;
    return true;
}

/* Images and masks may lie in the memory of this GPU; -1: of none. */
static int cuda_index_of(const stk_augmenter *augmenter)
{
    return stk__device_keeps(augmenter->device) ? augmenter->device->index : -1;
}

static stk_status take_images(stk__augmenter_call *call, stk_error *error)
{
    const stk_augment_io *io = call->io;
    const bool planar = io->axes == STK_AXES_NCHW, list = io->image_list;
    const stk__pixel_axes axes = planar ? (stk__pixel_axes){2, 3, 1} : (stk__pixel_axes){1, 2, 3};
    for (size_t i = 0; i < call->count; i++) {
        const stk_tensor *tensor = list ? &io->image_list[i] : &io->images;
        const char *name = list ? "io.image_list" : "io.images";
        const stk__tensor_rule rule = {.name = name,
                                       .item = list ? (int64_t)i : -1,
                                       .dtypes = U8 | F32,
                                       .ndim = list ? 3 : 4,
                                       .shape = {list ? 0 : io->count},
                                       .cuda_index = cuda_index_of(call->augmenter),
                                       .like = list ? NULL : "io.count"};
        if (list || i == 0) STK__TRY(stk__tensor_check(tensor, &rule, error));
        if (!is_small(tensor)) return stk__fail(error, STK_ERROR_ARGUMENT, "%s is too large", name);
        stk__pixel_source *image = &call->samples[i].image;
        *image = stk__pixel_source_make(tensor,
                                        list ? (stk__pixel_axes){axes.h - 1, axes.w - 1, axes.c - 1} : axes,
                                        list ? 0 : (int64_t)i * tensor->strides[0]);
        image->name = name;
        image->item = i;
        image->rows = call->augmenter->rows;
        STK__TRY(check_extent(name, image, error));
    }
    return STK_OK;
}

static stk_status take_masks(stk__augmenter_call *call, stk_error *error)
{
    const stk_augment_io *io = call->io;
    const bool list = io->mask_list;
    call->masks = list || is_there(&io->masks);
    for (size_t i = 0; i < call->count; i++) {
        stk__augmenter_sample *sample = &call->samples[i];
        const stk_tensor *tensor = list ? &io->mask_list[i] : &io->masks;
        sample->mask = (stk__pixel_source){0};
        if (!call->masks) continue;
        stk__tensor_rule rule = {.name = list ? "io.mask_list" : "io.masks",
                                 .item = list ? (int64_t)i : -1,
                                 .dtypes = U8 | I64,
                                 .ndim = 3,
                                 .shape = {io->count, sample->image.h, sample->image.w},
                                 .cuda_index = cuda_index_of(call->augmenter),
                                 .like = "the size of images"};
        if (list) {
            rule.ndim = 2;
            rule.shape[0] = sample->image.h;
            rule.shape[1] = sample->image.w;
        }
        if (list || i == 0) STK__TRY(stk__tensor_check(tensor, &rule, error));
        sample->mask =
            stk__pixel_source_make(tensor, list ? (stk__pixel_axes){0, 1, -1} : (stk__pixel_axes){1, 2, -1},
                                   list ? 0 : (int64_t)i * tensor->strides[0]);
        sample->mask.name = rule.name;
        sample->mask.item = i;
        sample->mask.rows = call->augmenter->rows;
    }
    return STK_OK;
}

/* All have the channels of the first, and without image_size its size. */
static stk_status check_alike(const stk__augmenter_call *call, stk_error *error)
{
    const stk__pixel_source *first = &call->samples[0].image;
    for (size_t i = 1; i < call->count; i++) {
        const stk__pixel_source *image = &call->samples[i].image;
        if (image->channels != first->channels)
            return stk__fail(error, STK_ERROR_ARGUMENT,
                             "io.image_list[%zu] has %d channels, the first has %d", i, image->channels,
                             first->channels);
        if (call->augmenter->size.w || (image->w == first->w && image->h == first->h)) continue;
        stk__fail(error, STK_ERROR_ARGUMENT,
                  "io.image_list has images of different sizes: %d x %d, and [%zu] is %d x %d", first->h,
                  first->w, i, image->h, image->w);
        stk__error_hint(error, "set options.image_size");
        return STK_ERROR_ARGUMENT;
    }
    return STK_OK;
}

/* Images and masks lie in one memory, the host's or the device's. */
static stk_status check_places(stk__augmenter_call *call, stk_error *error)
{
    const stk_augment_io *io = call->io;
    const stk_tensor *first = io->image_list ? &io->image_list[0] : &io->images;
    call->resident = first->device != STK_DEVICE_CPU;
    if (is_there(&io->masks) && io->masks.device != first->device)
        return refuse("io.images and io.masks are not in the same memory", error);
    for (size_t i = 0; io->image_list && i < call->count; i++) {
        const bool image = io->image_list[i].device != first->device;
        if (!image && !(io->mask_list && io->mask_list[i].device != first->device)) continue;
        return stk__fail(error, STK_ERROR_ARGUMENT,
                         "io.image_list[0] and io.%s_list[%zu] are not in the same memory",
                         image ? "image" : "mask", i);
    }
    return STK_OK;
}

/* What a device does not do with images in its memory: they become smaller on the host only. */
static stk_status check_resident(const stk__augmenter_call *call, stk_error *error)
{
    const stk_augmenter *augmenter = call->augmenter;
    const stk__extent size = augmenter->size;
    if (!call->resident) return STK_OK;
    if (call->io->out_images.device == STK_DEVICE_CPU) {
        stk__fail(error, STK_ERROR_UNSUPPORTED,
                  "io.out_images is in host memory, but %s is in the memory of '%s'",
                  call->samples[0].image.name, augmenter->device->info.name);
        stk__error_hint(error, "results of images in a GPU's memory stay there");
        return STK_ERROR_UNSUPPORTED;
    }
    for (size_t i = 0; i < call->count; i++) {
        const stk__pixel_source *image = &call->samples[i].image;
        const stk__extent resized =
            stk__plan_extent(augmenter->crops, (stk__extent){image->w, image->h}, size);
        if (resized.w == image->w && resized.h == image->h) continue;
        stk__fail(error, STK_ERROR_UNSUPPORTED,
                  "%s is in the memory of '%s' and larger than options.image_size: sample %zu is %d x %d, "
                  "not up to %d x %d",
                  image->name, augmenter->device->info.name, i, image->h, image->w, size.h, size.w);
        stk__error_hint(error, "resize before, give images in host memory, or set crop in options.augment");
        return STK_ERROR_UNSUPPORTED;
    }
    return STK_OK;
}

static int32_t highest_of(const stk__flip_pairs *pairs)
{
    int32_t highest = -1;
    for (int32_t i = 0; i < pairs->count; i++)
        if (pairs->pairs[i].b > highest) highest = pairs->pairs[i].b;
    return highest;
}

static stk_status check_labels(const stk__augmenter_call *call, stk_error *error)
{
    const stk_tensor *labels = &call->io->labels;
    if (!is_there(labels)) return STK_OK;
    const bool set = labels->dtype == STK_DTYPE_F32 && labels->ndim == 2;
    const stk__tensor_rule rule = {.name = "io.labels",
                                   .item = -1,
                                   .dtypes = I64 | F32,
                                   .ndim = set ? 2 : 1,
                                   .shape = {call->io->count},
                                   .dense = true,
                                   .cuda_index = -1,
                                   .like = "io.count"};
    STK__TRY(stk__tensor_check(labels, &rule, error));
    const int32_t highest = highest_of(&call->augmenter->flip.labels);
    if (!set || call->masks || labels->shape[1] > highest) return STK_OK;
    return stk__fail(error, STK_ERROR_ARGUMENT,
                     "io.labels has %lld classes, but options.flip_pairs has class %d",
                     (long long)labels->shape[1], highest);
}

static stk_status check_points(const stk__augmenter_call *call, stk_error *error)
{
    const stk_tensor *points = &call->io->points;
    if (!is_there(points)) return STK_OK;
    const int32_t count = call->augmenter->point_count;
    const stk__tensor_rule rule = {.name = "io.points",
                                   .item = -1,
                                   .dtypes = F32,
                                   .ndim = 3,
                                   .shape = {call->io->count, count, 3},
                                   .dense = true,
                                   .cuda_index = -1,
                                   .like = count ? "io.count and options.point_count" : "io.count"};
    STK__TRY(stk__tensor_check(points, &rule, error));
    if (points->shape[1] > INT32_MAX) return refuse("io.points is too large", error);
    if (!call->augmenter->mixes) return STK_OK;
    stk__fail(error, STK_ERROR_ARGUMENT, "io.points is set, but mixup and cutmix do not support points");
    stk__error_hint(error, "leave mixup and cutmix out of options.augment");
    return STK_ERROR_ARGUMENT;
}

/* A result and what it needs. */
typedef struct result_rule {
    stk__tensor_rule rule;
    const stk_tensor *tensor;
    const char *source; /* what it comes from, for messages; NULL: this cannot be made of what there is */
    bool needed;
} result_rule;

static stk_status check_result(const result_rule *result, stk_error *error)
{
    const char *name = result->rule.name;
    if (!is_there(result->tensor)) {
        if (!result->needed) return STK_OK;
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s is absent, but needed for %s", name, result->source);
    }
    if (!result->source)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s is set, but there is nothing that it could come from",
                         name);
    return stk__tensor_check(result->tensor, &result->rule, error);
}

static stk__tensor_rule rule_like(const char *name, const stk_tensor *source, const char *source_name)
{
    stk__tensor_rule rule = {.name = name,
                             .item = -1,
                             .dtypes = 1u << source->dtype,
                             .ndim = source->ndim,
                             .dense = true,
                             .cuda_index = -1,
                             .like = source_name};
    for (int i = 0; i < source->ndim && i < 4; i++)
        rule.shape[i] = source->shape[i];
    return rule;
}

/* Of images: [n h w c] or [n c h w]; of masks, c 0: [n h w]. */
static stk__tensor_rule rule_of_pixels(const stk__augmenter_call *call, const char *name, int64_t c,
                                       unsigned dtypes)
{
    const stk_augmenter *augmenter = call->augmenter;
    const int64_t n = call->io->count, h = call->target.h, w = call->target.w;
    stk__tensor_rule rule = {.name = name,
                             .item = -1,
                             .dtypes = dtypes,
                             .ndim = c ? 4 : 3,
                             .shape = {n, h, w, c},
                             .dense = true,
                             .cuda_index = cuda_index_of(augmenter),
                             .like = "io.count, options.image_size and options.axes"};
    if (c && augmenter->planar) memcpy(rule.shape, (int64_t[4]){n, c, h, w}, sizeof rule.shape);
    return rule;
}

static stk_status check_pixel_results(const stk__augmenter_call *call, stk_error *error)
{
    const stk_augment_io *io = call->io;
    const stk_augmenter *augmenter = call->augmenter;
    const char *masks = !call->masks ? NULL : io->mask_list ? "io.mask_list" : "io.masks";
    const unsigned ids =
        is_there(&io->out_masks2) && (unsigned)io->out_masks.dtype < 8 && is_there(&io->out_masks)
            ? 1u << io->out_masks.dtype
            : U8 | I64;
    const result_rule results[] = {
        {rule_of_pixels(call, "io.out_images", call->target.channels, 1u << augmenter->dtype),
         &io->out_images, "io.images", true},
        {rule_of_pixels(call, "io.out_masks", 0, U8 | I64), &io->out_masks, masks, masks != NULL},
        {rule_of_pixels(call, "io.out_masks2", 0, ids), &io->out_masks2, masks, masks && augmenter->mixes},
    };
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        STK__TRY(check_result(&results[i], error));
    if (augmenter->device && augmenter->dtype == STK_DTYPE_U8 && io->out_images.device == STK_DEVICE_CPU)
        return stk__fail(
            error, STK_ERROR_UNSUPPORTED,
            "io.out_images is u8 and in host memory, but '%s' makes bytes in its own memory only",
            augmenter->device->info.name);
    const bool apart = (masks && io->out_masks.device != io->out_images.device) ||
                       (is_there(&io->out_masks2) && io->out_masks2.device != io->out_images.device);
    return apart ? refuse("io.out_images, io.out_masks and io.out_masks2 are not in the same memory", error)
                 : STK_OK;
}

static stk_status check_fact_results(const stk__augmenter_call *call, stk_error *error)
{
    const stk_augment_io *io = call->io;
    const bool mixes = call->augmenter->mixes, labels = is_there(&io->labels), points = is_there(&io->points);
    const bool classes = io->labels.dtype == STK_DTYPE_I64;
    const stk_tensor lambda = {.dtype = STK_DTYPE_F32, .ndim = 1, .shape = {io->count}};
    const result_rule results[] = {
        {rule_like("io.out_labels", &io->labels, "io.labels"), &io->out_labels, labels ? "io.labels" : NULL,
         labels},
        {rule_like("io.out_labels2", &io->labels, "io.labels"), &io->out_labels2,
         classes ? "io.labels" : NULL, classes && mixes},
        {rule_like("io.out_lambda", &lambda, "io.count"), &io->out_lambda, "mixup and cutmix", mixes},
        {rule_like("io.out_points", &io->points, "io.points"), &io->out_points, points ? "io.points" : NULL,
         points},
    };
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        STK__TRY(check_result(&results[i], error));
    return STK_OK;
}

static stk_status compare(const stk__tensor_range *result, const stk__tensor_range *other, stk_error *error)
{
    if (!stk__tensor_ranges_meet(result, other)) return STK_OK;
    stk__fail(error, STK_ERROR_ARGUMENT, "%s and %s share memory", result->name, other->name);
    stk__error_hint(error, "results need memory of their own");
    return STK_ERROR_ARGUMENT;
}

/* No result may lie where a source or another result is. */
static stk_status check_memory(const stk_augment_io *io, stk_error *error)
{
    const stk_tensor *const outputs[OUTPUTS] = {&io->out_images, &io->out_masks,   &io->out_masks2,
                                                &io->out_labels, &io->out_labels2, &io->out_lambda,
                                                &io->out_points};
    static const char *const output_names[OUTPUTS] = {"io.out_images", "io.out_masks",   "io.out_masks2",
                                                      "io.out_labels", "io.out_labels2", "io.out_lambda",
                                                      "io.out_points"};
    const stk_tensor *const sources[SOURCES] = {&io->images, &io->masks, &io->labels, &io->points};
    static const char *const source_names[SOURCES] = {"io.images", "io.masks", "io.labels", "io.points"};
    for (int o = 0; o < OUTPUTS; o++) {
        if (!is_there(outputs[o])) continue;
        const stk__tensor_range result = stk__tensor_range_of(outputs[o], output_names[o]);
        for (int k = 0; k < o; k++) {
            const stk__tensor_range other = stk__tensor_range_of(outputs[k], output_names[k]);
            if (is_there(outputs[k])) STK__TRY(compare(&result, &other, error));
        }
        for (int k = 0; k < SOURCES; k++) {
            const stk__tensor_range other = stk__tensor_range_of(sources[k], source_names[k]);
            if (is_there(sources[k])) STK__TRY(compare(&result, &other, error));
        }
        for (int64_t i = 0; io->image_list && i < io->count; i++) {
            const stk__tensor_range image = stk__tensor_range_of(&io->image_list[i], "io.image_list");
            STK__TRY(compare(&result, &image, error));
            if (!io->mask_list) continue;
            const stk__tensor_range mask = stk__tensor_range_of(&io->mask_list[i], "io.mask_list");
            STK__TRY(compare(&result, &mask, error));
        }
    }
    return STK_OK;
}

static stk_status reserve(stk__augmenter_call *call, stk_error *error)
{
    stk_augmenter *augmenter = call->augmenter;
    const size_t n = call->count;
    STK__TRY(stk__buffer_reserve(&augmenter->samples, n * sizeof *call->samples, error));
    STK__TRY(stk__buffer_reserve(&augmenter->blocks, n * sizeof *call->blocks, error));
    STK__TRY(stk__buffer_reserve(&augmenter->mixes_made, n * sizeof *call->mixes, error));
    call->samples = (stk__augmenter_sample *)(void *)augmenter->samples.data;
    call->blocks = (stk__augment_block *)(void *)augmenter->blocks.data;
    call->mixes = (stk__kernel_mix *)(void *)augmenter->mixes_made.data;
    return STK_OK;
}

static void make_target(stk__augmenter_call *call)
{
    const stk_augmenter *augmenter = call->augmenter;
    const stk__pixel_source *first = &call->samples[0].image;
    const bool given = augmenter->size.w;
    call->target = (stk__augment_target){.image = call->io->out_images.data,
                                         .mask = call->masks ? call->io->out_masks.data : NULL,
                                         .dtype = augmenter->dtype,
                                         .mask_dtype = call->io->out_masks.dtype,
                                         .w = given ? augmenter->size.w : first->w,
                                         .h = given ? augmenter->size.h : first->h,
                                         .channels = first->channels,
                                         .planar = augmenter->planar};
    if (is_there(&call->io->out_masks2)) call->mask2 = call->io->out_masks2.data;
    memcpy(call->target.scale, augmenter->normalization.scale, sizeof call->target.scale);
    memcpy(call->target.bias, augmenter->normalization.bias, sizeof call->target.bias);
}

stk_status stk__augmenter_call_open(stk__augmenter_call *call, stk_augmenter *augmenter,
                                    const stk_augment_io *io, stk_error *error)
{
    STK__TRY(check_numbers(io, error));
    STK__TRY(check_ways(io, error));
    *call = (stk__augmenter_call){
        .augmenter = augmenter, .io = io, .count = (size_t)io->count, .epoch = (uint32_t)io->epoch};
    STK__TRY(reserve(call, error));
    STK__TRY(take_images(call, error));
    STK__TRY(take_masks(call, error));
    STK__TRY(check_places(call, error));
    STK__TRY(check_alike(call, error));
    STK__TRY(check_labels(call, error));
    STK__TRY(check_points(call, error));
    make_target(call);
    STK__TRY(check_pixel_results(call, error));
    STK__TRY(check_resident(call, error));
    STK__TRY(check_fact_results(call, error));
    return check_memory(io, error);
}
