/* SPDX-License-Identifier: Apache-2.0 */
/* A loader whose batches end in a GPU's memory when the GPU fails, is lost, or hangs (on the fake driver). */
#include "core/clock.h"
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

static dataset pairs;
static const fake_driver *fake;

static int make_set(void **state)
{
    (void)state;
    fake = fake_driver_open();
    pairs = dataset_pairs(23, 40, 24);
    return 0;
}

static int remove_set(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    return 0;
}

/* The status that ends the stream, within the time that is allowed. */
static stk_status read_until_failure(stk_loader *loader, stk_error *error)
{
    stk_batch *batch;
    for (int i = 0; i < 1000; i++) {
        stk_status status = stk_loader_next(loader, &batch, error);
        if (status == STK_END) continue;
        if (status != STK_OK) return status;
        status = stk_batch_wait(batch, error);
        stk_batch_release(batch);
        if (status != STK_OK) return status;
    }
    return STK_OK;
}

static void a_lost_gpu_ends_the_stream(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "fault kernel at 4 lose 700", "fault copy_in at 7 lose 719", "fault cuLaunchKernel at 5 lose 719",
        "fault cuEventRecord at 9 lose 999", "fault cuMemcpyHtoDAsync_v2 at 6 lose 702"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        stk_loader_options o = resident_options(pairs.root);
        stk_error error = {0};
        o.augment = RESIDENT_STRONG;
        o.device = "cuda:0";
        o.num_workers = i % 2 ? STK_WORKERS_NONE : 2;
        fake_driver_play("%s", faults[i]);
        stk_loader *loader = resident_open(&o);
        assert_int_equal(read_until_failure(loader, &error), STK_ERROR_UNSUPPORTED);
        assert_non_null(strstr(error.hint, "checkpoint"));
        assert_int_equal(read_until_failure(loader, &error), STK_ERROR_UNSUPPORTED); /* for good */
        assert_int_equal(stk_loader_close(&loader), 0);
    }
    fake_driver_play("seed 1");
}

/* A call that fails on its own: the batch has failed, everything is given back. */
static void a_failed_call_ends_the_stream_cleanly(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuEventRecord",
                                        "cuCtxPushCurrent_v2"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        stk_loader_options o = resident_options(pairs.root);
        stk_error error = {0};
        o.augment = RESIDENT_STRONG;
        o.device = "cuda:0";
        fake_driver_play("fault %s at 20 fail 1", calls[i]);
        stk_loader *loader;
        if (stk_loader_open(&loader, &o, &error) == STK_OK) {
            const stk_status status = read_until_failure(loader, &error);
            assert_int_equal(status, STK_ERROR_UNSUPPORTED);
            assert_int_equal(stk_loader_close(&loader), 0);
        }
        assert_non_null(strstr(error.message, "invalid argument"));
        fake_driver_expect_nothing_left(calls[i]);
    }
}

static void a_release_that_fails_is_told_by_the_next_batch(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    stk_error error = {0};
    stk_batch *batch;
    o.device = "cuda:0";
    fake_driver_play("seed 1");
    stk_loader *loader = resident_open(&o);
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_OK);
    assert_int_equal(stk_batch_wait(batch, &error), STK_OK);
    stk_batch_release_after(batch, (void *)(uintptr_t)0x123450); /* no stream */
    stk_batch_release_after(NULL, NULL);
    assert_int_not_equal(stk_loader_next(loader, &batch, &error), STK_OK);
    assert_non_null(strstr(error.message, "cuEventRecord"));
    assert_int_equal(stk_loader_close(&loader), 0);
}

/* The network never ends: its slots do not come back. */
static void a_gpu_that_hangs_is_given_up(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        stk_loader_options o = resident_options(pairs.root);
        stk_error error = {0};
        o.augment = RESIDENT_STRONG;
        o.device = "cuda:0";
        o.timeout_s = 0.5;
        o.num_workers = i ? STK_WORKERS_NONE : 1;
        fake_driver_play("fault kernel at 6 hang 60");
        stk_loader *loader = resident_open(&o);
        const uint64_t start_ns = stk__clock_ns();
        assert_int_equal(read_until_failure(loader, &error), STK_ERROR_TIMEOUT);
        assert_true(error.hint[0]);
        stk_loader_close(&loader);
        assert_true(stk__clock_ns() - start_ns < 40 * STK_SECOND_NS);
        fake->release();
    }
    fake_driver_play("seed 1");
}

/* Not its work but the call itself: the watchdog tells, and the thread is left behind. */
static void a_call_that_never_comes_back_is_told(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    stk_error error = {0};
    o.device = "cuda:0";
    o.timeout_s = 0.4;
    fake_driver_play("fault cuLaunchKernel at 4 hang 60");
    stk_loader *loader = resident_open(&o);
    assert_int_equal(read_until_failure(loader, &error), STK_ERROR_TIMEOUT);
    assert_non_null(strstr(error.message, "the driver of 'cuda:0' has not responded"));
    assert_int_equal(stk_loader_close(&loader), 1);
    fake->release();
    nanosleep(&(struct timespec){0, 300000000}, NULL); /* the thread ends */
}

static void slots_that_never_come_back_are_told(void **state)
{
    (void)state;
    stk_loader_options o = resident_options(pairs.root);
    stk_error error = {0};
    stk_batch *batch;
    reader r;
    stk_status status = STK_OK;
    o.device = "cuda:0";
    o.timeout_s = 0.5;
    fake_driver_play("fault copy_out at 0 hang 60");
    reader_start(&r);
    stk_loader *loader = resident_open(&o);
    for (int i = 0; i < 100 && (status == STK_OK || status == STK_END); i++) {
        status = stk_loader_next(loader, &batch, &error);
        if (status != STK_OK) continue;
        assert_int_equal(stk_batch_wait_on(batch, r.stream, &error), STK_OK);
        reader_take(&r, &batch->lambda);
        reader_take(&r, &batch->weights);
        stk_batch_release_after(batch, r.stream);
    }
    assert_int_equal(status, STK_ERROR_TIMEOUT);
    assert_non_null(strstr(error.message, "still uses a batch"));
    stk_loader_close(&loader);
    fake->release();
    reader_wait(&r);
    reader_end(&r);
    fake_driver_play("seed 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_gpu_ends_the_stream),
        cmocka_unit_test(a_failed_call_ends_the_stream_cleanly),
        cmocka_unit_test(a_release_that_fails_is_told_by_the_next_batch),
        cmocka_unit_test(a_gpu_that_hangs_is_given_up),
        cmocka_unit_test(slots_that_never_come_back_are_told),
        cmocka_unit_test(a_call_that_never_comes_back_is_told),
    };
    return cmocka_run_group_tests(tests, make_set, remove_set);
}
