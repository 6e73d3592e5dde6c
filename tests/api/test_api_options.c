/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as data: all sections are there, each row is complete, and its default is within its own range. */
#include <stoker/stoker.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static stk_option_info describe(const char *section, int index)
{
    stk_option_info info = STK_OPTION_INFO_INIT;
    stk_error error = {0};
    if (stk_option_describe(section, index, &info, &error) != STK_OK) fail_msg("%s", error.message);
    return info;
}

static stk_option_info find(const char *section, const char *name)
{
    for (int i = 0; i < stk_option_count(section); i++) {
        const stk_option_info info = describe(section, i);
        if (strcmp(info.name, name) == 0) return info;
    }
    fail_msg("there is no %s.%s", section, name);
    return (stk_option_info){0};
}

static void sections_are_listed(void **state)
{
    (void)state;
    static const char *const sections[] = {"data",  "augment",   "model", "loss",
                                           "train", "optimizer", "run",   "pack"};
    const int count = sizeof sections / sizeof sections[0];
    for (int i = 0; i < count; i++) {
        assert_string_equal(stk_option_section(i), sections[i]);
        assert_true(stk_option_count(sections[i]) > 0);
    }
    assert_null(stk_option_section(count));
    assert_null(stk_option_section(-1));
    assert_int_equal(stk_option_count("nothing"), 0);
    assert_int_equal(stk_option_count(""), 0);
}

static void rows_are_what_the_tables_say(void **state)
{
    (void)state;
    const stk_option_info batch = find("data", "batch_size"), policy = find("data", "on_bad_sample"),
                          cache = find("data", "limits.memory"),
                          flip = find("augment", "horizontal_flip_prob"), seed = find("data", "seed"),
                          workers = find("data", "num_workers");
    assert_int_equal(batch.type, STK_OPTION_INT);
    assert_string_equal(batch.section, "data");
    assert_string_equal(batch.fallback, "32");
    assert_true(batch.least == 1 && batch.most == 65536 && batch.tunable);
    assert_string_equal(batch.expects, "an integer, 1 to 65536");
    assert_int_equal(policy.type, STK_OPTION_WORD);
    assert_string_equal(policy.choices, "fail|replace|skip");
    assert_string_equal(policy.expects, "fail, replace or skip");
    assert_null(policy.unit);
    assert_int_equal(cache.type, STK_OPTION_BYTES);
    assert_string_equal(cache.unit, "bytes");
    assert_int_equal(flip.type, STK_OPTION_SHARE);
    assert_true(flip.least == 0 && flip.most == 1);
    assert_true(isinf(seed.least) && seed.least < 0 && isinf(seed.most) && seed.most > 0);
    assert_string_equal(workers.aliases, "workers");
}

static void every_row_is_complete(void **state)
{
    (void)state;
    int rows = 0;
    for (int s = 0; stk_option_section(s); s++)
        for (int i = 0; i < stk_option_count(stk_option_section(s)); i++, rows++) {
            const stk_option_info info = describe(stk_option_section(s), i);
            assert_string_equal(info.section, stk_option_section(s));
            assert_true(info.name && info.name[0] && info.help && info.help[0] && info.expects[0]);
            assert_true(info.least <= info.most);
            assert_true(info.type == STK_OPTION_TEXT || /* names that are known, if any */
                        (info.type == STK_OPTION_WORD) == (info.choices != NULL));
            const bool number = info.type == STK_OPTION_INT || info.type == STK_OPTION_NUMBER;
            if (!number || !info.fallback) continue;
            const double fallback = strtod(info.fallback, NULL);
            assert_true(fallback >= info.least && fallback <= info.most);
        }
    assert_true(rows > 100);
}

static void what_is_not_there_is_refused(void **state)
{
    (void)state;
    stk_option_info info = STK_OPTION_INFO_INIT;
    stk_error error = {0};
    assert_int_equal(stk_option_describe("data", -1, &info, &error), STK_ERROR_ARGUMENT);
    assert_int_equal(stk_option_describe("data", stk_option_count("data"), &info, &error),
                     STK_ERROR_ARGUMENT);
    assert_int_equal(stk_option_describe("date", 0, &info, &error), STK_ERROR_ARGUMENT);
    assert_string_equal(error.message, "there is no setting 0 in section 'date'");
    assert_null(info.name);
}

/* Each setting of the loader goes by its name into its own field, and what is wrong is named. */
static void loader_options_are_set_by_name(void **state)
{
    (void)state;
    stk_loader_options options = STK_LOADER_OPTIONS_INIT;
    stk_error error = {0};
    static const char *const pairs[][2] = {
        {"root", "faces"},         {"workers", "0"},     {"batch_size", "16"},
        {"limits.memory", "8G"},   {"shuffle", "false"}, {"image_size", "8x4"},
        {"mean", "[0.5, 0, 0.5]"}, {"timeout", "500ms"}, {"axes", "nchw"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_int_equal(stk_loader_options_set(&options, pairs[i][0], pairs[i][1], &error), STK_OK);
    assert_string_equal(options.root, "faces");
    assert_int_equal(options.num_workers, STK_WORKERS_NONE);
    assert_int_equal(options.batch_size, 16);
    assert_true(options.limit_memory_bytes == (uint64_t)8 << 30);
    assert_int_equal(options.shuffle, STK_SWITCH_OFF);
    assert_true(options.image_size[0] == 4 && options.image_size[1] == 8);
    assert_true(options.mean[0] == 0.5 && options.mean[1] == 0 && options.mean[2] == 0.5);
    assert_true(options.timeout_s == 0.5);
    assert_int_equal(options.axes, STK_AXES_NCHW);
    assert_int_equal(stk_loader_options_set(&options, "batchsize", "2", &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, "unknown key 'batchsize' in section 'data'");
    assert_string_equal(error.hint, "did you mean 'batch_size'?");
    assert_int_equal(stk_loader_options_set(&options, "batch_size", "many", &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.message, "data.batch_size = 'many'"));
    assert_int_equal(stk_loader_options_set(&options, "batch_size", "0", &error), STK_ERROR_CONFIG);
    assert_int_equal(options.batch_size, 16);
    options.struct_size = offsetof(stk_loader_options, seed);
    assert_int_equal(stk_loader_options_set(&options, "seed", "1", &error), STK_ERROR_ARGUMENT);
    assert_int_equal(options.seed, 0);
}

/* Every setting that the description of section data has. */
static void every_loader_option_can_be_set(void **state)
{
    (void)state;
    static const char *const values[] = {
        [STK_OPTION_TEXT] = "x",     [STK_OPTION_INT] = "1",    [STK_OPTION_COUNT] = "1",
        [STK_OPTION_NUMBER] = "0.5", [STK_OPTION_SWITCH] = "1", [STK_OPTION_BYTES] = "1",
        [STK_OPTION_SECONDS] = "1",  [STK_OPTION_SIZE2] = "1",  [STK_OPTION_TRIPLE] = "0.5",
    };
    for (int i = 0; i < stk_option_count("data"); i++) {
        const stk_option_info info = describe("data", i);
        char word[64];
        stk_loader_options options = STK_LOADER_OPTIONS_INIT, before = options;
        const char *value = info.type == STK_OPTION_WORD ? word : values[info.type];
        if (info.type == STK_OPTION_WORD) {
            const char *second = strchr(info.choices, '|') + 1;
            snprintf(word, sizeof word, "%.*s", (int)strcspn(second, "|="), second);
        }
        assert_non_null(value);
        assert_int_equal(stk_loader_options_set(&options, info.name, value, NULL), STK_OK);
        assert_memory_not_equal(&options, &before, sizeof options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_listed),
        cmocka_unit_test(rows_are_what_the_tables_say),
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(loader_options_are_set_by_name),
        cmocka_unit_test(every_loader_option_can_be_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
