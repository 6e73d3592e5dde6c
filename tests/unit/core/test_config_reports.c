/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the field reports, as their authors wrote them, parse and mean what they say. */
#include "config_helpers.h"

static const char s0_best[] = "# S0: best performance; expected utilisation 85-95 %\n"
                              "data:\n"
                              "  batch_size: 32\n"
                              "  num_workers: 4\n"
                              "training:\n"
                              "  use_gpu_augmentation: true\n"
                              "  use_amp: true\n"
                              "gpu_augmentation:\n"
                              "  horizontal_flip_prob: 0.5\n"
                              "  rotation_degrees: 15\n"
                              "  brightness: 0.2\n"
                              "  contrast: 0.2\n";

static const char s0_debug[] = "# S0: debugging, one thread, augmentation on the CPU\n"
                               "data:\n"
                               "  batch_size: 8\n"
                               "  num_workers: 0\n"
                               "training:\n"
                               "  use_gpu_augmentation: false\n"
                               "  use_amp: false\n";

static const char s0_memory_limited[] = "# S0: little memory; expected utilisation 75-85 %\n"
                                        "data:\n"
                                        "  batch_size: 16\n"
                                        "  num_workers: 2\n"
                                        "training:\n"
                                        "  use_gpu_augmentation: true\n"
                                        "  use_amp: true\n"
                                        "gpu_augmentation:\n"
                                        "  horizontal_flip_prob: 0.5\n";

static const char s1_after[] = "# S1 as wanted: 450-500 W, 200-250 samples/s\n"
                               "train:\n"
                               "  batch_size: 512\n"
                               "  amp: true\n"
                               "  channels_last: true\n"
                               "  num_workers: 8\n"
                               "  pin_memory: true\n"
                               "  non_blocking: true\n"
                               "  gradient_accumulation_steps: 2\n"
                               "  compile_model: true\n"
                               "  compile_mode: \"max-autotune\"\n"
                               "  prefetch_factor: 4\n"
                               "optimizer:\n"
                               "  lr: 6.0e-4\n";

static const char s1_before[] = "# S1 as found: 300 of 575 W, about 100 samples/s\n"
                                "train:\n"
                                "  batch_size: 256\n"
                                "  amp: true\n"
                                "  channels_last: true\n"
                                "  num_workers: 28\n"
                                "  pin_memory: true\n"
                                "  non_blocking: true\n"
                                "  gradient_accumulation_steps: 1\n"
                                "  compile_model: false\n"
                                "  compile_mode: \"default\"\n"
                                "optimizer:\n"
                                "  lr: 3.0e-4\n";

static const char s2_after[] = "# S2 as wanted: 4 GPUs, 16 cores, 128x128 grey\n"
                               "data:\n"
                               "  batch_size: 128\n"
                               "  num_workers: 8\n"
                               "  prefetch_factor: 2\n"
                               "  persistent_workers: true\n"
                               "training:\n"
                               "  eval_interval: 5\n"
                               "  checkpoint_interval: 5\n";

static const char s3_after[] =
    "# S3 as wanted: 512x512 faces, 19 classes, strong augmentation on the device\n"
    "data:\n"
    "  batch_size: 32\n"
    "  num_workers: 8\n"
    "  val_split: 0.1\n"
    "  pin_memory: true\n"
    "  persistent_workers: true\n"
    "  prefetch_factor: 2\n"
    "  drop_last: true\n"
    "training:\n"
    "  use_amp: true\n"
    "  use_gpu_augmentation: true\n"
    "gpu_augmentation:\n"
    "  preset: strong\n";

static const char s4_after[] =
    "# S4 as wanted: sequence model; the grid was hidden 128, 256 and windows 30, 60, 90\n"
    "data:\n"
    "  batch_size: 256\n"
    "  num_workers: 8\n"
    "  prefetch_factor: 4\n"
    "  pin_memory: true\n"
    "  persistent_workers: true\n"
    "  sequence_length: 60\n"
    "model:\n"
    "  hidden: 128\n"
    "train:\n"
    "  tf32: true\n"
    "  compile: true\n"
    "  compile_mode: max-autotune\n";

static void check_report(const char *yaml, data_options expected, size_t foreign)
{
    stk__config *config = config_of(yaml);
    const data_options got = applied(config, "data");
    assert_memory_equal(&got, &expected, sizeof got);
    size_t unused = 0;
    for (size_t i = 0; i < stk__config_effect_count(config); i++)
        unused += strncmp(stk__config_effect_at(config, i).why, "not used here", 13) == 0;
    assert_int_equal(unused, foreign);
    stk__config_destroy(&config);
}

static void reports_mean_what_they_say(void **state)
{
    (void)state;
    check_report(s0_best, (data_options){.batch_size = 32, .num_workers = 4}, 2);
    check_report(s0_debug, (data_options){.batch_size = 8, .num_workers = -1}, 2);
    check_report(s0_memory_limited, (data_options){.batch_size = 16, .num_workers = 2}, 2);
    check_report(s1_after,
                 (data_options){.batch_size = 512, .num_workers = 8, .pin_memory = 1, .prefetch_factor = 4},
                 7);
    check_report(s1_before, (data_options){.batch_size = 256, .num_workers = 28, .pin_memory = 1}, 7);
    check_report(
        s2_after,
        (data_options){.batch_size = 128, .num_workers = 8, .prefetch_factor = 2, .persistent_workers = 1},
        2);
    check_report(s3_after,
                 (data_options){.batch_size = 32,
                                .num_workers = 8,
                                .val_split = 0.1,
                                .pin_memory = 1,
                                .persistent_workers = 1,
                                .prefetch_factor = 2,
                                .drop_last = 1},
                 2);
    check_report(s4_after,
                 (data_options){.batch_size = 256,
                                .num_workers = 8,
                                .prefetch_factor = 4,
                                .pin_memory = 1,
                                .persistent_workers = 1,
                                .sequence_length = 60},
                 4);
}

static void report_augmentation_reaches_its_section(void **state)
{
    (void)state;
    stk__config *config = config_of(s0_best);
    augment_options augment = {0};
    assert_int_equal(stk__config_apply(config, "augment", &augment, NULL), STK_OK);
    assert_true(augment.flip_prob == 0.5 && augment.brightness == 0.2 && augment.rotation_degrees == 15);
    stk__config_destroy(&config);
    config = config_of(s3_after);
    assert_int_equal(stk__config_apply(config, "augment", &augment, NULL), STK_OK);
    assert_int_equal(augment.preset, 3);
    stk__config_destroy(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_mean_what_they_say),
        cmocka_unit_test(report_augmentation_reaches_its_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
