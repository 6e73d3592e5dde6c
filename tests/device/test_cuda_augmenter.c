/* SPDX-License-Identifier: Apache-2.0 */
/* Augmenters on a (fake) GPU: the CPU's bits, in host memory and in the GPU's, and what happens when the GPU
 * does not play along. */
#include "cuda_resident.h"
#include "fake_cuda_driver.h"
#include "stoker/augment.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
    MOST = 7,
    W = 30,
    H = 22,
    AREA = W * H,
    IMAGE_BYTES = AREA * 3 * 2,
    BATCH_BYTES = MOST * (IMAGE_BYTES + 2 * AREA)
};

/* Results of a batch, wherever they lie: images f16 [n 3 h w], masks, second masks u8. */
typedef struct results {
    uint8_t *images, *masks, *masks2;
} results;

static const fake_driver *fake;
static uint8_t images[MOST * AREA * 3], masks[MOST * AREA];
static uint8_t on_cpu[BATCH_BYTES], on_gpu[BATCH_BYTES];
static float lambda[MOST];

static int begin(void **state)
{
    (void)state;
    fake = fake_driver_open();
    for (int i = 0; i < MOST; i++) {
        const stk__pixels image = pictures_draw(W, H, 3, (uint32_t)i),
                          mask = pictures_draw_mask(W, H, 5, (uint32_t)i);
        memcpy(images + (size_t)i * AREA * 3, image.data, AREA * 3);
        memcpy(masks + (size_t)i * AREA, mask.data, AREA);
        stk__free(image.data);
        stk__free(mask.data);
    }
    return 0;
}

static results results_at(uint8_t *memory)
{
    return (results){memory, memory + MOST * IMAGE_BYTES, memory + MOST * (IMAGE_BYTES + AREA)};
}

static stk_tensor dense(void *data, stk_dtype dtype, int ndim, const int64_t *shape)
{
    stk_tensor tensor = {.data = data, .dtype = dtype, .ndim = ndim};
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        tensor.shape[i] = shape[i];
        tensor.strides[i] = stride;
        stride *= shape[i];
    }
    return tensor;
}

static stk_augment_io make_io(int64_t n, uint8_t *memory, stk_device_kind where)
{
    const results out = results_at(memory);
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    io.count = n;
    io.epoch = (uint64_t)n;
    io.images = dense(images, STK_DTYPE_U8, 4, (int64_t[]){n, H, W, 3});
    io.masks = dense(masks, STK_DTYPE_U8, 3, (int64_t[]){n, H, W});
    io.out_images = dense(out.images, STK_DTYPE_F16, 4, (int64_t[]){n, 3, H, W});
    io.out_masks = dense(out.masks, STK_DTYPE_U8, 3, (int64_t[]){n, H, W});
    io.out_masks2 = dense(out.masks2, STK_DTYPE_U8, 3, (int64_t[]){n, H, W});
    io.out_lambda = dense(lambda, STK_DTYPE_F32, 1, (int64_t[]){n});
    io.out_images.device = io.out_masks.device = io.out_masks2.device = where;
    return io;
}

static stk_augment_options options_on(const char *device)
{
    return (stk_augment_options){.augment = RESIDENT_MIXED,
                                 .axes = STK_AXES_NCHW,
                                 .dtype = STK_STORE_F16,
                                 .device = device,
                                 .timeout_s = 1};
}

static stk_augmenter *augmenter_on(const char *device)
{
    const stk_augment_options options = options_on(device);
    stk_augmenter *augmenter;
    stk_error error = {0};
    if (stk_augmenter_open(&augmenter, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return augmenter;
}

static void apply(stk_augmenter *augmenter, const stk_augment_io *io)
{
    stk_error error = {0};
    if (stk_augmenter_apply(augmenter, io, &error) != STK_OK) fail_msg("%s", error.message);
}

static void make_on_cpu(int64_t n)
{
    stk_augmenter *augmenter = augmenter_on(NULL);
    const stk_augment_io io = make_io(n, on_cpu, STK_DEVICE_CPU);
    memset(on_cpu, 0x5a, sizeof on_cpu);
    apply(augmenter, &io);
    stk_augmenter_close(&augmenter);
}

static void host_results_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    fake_driver_play("late 200");
    stk_augmenter *augmenter = augmenter_on("cuda:0");
    for (int64_t n = 1; n <= MOST; n++) {
        const stk_augment_io io = make_io(n, on_gpu, STK_DEVICE_CPU);
        make_on_cpu(n);
        memset(on_gpu, 0x5a, sizeof on_gpu);
        apply(augmenter, &io);
        assert_memory_equal(on_gpu, on_cpu, sizeof on_gpu);
    }
    assert_true(fake->count("kernels") > 0);
    stk_augmenter_close(&augmenter);
    fake_driver_expect_nothing_left("host results");
}

/* Reader: the caller's own context, stream and memory there. */
static void results_stay_on_the_gpu(void **state)
{
    (void)state;
    stk__cu_pointer there;
    reader r;
    fake_driver_play("late 200");
    reader_start(&r);
    assert_int_equal(fake->cuda.cuMemAlloc_v2(&there, BATCH_BYTES), 0);
    stk_augmenter *augmenter = augmenter_on("cuda:0");
    for (int64_t n = 1; n <= MOST; n++) {
        const stk_augment_io io = make_io(n, (uint8_t *)(uintptr_t)there, STK_DEVICE_CUDA);
        const results expected = results_at(on_cpu);
        make_on_cpu(n);
        apply(augmenter, &io);
        const stk_tensor *const tensors[] = {&io.out_images, &io.out_masks, &io.out_masks2};
        const uint8_t *const right[] = {expected.images, expected.masks, expected.masks2};
        for (int i = 0; i < 3; i++) {
            r.used = 0;
            reader_take(&r, tensors[i]);
            reader_wait(&r);
            assert_memory_equal(r.bytes, right[i], (size_t)stk_tensor_bytes(tensors[i]));
        }
    }
    stk_augmenter_close(&augmenter);
    assert_int_equal(fake->cuda.cuMemFree_v2(there), 0);
    reader_end(&r);
    fake_driver_expect_nothing_left("results on the GPU");
}

static void other_memory_is_refused(void **state)
{
    (void)state;
    fake_driver_play("gpus 2");
    stk_augmenter *augmenter = augmenter_on("cuda:0");
    stk_augment_io io = make_io(2, on_gpu, STK_DEVICE_CUDA);
    stk_error error = {0};
    io.out_images.device_index = 1;
    assert_int_equal(stk_augmenter_apply(augmenter, &io, &error), STK_ERROR_ARGUMENT);
    assert_non_null(
        strstr(error.message, "io.out_images is in the memory of cuda:1, but options.device is cuda:0"));
    io = make_io(2, on_gpu, STK_DEVICE_CUDA);
    io.out_masks.device = STK_DEVICE_CPU;
    assert_int_equal(stk_augmenter_apply(augmenter, &io, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "are not in the same memory"));
    io = make_io(2, on_gpu, STK_DEVICE_CPU);
    io.images.device = STK_DEVICE_CUDA;
    assert_int_equal(stk_augmenter_apply(augmenter, &io, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "io.images and io.masks are not in the same memory"));
    stk_augmenter_close(&augmenter);
    fake_driver_expect_nothing_left("refusals");
}

/* Each call that the way to the GPU makes fails once. */
static void failures_are_reported(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuMemAlloc_v2",        "cuEventCreate",  "cuMemHostAlloc",
                                        "cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuEventRecord"};
    int failures = 0;
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++)
        for (int use = 0; use < 6; use++) {
            const stk_augment_options options = options_on("cuda:0");
            stk__cu_pointer there;
            reader r;
            stk_augmenter *augmenter;
            stk_error error = {0};
            fake_driver_play("late 0");
            reader_start(&r);
            assert_int_equal(fake->cuda.cuMemAlloc_v2(&there, BATCH_BYTES), 0);
            char fault[96];
            snprintf(fault, sizeof fault, "fault %s at %ld fail 2", calls[c],
                     fake->calls(calls[c], -1) + use);
            fake_driver_add(fault);
            stk_status status = stk_augmenter_open(&augmenter, &options, &error);
            const stk_augment_io io = make_io(MOST, (uint8_t *)(uintptr_t)there, STK_DEVICE_CUDA);
            if (status == STK_OK) status = stk_augmenter_apply(augmenter, &io, &error);
            if (status != STK_OK) assert_true(error.message[0] && error.hint[0]);
            failures += status != STK_OK;
            stk_augmenter_close(&augmenter);
            assert_int_equal(fake->cuda.cuMemFree_v2(there), 0);
            reader_end(&r);
            fake_driver_expect_nothing_left(calls[c]);
        }
    assert_true(failures >= 6);
}

static void a_hanging_gpu_is_given_up(void **state)
{
    (void)state;
    static const stk_device_kind kinds[] = {STK_DEVICE_CPU, STK_DEVICE_CUDA};
    for (int k = 0; k < 2; k++) {
        stk__cu_pointer there;
        reader r;
        stk_error error = {0};
        fake_driver_play("late 0");
        reader_start(&r);
        assert_int_equal(fake->cuda.cuMemAlloc_v2(&there, BATCH_BYTES), 0);
        stk_augmenter *augmenter = augmenter_on("cuda:0");
        uint8_t *memory = kinds[k] == STK_DEVICE_CPU ? on_gpu : (uint8_t *)(uintptr_t)there;
        const stk_augment_io io = make_io(MOST, memory, kinds[k]);
        apply(augmenter, &io);
        fake_driver_add("fault kernel from 0 hang 3600");
        assert_int_equal(stk_augmenter_apply(augmenter, &io, &error), STK_ERROR_TIMEOUT);
        assert_true(error.message[0]);
        assert_int_equal(stk_augmenter_apply(augmenter, &io, &error), STK_ERROR_TIMEOUT);
        stk_augmenter_close(&augmenter);
        assert_int_equal(fake->count("misuses"), 0);
        fake->release();
        reader_end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_results_have_the_bits_of_the_cpu),
        cmocka_unit_test(results_stay_on_the_gpu),
        cmocka_unit_test(other_memory_is_refused),
        cmocka_unit_test(failures_are_reported),
        cmocka_unit_test(a_hanging_gpu_is_given_up),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
