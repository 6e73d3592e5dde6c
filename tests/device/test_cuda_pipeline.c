/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that stay in the memory of a (fake) GPU: who waits for whom. Each test needs one kind of wait.
 *
 *   test_cuda_pipeline [--sites | --skip N]
 *
 * --sites prints the numbers of the places that wait, --skip leaves out one: then some test must fail. */
#include "core/clock.h"
#include "cuda_kept.h"
#include "device/cuda/cuda_device.h"
#include "fake_cuda_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { SIDE_PX = 24, SLOTS = 3, BATCHES = 2000 };

static const fake_driver *fake;
static const stk__cuda_api *cuda;
static stk__device *device;
static kept_slot slots[SLOTS];

static void expect_good(const char *what, stk_status status, const stk_error *error)
{
    if (status != STK_OK) fail_msg("%s: %s", what, error->message);
}
#define GOOD(call)                                                                                           \
    do {                                                                                                     \
        stk_error good_error = {0};                                                                          \
        stk_error *error = &good_error;                                                                      \
        const stk_status good_status = call;                                                                 \
        expect_good(#call, good_status, &good_error);                                                        \
    } while (0)
#define DONE(call) assert_int_equal(call, CUDA_SUCCESS)

/* Kernels and copies that take long, so that nothing is there by luck. */
#define SLOW "late 0\nkernel stk_augment 100\n"

static void open_with(const char *script, int count)
{
    fake_driver_play("%s", script);
    GOOD(stk__device_open(&device, "cuda:0", error));
    for (int i = 0; i < count; i++) {
        kept_make(&slots[i], 40 + (uint64_t)i, SIDE_PX);
        GOOD(kept_create(&slots[i], device, error));
    }
}

static int close_all(void **state)
{
    (void)state;
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].memory) kept_destroy(&slots[i]);
        kept_fini(&slots[i]);
    }
    if (device) stk__device_close(&device);
    fake->release();
    return 0;
}

/* Also after each test: what was done to the driver behind our back. */
static void close_cleanly(void)
{
    close_all(NULL);
    fake_driver_expect_nothing_left("at the end");
}

static const uint8_t *bytes_of(const kept_slot *slot)
{
    return fake->host((uint64_t)(uintptr_t)slot->memory->data);
}

static void host_batches_are_there(void **state)
{
    (void)state;
    open_with(SLOW, 0);
    stk__trial trial = {0};
    for (uint64_t seed = 0; seed < 3; seed++) {
        assert_int_equal(stk__trial_make(&trial, seed, SIDE_PX, NULL), STK_OK);
        GOOD(stk__device_augment(device, &trial.batch, error));
        assert_int_equal(stk__trial_compare(&trial).differing, 0);
    }
    stk__trial_fini(&trial);
    assert_int_equal(fake->count("pageable_copies"), 0);
    close_cleanly();
}

static void ready_means_ready(void **state)
{
    (void)state;
    open_with(SLOW, 1);
    GOOD(kept_submit(&slots[0], error));
    GOOD(stk__device_ready(slots[0].memory, error));
    assert_true(kept_is_right(&slots[0], bytes_of(&slots[0])));
    close_cleanly();
}

/* A consumer: its stream copies the batch out, as a network would read it. */
typedef struct consumer {
    stk__cu_handle context, stream, done;
    uint8_t *out;
} consumer;

static consumer consumer_open(size_t bytes)
{
    consumer c = {0};
    DONE(cuda->cuDevicePrimaryCtxRetain(&c.context, 0));
    DONE(cuda->cuCtxPushCurrent_v2(c.context));
    DONE(cuda->cuStreamCreate(&c.stream, CU_STREAM_NON_BLOCKING));
    DONE(cuda->cuEventCreate(&c.done, CU_EVENT_DISABLE_TIMING));
    DONE(cuda->cuMemHostAlloc((void **)&c.out, bytes, 0));
    return c;
}

static void consumer_read(const consumer *c, const kept_slot *slot, size_t at)
{
    DONE(cuda->cuMemcpyDtoHAsync_v2(c->out + at, (uint64_t)(uintptr_t)slot->memory->data, slot->size_bytes,
                                    c->stream));
    DONE(cuda->cuEventRecord(c->done, c->stream));
}

static void consumer_wait(const consumer *c)
{
    int code;
    while ((code = cuda->cuEventQuery(c->done)) == CUDA_ERROR_NOT_READY)
        usleep(100);
    DONE(code);
}

static void consumer_close(consumer *c)
{
    stk__cu_handle popped;
    consumer_wait(c);
    DONE(cuda->cuMemFreeHost(c->out));
    DONE(cuda->cuEventDestroy_v2(c->done));
    DONE(cuda->cuStreamDestroy_v2(c->stream));
    DONE(cuda->cuCtxPopCurrent_v2(&popped));
    DONE(cuda->cuDevicePrimaryCtxRelease_v2(0));
}

static void the_consumers_stream_waits(void **state)
{
    (void)state;
    open_with(SLOW, 1);
    consumer c = consumer_open(slots[0].size_bytes);
    GOOD(kept_submit(&slots[0], error));
    const uint64_t start_ns = stk__clock_ns();
    GOOD(stk__device_ready_on(slots[0].memory, c.stream, error));
    assert_true(stk__clock_ns() - start_ns < STK_SECOND_NS); /* its thread does not wait */
    consumer_read(&c, &slots[0], 0);
    consumer_wait(&c);
    assert_true(kept_is_right(&slots[0], c.out));
    GOOD(stk__device_release_on(slots[0].memory, c.stream, error));
    consumer_close(&c);
    close_cleanly();
}

/* A slot that is free may be written: nothing of it is read any more. */
static void a_free_slot_is_not_read(void **state)
{
    (void)state;
    open_with("late 0\ncopy 0.00002\n", 1); /* so that a kilobyte takes 50 ms */
    GOOD(kept_submit(&slots[0], error));
    GOOD(kept_await(&slots[0], error));
    memset(slots[0].host, 0, slots[0].host_bytes);
    GOOD(stk__device_ready(slots[0].memory, error));
    assert_true(kept_is_right(&slots[0], bytes_of(&slots[0])));
    assert_true(device->last_copy_ns > 0 && device->last_kernel_ns > 0);
    close_cleanly();
}

/* A slot is filled again only after the consumer's stream has passed its release. */
static void a_slot_waits_for_its_consumer(void **state)
{
    (void)state;
    open_with("late 0\n", 1);
    consumer c = consumer_open(slots[0].size_bytes);
    GOOD(kept_submit(&slots[0], error));
    GOOD(stk__device_ready(slots[0].memory, error));
    fake_driver_add("fault copy_out at 0 hang 0.2");
    consumer_read(&c, &slots[0], 0); /* takes long */
    GOOD(stk__device_release_on(slots[0].memory, c.stream, error));
    GOOD(kept_await(&slots[0], error));
    assert_int_equal(cuda->cuEventQuery(c.done), CUDA_SUCCESS);
    assert_true(kept_is_right(&slots[0], c.out));
    consumer_close(&c);
    close_cleanly();
}

static void fetched_bytes_are_there(void **state)
{
    (void)state;
    open_with("late 0\n", 1);
    GOOD(kept_submit(&slots[0], error));
    GOOD(stk__device_ready(slots[0].memory, error));
    fake_driver_add("fault copy_out hang 0.1");
    uint8_t *bytes = calloc(1, slots[0].size_bytes);
    const stk__device_copy copy = {bytes, slots[0].memory->data, slots[0].size_bytes};
    GOOD(stk__device_fetch(slots[0].memory, &copy, error));
    assert_true(kept_is_right(&slots[0], bytes));
    free(bytes);
    close_cleanly();
}

/* The buffers that all slots share grow while a batch is under way. */
static void buffers_grow_when_nobody_uses_them(void **state)
{
    (void)state;
    open_with(SLOW, 1);
    kept_make(&slots[1], 3, 6 * SIDE_PX);
    GOOD(kept_create(&slots[1], device, error));
    assert_true(slots[1].trial.batch.arena_bytes > 2 * slots[0].trial.batch.arena_bytes);
    GOOD(kept_submit(&slots[0], error));
    GOOD(kept_submit(&slots[1], error));
    for (int i = 0; i < 2; i++) {
        GOOD(stk__device_ready(slots[i].memory, error));
        assert_true(kept_is_right(&slots[i], bytes_of(&slots[i])));
    }
    close_cleanly();
}

/* Something fails half-way: what was begun is over when the failure is told, so memory can be given back. */
static void a_failed_batch_leaves_nothing_under_way(void **state)
{
    (void)state;
    static const char *const faults[] = {"fault cuLaunchKernel at 0 fail 1",
                                         "fault cuMemcpyHtoDAsync_v2 at 1 fail 1",
                                         "fault cuEventRecord at 1 fail 400"};
    for (int f = 0; f < 3; f++) {
        stk_error error = {0};
        char script[128];
        snprintf(script, sizeof script, "late 0\n%s\nfault copy_in hang 0.1", faults[f]);
        open_with(script, 1);
        assert_int_not_equal(kept_submit(&slots[0], &error), STK_OK);
        assert_true(error.message[0] && error.hint[0]);
        assert_int_equal(fake->count("work"), 0);
        kept_destroy(&slots[0]);
        assert_int_equal(fake->count("misuses"), 0);
        close_cleanly();
    }
}

/* A batch to the host whose memory is the caller's again after the failure. */
static void a_failed_host_batch_leaves_nothing_under_way(void **state)
{
    (void)state;
    stk__trial trial = {0};
    assert_int_equal(stk__trial_make(&trial, 3, SIDE_PX, NULL), STK_OK);
    open_with("late 0\nfault cuLaunchKernel at 0 fail 1\nfault copy_in hang 0.1", 0);
    stk_error failure = {0};
    assert_int_not_equal(stk__device_augment(device, &trial.batch, &failure), STK_OK);
    assert_int_equal(fake->count("work"), 0);
    GOOD(stk__device_augment(device, &trial.batch, error));
    assert_int_equal(stk__trial_compare(&trial).differing, 0);
    stk__trial_fini(&trial);
    close_cleanly();
}

/* The second of its parts fails while the first is on its way to the host on the other stream. */
static void a_failed_part_leaves_no_copy_under_way(void **state)
{
    (void)state;
    stk__trial trial = {0};
    uint64_t seed = 0;
    do
        assert_int_equal(stk__trial_make(&trial, seed++, SIDE_PX, NULL), STK_OK);
    while (trial.batch.count < 2);
    open_with("late 0\nfault cuLaunchKernel at 2 fail 1\nfault copy_out hang 0.1", 0);
    stk_error failure = {0};
    assert_int_not_equal(stk__device_augment(device, &trial.batch, &failure), STK_OK);
    assert_int_equal(fake->count("work"), 0);
    assert_true(fake->count("copies_out") > 0);
    GOOD(stk__device_augment(device, &trial.batch, error));
    assert_int_equal(stk__trial_compare(&trial).differing, 0);
    stk__trial_fini(&trial);
    close_cleanly();
}

/* Nobody can tell when what was begun is over: the device is lost, and its memory left behind. */
static void a_failure_that_cannot_be_waited_for_loses_the_device(void **state)
{
    (void)state;
    stk__trial trial = {0};
    stk_error failure = {0};
    assert_int_equal(stk__trial_make(&trial, 3, SIDE_PX, NULL), STK_OK);
    open_with("late 0\nfault cuLaunchKernel at 0 fail 1\nfault cuEventRecord from 2 fail 400\nfault copy_in "
              "hang 0.05",
              0);
    assert_int_not_equal(stk__device_augment(device, &trial.batch, &failure), STK_OK);
    assert_non_null(strstr(failure.message, "cuLaunchKernel"));
    assert_int_not_equal(stk__device_augment(device, &trial.batch, &failure), STK_OK);
    assert_non_null(strstr(failure.message, "lost"));
    assert_true(failure.hint[0]);
    stk__device_close(&device);
    assert_int_equal(fake->count("misuses"), 0);
    stk__trial_fini(&trial);
}

static void closing_waits_for_what_is_under_way(void **state)
{
    (void)state;
    open_with(SLOW, 2);
    GOOD(kept_submit(&slots[0], error));
    GOOD(kept_submit(&slots[1], error));
    close_cleanly();
}

/* The order of a loader: slots in turn, a consumer with a stream of its own, everything late at random. */
static void many_batches_at_random(void **state)
{
    (void)state;
    const char *few = getenv("CUDA_PIPELINE_BATCHES");
    const int batches = few ? atoi(few) : BATCHES;
    open_with("late 8\nseed 7", 0);
    for (int i = 0; i < SLOTS; i++) {
        uint64_t largest = 0;
        size_t most = 0;
        for (uint64_t seed = 0; seed < 32; seed++) { /* the slot is made for the largest */
            kept_make(&slots[i], seed, 9);
            if (slots[i].size_bytes + slots[i].trial.batch.arena_bytes > most) {
                most = slots[i].size_bytes + slots[i].trial.batch.arena_bytes;
                largest = seed;
            }
            kept_fini(&slots[i]);
        }
        kept_make(&slots[i], largest, 9);
        GOOD(kept_create(&slots[i], device, error));
    }
    const size_t room = slots[0].size_bytes;
    consumer c = consumer_open(SLOTS * room);
    uint64_t seed = 100;
    int64_t allocated = -1;
    for (int b = 0; b < batches; b++) {
        kept_slot *slot = &slots[b % SLOTS], *oldest = &slots[(b + 1) % SLOTS];
        GOOD(kept_await(slot, error));
        while (b >= SLOTS && !kept_remake(slot, seed++ % 4096, 9))
            continue; /* none is larger than the first ones, so that nothing has to grow */
        GOOD(kept_submit(slot, error));
        if (b + 1 < SLOTS) continue;
        GOOD(stk__device_ready_on(oldest->memory, c.stream, error));
        consumer_read(&c, oldest, 0);
        GOOD(stk__device_release_on(oldest->memory, c.stream, error));
        if (b % 2) usleep(0);
        consumer_wait(&c);
        if (!kept_is_right(oldest, c.out)) fail_msg("batch %d is wrong", b - SLOTS + 1);
        if (b == SLOTS) allocated = fake->calls("cuMemAlloc_v2", -1) + fake->calls("cuMemHostAlloc", -1);
    }
    assert_int_equal(fake->calls("cuMemAlloc_v2", -1) + fake->calls("cuMemHostAlloc", -1),
                     allocated); /* after warm-up */
    assert_int_equal(fake->count("pageable_copies"), 0);
    consumer_close(&c);
    close_cleanly();
}

static int read_arguments(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "--sites") == 0) {
        for (int site = STK_CUDA_WAIT_NONE + 1; site < STK_CUDA_ENGINE_SITES; site++)
            printf("%d\n", site);
        return 1;
    }
    if (count == 3 && strcmp(words[1], "--skip") == 0) stk__cuda_wait_skip = atoi(words[2]);
    return 0;
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(host_batches_are_there, close_all),
        cmocka_unit_test_teardown(ready_means_ready, close_all),
        cmocka_unit_test_teardown(the_consumers_stream_waits, close_all),
        cmocka_unit_test_teardown(a_free_slot_is_not_read, close_all),
        cmocka_unit_test_teardown(a_slot_waits_for_its_consumer, close_all),
        cmocka_unit_test_teardown(fetched_bytes_are_there, close_all),
        cmocka_unit_test_teardown(buffers_grow_when_nobody_uses_them, close_all),
        cmocka_unit_test_teardown(a_failed_batch_leaves_nothing_under_way, close_all),
        cmocka_unit_test_teardown(a_failed_host_batch_leaves_nothing_under_way, close_all),
        cmocka_unit_test_teardown(a_failed_part_leaves_no_copy_under_way, close_all),
        cmocka_unit_test_teardown(a_failure_that_cannot_be_waited_for_loses_the_device, close_all),
        cmocka_unit_test_teardown(closing_waits_for_what_is_under_way, close_all),
        cmocka_unit_test_teardown(many_batches_at_random, close_all),
    };
    if (read_arguments(count, words)) return 0;
    fake = fake_driver_open();
    cuda = &fake->cuda;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
