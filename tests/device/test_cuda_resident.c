/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders whose batches end in a GPU's memory (the fake driver's): the same bytes as on the CPU, whatever the
 * settings, and what happens when the GPU does not play along. */
#include "core/memory.h"
#include "cuda_resident.h"
#include "fake_cuda_driver.h"
#include "support/sample_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 23, W = 40, H = 24 };

#define STRONG RESIDENT_STRONG
#define MIXED  RESIDENT_MIXED

static dataset pairs, series, sizes, damaged;
static const fake_driver *fake;

static int make_sets(void **state)
{
    (void)state;
    char path[512];
    fake = fake_driver_open();
    pairs = dataset_pairs(COUNT, W, H);
    series = dataset_series(120);
    sizes = dataset_mixed_sizes(COUNT);
    damaged = dataset_pairs(COUNT, W, H);
    for (int i = 4; i < 12; i += 3) {
        snprintf(path, sizeof path, "%s/images/%04d.jpg", damaged.root, i);
        assert_int_equal(truncate(path, 40), 0);
    }
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    dataset_remove(&series);
    dataset_remove(&sizes);
    dataset_remove(&damaged);
    return 0;
}

static stk__digest digest_of(stk_loader_options options, const char *device)
{
    options.device = device;
    options.epochs = 2;
    stk_loader *loader = resident_open(&options);
    const stk__digest epochs[2] = {resident_epoch(loader), resident_epoch(loader)};
    assert_int_equal(stk_loader_close(&loader), 0);
    return stk__digest_of(epochs, sizeof epochs);
}

static void expect_same(const char *what, stk_loader_options options)
{
    const stk__digest here = digest_of(options, NULL);
    fake_driver_play("seed 3");
    const stk__digest there = digest_of(options, "cuda:0");
    if (memcmp(&here, &there, sizeof here) != 0) fail_msg("%s: other bytes on the GPU", what);
    assert_int_equal(fake->count("pageable_copies"), 0);
    fake_driver_expect_nothing_left(what);
}

static void batches_have_the_bytes_of_the_cpu(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    expect_same("as decoded", o);
    o.augment = STRONG;
    expect_same("strong", o);
    o.augment = MIXED;
    expect_same("mixed", o);
    o.num_workers = STK_WORKERS_NONE;
    expect_same("in the caller's thread", o);
    static const int types[] = {STK_STORE_F16, STK_STORE_BF16};
    for (int i = 0; i < 2; i++) {
        o = resident_options(pairs.root);
        o.augment = MIXED;
        o.dtype = types[i];
        o.mask_dtype = STK_MASK_I64;
        o.axes = STK_AXES_NCHW;
        o.mean[0] = 0.3;
        expect_same(i ? "bf16" : "f16", o);
    }
}

static void samples_left_out_are_blank(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    o.root = damaged.root;
    o.on_bad_sample = STK_BAD_SKIP;
    expect_same("skipped", o);
    o.augment = MIXED;
    expect_same("skipped and mixed", o);
    o.mask_dtype = STK_MASK_I64;
    o.axes = STK_AXES_NCHW;
    expect_same("skipped, wide ids", o);
    o.on_bad_sample = STK_BAD_REPLACE;
    expect_same("replaced", o);
}

static void images_of_many_sizes_are_cropped_there(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    o.root = sizes.root;
    o.image_size[0] = o.image_size[1] = 16;
    o.augment = "crop: [0.5, 1], hue: 0.1";
    const stk__digest here = digest_of(o, NULL);
    fake_driver_play("seed 3");
    const stk__digest there = digest_of(o, "cuda:0");
    assert_memory_equal(&here, &there, sizeof here);
    fake_driver_expect_nothing_left("cropped");
}

static void series_have_no_pixels(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    o.root = series.root;
    o.dtype = STK_STORE_AUTO;
    o.sequence_length = 10;
    expect_same("series", o);
}

static const stk_loader_effect *effect_of(const stk_loader *loader, const char *name)
{
    int count;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(effects[i].name, name) == 0) return &effects[i];
    return NULL;
}

/* Finished by the workers and copied, which the effects tell. */
static void another_augmenter_costs_a_copy(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    o.augment = MIXED ", device: cpu";
    expect_same("finished by the workers", o);
    o.device = "cuda";
    stk_loader *loader = resident_open(&o);
    const stk_loader_effect *row = effect_of(loader, "augment.device");
    assert_non_null(row);
    assert_string_equal(row->in_effect, "cpu");
    assert_non_null(strstr(row->why, "copied to cuda:0"));
    stk_loader_close(&loader);
    o.augment = MIXED ", device: \"null\"";
    loader = resident_open(&o);
    row = effect_of(loader, "augment.device");
    assert_non_null(strstr(row->why, "copied on"));
    resident_epoch(loader);
    stk_loader_close(&loader);
    fake_driver_expect_nothing_left("another augmenter");
}

/* The same device, its results back in host memory. */
static void results_can_come_back_to_the_host(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    o.augment = MIXED;
    const stk__digest here = digest_of(o, NULL);
    o.augment = MIXED ", device: cuda:0";
    fake_driver_play("seed 5");
    const stk__digest back = digest_of(o, NULL);
    assert_memory_equal(&here, &back, sizeof here);
    assert_int_equal(fake->count("pageable_copies"), 0);
    o.pin_memory = STK_SWITCH_OFF;
    const stk__digest unpinned = digest_of(o, NULL);
    assert_memory_equal(&here, &unpinned, sizeof here);
    fake_driver_expect_nothing_left("back to the host");
}

static void pinning_is_told(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    o.device = "cuda:0";
    fake_driver_play("seed 1");
    stk_loader *loader = resident_open(&o);
    assert_string_equal(effect_of(loader, "data.pin_memory")->in_effect, "true");
    stk_loader_close(&loader);
    o.pin_memory = STK_SWITCH_ON;
    loader = resident_open(&o);
    assert_null(effect_of(loader, "data.pin_memory"));
    stk_loader_close(&loader);
    fake_driver_play("fault cuMemHostRegister_v2 from 0 fail 2");
    loader = resident_open(&o);
    assert_string_equal(effect_of(loader, "data.pin_memory")->in_effect, "false");
    assert_non_null(strstr(effect_of(loader, "data.pin_memory")->why, "the driver pinned 0 of"));
    const stk__digest without = resident_epoch(loader);
    assert_true(fake->count("pageable_copies") > 0);
    stk_loader_close(&loader);
    fake_driver_expect_nothing_left("not pinned");
    o.device = NULL;
    loader = resident_open(&o);
    const stk__digest here = resident_epoch(loader);
    stk_loader_close(&loader);
    assert_memory_equal(&here, &without, sizeof here);
}

static void refuse(stk_loader_options options, const char *message)
{
    stk_loader *loader;
    stk_error error = {0};
    assert_int_not_equal(stk_loader_open(&loader, &options, &error), STK_OK);
    assert_null(loader);
    if (!strstr(error.message, message)) fail_msg("'%s' instead of '%s'", error.message, message);
    assert_true(error.hint[0]);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    fake_driver_play("gpus 2");
    o.device = "null";
    refuse(o, "cannot be placed in the memory of 'null'");
    o.device = "cuda:2";
    refuse(o, "the driver lists 2 GPUs");
    o.device = "cuda:0";
    o.dtype = STK_STORE_U8;
    refuse(o, "a batch in a GPU's memory is requested");
    o.dtype = STK_STORE_F32;
    fake_driver_play("gpu 0 memory 100000");
    refuse(o, "of 0.1 MB are free");
    fake_driver_expect_nothing_left("refused");
}

static void seeking_while_batches_are_on_their_way(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    o.augment = MIXED;
    o.device = "cuda:0";
    fake_driver_play("late 2000");
    stk_loader *loader = resident_open(&o);
    stk_loader_state start;
    stk_batch *batch;
    stk_error error = {0};
    stk_loader_tell(loader, &start);
    const stk__digest first = resident_epoch(loader);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(stk_loader_seek(loader, &start, &error), STK_OK);
        assert_int_equal(stk_loader_next(loader, &batch, &error), STK_OK);
        stk_batch_release(batch); /* never waited for */
    }
    assert_int_equal(stk_loader_seek(loader, &start, &error), STK_OK);
    const stk__digest again = resident_epoch(loader);
    assert_memory_equal(&first, &again, sizeof first);
    stk_loader_close(&loader);
    fake_driver_expect_nothing_left("seeking");
}

/* Four at once: two loaders on each of two GPUs, and tensors that say where they lie. */
static void loaders_share_gpus(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    o.augment = MIXED;
    const stk__digest here = digest_of(o, NULL);
    stk__digest digests[4][2] = {0};
    stk_loader *loaders[4];
    stk_batch *batch;
    stk_error error;
    fake_driver_play("gpus 2");
    o.epochs = 2;
    for (int i = 0; i < 4; i++) {
        o.device = i % 2 ? "cuda:1" : "cuda:0";
        loaders[i] = resident_open(&o);
    }
    for (int ended = 0; ended < 8;)
        for (int i = 0; i < 4; i++) {
            const int epoch = ended / 4;
            if (stk_loader_next(loaders[i], &batch, &error) == STK_END) {
                ended++;
                continue;
            }
            assert_int_equal(batch->images.device, STK_DEVICE_CUDA);
            assert_int_equal(batch->images.device_index, i % 2);
            assert_int_equal(batch->weights.device, STK_DEVICE_CUDA);
            assert_int_equal(batch->sample_ids.device, STK_DEVICE_CPU);
            resident_digest_add(&digests[i][epoch], batch);
            stk_batch_release(batch);
        }
    for (int i = 0; i < 4; i++) {
        const stk__digest all = stk__digest_of(digests[i], sizeof digests[i]);
        assert_memory_equal(&all, &here, sizeof here);
        stk_loader_close(&loaders[i]);
    }
    fake_driver_expect_nothing_left("four loaders");
}

static void a_stream_takes_batches_without_waiting_here(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    reader r;
    stk_batch *batch;
    stk_error error = {0};
    o.augment = MIXED;
    o.epochs = 1;
    stk__buffer expected = {0};
    stk_loader *loader = resident_open(&o);
    while (stk_loader_next(loader, &batch, &error) == STK_OK) {
        stk__buffer_append(&expected, batch->images.data, (size_t)stk_tensor_bytes(&batch->images), NULL);
        stk__buffer_append(&expected, batch->masks2.data, (size_t)stk_tensor_bytes(&batch->masks2), NULL);
        stk__buffer_append(&expected, batch->lambda.data, (size_t)stk_tensor_bytes(&batch->lambda), NULL);
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    fake_driver_play("late 3000");
    reader_start(&r);
    o.device = "cuda:0";
    loader = resident_open(&o);
    while (stk_loader_next(loader, &batch, &error) == STK_OK) {
        assert_int_equal(stk_batch_wait_on(batch, r.stream, &error), STK_OK);
        reader_take(&r, &batch->images);
        reader_take(&r, &batch->masks2);
        reader_take(&r, &batch->lambda);
        stk_batch_release_after(batch, r.stream);
    }
    stk_loader_close(&loader);
    reader_wait(&r);
    assert_int_equal(r.used, expected.size_bytes);
    assert_memory_equal(r.bytes, expected.data, r.used);
    reader_end(&r);
    stk__buffer_fini(&expected);
    fake_driver_expect_nothing_left("a consumer's stream");
}

static void nothing_is_allocated_after_the_first_batches(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostRegister_v2",
                                        "cuEventCreate"};
    stk_loader_options o = resident_options(pairs.root);
    long before[4];
    o.augment = MIXED;
    o.device = "cuda:0";
    o.drop_last = STK_SWITCH_ON;
    fake_driver_play("seed 2");
    stk_loader *loader = resident_open(&o);
    resident_epoch(loader);
    for (int i = 0; i < 4; i++)
        before[i] = fake->calls(calls[i], -1);
    for (int i = 0; i < 3; i++)
        resident_epoch(loader);
    for (int i = 0; i < 4; i++)
        assert_int_equal(fake->calls(calls[i], -1), before[i]);
    stk_loader_close(&loader);
}

static void memory_of_the_host_is_not_fetched(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    stk_error error = {0};
    stk_batch *batch;
    uint8_t byte;
    stk_loader *loader = resident_open(&o);
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_OK);
    assert_null(batch->ready);
    assert_int_equal(stk_batch_wait(batch, &error), STK_OK);
    assert_int_equal(stk_batch_wait_on(batch, NULL, &error), STK_OK);
    assert_int_equal(stk_batch_fetch(batch, &batch->images, &byte, &error), STK_ERROR_ARGUMENT);
    stk_batch_release_after(batch, NULL);
    stk_loader_close(&loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_have_the_bytes_of_the_cpu),
        cmocka_unit_test(samples_left_out_are_blank),
        cmocka_unit_test(images_of_many_sizes_are_cropped_there),
        cmocka_unit_test(series_have_no_pixels),
        cmocka_unit_test(another_augmenter_costs_a_copy),
        cmocka_unit_test(results_can_come_back_to_the_host),
        cmocka_unit_test(pinning_is_told),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(seeking_while_batches_are_on_their_way),
        cmocka_unit_test(loaders_share_gpus),
        cmocka_unit_test(a_stream_takes_batches_without_waiting_here),
        cmocka_unit_test(nothing_is_allocated_after_the_first_batches),
        cmocka_unit_test(memory_of_the_host_is_not_fetched),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
