/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from YAML: styles of maps and lists, quoted words, duplicates, and malformed or hostile files,
 * each with its place and message. */
#include "config_helpers.h"

/* Every text must fail so, and leave nothing behind. */
static void check_yaml_refused(const char *yaml, const char *place, const char *message, const char *hint)
{
    stk__config *config = config_new();
    stk_error error = {0};
    assert_int_equal(stk__config_read_text(config, yaml, "t.yaml", &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, message);
    assert_string_equal(error.place, place);
    assert_string_equal(error.hint, hint);
    stk__config_destroy(&config);
    assert_null(config);
}

static void yaml_fills_the_struct(void **state)
{
    (void)state;
    stk__config *config = config_of("# a comment\n"
                                    "data:\n"
                                    "  root: /data/faces # where\n"
                                    "  batch-size: 64\n"
                                    "  workers: 0\n"
                                    "  image_size: [160, 320]\n"
                                    "  mask_map: {0: 0, 255: 1}\n"
                                    "  pin_memory: yes\n"
                                    "  cache: 2GiB\n"
                                    "  timeout: 500ms\n"
                                    "  on_bad_sample: skip\n"
                                    "  limits:\n"
                                    "    pixels: 1e6\n"
                                    "data.limits.bytes: 1M\n"
                                    "device: cpu\n");
    const data_options data = applied(config, "data");
    run_options run = {0};
    augment_options augment = {0};
    assert_int_equal(stk__config_apply(config, "run", &run, NULL), STK_OK);
    assert_int_equal(stk__config_apply(config, "augment", &augment, NULL), STK_OK);
    assert_string_equal(data.root, "/data/faces");
    assert_int_equal(data.batch_size, 64);
    assert_int_equal(data.num_workers, -1);
    assert_int_equal(data.image_size[0], 160);
    assert_int_equal(data.image_size[1], 320);
    assert_string_equal(data.mask_map, "0:0,255:1");
    assert_int_equal(data.pin_memory, 1);
    assert_true(data.cache_bytes == 2ull << 30 && data.timeout_s == 0.5);
    assert_int_equal(data.on_bad_sample, 2);
    assert_int_equal(data.limits_pixels, 1000000);
    assert_int_equal(data.limits_bytes, 1 << 20);
    assert_int_equal(data.prefetch_factor, 0);
    assert_string_equal(run.device, "cpu");
    assert_null(augment.device);
    stk__config_destroy(&config);
}

static void nothing_is_a_fine_file(void **state)
{
    (void)state;
    const char *const texts[] = {"",
                                 "\n\n",
                                 "# only a comment\n",
                                 "---\n",
                                 "~\n",
                                 "{}\n",
                                 "data:\n",
                                 "data: {}\n",
                                 "\xef\xbb\xbf",
                                 "data:\n  batch_size:\n  root: ~\n  seed: null\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk__config *config = config_of(texts[i]);
        assert_int_equal(stk__config_effect_count(config), 0);
        assert_int_equal(applied(config, "data").batch_size, 0);
        stk__config_destroy(&config);
    }
}

static void quoted_words_are_texts(void **state)
{
    (void)state;
    stk__config *config = config_of("data: {root: 'null', mask_map: \"\"}\n");
    assert_string_equal(applied(config, "data").root, "null");
    assert_string_equal(applied(config, "data").mask_map, "");
    stk__config_destroy(&config);
}

static void unknown_keys_name_the_nearest(void **state)
{
    (void)state;
    check_yaml_refused("data:\n  num_wrkers: 4\n", "t.yaml:2:3", "unknown key 'num_wrkers' in section 'data'",
                       "did you mean 'num_workers'?");
    check_yaml_refused("data:\n  limits:\n    pixls: 4\n", "t.yaml:3:5",
                       "unknown key 'limits.pixls' in section 'data'", "did you mean 'limits.pixels'?");
    check_yaml_refused("data:\n  limts: {pixels: 4}\n", "t.yaml:2:3", "unknown key 'limts' in section 'data'",
                       "did you mean 'limits.pixels'?");
    check_yaml_refused("data: {vla: {seed: 4}}\n", "t.yaml:1:8", "unknown key 'vla' in section 'data'",
                       "did you mean 'data.val'?");
    check_yaml_refused("data: {wrokers: 4}\n", "t.yaml:1:8", "unknown key 'wrokers' in section 'data'",
                       "did you mean 'num_workers'?");
    check_yaml_refused("run: {batch_size: 4}\n", "t.yaml:1:7", "unknown key 'batch_size' in section 'run'",
                       "'batch_size' belongs to section 'data'");
    check_yaml_refused("run: {batch_sizes: 4}\n", "t.yaml:1:7", "unknown key 'batch_sizes' in section 'run'",
                       "did you mean 'data.batch_size'?");
    check_yaml_refused("train: {batch_sise: 4}\n", "t.yaml:1:9",
                       "unknown key 'batch_sise' in section 'train'", "did you mean 'batch_size'?");
    check_yaml_refused("dta: {batch_size: 4}\n", "t.yaml:1:1", "unknown section 'dta'",
                       "did you mean 'data'?");
    check_yaml_refused("optimiser: {lr: 4}\n", "t.yaml:1:1", "unknown section 'optimiser'",
                       "did you mean 'optimizer'?");
    check_yaml_refused("temperature: 4\n", "t.yaml:1:1", "unknown key 'temperature'",
                       "all settings: stoker train --help");
}

static void sections_do_not_take_values(void **state)
{
    (void)state;
    check_yaml_refused("data: 5\n", "t.yaml:1:1", "'data' is a section and takes keys, not a value",
                       "set one of its keys: data.KEY=value");
    check_yaml_refused("train: [5]\n", "t.yaml:1:1", "'train' is a section and takes keys, not a value",
                       "set one of its keys: train.KEY=value");
}

static void maps_come_in_both_styles(void **state)
{
    (void)state;
    const char *const texts[] = {"data: {mask_map: {0: 0, 255: 1}}\n",
                                 "data:\n  mask_map:\n    0: 0\n    255: 1\n",
                                 "data: {mask_map: '0:0,255:1'}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk__config *config = config_of(texts[i]);
        assert_string_equal(applied(config, "data").mask_map, "0:0,255:1");
        stk__config_destroy(&config);
    }
}

/* A section with tuples alone: the fixture has none. */
static void lists_of_numbers_come_in_both_styles(void **state)
{
    (void)state;
    static const stk__option options[] = {
        {.name = "mean", .type = STK_OPTION_TRIPLE, .help = "h"},
        {.name = "shift", .type = STK_OPTION_PAIR, .offset = sizeof(double[3]), .most = 1, .help = "h"}};
    static const stk__option_table table = {"data", NULL, NULL, options, 2, sizeof(double[5])};
    const char *const texts[] = {"data: {mean: [1, 0, 3], shift: [0.5, 0.25]}\n",
                                 "data:\n  mean:\n  - 1\n  - 0\n  - 3\n  shift:\n  - 0.5\n  - 0.25\n",
                                 "data: {mean: '1,0,3', shift: '0.5, 0.25'}\n"};
    const stk__option_table *const all[] = {&table};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk__config *config;
        double got[5] = {0};
        assert_int_equal(stk__config_create(&config, all, 1, NULL), STK_OK);
        assert_int_equal(stk__config_read_text(config, texts[i], "t.yaml", NULL), STK_OK);
        assert_int_equal(stk__config_apply(config, "data", got, NULL), STK_OK);
        assert_true(got[0] == 1 && got[1] == 0 && got[2] == 3 && got[3] == 0.5 && got[4] == 0.25);
        assert_int_equal(stk__config_effects_from(config, "data", got, NULL), STK_OK);
        assert_false(stk__config_effect_at(config, 0).differs || stk__config_effect_at(config, 1).differs);
        json_t *rows = stk__config_effects_json(config);
        json_t *mean = json_object_get(json_array_get(rows, 0), "in_effect");
        json_t *shift = json_object_get(json_array_get(rows, 1), "in_effect");
        assert_true(json_array_size(mean) == 3 && json_real_value(json_array_get(mean, 2)) == 3);
        assert_true(json_array_size(shift) == 2 && json_real_value(json_array_get(shift, 1)) == 0.25);
        json_decref(rows);
        stk__config_destroy(&config);
    }
}

static void values_are_checked_where_they_stand(void **state)
{
    (void)state;
    check_yaml_refused("data:\n  batch_size: 0\n", "t.yaml:2:15", "data.batch_size = '0' is below 1",
                       "give an integer, 1 to 65536");
    check_yaml_refused("data:\n  batch_size: [1, 2]\n", "t.yaml:2:15",
                       "data.batch_size = '[1, 2]' is not an integer",
                       "it takes one value; to try each: --grid data.batch_size=1,2");
    check_yaml_refused("data:\n  batch_size: {1: 2}\n", "t.yaml:2:15",
                       "data.batch_size = '1:2' is not an integer", "give an integer, 1 to 65536");
    check_yaml_refused("data:\n  root: {a: b}\n", "t.yaml:2:9", "'data.root' takes a text, not a map",
                       "put it in quotes if it starts with '{'");
    check_yaml_refused("train: {batch: x}\n", "t.yaml:1:16", "data.batch_size = 'x' is not an integer",
                       "give an integer, 1 to 65536");
    check_yaml_refused("data: {val: {seed: x}}\n", "t.yaml:1:20", "data.val.seed = 'x' is not an integer",
                       "give an integer");
}

static void ambiguous_keys_are_refused(void **state)
{
    (void)state;
    check_yaml_refused("preset: strong\n", "t.yaml:1:1", "'preset' can mean 'run.preset' or 'augment.preset'",
                       "write it with its section");
}

static void duplicates_are_refused(void **state)
{
    (void)state;
    check_yaml_refused("data:\n  seed: 1\n  seed: 1\n", "t.yaml:3:9", "'data.seed' is set twice",
                       "the other one is at t.yaml:2:9");
    check_yaml_refused("data: {batch_size: 1}\ntrain: {batch: 2}\n", "t.yaml:2:16",
                       "'data.batch_size' is set twice", "the other one is at t.yaml:1:20");
    check_yaml_refused("data: {seed: ~, seed: 1}\n", "t.yaml:1:23", "'data.seed' is set twice",
                       "the other one is at t.yaml:1:14");
    check_yaml_refused("data: {seed: 1}\nrun: {}\ndata: {limit: 1}\n", "t.yaml:3:7",
                       "duplicate section 'data'", "put all its keys into one section");
    check_yaml_refused("train: {epochs: 1}\ntraining: {epochs: 2}\n", "t.yaml:2:20",
                       "'train.epochs' is set twice", "");
}

static void odd_yaml_is_refused_with_a_reason(void **state)
{
    (void)state;
    const char decorated[] = "anchors (&), aliases (*) and tags (!) are not supported in settings";
    const char write_out[] = "write the value out, or in quotes if it starts with one of these";
    check_yaml_refused("data: &a {seed: 1}\n", "t.yaml:1:7", decorated, write_out);
    check_yaml_refused("data: {root: &a x}\n", "t.yaml:1:14", decorated, write_out);
    check_yaml_refused("data: {root: *a}\n", "t.yaml:1:14", decorated, write_out);
    check_yaml_refused("data: {root: !!str 5}\n", "t.yaml:1:14", decorated, write_out);
    check_yaml_refused("data: {image_size: &b [1, 2]}\n", "t.yaml:1:20", decorated, write_out);
    const char root[] = "settings must be a map of keys and values";
    const char how[] = "write 'section:' and below it 'key: value'";
    check_yaml_refused("[1, 2]\n", "t.yaml:1:1", root, how);
    check_yaml_refused("just words\n", "t.yaml:1:1", root, how);
    check_yaml_refused("data: {seed: 1}\n---\ndata: {seed: 2}\n", "t.yaml:2:1", "more than one YAML document",
                       "");
    check_yaml_refused("? [a, b]\n: 1\n", "t.yaml:1:3", "a key must be a single word", "");
    check_yaml_refused("data: {image_size: [[1, 2], 3]}\n", "t.yaml:1:21",
                       "a list or map inside a list or map value", "only plain values are possible here");
    check_yaml_refused("data: {mask_map: {0: {1: 2}}}\n", "t.yaml:1:22",
                       "a list or map inside a list or map value", "only plain values are possible here");
    check_yaml_refused("data: {mask_map: {0: '1,2'}}\n", "t.yaml:1:22",
                       "a value in a list or map must not have ',', ':' or brackets in it", "");
    check_yaml_refused("data: {root: \"a\\0b\"}\n", "t.yaml:1:14", "a NUL byte in a text", "");
}

static void broken_yaml_says_where(void **state)
{
    (void)state;
    check_yaml_refused(
        "data:\n\tseed: 1\n", "t.yaml:2:1",
        "not valid YAML: found character that cannot start any token while scanning for the next token",
        "indent with spaces, not with tabs");
    check_yaml_refused("data: {seed: 1\n", "t.yaml:2:1",
                       "not valid YAML: did not find expected ',' or '}' while parsing a flow mapping", "");
    check_yaml_refused("data:\n  root: caf\xe9 noir\n", "t.yaml:2:13",
                       "not valid YAML: invalid trailing UTF-8 octet", "settings are plain text in UTF-8");
    check_yaml_refused("\xff\xfe", "t.yaml:1:1", "not valid YAML: invalid leading UTF-8 octet",
                       "settings are plain text in UTF-8");
    check_yaml_refused("data: {root: a\x01}\n", "t.yaml:1:15",
                       "not valid YAML: control characters are not allowed",
                       "settings are plain text in UTF-8");
}

static void check_hostile(char *text, const char *message)
{
    stk__config *config = config_new();
    stk_error error = {0};
    assert_int_equal(stk__config_read_text(config, text, "t.yaml", &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, message);
    stk__config_destroy(&config);
    stk__free(text);
}

static void hostile_yaml_is_cheap(void **state)
{
    (void)state;
    check_hostile(repeat("optimizer: ", "{a: ", 100000, ""), "maps are nested more than 8 deep");
    check_hostile(repeat("data: {image_size: ", "[", 100000, ""), "a list or map inside a list or map value");
    check_hostile(repeat("", "#", (1 << 20) + 1, ""), "the settings are larger than 1 MiB");
    check_hostile(repeat("optimizer: {a", "a", 500, ": 1}"), "a key is too long");
    check_hostile(
        repeat("data: {batch_size: ", "9", 1000000, "}"),
        "data.batch_size = "
        "'99999999999999999999999999999999999999999999999999999999999999999999999999999999' is not an "
        "integer");
    stk__buffer many = {0};
    for (int i = 0; i < 5000; i++) {
        char line[32];
        const int length = snprintf(line, sizeof line, "optimizer.k%d: 1\n", i);
        assert_int_equal(stk__buffer_append(&many, line, (size_t)length, NULL), STK_OK);
    }
    assert_int_equal(stk__buffer_append(&many, "", 1, NULL), STK_OK);
    check_hostile((char *)many.data, "more than 4096 keys");
}

static void a_huge_text_is_kept_whole(void **state)
{
    (void)state;
    char *yaml = repeat("data: {root: ", "r", 1000000, "}");
    stk__config *config = config_of(yaml);
    assert_int_equal(strlen(applied(config, "data").root), 1000000);
    stk__config_destroy(&config);
    stk__free(yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_fills_the_struct),
        cmocka_unit_test(nothing_is_a_fine_file),
        cmocka_unit_test(quoted_words_are_texts),
        cmocka_unit_test(unknown_keys_name_the_nearest),
        cmocka_unit_test(sections_do_not_take_values),
        cmocka_unit_test(maps_come_in_both_styles),
        cmocka_unit_test(lists_of_numbers_come_in_both_styles),
        cmocka_unit_test(values_are_checked_where_they_stand),
        cmocka_unit_test(ambiguous_keys_are_refused),
        cmocka_unit_test(duplicates_are_refused),
        cmocka_unit_test(odd_yaml_is_refused_with_a_reason),
        cmocka_unit_test(broken_yaml_says_where),
        cmocka_unit_test(hostile_yaml_is_cheap),
        cmocka_unit_test(a_huge_text_is_kept_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
