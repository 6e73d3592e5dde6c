/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and threads of augmenters: every allocation fails once, none is made after warm-up, a second call
 * beside the first is refused, different augmenters work at once. */
#include "augmenter_helpers.h"

#include "core/pool.h"
#include "stoker/runtime.h"
#include "support/fail_alloc.h"

#include <pthread.h>

enum { N = 5, H = 20, W = 26 };

/* All kinds of buffers are needed: floats NCHW that are made smaller, ids of i64 that change sides, mixing.
 */
static const stk_augment_options everything = {
    .augment =
        "preset: strong, horizontal_flip_prob: 0.9, mixup_alpha: 0.5, mixup_prob: 0.5, cutmix_alpha: 1",
    .image_size = {13, 11},
    .dtype = STK_STORE_U8,
    .flip_pairs = "1:2",
    .threads = 1};

static stk_augment_io make_batch(int64_t n)
{
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    io.count = n;
    io.axes = STK_AXES_NCHW;
    io.images = TENSOR(STK_DTYPE_F32, n, 3, H, W);
    io.masks = TENSOR(STK_DTYPE_I64, n, H, W);
    for (int64_t i = 0; i < n * 3 * H * W; i++)
        ((float *)io.images.data)[i] = (float)(i * 37 % 101) / 100;
    for (int64_t i = 0; i < n * H * W; i++)
        ((int64_t *)io.masks.data)[i] = i * 7 % 5;
    io.out_images = TENSOR(STK_DTYPE_U8, n, 13, 11, 3);
    io.out_masks = TENSOR(STK_DTYPE_I64, n, 13, 11);
    io.out_masks2 = TENSOR(STK_DTYPE_I64, n, 13, 11);
    io.out_lambda = TENSOR(STK_DTYPE_F32, n);
    return io;
}

static stk_status open_and_apply(void *context, stk_error *error)
{
    stk_augmenter *augmenter;
    const stk_status opened = stk_augmenter_open(&augmenter, &everything, error);
    const stk_status status = opened == STK_OK ? stk_augmenter_apply(augmenter, context, error) : opened;
    stk_augmenter_close(&augmenter);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    stk_augment_io io = make_batch(N);
    stk_error error;
    assert_int_equal(open_and_apply(&io, &error), STK_OK); /* what the process keeps is there */
    const long runs = fail_alloc_each(open_and_apply, &io);
    assert_true(runs > 12);
    io_free(&io);
}

/* And the augmenter is good after it. */
static void a_failed_call_can_be_repeated(void **state)
{
    (void)state;
    stk_augment_io io = make_batch(N), first = make_batch(N);
    stk_augmenter *augmenter = augmenter_new(everything);
    fail_alloc f = {.left = 4};
    fail_alloc_set(&f);
    stk_error error;
    assert_int_equal(stk_augmenter_apply(augmenter, &io, &error), STK_ERROR_MEMORY);
    f.left = -1;
    apply(augmenter, &io);
    stk_augmenter_close(&augmenter);
    fail_alloc_set(NULL);
    apply_once(everything, &first);
    expect_same(&io.out_images, &first.out_images);
    expect_same(&io.out_masks2, &first.out_masks2);
    io_free(&io);
    io_free(&first);
}

static void nothing_is_allocated_after_warm_up(void **state)
{
    (void)state;
    stk_augment_io io = make_batch(N);
    stk_augmenter *augmenter = augmenter_new(everything);
    fail_alloc f = {.left = -1};
    fail_alloc_set(&f);
    for (io.epoch = 0; io.epoch < 8; io.epoch++) /* every kind of draw */
        apply(augmenter, &io);
    f.left = 0;
    for (io.epoch = 0; io.epoch < 50; io.epoch++) {
        io.count = 1 + (int64_t)io.epoch % N;
        stk_tensor *const tensors[] = {&io.images,    &io.masks,      &io.out_images,
                                       &io.out_masks, &io.out_masks2, &io.out_lambda};
        for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++)
            tensors[i]->shape[0] = io.count;
        apply(augmenter, &io);
    }
    stk_augmenter_close(&augmenter);
    fail_alloc_set(NULL);
    io_free(&io);
}

/* An allocator that calls again while the call that allocates is under way. */
static struct {
    stk_augmenter *augmenter;
    const stk_augment_io *io;
    stk_status status;
    stk_error error;
    int calls;
} inner;

static void *alloc_and_call(void *context, size_t size_bytes)
{
    (void)context;
    if (inner.augmenter && inner.calls++ == 0)
        inner.status = stk_augmenter_apply(inner.augmenter, inner.io, &inner.error);
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

static void a_call_beside_another_is_refused(void **state)
{
    (void)state;
    stk_augment_io io = make_batch(N);
    stk_allocator_set(&(stk_allocator){.alloc = alloc_and_call, .release = release});
    inner.augmenter = augmenter_new(everything);
    inner.io = &io;
    inner.calls = 0;
    apply(inner.augmenter, &io);
    assert_true(inner.calls > 0);
    assert_int_equal(inner.status, STK_ERROR_ARGUMENT);
    assert_non_null(strstr(inner.error.message, "in use by another call"));
    apply(inner.augmenter, &io); /* afterwards it is free */
    stk_augmenter_close(&inner.augmenter);
    stk_allocator_set(NULL);
    io_free(&io);
}

typedef struct user {
    int64_t threads;
    stk_augment_io io;
    pthread_t thread;
} user;

static void *use(void *context)
{
    user *u = context;
    stk_augment_options options = everything;
    options.threads = u->threads;
    stk_augmenter *augmenter = augmenter_new(options);
    for (u->io.epoch = 0; u->io.epoch < 20; u->io.epoch++)
        apply(augmenter, &u->io);
    stk_augmenter_close(&augmenter);
    return NULL;
}

static void augmenters_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { USERS = 4 };
    user users[USERS];
    for (int i = 0; i < USERS; i++) {
        users[i] = (user){.threads = i, .io = make_batch(N)};
        assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    }
    for (int i = 0; i < USERS; i++)
        pthread_join(users[i].thread, NULL);
    for (int i = 1; i < USERS; i++) {
        expect_same(&users[i].io.out_images, &users[0].io.out_images);
        expect_same(&users[i].io.out_masks, &users[0].io.out_masks);
        expect_same(&users[i].io.out_masks2, &users[0].io.out_masks2);
        expect_same(&users[i].io.out_lambda, &users[0].io.out_lambda);
        io_free(&users[i].io);
    }
    io_free(&users[0].io);
}

static int stop_pool(void **state)
{
    (void)state;
    stk__pool_stop();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_failed_call_can_be_repeated),
        cmocka_unit_test(nothing_is_allocated_after_warm_up),
        cmocka_unit_test(a_call_beside_another_is_refused),
        cmocka_unit_test(augmenters_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, stop_pool);
}
