/* SPDX-License-Identifier: Apache-2.0 */
/* Every device that is there makes the reference's bits of random batches; so do the CPU levels and the
 * kernel source as plain C.
 *
 *   test_conformance [DEVICE]   only this device, which must be there */
#include "device/device.h"
#include "device/kernel/host_build.h"
#include "device/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { TRIALS = 520, SIDE_PX = 70 };

static stk__trial trial;
static stk__buffer scratch;

static int free_memory(void **state)
{
    (void)state;
    stk__trial_fini(&trial);
    stk__buffer_fini(&scratch);
    return 0;
}

static void make_trial(uint64_t seed)
{
    stk_error error;
    assert_int_equal(stk__trial_make(&trial, seed, SIDE_PX, &error), STK_OK);
    assert_int_equal(stk__launch_check(&trial.batch, &error), STK_OK);
}

static void expect_same_bits(uint64_t seed, const char *who)
{
    const stk__trial_result result = stk__trial_compare(&trial);
    assert_true(result.values > 0);
    if (result.differing == 0 && !result.overrun) return;
    fail_msg("%s, seed %llu: %llu of %llu values differ, first at byte %llu%s", who, (unsigned long long)seed,
             (unsigned long long)result.differing, (unsigned long long)result.values,
             (unsigned long long)result.first, result.overrun ? "; it wrote outside" : "");
}

/* What the trials are about: a seed count that leaves something out would prove nothing about it. */
static void trials_cover_everything(void **state)
{
    (void)state;
    int kinds[STK_COLOUR_COUNT] = {0}, radius[STK_AUGMENT_RADIUS + 1] = {0}, formats[6][2][4] = {0};
    int noise = 0, erase = 0, skipped = 0, unmasked = 0, padded = 0;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make_trial(seed);
        const stk__augment_batch *batch = &trial.batch;
        formats[batch->target.dtype][batch->target.planar][batch->target.channels]++;
        unmasked += !batch->target.mask;
        for (uint64_t i = 0; i < batch->count; i++) {
            const stk__augment_block *block = &batch->blocks[i];
            for (int32_t s = 0; s < block->step_count; s++)
                kinds[block->step_kind[s]]++;
            radius[block->blur_radius]++;
            noise += block->noise_std > 0;
            erase += block->erase_w > 0;
            skipped += batch->images[i].w == 0;
            padded +=
                batch->images[i].pitch_bytes > (uint64_t)(batch->images[i].w * batch->images[i].channels);
        }
    }
    for (int k = 0; k < STK_COLOUR_COUNT; k++)
        assert_true(kinds[k] > 20);
    for (int r = 0; r <= STK_AUGMENT_RADIUS; r++)
        assert_true(radius[r] > 20);
    static const stk_dtype dtypes[] = {STK_DTYPE_F32, STK_DTYPE_F16, STK_DTYPE_BF16};
    for (int i = 0; i < 12; i++)
        assert_true(formats[dtypes[i % 3]][i / 3 % 2][i / 6 ? 3 : 1] > 3);
    assert_true(noise > 20 && erase > 20 && skipped > 5 && unmasked > 20 && padded > 20);
}

static void host_build_has_the_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make_trial(seed);
        assert_int_equal(stk__host_build_batch(&trial.batch, &scratch, NULL), STK_OK);
        expect_same_bits(seed, "host build");
    }
}

static stk__pixels pixels_of(const stk_view *views, uint64_t i, int32_t channels)
{
    if (!views || views[i].w == 0) return (stk__pixels){.channels = channels};
    return (stk__pixels){trial.arena.data + views[i].offset_bytes, views[i].pitch_bytes, views[i].w,
                         views[i].h, channels};
}

static void run_kernel(stk__augment_kernel kernel)
{
    const stk__augment_batch *batch = &trial.batch;
    for (uint64_t i = 0; i < batch->count; i++) {
        stk__augment_target target = batch->target;
        target.image = (uint8_t *)target.image + i * (trial.image_bytes / batch->count);
        if (target.mask) target.mask = (uint8_t *)target.mask + i * (trial.mask_bytes / batch->count);
        const stk__augment_source source = {pixels_of(batch->images, i, target.channels),
                                            pixels_of(batch->masks, i, 1)};
        assert_int_equal(kernel(&batch->blocks[i], &source, &target, &scratch, NULL), STK_OK);
    }
}

static void kernels_of_single_samples_have_the_bits(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make_trial(seed);
        run_kernel(stk__host_build_sample);
        expect_same_bits(seed, "host build of single samples");
        for (int level = 0; level < STK_CPU_LEVELS; level++) {
            const stk__augment_kernel kernel = stk__augment_at((stk__cpu_level)level);
            if (!kernel) continue;
            stk__trial_spoil(&trial);
            run_kernel(kernel);
            expect_same_bits(seed, stk__cpu_level_name((stk__cpu_level)level));
        }
    }
}

/* A white image whose greys add up to more than 32 bits, on a device and as host build. */
static void sums_do_not_overflow(stk__device *device)
{
    enum { W = 640, H = 513 };
    static float image[W * H], expected[W * H];
    static uint8_t white[W * H];
    memset(white, 255, sizeof white);
    const stk__augment_block block = {.matrix = {1, 0, -0.5f, 0, 1, -0.5f},
                                      .step_count = 1,
                                      .step_kind = {STK_COLOUR_CONTRAST},
                                      .step_value = {0.25f}};
    const stk_view view = {0, W, W, H, 1};
    stk__augment_batch batch = {
        .count = 1, .blocks = &block, .arena = white, .arena_bytes = sizeof white, .images = &view};
    batch.target = (stk__augment_target){
        .image = expected, .dtype = STK_DTYPE_F32, .w = W, .h = H, .channels = 1, .scale = {1}};
    const stk__augment_source source = {stk__pixels_dense(white, W, H, 1), {0}};
    assert_int_equal(stk__augment_c(&block, &source, &batch.target, &scratch, NULL), STK_OK);
    batch.target.image = image;
    if (device)
        assert_int_equal(stk__device_augment(device, &batch, NULL), STK_OK);
    else
        assert_int_equal(stk__host_build_batch(&batch, &scratch, NULL), STK_OK);
    assert_memory_equal(image, expected, sizeof image);
    assert_true(image[0] == 255);
}

static void large_sums_of_the_host_build(void **state)
{
    (void)state;
    sums_do_not_overflow(NULL);
}

static void try_device(const char *name)
{
    stk__device *device;
    stk_error error = {0};
    if (stk__device_open(&device, name, &error) != STK_OK) fail_msg("%s: %s", name, error.message);
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        make_trial(seed);
        if (stk__device_augment(device, &trial.batch, &error) != STK_OK)
            fail_msg("%s: %s", name, error.message);
        expect_same_bits(seed, name);
        assert_true(device->last_kernel_ns > 0);
    }
    sums_do_not_overflow(device);
    stk__device_close(&device);
    assert_null(device);
    printf("%s: same bits in %d batches\n", name, TRIALS);
}

static void devices_have_the_bits(void **state)
{
    (void)state;
    static stk__device_info infos[STK_DEVICE_MOST];
    const int count = stk__device_list(infos, STK_DEVICE_MOST);
    assert_true(count >= 4);
    for (int i = 0; i < count; i++) {
        if (!infos[i].available) {
            assert_true(infos[i].why[0]);
            printf("%s: not available: %s\n", infos[i].name, infos[i].why);
        } else if (infos[i].kind != STK_DEVICE_NULL) {
            try_device(infos[i].name);
        }
    }
}

static const char *named; /* on the command line */

static void the_named_device_has_the_bits(void **state)
{
    (void)state;
    try_device(named);
}

static void null_makes_nothing(void **state)
{
    (void)state;
    stk__device *device;
    make_trial(1);
    assert_int_equal(stk__device_open(&device, "null", NULL), STK_OK);
    assert_int_equal(stk__device_augment(device, &trial.batch, NULL), STK_OK);
    for (size_t i = 0; i < trial.output.size_bytes; i++)
        assert_int_equal(trial.output.data[i], 0xA5);
    stk__device_close(&device);
}

static void names_that_are_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",      "gpu", "opencl:", "opencl:x", "opencl:-1", "opencl:1000000",
                                        "cpu:0", "CPU", "opencl0", ":0",       "cuda:0:1",  "null:0"};
    stk_error error;
    stk__device *device;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(stk__device_open(&device, wrong[i], &error), STK_ERROR_ARGUMENT);
        assert_null(device);
        assert_non_null(strstr(error.message, "unknown device"));
        assert_true(error.hint[0]);
    }
    assert_int_equal(stk__device_open(&device, "opencl:63", &error), STK_ERROR_UNSUPPORTED);
    assert_null(device);
}

static void make_trial_with_masks(void) /* whose first sample is there */
{
    uint64_t seed = 0;
    do
        make_trial(seed++);
    while (!trial.mask_bytes || trial.batch.images[0].w < 2 || trial.batch.images[0].h < 2);
}

/* Each change alone makes the batch one that is refused, with a word that says why. */
static void senseless_batches_are_refused(void **state)
{
    (void)state;
    stk__device *device;
    stk_error error;
    const float nan = strtof("nan", NULL);
    assert_int_equal(stk__device_open(&device, "cpu", &error), STK_OK);
#define REFUSED(word, change)                                                                                \
    do {                                                                                                     \
        make_trial_with_masks();                                                                             \
        stk__augment_batch *batch = &trial.batch;                                                            \
        stk__augment_block *block = (stk__augment_block *)(void *)trial.blocks.data;                         \
        stk_view *image = (stk_view *)(void *)trial.images.data;                                             \
        (void)block, (void)image;                                                                            \
        change;                                                                                              \
        assert_int_equal(stk__device_augment(device, batch, &error), STK_ERROR_ARGUMENT);                    \
        if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);           \
    } while (0)
    REFUSED("size", batch->target.w = 0);
    REFUSED("size", batch->target.h = batch->target.w = 1 << 15);
    REFUSED("size", batch->target.w = 1; batch->target.h = 65535 * STK_KERNEL_TILE_H + 1);
    REFUSED("channels", batch->target.channels = 2);
    REFUSED("dtype", batch->target.dtype = STK_DTYPE_U8);
    REFUSED("mask_dtype",
            (batch->target.mask = batch->target.image, batch->target.mask_dtype = STK_DTYPE_F32));
    REFUSED("scale", batch->target.scale[1] = nan);
    REFUSED("memory", batch->target.image = NULL);
    REFUSED("65535", batch->count = 65536);
    REFUSED("views", batch->images = NULL);
    REFUSED("matrix", block->matrix[3] = nan);
    REFUSED("fill", block->fill[2] = 255 * 128 + 1);
    REFUSED("mask_fill", block->mask_fill = -1);
    REFUSED("step_count", block->step_count = 9);
    REFUSED("step_kind", (block->step_count = 1, block->step_kind[0] = STK_COLOUR_COUNT));
    REFUSED("step_value", (block->step_count = 1, block->step_value[0] = nan));
    REFUSED("second contrast",
            (block->step_count = 2, block->step_kind[0] = block->step_kind[1] = STK_COLOUR_CONTRAST));
    REFUSED("blur_radius", block->blur_radius = 4);
    REFUSED("blur_weight", block->blur_weight[0] = nan);
    REFUSED("noise_std", block->noise_std = -1);
    REFUSED("position of erase", block->erase_x = INT32_MAX);
    REFUSED("size of erase", block->erase_h = -1);
    REFUSED("position of the image", image->offset_bytes = UINT64_MAX - 2);
    REFUSED("position of the image", image->pitch_bytes = 1 + (UINT64_C(1) << 31));
    REFUSED("position of the image", image->w = -1);
    REFUSED("size of the mask", image->w--);
    REFUSED("size of the mask", batch->masks = NULL);
#undef REFUSED
    stk__device_close(&device);
}

int main(int count, char **words)
{
    const struct CMUnitTest single[] = {cmocka_unit_test(the_named_device_has_the_bits)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_cover_everything),
        cmocka_unit_test(host_build_has_the_bits),
        cmocka_unit_test(kernels_of_single_samples_have_the_bits),
        cmocka_unit_test(large_sums_of_the_host_build),
        cmocka_unit_test(devices_have_the_bits),
        cmocka_unit_test(null_makes_nothing),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(senseless_batches_are_refused),
    };
    named = count > 1 ? words[1] : NULL;
    return named ? cmocka_run_group_tests(single, NULL, free_memory)
                 : cmocka_run_group_tests(tests, NULL, free_memory);
}
