#include "config_helpers.h"

#include "core/file.h"

#include <unistd.h>

static void check_set_refused(const char *key, const char *value, const char *message, const char *hint)
{
    stk__config *config = config_new();
    stk_error error = {0};
    assert_int_equal(stk__config_set(config, key, value, STK_ORIGIN_COMMAND, "command line", &error),
                     STK_ERROR_CONFIG);
    assert_string_equal(error.message, message);
    assert_string_equal(error.hint, hint);
    assert_string_equal(error.place, "command line");
    assert_int_equal(stk__config_set(config, key, value, STK_ORIGIN_COMMAND, NULL, NULL), STK_ERROR_CONFIG);
    stk__config_destroy(&config);
}

static void unknown_keys_name_the_nearest(void **state)
{
    (void)state;
    check_set_refused("num_wokers", "4", "unknown key 'num_wokers'", "did you mean 'num_workers'?");
    check_set_refused("date.num_workers", "4", "unknown section 'date'", "did you mean 'data'?");
    check_set_refused("data.xyzzy", "4", "unknown key 'xyzzy' in section 'data'", "");
    check_set_refused("", "4", "unknown key ''", "");
    check_set_refused("data.", "4", "unknown key '' in section 'data'", "");
}

static void sections_do_not_take_values(void **state)
{
    (void)state;
    check_set_refused("data.limits", "5", "'data.limits' is a section and takes keys, not a value", "");
    check_set_refused("data.val", "5", "'data.val' is a section and takes keys, not a value", "");
}

static void values_are_checked(void **state)
{
    (void)state;
    check_set_refused("on-bad-sample", "ignore", "data.on_bad_sample = 'ignore' is not one of the choices",
                      "give fail, replace or skip");
}

static void layers_win_in_any_order_of_calls(void **state)
{
    (void)state;
    /* Every order of the five layers gives the command line; without the highest, the next one. */
    const char *const values[] = {"1", "2", "3", "4", "5"};
    for (int start = 0; start < 5; start++)
        for (int step = 1; step < 5; step++)
            for (int most = 0; most < 5; most++) {
                stk__config *config = config_new();
                for (int i = 0; i < 5; i++) {
                    const int layer = (start + i * step) % 5;
                    if (layer <= most) check_set(config, "seed", values[layer], (stk__origin)layer);
                }
                stk__origin origin;
                assert_string_equal(stk__config_requested(config, "data.seed", &origin), values[most]);
                assert_int_equal(origin, most);
                assert_int_equal(applied(config, "data").seed, most + 1);
                stk__config_destroy(&config);
            }
}

static void real_layers_meet(void **state)
{
    (void)state;
    char *environment[] = {"STOKER_DATA_SEED=3", "STOKER_DATA_LIMIT=3", NULL};
    stk__config *config = config_new();
    check_set(config, "data.seed", "4", STK_ORIGIN_COMMAND);
    assert_int_equal(stk__config_read_environment(config, environment, NULL), STK_OK);
    assert_int_equal(stk__config_read_text(config, "data: {seed: 2, limit: 2, batch_size: 2}", "a", NULL),
                     STK_OK);
    check_set(config, "batch_size", "1", STK_ORIGIN_PRESET);
    check_set(config, "prefetch_factor", "1", STK_ORIGIN_PRESET);
    const data_options data = applied(config, "data");
    assert_int_equal(data.seed, 4);
    assert_int_equal(data.limit, 3);
    assert_int_equal(data.batch_size, 2);
    assert_int_equal(data.prefetch_factor, 1);
    /* inside one layer the later one wins, and an empty value takes back */
    check_set(config, "seed", "5", STK_ORIGIN_COMMAND);
    assert_int_equal(stk__config_read_text(config, "data: {batch_size: 7, limit: }", "b", NULL), STK_OK);
    assert_int_equal(applied(config, "data").seed, 5);
    assert_int_equal(applied(config, "data").batch_size, 7);
    assert_int_equal(applied(config, "data").limit, 3);
    stk__config_destroy(&config);
}

static void validation_starts_from_training(void **state)
{
    (void)state;
    stk__config *config =
        config_of("data: {batch_size: 32, seed: 9, num_workers: 4, val: {batch_size: 8}}\n");
    check_set(config, "data.val.num_workers", "0", STK_ORIGIN_DEFAULT);
    check_set(config, "val.limits.pixels", "5", STK_ORIGIN_COMMAND);
    check_set(config, "batch_size", "64", STK_ORIGIN_COMMAND);
    const data_options data = applied(config, "data"), val = applied(config, "data.val");
    assert_int_equal(data.batch_size, 64);
    assert_int_equal(val.batch_size, 8); /* the narrower key wins, whatever the layers */
    assert_int_equal(val.seed, 9);
    assert_int_equal(data.num_workers, 4);
    assert_int_equal(val.num_workers, -1);
    assert_int_equal(data.limits_pixels, 0);
    assert_int_equal(val.limits_pixels, 5);
    assert_null(stk__config_requested(config, "data.val.seed", NULL));
    stk__config_destroy(&config);
    config = config_of("val: {seed: 3}\n");
    assert_int_equal(applied(config, "data.val").seed, 3);
    assert_int_equal(applied(config, "data").seed, 0);
    stk__config_destroy(&config);
}

static void bare_keys_are_unique_or_marked(void **state)
{
    (void)state;
    stk__config *config = config_new();
    check_set(config, "device", "cuda:0", STK_ORIGIN_COMMAND); /* marked in run */
    check_set(config, "horizontal-flip-prob", "0.5", STK_ORIGIN_COMMAND);
    assert_string_equal(stk__config_requested(config, "run.device", NULL), "cuda:0");
    assert_null(stk__config_requested(config, "augment.device", NULL));
    assert_string_equal(stk__config_requested(config, "gpu_augmentation.horizontal_flip_prob", NULL), "0.5");
    assert_null(stk__config_requested(config, "no_such_key", NULL));
    assert_null(stk__config_requested(config, "optimizer.lr", NULL));
    stk__config_destroy(&config);
    check_set_refused("preset", "strong", "'preset' can mean 'run.preset' or 'augment.preset'",
                      "write it with its section");
}

static void environment_knows_every_spelling(void **state)
{
    (void)state;
    char *environment[] = {"PATH=/bin",
                           "STOKER_CPU=avx2",
                           "STOKER_TORCH=/opt/torch",
                           "STOKER_DATABASE=5",
                           "STOKER_DATA_NUM_WORKERS=3",
                           "STOKER_TRAINING_BATCH=16",
                           "STOKER_DATA_VAL_BATCH_SIZE=4",
                           "STOKER_DATA_VAL_SPLIT=0.25",
                           "STOKER_DATA_LIMITS_PIXELS=77",
                           "STOKER_DATA_SEED=",
                           "STOKER_GPU_AUGMENTATION_PRESET=strong",
                           "STOKER_OPTIMIZER_LR=0.1",
                           "STOKER_NOTHING",
                           NULL};
    stk__config *config = config_new();
    assert_int_equal(stk__config_read_environment(config, environment, NULL), STK_OK);
    const data_options data = applied(config, "data"), val = applied(config, "data.val");
    assert_int_equal(data.num_workers, 3);
    assert_int_equal(data.batch_size, 16);
    assert_int_equal(val.batch_size, 4);
    assert_true(data.val_split == 0.25);
    assert_int_equal(data.limits_pixels, 77);
    assert_int_equal(data.seed, 0);
    assert_string_equal(stk__config_requested(config, "augment.preset", NULL), "strong");
    assert_int_equal(stk__config_effect_count(config), 7);
    assert_string_equal(stk__config_effect_at(config, 6).name, "optimizer.lr");
    stk__config_destroy(&config);
}

static void check_environment_refused(char *first, char *second, const char *place, const char *message,
                                      const char *hint)
{
    char *environment[] = {first, second, NULL};
    stk__config *config = config_new();
    stk_error error = {0};
    assert_int_equal(stk__config_read_environment(config, environment, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, message);
    assert_string_equal(error.place, place);
    assert_string_equal(error.hint, hint);
    stk__config_destroy(&config);
}

static void environment_refuses_what_it_cannot_mean(void **state)
{
    (void)state;
    check_environment_refused("STOKER_DATA_NUM_WRKERS=3", NULL, "environment STOKER_DATA_NUM_WRKERS",
                              "unknown key 'num_wrkers' in section 'data'", "did you mean 'num_workers'?");
    check_environment_refused("STOKER_DATA_BATCH_SIZE=0", NULL, "environment STOKER_DATA_BATCH_SIZE",
                              "data.batch_size = '0' is below 1", "give a whole number, 1 to 65536");
    check_environment_refused("STOKER_DATA_BATCH_SIZE=1", "STOKER_TRAIN_BATCH_SIZE=2",
                              "environment STOKER_TRAIN_BATCH_SIZE", "'data.batch_size' is set twice",
                              "the other one is at environment STOKER_DATA_BATCH_SIZE");
    char *longer[] = {repeat("STOKER_DATA_", "X", 400, "=1"), repeat("STOKER_OPTIMIZER_", "X", 400, "=1"),
                      repeat("STOKER_", "X", 400, "=1")};
    stk__config *config = config_new();
    for (size_t i = 0; i < 3; i++) {
        char *environment[] = {longer[i], NULL};
        assert_int_equal(stk__config_read_environment(config, environment, NULL),
                         i < 2 ? STK_ERROR_CONFIG : STK_OK);
        stk__free(longer[i]);
    }
    stk__config_destroy(&config);
}

static void files_are_read_or_explained(void **state)
{
    (void)state;
    char folder[] = "/tmp/stk_config_XXXXXX", path[64], *large = repeat("", "#", (1 << 20) + 1, "");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.yaml", folder);
    stk__config *config = config_new();
    stk_error error = {0};
    assert_int_equal(stk__config_read_file(config, path, &error), STK_ERROR_IO);
    assert_string_equal(error.place, path);
    assert_int_equal(strncmp(error.message, "cannot read the settings: ", 26), 0);
    assert_string_equal(error.hint, "");
    assert_int_equal(stk__config_read_file(config, folder, &error), STK_ERROR_IO);
    const char yaml[] = "data:\n  seed: 5\n  sed: 6\n";
    assert_int_equal(
        stk__file_write(path, (stk__buffer){(uint8_t *)yaml, sizeof yaml - 1, 0}, STK_FILE_QUICK, NULL),
        STK_OK);
    assert_int_equal(stk__config_read_file(config, path, &error), STK_ERROR_CONFIG);
    char place[96];
    snprintf(place, sizeof place, "%s:3:3", path);
    assert_string_equal(error.place, place);
    assert_int_equal(applied(config, "data").seed, 5);
    assert_int_equal(
        stk__file_write(path, (stk__buffer){(uint8_t *)large, strlen(large), 0}, STK_FILE_QUICK, NULL),
        STK_OK);
    assert_int_equal(stk__config_read_file(config, path, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, "cannot read the settings: the file is larger than 1 MiB");
    stk__config_destroy(&config);
    stk__config_destroy(&config); /* again: nothing */
    stk__config_destroy(NULL);
    stk__free(large);
    unlink(path);
    rmdir(folder);
}

static void misuse_is_reported(void **state)
{
    (void)state;
    stk__config *config = config_new();
    data_options options = {0};
    stk_error error = {0};
    assert_int_equal(stk__config_apply(config, "datas", &options, &error), STK_ERROR_ARGUMENT);
    assert_string_equal(error.message, "there are no options of section 'datas'");
    stk__config_destroy(&config);
    const stk__option broken = {.name = "n", .type = STK_OPTION_INT, .offset = 99, .help = "h"};
    const stk__option_table table = {"room", NULL, NULL, &broken, 1, 8}, *const list[] = {&table};
    assert_int_equal(stk__config_create(&config, list, 1, &error), STK_ERROR_ARGUMENT);
    assert_null(config);
}

/* The settings of the field reports, as their authors wrote them. */
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
        cmocka_unit_test(unknown_keys_name_the_nearest),
        cmocka_unit_test(sections_do_not_take_values),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(layers_win_in_any_order_of_calls),
        cmocka_unit_test(real_layers_meet),
        cmocka_unit_test(validation_starts_from_training),
        cmocka_unit_test(bare_keys_are_unique_or_marked),
        cmocka_unit_test(environment_knows_every_spelling),
        cmocka_unit_test(environment_refuses_what_it_cannot_mean),
        cmocka_unit_test(files_are_read_or_explained),
        cmocka_unit_test(misuse_is_reported),
        cmocka_unit_test(reports_mean_what_they_say),
        cmocka_unit_test(report_augmentation_reaches_its_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
