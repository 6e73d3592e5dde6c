/* SPDX-License-Identifier: Apache-2.0 */
/* Layered settings: which layer wins, unknown keys and suggestions, aliases and bare keys, environment
 * variables, and foreign sections. */
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
    check_set_refused("data.xyzzy", "4", "unknown key 'xyzzy' in section 'data'",
                      "its settings: stoker help data");
    check_set_refused("", "4", "unknown key ''", "all settings: stoker train --help");
    check_set_refused("data.", "4", "unknown key '' in section 'data'", "its settings: stoker help data");
}

static void sections_do_not_take_values(void **state)
{
    (void)state;
    check_set_refused("data.limits", "5", "'data.limits' is a section and takes keys, not a value",
                      "set one of its keys: data.limits.KEY=value");
    check_set_refused("data.val", "5", "'data.val' is a section and takes keys, not a value",
                      "set one of its keys: data.val.KEY=value");
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

/* Variables do not show where a section ends: the longest section that is known counts. */
static void environment_splits_at_the_longest_section(void **state)
{
    (void)state;
    check_environment_refused("STOKER_DATA_VAL_NUM_WRKERS=3", NULL, "environment STOKER_DATA_VAL_NUM_WRKERS",
                              "unknown key 'num_wrkers' in section 'data.val'",
                              "did you mean 'num_workers'?");
    check_environment_refused("STOKER_Data_Num_Wrkers=3", NULL, "environment STOKER_Data_Num_Wrkers",
                              "unknown key 'num_wrkers' in section 'data'", "did you mean 'num_workers'?");
    check_environment_refused("STOKER_TRAINING_NUM_WRKERS=3", NULL, "environment STOKER_TRAINING_NUM_WRKERS",
                              "unknown key 'num_wrkers' in section 'training'",
                              "did you mean 'num_workers'?");
    char *environment[] = {"STOKER_DATA=1", "STOKER_DATASET_ROOT=1", "STOKER_VAL_SPLIT=1", "STOKER_=1", NULL};
    stk__config *config = config_new();
    assert_int_equal(stk__config_read_environment(config, environment, NULL), STK_OK);
    assert_int_equal(stk__config_effect_count(config), 0);
    char *foreign[] = {"STOKER_OPTIMIZER_BETAS=0.9", NULL};
    assert_int_equal(stk__config_read_environment(config, foreign, NULL), STK_OK);
    assert_string_equal(stk__config_effect_at(config, 0).name, "optimizer.betas");
    stk__config_destroy(&config);
}

static void environment_refuses_what_it_cannot_mean(void **state)
{
    (void)state;
    check_environment_refused("STOKER_DATA_NUM_WRKERS=3", NULL, "environment STOKER_DATA_NUM_WRKERS",
                              "unknown key 'num_wrkers' in section 'data'", "did you mean 'num_workers'?");
    check_environment_refused("STOKER_DATA_BATCH_SIZE=0", NULL, "environment STOKER_DATA_BATCH_SIZE",
                              "data.batch_size = '0' is below 1", "give an integer, 1 to 65536");
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
    assert_string_equal(error.hint, "check the path of the YAML file");
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

static void foreign_keys_have_layers_too(void **state)
{
    (void)state;
    stk__config *config = config_new();
    check_set(config, "optimizer.lr", "3", STK_ORIGIN_COMMAND);
    assert_int_equal(stk__config_read_text(config, "optimizer: {lr: 1, betas: [0.9, 0.99]}", "a", NULL),
                     STK_OK);
    check_set(config, "optimizer.betas", "none", STK_ORIGIN_ENVIRONMENT);
    assert_int_equal(stk__config_effect_count(config), 2);
    assert_string_equal(stk__config_effect_at(config, 0).requested, "3");
    assert_int_equal(stk__config_effect_at(config, 0).origin, STK_ORIGIN_COMMAND);
    assert_string_equal(stk__config_effect_at(config, 1).requested, "none");
    char *longer = repeat("optimizer.", "x", 300, "");
    stk_error error = {0};
    assert_int_equal(stk__config_set(config, longer, "1", STK_ORIGIN_COMMAND, NULL, &error),
                     STK_ERROR_CONFIG);
    assert_non_null(strstr(error.message, "is too long"));
    stk__free(longer);
    stk__config_destroy(&config);
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
        cmocka_unit_test(environment_splits_at_the_longest_section),
        cmocka_unit_test(environment_refuses_what_it_cannot_mean),
        cmocka_unit_test(files_are_read_or_explained),
        cmocka_unit_test(foreign_keys_have_layers_too),
        cmocka_unit_test(misuse_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
