/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that are augmented, normalised, mixed types: what arrives at the consumer. */
#include "device/device.h"
#include "support/sample_set.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 21, W = 40, H = 32, VALUES = W * H * 3 };

static dataset pairs, sizes, series;

static int make_sets(void **state)
{
    (void)state;
    pairs = dataset_pairs(COUNT, W, H);
    sizes = dataset_mixed_sizes(12);
    series = dataset_series(120);
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    dataset_remove(&sizes);
    dataset_remove(&series);
    return 0;
}

static stk_loader *open_loader(const stk_loader_options *options)
{
    stk_loader *loader;
    stk_error error = {0};
    const stk_status status = stk_loader_open(&loader, options, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    return loader;
}

static stk_batch *next_batch(stk_loader *loader)
{
    stk_batch *batch;
    stk_error error = {0};
    const stk_status status = stk_loader_next(loader, &batch, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    return batch;
}

static stk__digest digest_with(stk_loader_options options)
{
    stk_loader *loader = open_loader(&options);
    const stk__digest digest = dataset_digest(loader, NULL);
    stk_loader_close(&loader);
    return digest;
}

static const stk_loader_effect *find_effect(const stk_loader *loader, const char *name)
{
    int count;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(effects[i].name, name) == 0) return &effects[i];
    return NULL;
}

static void normalised_images_are_the_decoded_ones(void **state)
{
    (void)state;
    stk_loader_options options = {.root = pairs.root, .batch_size = COUNT, .seed = 3};
    stk_loader *plain = open_loader(&options);
    const double mean[3] = {0.5, 0.4, 0.3}, std[3] = {0.2, 0.25, 0.5};
    memcpy(options.mean, mean, sizeof mean);
    memcpy(options.std, std, sizeof std);
    stk_loader *normal = open_loader(&options);
    assert_string_equal(find_effect(normal, "data.dtype")->in_effect, "f32");
    stk_batch *a = next_batch(plain), *b = next_batch(normal);
    assert_int_equal(b->images.dtype, STK_DTYPE_F32);
    assert_memory_equal(a->images.shape, b->images.shape, sizeof a->images.shape);
    assert_memory_equal(a->masks.data, b->masks.data, COUNT * W * H);
    assert_null(b->image_views);
    const uint8_t *levels = a->images.data;
    const float *values = b->images.data;
    for (int i = 0; i < COUNT * VALUES; i++) {
        const double expected = (levels[i] / 255.0 - mean[i % 3]) / std[i % 3];
        assert_true(fabs((double)values[i] - expected) < 1e-5);
    }
    stk_batch_release(a);
    stk_batch_release(b);
    stk_loader_close(&plain);
    stk_loader_close(&normal);
}

static void types_and_axes_are_as_asked(void **state)
{
    (void)state;
    stk_loader_options options = {.root = pairs.root, .batch_size = 5, .dtype = STK_STORE_F32};
    stk_loader *loader = open_loader(&options);
    options.dtype = STK_STORE_F16;
    options.axes = STK_AXES_NCHW;
    options.mask_dtype = STK_MASK_I64;
    stk_loader *other = open_loader(&options);
    stk_batch *a = next_batch(loader), *b = next_batch(other);
    const int64_t shape[] = {5, 3, H, W};
    assert_memory_equal(b->images.shape, shape, sizeof shape);
    assert_int_equal(b->images.strides[1], W * H);
    assert_int_equal(b->images.dtype, STK_DTYPE_F16);
    assert_int_equal(b->masks.dtype, STK_DTYPE_I64);
    const float *values = a->images.data;
    const uint16_t *halves = b->images.data;
    for (int n = 0; n < 5; n++)
        for (int p = 0; p < W * H; p++) {
            assert_int_equal(((const int64_t *)b->masks.data)[n * W * H + p],
                             ((const uint8_t *)a->masks.data)[n * W * H + p]);
            for (int c = 0; c < 3; c++)
                assert_int_equal(halves[(n * 3 + c) * W * H + p],
                                 stk__half_from_float(values[(n * W * H + p) * 3 + c]));
        }
    stk_batch_release(a);
    stk_batch_release(b);
    stk_loader_close(&loader);
    stk_loader_close(&other);
}

static bool device_is_there(const char *name)
{
    stk__device *device;
    stk_error error;
    const bool there = stk__device_open(&device, name, &error) == STK_OK;
    if (!there) print_message("without %s: %s\n", name, error.message);
    stk__device_close(&device);
    return there;
}

static void augmented_stream_is_the_same_for_every_worker_count_and_level(void **state)
{
    (void)state;
    const stk_loader_options base = {
        .root = pairs.root, .batch_size = 6, .seed = 9, .epochs = 2, .augment = "strong"};
    const stk__digest expected = digest_with(base);
    const int64_t workers[] = {STK_WORKERS_NONE, 1, 2, 5};
    for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++)
        for (int level = 0; level <= (int)stk__cpu_level_found(); level++) {
            setenv("STOKER_CPU", stk__cpu_level_name((stk__cpu_level)level), 1);
            stk_loader_options options = base;
            options.num_workers = workers[w];
            const stk__digest digest = digest_with(options);
            assert_memory_equal(&digest, &expected, sizeof digest);
        }
    unsetenv("STOKER_CPU");
    for (size_t w = 0; w < 2 && device_is_there("opencl:0"); w++) {
        stk_loader_options options = base;
        options.num_workers = workers[2 * w];
        options.augment = "preset: strong, device: opencl:0";
        const stk__digest digest = digest_with(options);
        assert_memory_equal(&digest, &expected, sizeof digest);
    }
    stk_loader_options other = base;
    other.augment = "standard";
    const stk__digest digest = digest_with(other);
    assert_memory_not_equal(&digest, &expected, sizeof digest);
}

typedef struct seen {
    stk__digest image[COUNT], mask[COUNT];
} seen;

static void collect(stk_loader_options options, seen *out)
{
    stk_loader *loader = open_loader(&options);
    stk_batch *batch;
    while (stk_loader_next(loader, &batch, NULL) == STK_OK) {
        for (int64_t i = 0; i < batch->count; i++) {
            const int64_t id = ((const int64_t *)batch->sample_ids.data)[i];
            out->image[id] =
                stk__digest_of((const float *)batch->images.data + i * VALUES, VALUES * sizeof(float));
            out->mask[id] = stk__digest_of((const uint8_t *)batch->masks.data + i * W * H, W * H);
        }
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
}

static void a_sample_does_not_depend_on_batch_or_order(void **state)
{
    (void)state;
    static seen a, b, c;
    stk_loader_options options = {
        .root = pairs.root, .batch_size = 4, .seed = 9, .epochs = 1, .augment = "strong"};
    collect(options, &a);
    options.batch_size = 7;
    options.shuffle = STK_SWITCH_OFF;
    collect(options, &b);
    assert_memory_equal(&a, &b, sizeof a);
    options.seed = 10;
    collect(options, &c);
    assert_memory_not_equal(&a, &c, sizeof a);
}

static void validation_is_never_augmented(void **state)
{
    (void)state;
    stk_loader_options options = {.root = pairs.root,
                                  .batch_size = 4,
                                  .val_split = 0.4,
                                  .part = STK_PART_VAL,
                                  .epochs = 1,
                                  .dtype = STK_STORE_F32};
    const stk__digest expected = digest_with(options);
    options.dtype = STK_STORE_AUTO;
    options.augment = "strong";
    const stk__digest digest = digest_with(options);
    assert_memory_equal(&digest, &expected, sizeof digest);
    stk_loader *loader = open_loader(&options);
    assert_string_equal(find_effect(loader, "augment.preset")->in_effect, "none");
    stk_loader_close(&loader);
}

static void images_of_other_sizes_become_one_size(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(&(stk_loader_options){
        .root = sizes.root, .batch_size = 12, .shuffle = STK_SWITCH_OFF, .augment = "standard"});
    stk_batch *batch = next_batch(loader);
    const int64_t shape[] = {12, stk_loader_describe(loader)->h, stk_loader_describe(loader)->w, 3};
    assert_memory_equal(batch->images.shape, shape, sizeof shape);
    stk_batch_release(batch);
    stk_loader_close(&loader);
}

static uint64_t resized_with(stk_loader_options options)
{
    stk_loader_stats stats;
    options.root = sizes.root;
    options.batch_size = 12;
    options.shuffle = STK_SWITCH_OFF;
    stk_loader *loader = open_loader(&options);
    for (int epoch = 0; epoch < 2; epoch++) {
        stk_batch *end;
        stk_batch_release(next_batch(loader));
        assert_int_equal(stk_loader_next(loader, &end, NULL), STK_END);
    }
    stk_loader_get_stats(loader, &stats);
    stk_loader_close(&loader);
    return stats.resized_images;
}

/* Delivered images of another size than the first, unless their size was asked for or stays. */
static void resized_images_are_counted(void **state)
{
    (void)state;
    uint64_t others = 0;
    stk_loader *loader = open_loader(
        &(stk_loader_options){.root = sizes.root, .batch_size = 12, .shuffle = STK_SWITCH_OFF, .epochs = 1});
    stk_batch *batch = next_batch(loader);
    assert_non_null(batch->image_views);
    for (int64_t i = 0; i < batch->count; i++)
        others += batch->image_views[i].w != batch->image_views[0].w ||
                  batch->image_views[i].h != batch->image_views[0].h;
    stk_batch_release(batch);
    stk_loader_close(&loader);
    assert_true(others > 0 && others < 12);
    assert_int_equal(resized_with((stk_loader_options){.dtype = STK_STORE_F32}), 2 * others);
    assert_int_equal(resized_with((stk_loader_options){.augment = "standard", .cache = "auto"}), 2 * others);
    assert_int_equal(resized_with((stk_loader_options){.dtype = STK_STORE_F32, .image_size = {8, 8}}), 0);
    assert_int_equal(resized_with((stk_loader_options){.image_size = {0, 0}}), 0);
}

/* Every point goes where a flip takes it: x becomes w - x. */
static void points_follow_the_image(void **state)
{
    (void)state;
    stk_loader_options options = {.root = "make:captcha", .limit = 6, .batch_size = 6};
    options.shuffle = STK_SWITCH_OFF;
    stk_loader *plain = open_loader(&options);
    options.augment = "horizontal_flip_prob: 1, mixup_alpha: 0.2";
    stk_loader *flipped = open_loader(&options);
    assert_non_null(find_effect(flipped, "augment.mixup_prob"));
    stk_batch *a = next_batch(plain), *b = next_batch(flipped);
    assert_int_equal(b->lambda.dtype, STK_DTYPE_NONE);
    const float *from = a->points.data, *to = b->points.data, w = (float)stk_loader_describe(plain)->w;
    const int64_t count = a->points.shape[0] * a->points.shape[1];
    assert_true(count >= 6);
    for (int64_t i = 0; i < count; i++) {
        assert_true(fabs((double)(to[3 * i] - (w - from[3 * i]))) < 1e-3);
        assert_true(fabs((double)(to[3 * i + 1] - from[3 * i + 1])) < 1e-3);
    }
    stk_batch_release(a);
    stk_batch_release(b);
    stk_loader_close(&plain);
    stk_loader_close(&flipped);
}

static void expect_refused(stk_loader_options options, const char *words)
{
    stk_loader *loader;
    stk_error error = {0};
    assert_int_not_equal(stk_loader_open(&loader, &options, &error), STK_OK);
    const bool named = strstr(error.message, words) || strstr(error.place, words);
    if (!named) print_error("unexpected: %s\n", error.message);
    assert_true(named);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    stk_loader_options options = {.root = pairs.root, .dtype = STK_STORE_U8, .augment = "strong"};
    expect_refused(options, "augmentation is requested");
    options.augment = NULL;
    options.axes = STK_AXES_NCHW;
    expect_refused(options, "data.axes=nchw");
    expect_refused((stk_loader_options){.root = pairs.root, .augment = "rotaton_degrees: 3"},
                   "rotaton_degrees");
    expect_refused((stk_loader_options){.root = pairs.root, .augment = "stronk"}, "stronk");
    expect_refused((stk_loader_options){.root = pairs.root, .std = {0.2, -0.0, 0.2}}, "data.std");
    expect_refused((stk_loader_options){.root = pairs.root, .std = {0.2, 0, 0.2}}, "data.std");
    expect_refused(
        (stk_loader_options){.root = pairs.root, .augment = "device: \"opencl:99\", preset: strong"},
        "opencl:99");
}

static void a_series_has_nothing_to_augment(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(&(stk_loader_options){
        .root = series.root, .sequence_length = 10, .batch_size = 4, .augment = "strong"});
    stk_batch *batch = next_batch(loader);
    assert_int_equal(batch->images.dtype, STK_DTYPE_NONE);
    assert_int_equal(batch->windows.dtype, STK_DTYPE_F32);
    assert_non_null(strstr(find_effect(loader, "augment.preset")->why, "no images"));
    stk_batch_release(batch);
    stk_loader_close(&loader);
}

static void settings_without_their_object_are_told(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(&(stk_loader_options){.root = series.root,
                                                           .sequence_length = 10,
                                                           .dtype = STK_STORE_F16,
                                                           .axes = STK_AXES_NCHW,
                                                           .mean = {0.5, 0.5, 0.5},
                                                           .std = {0.5, 0.5, 0.5}});
    static const char *const names[] = {"data.dtype", "data.axes", "data.mean", "data.std"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_non_null(find_effect(loader, names[i]));
        assert_string_equal(find_effect(loader, names[i])->in_effect, "");
    }
    stk_loader_close(&loader);
    loader = open_loader(&(stk_loader_options){.root = sizes.root, .mask_dtype = STK_MASK_I64});
    assert_string_equal(find_effect(loader, "data.mask_dtype")->in_effect, "");
    stk_batch *batch = next_batch(loader);
    assert_non_null(batch->image_views); /* images stay as decoded */
    stk_batch_release(batch);
    stk_loader_close(&loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalised_images_are_the_decoded_ones),
        cmocka_unit_test(types_and_axes_are_as_asked),
        cmocka_unit_test(augmented_stream_is_the_same_for_every_worker_count_and_level),
        cmocka_unit_test(a_sample_does_not_depend_on_batch_or_order),
        cmocka_unit_test(validation_is_never_augmented),
        cmocka_unit_test(images_of_other_sizes_become_one_size),
        cmocka_unit_test(resized_images_are_counted),
        cmocka_unit_test(points_follow_the_image),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_series_has_nothing_to_augment),
        cmocka_unit_test(settings_without_their_object_are_told),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
