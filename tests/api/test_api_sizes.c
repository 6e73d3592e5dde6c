/* SPDX-License-Identifier: Apache-2.0 */
/* struct_size: programs and libraries of different versions. The structs of other versions are made by hand
 * here: a shorter size is an older program, a longer one a newer program. */
#include <stoker/stoker.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What a program has that was compiled with a later header. */
typedef struct later_options {
    stk_loader_options known;
    int64_t later;
} later_options;

static stk_loader_options good_options(void)
{
    return (stk_loader_options){.root = "make:gray?count=8", .batch_size = 8, .num_workers = 1};
}

static stk_status try_open(const void *options, stk_error *error)
{
    stk_loader *loader;
    const stk_status status = stk_loader_open(&loader, options, error);
    if (status == STK_OK) assert_int_equal(stk_loader_describe(loader)->batch_size, 8);
    assert_int_equal(stk_loader_close(&loader), 0);
    return status;
}

static void zero_and_the_own_size_are_good(void **state)
{
    (void)state;
    stk_loader_options options = good_options();
    assert_int_equal(try_open(&options, NULL), STK_OK);
    options.struct_size = sizeof options;
    assert_int_equal(try_open(&options, NULL), STK_OK);
    options = STK_LOADER_OPTIONS_INIT;
    assert_int_equal(options.struct_size, sizeof options);
    assert_null(options.root);
}

/* The memory ends where struct_size or version 0.1 says, so a sanitizer sees who reads on. */
static void nothing_behind_the_size_is_read(void **state)
{
    (void)state;
    const size_t first = sizeof(stk_loader_options); /* of 0.1 */
    stk_loader_options *options = malloc(first);
    assert_non_null(options);
    *options = good_options();
    assert_int_equal(try_open(options, NULL), STK_OK);
    free(options);
}

static void later_fields_are_good_while_zero(void **state)
{
    (void)state;
    stk_error error = {0};
    later_options options = {.known = good_options()};
    options.known.struct_size = sizeof options;
    assert_int_equal(try_open(&options, &error), STK_OK);
    options.later = 1;
    assert_int_equal(try_open(&options, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "stk_loader_options has a field that libstoker"));
    assert_non_null(strstr(error.hint, "newer libstoker"));
    options.known.struct_size = sizeof options.known; /* then it is not looked at */
    assert_int_equal(try_open(&options, &error), STK_OK);
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, sizeof(size_t), sizeof(stk_loader_options) - 1, 65537, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        stk_error error = {0};
        stk_loader_options options = good_options();
        options.struct_size = sizes[i];
        assert_int_equal(try_open(&options, &error), STK_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "struct_size"));
        assert_true(error.hint[0]);
    }
}

static void monitors_have_it_too(void **state)
{
    (void)state;
    struct {
        stk_monitor_options known;
        double later;
    } options = {.known = {.struct_size = sizeof options, .demo = true, .interval_s = 0.01}};
    stk_monitor *monitor;
    assert_int_equal(stk_monitor_open(&monitor, &options.known, NULL), STK_OK);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    options.later = 1;
    assert_int_equal(stk_monitor_open(&monitor, &options.known, NULL), STK_ERROR_ARGUMENT);
    assert_null(monitor);
    options.known.struct_size = 5;
    assert_int_equal(stk_monitor_open(&monitor, &options.known, NULL), STK_ERROR_ARGUMENT);
}

static stk_status give_pixel(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                             stk_error *error)
{
    (void)context;
    (void)index;
    (void)field;
    (void)error;
    uint8_t *pixel = stk_sample_sink_pixels(sink, 1, 1, 1);
    if (pixel) *pixel = 7;
    return STK_OK;
}

/* Also inside of other options: those of the loader are this version's here. */
static void data_sets_have_it_too(void **state)
{
    (void)state;
    struct {
        stk_dataset known;
        int64_t later;
    } set = {.known = {.struct_size = sizeof set, .count = 8, .read = give_pixel}};
    const stk_loader_options options = {.batch_size = 8, .dataset = &set.known};
    stk_error error = {0};
    assert_int_equal(try_open(&options, &error), STK_OK);
    set.later = 1;
    assert_int_equal(try_open(&options, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "stk_dataset has a field that libstoker"));
    set.known.struct_size = 0;
    assert_int_equal(try_open(&options, &error), STK_OK);
    set.known.struct_size = sizeof(stk_dataset) - 1;
    assert_int_equal(try_open(&options, &error), STK_ERROR_ARGUMENT);
    const stk_dataset made = STK_DATASET_INIT;
    assert_int_equal(made.struct_size, sizeof made);
}

static void augmenters_have_it_too(void **state)
{
    (void)state;
    struct {
        stk_augment_options known;
        double later;
    } options = {.known = {.struct_size = sizeof options, .threads = 1}};
    stk_augmenter *augmenter;
    assert_int_equal(stk_augmenter_open(&augmenter, &options.known, NULL), STK_OK);
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    stk_error error = {0};
    io.struct_size = 9;
    assert_int_equal(stk_augmenter_apply(augmenter, &io, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "stk_augment_io has a struct_size of 9"));
    stk_augmenter_close(&augmenter);
    assert_null(augmenter);
    options.later = 1;
    assert_int_equal(stk_augmenter_open(&augmenter, &options.known, NULL), STK_ERROR_ARGUMENT);
    assert_null(augmenter);
}

/* Options of a later program, callbacks within them, and what is given back. */
static void trainers_have_it_too(void **state)
{
    (void)state;
    static const char *const settings[] = {"data.root=make:gray?count=8",
                                           "data.image_size=8",
                                           "data.num_workers=0",
                                           "data.val_split=0.5",
                                           "model.width=2",
                                           "model.depth=1",
                                           "run.threads=1",
                                           "run.engine=reference"};
    struct {
        stk_trainer_callbacks known;
        int64_t later;
    } callbacks = {.known = {.struct_size = sizeof callbacks}};
    struct {
        stk_trainer_options known;
        int64_t later;
    } options = {.known = {.struct_size = sizeof options,
                           .settings = settings,
                           .setting_count = sizeof settings / sizeof settings[0],
                           .no_files = true,
                           .callbacks = &callbacks.known}};
    struct {
        stk_trainer_progress known;
        double later;
    } progress = {.known = {.struct_size = sizeof progress}, .later = 4};
    struct {
        stk_trainer_score known;
        double later;
    } score = {.known = {.struct_size = 0}, .later = 4};
    stk_trainer *trainer;
    assert_int_equal(stk_trainer_open(&trainer, &options.known, NULL), STK_OK);
    assert_int_equal(stk_trainer_get_progress(trainer, &progress.known, NULL), STK_OK);
    assert_int_equal(progress.known.struct_size, sizeof progress);
    assert_true(progress.later == 0 && progress.known.epochs > 0); /* unknown here, so zero */
    assert_int_equal(stk_trainer_evaluate(trainer, &score.known, NULL), STK_OK);
    assert_true(score.later == 4 && score.known.samples == 4);
    assert_int_equal(score.known.struct_size, 0);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    callbacks.later = 1;
    assert_int_equal(stk_trainer_open(&trainer, &options.known, NULL), STK_ERROR_ARGUMENT);
    callbacks.later = 0;
    options.later = 1;
    assert_int_equal(stk_trainer_open(&trainer, &options.known, NULL), STK_ERROR_ARGUMENT);
    options.known.struct_size = 0; /* the first version's, so it is not read */
    assert_int_equal(stk_trainer_open(&trainer, &options.known, NULL), STK_OK);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    struct {
        stk_predictor_options known;
        int64_t later;
    } predictor_options = {.known = {.struct_size = sizeof predictor_options}, .later = 1};
    stk_predictor *predictor;
    stk_error error = {0};
    assert_int_equal(stk_predictor_open(&predictor, "nowhere", &predictor_options.known, &error),
                     STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "stk_predictor_options"));
}

/* A struct that the library fills: the caller's size is kept, nothing is written behind it. */
static void given_structs_keep_their_size(void **state)
{
    (void)state;
    struct {
        stk_option_info known;
        double later;
    } info = {.known = {.struct_size = sizeof info}, .later = 4};
    assert_int_equal(stk_option_describe("data", 0, &info.known, NULL), STK_OK);
    assert_int_equal(info.known.struct_size, sizeof info);
    assert_string_equal(info.known.name, "root");
    assert_true(info.later == 0); /* unknown here, so zero */
    info.later = 4;
    info.known = (stk_option_info){0};
    assert_int_equal(stk_option_describe("data", 0, &info.known, NULL), STK_OK);
    assert_int_equal(info.known.struct_size, 0);
    assert_true(info.later == 4);
    info.known.struct_size = 8;
    assert_int_equal(stk_option_describe("data", 0, &info.known, NULL), STK_ERROR_ARGUMENT);
}

/* Enums keep the size of int, and arrays by enum have room and a count. */
static void enums_and_counts(void **state)
{
    (void)state;
    assert_int_equal(sizeof(stk_status), sizeof(int));
    assert_int_equal(sizeof(stk_damage), sizeof(int));
    assert_int_equal(sizeof(stk_switch), sizeof(int));
    stk_loader *loader;
    stk_loader_options options = good_options();
    stk_loader_stats stats;
    assert_int_equal(stk_loader_open(&loader, &options, NULL), STK_OK);
    stk_loader_get_stats(loader, &stats);
    assert_int_equal(stk_loader_close(&loader), 0);
    assert_int_equal(stats.damage_count, STK_DAMAGE_COUNT);
    assert_int_equal(stats.stage_count, STK_STAGE_COUNT);
    for (int i = stats.damage_count; i < STK_DAMAGE_CAPACITY; i++)
        assert_int_equal(stats.damages[i], 0);
    assert_string_not_equal(stk_damage_name((stk_damage)(stats.damage_count - 1)), "unknown");
    assert_string_equal(stk_damage_name((stk_damage)stats.damage_count), "unknown");
    stk_monitor *monitor;
    stk_monitor_frame *frame;
    assert_int_equal(stk_monitor_open(&monitor, &(stk_monitor_options){.demo = true}, NULL), STK_OK);
    assert_int_equal(stk_monitor_next(monitor, &frame, NULL), STK_OK);
    assert_true(frame->gpu_count > 0);
    assert_int_equal(frame->gpu_frames[frame->gpu_count - 1].reading_count, STK_METRIC_COUNT);
    for (int i = STK_METRIC_COUNT; i < STK_METRIC_CAPACITY; i++)
        assert_int_equal(frame->gpu_frames[0].readings[i].known, STK_UNKNOWN);
    assert_int_equal(stk_monitor_close(&monitor), 0);
}

/* The headers that this was compiled with are those of the library. */
static void versions_agree(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", STK_VERSION_MAJOR, STK_VERSION_MINOR, STK_VERSION_PATCH);
    assert_string_equal(stk_version(), text);
    assert_int_equal(STK_VERSION_NUMBER,
                     STK_VERSION_MAJOR * 10000 + STK_VERSION_MINOR * 100 + STK_VERSION_PATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_and_the_own_size_are_good),
        cmocka_unit_test(nothing_behind_the_size_is_read),
        cmocka_unit_test(later_fields_are_good_while_zero),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(monitors_have_it_too),
        cmocka_unit_test(data_sets_have_it_too),
        cmocka_unit_test(augmenters_have_it_too),
        cmocka_unit_test(trainers_have_it_too),
        cmocka_unit_test(given_structs_keep_their_size),
        cmocka_unit_test(enums_and_counts),
        cmocka_unit_test(versions_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
