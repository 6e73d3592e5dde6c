/* SPDX-License-Identifier: Apache-2.0 */
/* What an augmenter makes of a batch: the bits of the loader for the same samples; labels and points by hand;
 * bytes, sizes, devices. */
#include "augmenter_helpers.h"

#include "augment/flip_pairs.h"
#include "core/pool.h"
#include "device/device.h"
#include "support/sample_set.h"
#include "support/pictures.h"

#include <math.h>

enum { COUNT = 23, W = 40, H = 32, BATCH = 6 };

#define MIXING "preset: strong, mixup_alpha: 0.6, mixup_prob: 0.4, cutmix_alpha: 1, cutmix_prob: 0.4"

static dataset pairs;

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, W, H);
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    stk__pool_stop();
    return 0;
}

static stk_loader *open_loader(const stk_loader_options *options)
{
    stk_loader *loader;
    stk_error error = {0};
    if (stk_loader_open(&loader, options, &error) != STK_OK) fail_msg("%s", error.message);
    return loader;
}

static stk_tensor tensor_like(const stk_tensor *tensor)
{
    return tensor->dtype ? tensor_new(tensor->dtype, tensor->ndim, tensor->shape) : (stk_tensor){0};
}

/* The batch that was only decoded, augmented here, against the one that the loader augmented. */
static void compare_batch(stk_augmenter *augmenter, const stk_batch *plain, const stk_batch *made)
{
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    io.count = plain->count;
    io.epoch = plain->epoch;
    io.ids = plain->sample_ids.data;
    assert_memory_equal(plain->sample_ids.data, made->sample_ids.data,
                        (size_t)plain->count * sizeof(int64_t));
    io.images = plain->images;
    io.masks = plain->masks;
    io.out_images = tensor_like(&made->images);
    io.out_masks = tensor_like(&made->masks);
    io.out_masks2 = tensor_like(&made->masks2);
    io.out_lambda = tensor_like(&made->lambda);
    apply(augmenter, &io);
    expect_same(&io.out_images, &made->images);
    expect_same(&io.out_masks, &made->masks);
    if (made->masks2.dtype) expect_same(&io.out_masks2, &made->masks2);
    if (made->lambda.dtype) expect_same(&io.out_lambda, &made->lambda);
    io.images = io.masks = (stk_tensor){0};
    io_free(&io);
}

static int compare_streams(const stk_loader_options *loading, const stk_augment_options *augmenting)
{
    stk_loader_options plain = {.root = loading->root,
                                .batch_size = BATCH,
                                .seed = loading->seed,
                                .epochs = 2,
                                .dtype = STK_STORE_U8};
    stk_loader *decoder = open_loader(&plain), *loader = open_loader(loading);
    stk_augmenter *augmenter = augmenter_new(*augmenting);
    stk_batch *a, *b;
    stk_status status;
    int batches = 0, ends = 0;
    while (ends < 2) {
        status = stk_loader_next(decoder, &a, NULL);
        assert_int_equal(stk_loader_next(loader, &b, NULL), status);
        if (status == STK_END) {
            ends++;
            continue;
        }
        assert_int_equal(status, STK_OK);
        compare_batch(augmenter, a, b);
        batches++;
        stk_batch_release(a);
        stk_batch_release(b);
    }
    stk_augmenter_close(&augmenter);
    stk_loader_close(&decoder);
    stk_loader_close(&loader);
    return batches;
}

static void same_bits_as_the_loader(void **state)
{
    (void)state;
    static const struct {
        const char *augment;
        stk_store dtype;
        stk_axes axes;
        stk_mask_store mask;
        int32_t size[2];
        double mean[3], std[3];
    } rows[] = {
        {.augment = "strong"},
        {.augment = "strong", .dtype = STK_STORE_F16, .axes = STK_AXES_NCHW, .mask = STK_MASK_I64},
        {.augment = "strong", .dtype = STK_STORE_BF16, .mean = {0.5, 0.4, 0.3}, .std = {0.2, 0.25, 0.5}},
        {.augment = "standard", .size = {25, 33}, .axes = STK_AXES_NCHW}, /* made smaller before the pass */
        {.augment = "standard", .size = {64, 50}},
        {.augment = "crop: 0.4", .size = {24, 24}}, /* cut out of the full size */
        {.augment = MIXING},
        {.augment = MIXING, .dtype = STK_STORE_F16, .mask = STK_MASK_I64},
        {.augment = MIXING, .dtype = STK_STORE_BF16, .axes = STK_AXES_NCHW},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_loader_options loading = {.root = pairs.root,
                                      .batch_size = BATCH,
                                      .seed = 7 + (int64_t)i,
                                      .epochs = 2,
                                      .dtype = rows[i].dtype ? rows[i].dtype : STK_STORE_F32,
                                      .axes = rows[i].axes,
                                      .mask_dtype = rows[i].mask,
                                      .image_size = {rows[i].size[0], rows[i].size[1]},
                                      .augment = rows[i].augment};
        stk_augment_options augmenting = {.seed = loading.seed,
                                          .dtype = rows[i].dtype,
                                          .axes = rows[i].axes,
                                          .image_size = {rows[i].size[0], rows[i].size[1]},
                                          .augment = rows[i].augment};
        memcpy(loading.mean, rows[i].mean, sizeof loading.mean);
        memcpy(loading.std, rows[i].std, sizeof loading.std);
        memcpy(augmenting.mean, rows[i].mean, sizeof augmenting.mean);
        memcpy(augmenting.std, rows[i].std, sizeof augmenting.std);
        print_message("%s\n", rows[i].augment);
        assert_int_equal(compare_streams(&loading, &augmenting), 8);
    }
}

/* Some images of 24 x 18 with masks. */
static stk_augment_io make_batch(int64_t n, stk_dtype out, stk_axes axes)
{
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    io.count = n;
    io.images = TENSOR(STK_DTYPE_U8, n, 18, 24, 3);
    io.masks = TENSOR(STK_DTYPE_U8, n, 18, 24);
    for (int64_t i = 0; i < n; i++) {
        const stk__pixels image = pictures_draw(24, 18, 3, (uint32_t)i),
                          mask = pictures_draw_mask(24, 18, 6, (uint32_t)i);
        memcpy((uint8_t *)io.images.data + i * 18 * 24 * 3, image.data, 18 * 24 * 3);
        memcpy((uint8_t *)io.masks.data + i * 18 * 24, mask.data, 18 * 24);
        stk__free(image.data);
        stk__free(mask.data);
    }
    io.out_images = axes == STK_AXES_NCHW ? TENSOR(out, n, 3, 18, 24) : TENSOR(out, n, 18, 24, 3);
    io.out_masks = TENSOR(STK_DTYPE_U8, n, 18, 24);
    return io;
}

static void without_settings_levels_stay(void **state)
{
    (void)state;
    stk_augment_io io = make_batch(3, STK_DTYPE_U8, STK_AXES_NHWC);
    apply_once((stk_augment_options){.dtype = STK_STORE_U8}, &io);
    expect_same(&io.out_images, &io.images);
    expect_same(&io.out_masks, &io.masks);
    io_free(&io);
}

/* Of levels as floats: std of 1/255 makes the scale 1. */
static void bytes_are_rounded_floats(void **state)
{
    (void)state;
    stk_augment_io io = make_batch(5, STK_DTYPE_F32, STK_AXES_NCHW),
                   bytes = make_batch(5, STK_DTYPE_U8, STK_AXES_NCHW);
    apply_once((stk_augment_options){.augment = "strong",
                                     .axes = STK_AXES_NCHW,
                                     .std = {1 / 255.0, 1 / 255.0, 1 / 255.0}},
               &io);
    apply_once((stk_augment_options){.augment = "strong", .axes = STK_AXES_NCHW, .dtype = STK_STORE_U8},
               &bytes);
    const float *values = io.out_images.data;
    const uint8_t *levels = bytes.out_images.data;
    for (int64_t i = 0; i < stk_tensor_bytes(&bytes.out_images); i++)
        assert_int_equal(levels[i], (int)(values[i] + 0.5f));
    expect_same(&io.out_masks, &bytes.out_masks);
    io_free(&io);
    io_free(&bytes);
}

static void bytes_are_mixed_too(void **state)
{
    (void)state;
    static const char *const mixes[] = {"mixup_alpha: 0.5, mixup_prob: 1", "cutmix_alpha: 1, cutmix_prob: 1"};
    for (int m = 0; m < 2; m++) {
        stk_augment_io io = make_batch(5, STK_DTYPE_U8, STK_AXES_NHWC);
        io.out_masks2 = TENSOR(STK_DTYPE_U8, 5, 18, 24);
        io.out_lambda = TENSOR(STK_DTYPE_F32, 5);
        apply_once((stk_augment_options){.augment = mixes[m], .dtype = STK_STORE_U8}, &io);
        const uint8_t *from = io.images.data, *to = io.out_images.data;
        const float *lambda = io.out_lambda.data;
        const size_t each = 18 * 24 * 3;
        for (size_t i = 0; i < 4 * each; i++) {
            const size_t pair = i / each ^ 1, other = pair * each + i % each;
            const float l = lambda[i / each], mixed = (float)from[i] * l + (float)from[other] * (1 - l);
            if (m == 0)
                assert_true(fabsf((float)to[i] - mixed) <= 0.51f);
            else
                assert_true(to[i] == from[i] || to[i] == from[other]);
        }
        assert_memory_equal(to + 4 * each, from + 4 * each, each); /* the odd one */
        assert_true(lambda[4] == 1 && lambda[0] == lambda[1] && lambda[0] < 1);
        io_free(&io);
    }
}

/* Images of different sizes: each is what it is alone. */
static void a_list_has_any_sizes(void **state)
{
    (void)state;
    enum { N = 7, OUT_W = 21, OUT_H = 17 };
    stk_tensor images[N], masks[N];
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    const stk_augment_options options = {.augment = "strong", .image_size = {OUT_H, OUT_W}, .seed = 3};
    for (int i = 0; i < N; i++) {
        images[i] = tensor_of(pictures_draw(10 + 7 * i, 40 - 5 * i, 3, (uint32_t)i).data, STK_DTYPE_U8, 3,
                              (int64_t[]){40 - 5 * i, 10 + 7 * i, 3});
        masks[i] = tensor_of(pictures_draw_mask(10 + 7 * i, 40 - 5 * i, 5, (uint32_t)i).data, STK_DTYPE_U8, 2,
                             (int64_t[]){40 - 5 * i, 10 + 7 * i});
    }
    io.count = N;
    io.image_list = images;
    io.mask_list = masks;
    io.out_images = TENSOR(STK_DTYPE_F32, N, OUT_H, OUT_W, 3);
    io.out_masks = TENSOR(STK_DTYPE_I64, N, OUT_H, OUT_W);
    apply_once(options, &io);
    for (int64_t i = 0; i < N; i++) {
        stk_augment_io one = {.count = 1, .ids = &i};
        one.images = tensor_of(images[i].data, STK_DTYPE_U8, 4,
                               (int64_t[]){1, images[i].shape[0], images[i].shape[1], 3});
        one.masks =
            tensor_of(masks[i].data, STK_DTYPE_U8, 3, (int64_t[]){1, masks[i].shape[0], masks[i].shape[1]});
        one.out_images = TENSOR(STK_DTYPE_F32, 1, OUT_H, OUT_W, 3);
        one.out_masks = TENSOR(STK_DTYPE_I64, 1, OUT_H, OUT_W);
        apply_once(options, &one);
        assert_memory_equal(one.out_images.data, (float *)io.out_images.data + i * OUT_H * OUT_W * 3,
                            OUT_H * OUT_W * 3 * sizeof(float));
        assert_memory_equal(one.out_masks.data, (int64_t *)io.out_masks.data + i * OUT_H * OUT_W,
                            OUT_H * OUT_W * sizeof(int64_t));
        one.images = one.masks = (stk_tensor){0};
        io_free(&one);
        stk__free(images[i].data);
        stk__free(masks[i].data);
    }
    io_free(&io);
}

/* Ids, labels and points of both sides, in one 4 x 2 image that is mirrored. */
static void mirrored_samples_change_sides(void **state)
{
    (void)state;
    static const char *const classes[] = {"skin", "left_eye", "right_eye"}, *const points[] = {
                                                                                "eye_l", "eye_r", "nose"};
    static uint8_t image[] = {10, 20, 30, 40, 50, 60, 70, 80}, mask[] = {0, 1, 2, 0, 1, 1, 2, 255};
    static const uint8_t mirrored[] = {40, 30, 20, 10, 80, 70, 60, 50},
                         swapped[] = {0, 1, 2, 0, 255, 1, 2, 2};
    float at[] = {0.5f, 0.5f, 1, 3.5f, 1.5f, 1, 2, 1, 0};
    const float moved[] = {0.5f, 1.5f, 1, 3.5f, 0.5f, 1, 2, 1, 0};
    uint8_t out[8], out_mask[8];
    float out_points[9];
    int64_t label = 1, out_label = 0;
    stk_augment_io io = {.count = 1};
    const stk_augment_options options = {.augment = "horizontal_flip_prob: 1",
                                         .dtype = STK_STORE_U8,
                                         .class_names = classes,
                                         .class_count = 3,
                                         .point_names = points,
                                         .point_count = 3};
    io.images = tensor_of(image, STK_DTYPE_U8, 4, (int64_t[]){1, 2, 4, 1});
    io.masks = tensor_of(mask, STK_DTYPE_U8, 3, (int64_t[]){1, 2, 4});
    io.labels = tensor_of(&label, STK_DTYPE_I64, 1, (int64_t[]){1});
    io.points = tensor_of(at, STK_DTYPE_F32, 3, (int64_t[]){1, 3, 3});
    io.out_images = tensor_of(out, STK_DTYPE_U8, 4, (int64_t[]){1, 2, 4, 1});
    io.out_masks = tensor_of(out_mask, STK_DTYPE_U8, 3, (int64_t[]){1, 2, 4});
    io.out_labels = tensor_of(&out_label, STK_DTYPE_I64, 1, (int64_t[]){1});
    io.out_points = tensor_of(out_points, STK_DTYPE_F32, 3, (int64_t[]){1, 3, 3});
    apply_once(options, &io);
    assert_memory_equal(out, mirrored, sizeof out);
    assert_memory_equal(out_mask, swapped, sizeof out_mask);
    assert_memory_equal(out_points, moved, sizeof moved);
    assert_int_equal(out_label, 1); /* the classes are those of masks */
    io.masks = io.out_masks = (stk_tensor){0};
    apply_once(options, &io);
    assert_int_equal(out_label, 2); /* now of labels */
    float set[] = {0, 1, 0}, out_set[3];
    io.labels = tensor_of(set, STK_DTYPE_F32, 2, (int64_t[]){1, 3});
    io.out_labels = tensor_of(out_set, STK_DTYPE_F32, 2, (int64_t[]){1, 3});
    apply_once(options, &io);
    assert_memory_equal(out_set, ((float[]){0, 0, 1}), sizeof out_set);
    assert_memory_equal(image, ((uint8_t[]){10, 20, 30, 40, 50, 60, 70, 80}), sizeof image);
    assert_memory_equal(mask, ((uint8_t[]){0, 1, 2, 0, 1, 1, 2, 255}), sizeof mask);
}

static void labels_are_mixed(void **state)
{
    (void)state;
    uint8_t images[16] = {0};
    int64_t classes[4] = {5, 6, 7, 8}, out_classes[4], second[4];
    float values[4] = {1, 2, 3, 5}, out_values[4], lambda[4], out[16];
    stk_augment_io io = {.count = 4};
    const stk_augment_options options = {.augment = "mixup_alpha: 1, mixup_prob: 1"};
    io.images = tensor_of(images, STK_DTYPE_U8, 4, (int64_t[]){4, 2, 2, 1});
    io.out_images = tensor_of(out, STK_DTYPE_F32, 4, (int64_t[]){4, 2, 2, 1});
    io.labels = tensor_of(classes, STK_DTYPE_I64, 1, (int64_t[]){4});
    io.out_labels = tensor_of(out_classes, STK_DTYPE_I64, 1, (int64_t[]){4});
    io.out_labels2 = tensor_of(second, STK_DTYPE_I64, 1, (int64_t[]){4});
    io.out_lambda = tensor_of(lambda, STK_DTYPE_F32, 1, (int64_t[]){4});
    apply_once(options, &io);
    assert_memory_equal(out_classes, classes, sizeof classes);
    assert_memory_equal(second, ((int64_t[]){6, 5, 8, 7}), sizeof second);
    io.labels = tensor_of(values, STK_DTYPE_F32, 1, (int64_t[]){4});
    io.out_labels = tensor_of(out_values, STK_DTYPE_F32, 1, (int64_t[]){4});
    io.out_labels2 = (stk_tensor){0};
    apply_once(options, &io);
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(out_values[i] - (values[i] * lambda[i] + values[i ^ 1] * (1 - lambda[i]))) < 1e-6f);
}

/* Results for mixing may be there without mixing: an augmenter for validation fills them, too. */
static void unmixed_results_are_filled(void **state)
{
    (void)state;
    stk_augment_io io = make_batch(3, STK_DTYPE_F32, STK_AXES_NHWC);
    io.out_masks2 = TENSOR(STK_DTYPE_U8, 3, 18, 24);
    io.out_lambda = TENSOR(STK_DTYPE_F32, 3);
    apply_once((stk_augment_options){.augment = "standard"}, &io);
    expect_same(&io.out_masks2, &io.out_masks);
    for (int i = 0; i < 3; i++)
        assert_true(((float *)io.out_lambda.data)[i] == 1);
    io_free(&io);
}

static const stk_loader_effect *find_effect(const stk_augmenter *augmenter, const char *name)
{
    int count;
    const stk_loader_effect *effects = stk_augmenter_effects(augmenter, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(effects[i].name, name) == 0) return &effects[i];
    return NULL;
}

static void effects_tell_what_was_decided(void **state)
{
    (void)state;
    static const char *const names[] = {"left", "right"};
    stk_augmenter *augmenter =
        augmenter_new((stk_augment_options){.augment = "standard", .class_names = names, .class_count = 2});
    assert_string_equal(find_effect(augmenter, "dtype")->in_effect, "f32");
    assert_string_equal(find_effect(augmenter, "device")->in_effect, "cpu");
    assert_string_equal(find_effect(augmenter, "flip_pairs")->in_effect, "0:1");
    assert_int_equal(atoi(find_effect(augmenter, "threads")->in_effect), stk__pool_default_workers());
    stk_augmenter_close(&augmenter);
    augmenter =
        augmenter_new((stk_augment_options){.flip_pairs = "0:1", .threads = 1000, .dtype = STK_STORE_F16});
    assert_string_equal(find_effect(augmenter, "flip_pairs")->requested, "0:1");
    assert_string_equal(find_effect(augmenter, "flip_pairs")->in_effect, "");
    assert_string_equal(find_effect(augmenter, "threads")->requested, "1000");
    assert_string_equal(find_effect(augmenter, "threads")->in_effect, "64");
    assert_null(find_effect(augmenter, "dtype"));
    stk_augmenter_close(&augmenter);
}

/* The matrix that it tells of is the one by which points move. */
static void an_explanation_moves_points(void **state)
{
    (void)state;
    stk_augmenter *augmenter =
        augmenter_new((stk_augment_options){.augment = "strong", .image_size = {12, 30}, .seed = 5});
    stk_augment_explanation told;
    float at[] = {7, 5, 1}, out_points[3];
    stk_augment_io io = make_batch(1, STK_DTYPE_F32, STK_AXES_NHWC);
    int mirrored = 0, facts = 0;
    tensor_free(&io.out_images);
    tensor_free(&io.out_masks);
    tensor_free(&io.masks);
    io.out_images = TENSOR(STK_DTYPE_F32, 1, 12, 30, 3);
    io.points = tensor_of(at, STK_DTYPE_F32, 3, (int64_t[]){1, 1, 3});
    io.out_points = tensor_of(out_points, STK_DTYPE_F32, 3, (int64_t[]){1, 1, 3});
    for (io.epoch = 0; io.epoch < 20; io.epoch++) {
        apply(augmenter, &io);
        assert_int_equal(stk_augmenter_explain(augmenter, io.epoch, 0, (int32_t[]){18, 24}, &told, NULL),
                         STK_OK);
        const double *f = told.forward;
        assert_true(fabs(f[0] * 7 + f[1] * 5 + f[2] - (double)out_points[0]) < 1e-4);
        assert_true(fabs(f[3] * 7 + f[4] * 5 + f[5] - (double)out_points[1]) < 1e-4);
        assert_int_equal(told.mirrored, f[0] * f[4] < f[1] * f[3]);
        mirrored += told.mirrored;
        facts += told.fact_count;
    }
    assert_true(mirrored > 0 && mirrored < 20 && facts > 20);
    stk_error error;
    assert_int_equal(stk_augmenter_explain(augmenter, 0, -1, (int32_t[]){18, 24}, &told, &error),
                     STK_ERROR_ARGUMENT);
    assert_int_equal(stk_augmenter_explain(augmenter, 0, 0, (int32_t[]){0, 24}, &told, &error),
                     STK_ERROR_ARGUMENT);
    stk_augmenter_close(&augmenter);
    io.points = io.out_points = (stk_tensor){0};
    io_free(&io);
}

/* Only OpenCL is here; CUDA: test_cuda_augmenter.c. */
static void devices_have_the_same_bits(void **state)
{
    (void)state;
    stk__device *device;
    stk_error error;
    if (stk__device_open(&device, "opencl:0", &error) != STK_OK) {
        print_message("without opencl:0: %s\n", error.message);
        skip();
    }
    stk__device_close(&device);
    stk_augment_io host = make_batch(5, STK_DTYPE_F16, STK_AXES_NCHW),
                   there = make_batch(5, STK_DTYPE_F16, STK_AXES_NCHW);
    stk_augment_options options = {.augment = MIXING, .axes = STK_AXES_NCHW, .dtype = STK_STORE_F16};
    host.out_masks2 = TENSOR(STK_DTYPE_U8, 5, 18, 24);
    host.out_lambda = TENSOR(STK_DTYPE_F32, 5);
    there.out_masks2 = TENSOR(STK_DTYPE_U8, 5, 18, 24);
    there.out_lambda = TENSOR(STK_DTYPE_F32, 5);
    apply_once(options, &host);
    options.device = "opencl:0";
    apply_once(options, &there);
    expect_same(&there.out_images, &host.out_images);
    expect_same(&there.out_masks, &host.out_masks);
    expect_same(&there.out_masks2, &host.out_masks2);
    io_free(&host);
    io_free(&there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_the_loader),
        cmocka_unit_test(without_settings_levels_stay),
        cmocka_unit_test(bytes_are_rounded_floats),
        cmocka_unit_test(bytes_are_mixed_too),
        cmocka_unit_test(a_list_has_any_sizes),
        cmocka_unit_test(mirrored_samples_change_sides),
        cmocka_unit_test(labels_are_mixed),
        cmocka_unit_test(unmixed_results_are_filled),
        cmocka_unit_test(effects_tell_what_was_decided),
        cmocka_unit_test(an_explanation_moves_points),
        cmocka_unit_test(devices_have_the_same_bits),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
