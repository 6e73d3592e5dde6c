/* What memory and link of a GPU allow: against numbers worked out by hand. */
#include "device/gpu_bound.h"

#include "device/text/text_launch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 32, SIDE = 512 };

static stk__augment_block blocks[COUNT];
static stk_view images[COUNT], masks[COUNT];

static stk__augment_batch make_batch(void)
{
    static uint8_t anything;
    memset(blocks, 0, sizeof blocks);
    for (int i = 0; i < COUNT; i++) {
        images[i] = (stk_view){.w = SIDE, .h = SIDE, .channels = 3};
        masks[i] = (stk_view){.w = SIDE, .h = SIDE, .channels = 1};
    }
    return (stk__augment_batch){.count = COUNT,
                                .blocks = blocks,
                                .images = images,
                                .masks = masks,
                                .target = {.w = SIDE,
                                           .h = SIDE,
                                           .channels = 3,
                                           .mask = &anything,
                                           .dtype = STK_DTYPE_F32,
                                           .mask_dtype = STK_DTYPE_U8}};
}

/* The rows of docs/gpu.md: 17 bytes a pixel, 20 with contrast; 11 and 14 in float16. */
static void bytes_are_counted(void **state)
{
    (void)state;
    const double pixels = (double)COUNT * SIDE * SIDE, numbers = COUNT * sizeof(stk__text_sample);
    stk__augment_batch batch = make_batch();
    assert_true(stk__gpu_bound_bytes(&batch) == 17 * pixels + numbers);
    assert_true(fabs(stk__gpu_bound_ms(&batch, 1555) - 0.092) < 0.0005);
    for (int i = 0; i < COUNT; i++) {
        blocks[i].step_count = 2;
        blocks[i].step_kind[0] = STK_COLOUR_BRIGHTNESS;
        blocks[i].step_kind[1] = STK_COLOUR_CONTRAST;
    }
    assert_true(stk__gpu_bound_bytes(&batch) == 20 * pixels + 2 * numbers);
    assert_true(fabs(stk__gpu_bound_ms(&batch, 1555) - 0.108) < 0.0005);
    batch.target.dtype = STK_DTYPE_F16;
    assert_true(stk__gpu_bound_bytes(&batch) == 14 * pixels + 2 * numbers);
    batch.target.mask = NULL;
    batch.masks = NULL;
    assert_true(stk__gpu_bound_bytes(&batch) == 12 * pixels + 2 * numbers);
    blocks[0].step_kind[1] = STK_COLOUR_BRIGHTNESS; /* one without */
    assert_true(stk__gpu_bound_bytes(&batch) ==
                12 * pixels + 2 * numbers - 3.0 * SIDE * SIDE - (double)sizeof(stk__text_sample));
    assert_true(isnan(stk__gpu_bound_ms(&batch, NAN)));
}

static void expect_known(const char *model, const char *name, double memory)
{
    const stk__known_gpu *known = stk__gpu_find(model);
    if (!known) fail_msg("'%s' is not known", model);
    assert_string_equal(known->name, name);
    assert_true(known->memory_gb_per_s == memory);
    assert_true(known->units > 0 && known->threads >= 1024 && known->groups && known->shared_kib);
}

/* Names as drivers tell them. Others that look like them have other memory. */
static void gpus_are_known_by_name(void **state)
{
    (void)state;
    static const char *const strangers[] = {"NVIDIA GeForce RTX 4090 Laptop GPU",
                                            "NVIDIA GeForce RTX 4090 D",
                                            "NVIDIA T400",
                                            "NVIDIA A10",
                                            "",
                                            "NVIDIA H100 NVL"};
    expect_known("NVIDIA A100-SXM4-40GB", "A100 40 GB", 1555);
    expect_known("NVIDIA A100-PCIE-40GB", "A100 40 GB", 1555);
    expect_known("NVIDIA A100-SXM4-80GB", "A100 80 GB", 2039);
    expect_known("NVIDIA A100 80GB PCIe", "A100 80 GB PCIe", 1935);
    expect_known("NVIDIA H100 80GB HBM3", "H100 SXM", 3350);
    expect_known("NVIDIA H100 PCIe", "H100 PCIe", 2000);
    expect_known("NVIDIA GeForce RTX 4090", "RTX 4090", 1008);
    expect_known("Tesla T4", "T4", 320);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        assert_null(stk__gpu_find(strangers[i]));
}

static void links_have_their_rates(void **state)
{
    (void)state;
    assert_true(fabs(stk__gpu_link_gb_per_s(3, 16) - 15.75) < 0.02);
    assert_true(fabs(stk__gpu_link_gb_per_s(4, 16) - 31.5) < 0.02);
    assert_true(fabs(stk__gpu_link_gb_per_s(5, 8) - 31.5) < 0.02);
    assert_true(stk__gpu_link_gb_per_s(1, 1) == 0.25);
    assert_true(isnan(stk__gpu_link_gb_per_s(0, 16)));
    assert_true(isnan(stk__gpu_link_gb_per_s(7, 16))); /* not built yet */
    assert_true(isnan(stk__gpu_link_gb_per_s(4, 0)));
}

/* Clocks and widths of an A100, a T4 and a 4090. */
static void memory_moves_twice_per_clock(void **state)
{
    (void)state;
    assert_true(fabs(stk__gpu_memory_gb_per_s(1215000, 5120) - 1555) < 1);
    assert_true(fabs(stk__gpu_memory_gb_per_s(5001000, 256) - 320) < 1);
    assert_true(fabs(stk__gpu_memory_gb_per_s(10501000, 384) - 1008) < 1);
    assert_true(isnan(stk__gpu_memory_gb_per_s(0, 5120)));
    assert_true(isnan(stk__gpu_memory_gb_per_s(1215000, NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_counted),
        cmocka_unit_test(gpus_are_known_by_name),
        cmocka_unit_test(links_have_their_rates),
        cmocka_unit_test(memory_moves_twice_per_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
