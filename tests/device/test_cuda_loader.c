/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders whose batches are finished by a (fake) GPU: the CPU's bytes, whatever comes late. */
#include "core/clock.h"
#include "fake_cuda_driver.h"
#include "support/sample_set.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 29 };
#define MIXING "preset: strong, mixup_alpha: 0.6, mixup_prob: 0.4, cutmix_alpha: 1, cutmix_prob: 0.4"

static const fake_driver *fake;
static dataset pairs, sizes;

static int begin(void **state)
{
    (void)state;
    fake = fake_driver_open();
    pairs = dataset_pairs(COUNT, 40, 32);
    sizes = dataset_mixed_sizes(COUNT);
    return 0;
}

static int end(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    dataset_remove(&sizes);
    return 0;
}

static stk__digest digest_with(stk_loader_options options)
{
    stk_loader *loader;
    stk_error error = {0};
    if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
    const stk__digest digest = dataset_digest(loader, NULL);
    stk_loader_close(&loader);
    return digest;
}

static void expect_same(stk_loader_options options, const char *on_cpu, const char *on_gpu)
{
    options.augment = on_cpu;
    const stk__digest expected = digest_with(options);
    options.augment = on_gpu;
    static const int64_t workers[] = {STK_WORKERS_NONE, 1, 3};
    for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++) {
        options.num_workers = workers[w];
        fake_driver_play("late 300\nseed %zu", w);
        const stk__digest digest = digest_with(options);
        assert_memory_equal(&digest, &expected, sizeof digest);
        assert_true(fake->count("kernels") > 0);
        fake_driver_expect_nothing_left(on_gpu);
    }
}

static void the_stream_has_the_same_digest(void **state)
{
    (void)state;
    const stk_loader_options options = {.root = pairs.root, .batch_size = 6, .seed = 9, .epochs = 2};
    expect_same(options, "strong", "preset: strong, device: cuda:0");
    expect_same(options, MIXING, MIXING ", device: cuda:0");
    stk_loader_options mixed = options;
    mixed.root = sizes.root;
    mixed.image_size[0] = 30;
    mixed.image_size[1] = 20;
    expect_same(mixed, "strong", "preset: strong, device: cuda:0");
}

typedef struct reader {
    stk_loader_options options;
    stk__digest digest;
} reader;

static void *read_all(void *context)
{
    reader *r = context;
    r->digest = digest_with(r->options);
    return NULL;
}

static void run_two(const char *first, const char *second, const char *script)
{
    reader readers[2] = {
        {{.root = pairs.root, .batch_size = 4, .seed = 1, .epochs = 3, .num_workers = 2, .augment = "strong"},
         {0, 0}}};
    readers[1] = readers[0];
    readers[1].options.seed = 2;
    stk__digest expected[2];
    for (int i = 0; i < 2; i++)
        expected[i] = digest_with(readers[i].options);
    readers[0].options.augment = first;
    readers[1].options.augment = second;
    fake_driver_play("%s", script);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_memory_equal(&readers[i].digest, &expected[i], sizeof expected[i]);
    }
    fake_driver_expect_nothing_left("two loaders");
}

static void two_loaders_on_one_device(void **state)
{
    (void)state;
    run_two("preset: strong, device: cuda:0", "preset: strong, device: cuda:0", "late 200");
}

static void two_loaders_on_two_devices(void **state)
{
    (void)state;
    run_two("preset: strong, device: cuda:0", "preset: strong, device: cuda:1",
            "late 200\ngpus 2\ngpu 1 sm 90");
    assert_true(fake->calls("cuLaunchKernel", 0) > 0 && fake->calls("cuLaunchKernel", 1) > 0);
}

/* Reads until something fails; how many batches came. */
static int read_until_failure(stk_loader *loader, stk_error *error)
{
    stk_batch *batch;
    int came = 0;
    stk_status status;
    while ((status = stk_loader_next(loader, &batch, error)) == STK_OK) {
        stk_batch_release(batch);
        came++;
    }
    return status == STK_END ? -1 : came;
}

static void a_lost_gpu_ends_the_load(void **state)
{
    (void)state;
    static const char *const faults[] = {"fault kernel at 5 fail 719", "fault copy_out at 4 fail 700",
                                         "fault cuMemcpyHtoDAsync_v2 at 6 lose 999",
                                         "fault cuEventQuery at 3 lose 214"};
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
        const stk_loader_options options = {.root = pairs.root,
                                            .batch_size = 3,
                                            .num_workers = 2,
                                            .augment = "preset: strong, device: cuda:0"};
        stk_loader *loader;
        stk_error error = {0};
        stk_batch *batch;
        fake_driver_play("late 100\n%s", faults[f]);
        if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
        const uint64_t start_ns = stk__clock_ns();
        assert_true(read_until_failure(loader, &error) >= 0);
        assert_true(error.message[0] && error.hint[0]);
        assert_int_not_equal(stk_loader_next(loader, &batch, &error), STK_OK); /* and it stays so */
        stk_loader_close(&loader);
        assert_true(stk__clock_ns() - start_ns < 20 * STK_SECOND_NS);
        assert_int_equal(fake->count("misuses"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stream_has_the_same_digest),
        cmocka_unit_test(two_loaders_on_one_device),
        cmocka_unit_test(two_loaders_on_two_devices),
        cmocka_unit_test(a_lost_gpu_ends_the_load),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
