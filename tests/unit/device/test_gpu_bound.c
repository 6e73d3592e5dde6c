/* SPDX-License-Identifier: Apache-2.0 */
/* What memory, schedulers and link of a GPU allow: against numbers worked out by hand. */
#include "device/gpu_bound.h"

#include "device/kernel/kernel_launch.h"

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
    const double pixels = (double)COUNT * SIDE * SIDE, numbers = COUNT * sizeof(stk__kernel_sample);
    stk__augment_batch batch = make_batch();
    assert_true(stk__gpu_bound_bytes(&batch) == 17 * pixels + numbers);
    for (int i = 0; i < COUNT; i++) {
        blocks[i].step_count = 2;
        blocks[i].step_kind[0] = STK_COLOUR_BRIGHTNESS;
        blocks[i].step_kind[1] = STK_COLOUR_CONTRAST;
    }
    assert_true(stk__gpu_bound_bytes(&batch) == 20 * pixels + 2 * numbers);
    batch.target.dtype = STK_DTYPE_F16;
    assert_true(stk__gpu_bound_bytes(&batch) == 14 * pixels + 2 * numbers);
    batch.target.mask = NULL;
    batch.masks = NULL;
    assert_true(stk__gpu_bound_bytes(&batch) == 12 * pixels + 2 * numbers);
    blocks[0].step_kind[1] = STK_COLOUR_BRIGHTNESS; /* one without */
    assert_true(stk__gpu_bound_bytes(&batch) ==
                12 * pixels + 2 * numbers - 3.0 * SIDE * SIDE - (double)sizeof(stk__kernel_sample));
}

/* 32 x 512 x 512 pixels on an A100 of 40 GB: 17 bytes a pixel take 0.092 ms; 878 instructions a pixel take
 * 8388608 x 878 / (108 x 128 x 1.41 GHz) = 0.378 ms, 100 of them less than the bytes. */
static void the_slower_of_bytes_and_instructions_counts(void **state)
{
    (void)state;
    const stk__augment_batch batch = make_batch();
    stk__gpu_speed a100 = stk__gpu_speed_of(stk__gpu_find("NVIDIA A100-SXM4-40GB"), (stk__gpu_speed){0});
    stk__gpu_bound bound = stk__gpu_bound_of(&batch, 878, &a100);
    assert_true(fabs(bound.memory_ms - 0.092) < 0.0005 && fabs(bound.issue_ms - 0.378) < 0.0005);
    assert_true(bound.ms == bound.issue_ms);
    bound = stk__gpu_bound_of(&batch, 100, &a100);
    assert_true(bound.ms == bound.memory_ms);
    assert_true(isnan(stk__gpu_bound_of(&batch, NAN, &a100).ms));
    a100.memory_gb_per_s = NAN; /* the larger of one number and an unknown one is unknown */
    assert_true(isnan(stk__gpu_bound_of(&batch, 878, &a100).ms));
    assert_true(stk__gpu_instructions("strong") >= stk__gpu_instructions("standard"));
    assert_true(isnan(stk__gpu_instructions("nothing")));
}

/* A seventh of an A100: 14 multiprocessors, the GPU's clock, its share of the memory. */
static void a_mig_instance_has_its_share(void **state)
{
    (void)state;
    const stk__known_gpu *a100 = stk__gpu_find("NVIDIA A100-SXM4-40GB MIG 1g.5gb");
    const stk__gpu_speed told = {14, 1000, NAN}, part = stk__gpu_speed_of(a100, told);
    assert_non_null(a100);
    assert_string_equal(a100->name, "A100 40 GB");
    assert_true(part.units == 14 && part.clock_mhz == 1410);
    assert_true(fabs(part.memory_gb_per_s - 1555 * 14 / 108.0) < 0.01);
    assert_true(stk__gpu_speed_of(NULL, told).clock_mhz == 1000);
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
                                            "NVIDIA A10G",
                                            "NVIDIA A100X",
                                            "NVIDIA L40",
                                            "NVIDIA H200 NVL",
                                            "Tesla V100S-PCIE-32GB",
                                            "NVIDIA GeForce RTX 2080 Ti",
                                            "NVIDIA GeForce RTX 2080 SUPER",
                                            "NVIDIA GeForce RTX 3080 Ti",
                                            "NVIDIA GeForce RTX 3080 Laptop GPU",
                                            "NVIDIA GeForce RTX 3090 Ti",
                                            "NVIDIA GeForce RTX 5090 D",
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
    expect_known("NVIDIA A10", "A10", 600);
    expect_known("NVIDIA L4", "L4", 300);
    expect_known("NVIDIA L40S", "L40S", 864);
    expect_known("NVIDIA H200", "H200", 4800);
    expect_known("NVIDIA B200", "B200", 8000);
    expect_known("Tesla V100-SXM2-16GB", "V100 SXM2", 900);
    expect_known("Tesla V100-SXM2-32GB", "V100 SXM2", 900);
    expect_known("Tesla V100-PCIE-32GB", "V100 PCIe", 900);
    expect_known("GeForce RTX 2080", "RTX 2080", 448);
    expect_known("NVIDIA GeForce RTX 3080", "RTX 3080", 760);
    expect_known("NVIDIA GeForce RTX 3090", "RTX 3090", 936);
    expect_known("NVIDIA GeForce RTX 5090", "RTX 5090", 1792);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        assert_null(stk__gpu_find(strangers[i]));
}

/* FP32 rates of the data sheets in TFLOPS, which hold clock and multiprocessors together. */
static void clocks_are_those_of_the_data_sheets(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double tflops;
    } sheets[] = {{"A100 80 GB PCIe", 19.5},
                  {"A100 80 GB", 19.5},
                  {"A100 40 GB", 19.5},
                  {"H100 PCIe", 51},
                  {"H100 SXM", 67},
                  {"H200", 67},
                  {"B200", 75},
                  {"A10", 31.2},
                  {"L4", 30.3},
                  {"L40S", 91.6},
                  {"T4", 8.1},
                  {"V100 SXM2", 15.7},
                  {"V100 PCIe", 14},
                  {"RTX 2080", 10.1},
                  {"RTX 3080", 29.8},
                  {"RTX 3090", 35.6},
                  {"RTX 4090", 82.6},
                  {"RTX 5090", 104.8}};
    int count = 0;
    for (const stk__known_gpu *row; (row = stk__gpu_known(count)); count++) {
        const int lanes = row->architecture <= 80 ? 64 : 128;
        const double tflops = row->units * lanes * 2 * row->clock_mhz * 1e-6;
        assert_true((size_t)count < sizeof sheets / sizeof sheets[0]);
        assert_string_equal(row->name, sheets[count].name);
        if (fabs(tflops / sheets[count].tflops - 1) > 0.015) fail_msg("%s: %g TFLOPS", row->name, tflops);
    }
    assert_int_equal(count, sizeof sheets / sizeof sheets[0]);
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
        cmocka_unit_test(the_slower_of_bytes_and_instructions_counts),
        cmocka_unit_test(a_mig_instance_has_its_share),
        cmocka_unit_test(clocks_are_those_of_the_data_sheets),
        cmocka_unit_test(gpus_are_known_by_name),
        cmocka_unit_test(links_have_their_rates),
        cmocka_unit_test(memory_moves_twice_per_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
