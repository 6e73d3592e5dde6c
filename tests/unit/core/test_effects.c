/* SPDX-License-Identifier: Apache-2.0 */
/* Effects (requested, in effect, why) as values, JSON and YAML that reads back the same, and the help of
 * all keys. */
#include "config_helpers.h"

static stk__effect effect_named(const stk__config *config, const char *name)
{
    for (size_t i = 0; i < stk__config_effect_count(config); i++)
        if (strcmp(stk__config_effect_at(config, i).name, name) == 0) return stk__config_effect_at(config, i);
    fail_msg("no effect of %s", name);
    return (stk__effect){0};
}

static void effects_differ_in_value_not_in_spelling(void **state)
{
    (void)state;
    stk__config *config =
        config_of("data: {pin_memory: yes, num_workers: auto, cache: 1024k, batch_size: 32,\n"
                  "       image_size: 320x160, shuffle: on, limit: 5}\n"
                  "optimizer: {lr: 0.1}\n");
    assert_int_equal(stk__config_effect(config, "pin_memory", "true", NULL, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "num_workers", "2", NULL, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "data.cache", "1M", NULL, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "data.batch_size", "16", NULL, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "data.image_size", "[160, 320]", NULL, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "data.shuffle", "in blocks", NULL, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "data.drop_last", "true", "one rank needs it", NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "data.seed", "7", NULL, NULL), STK_OK);
    assert_false(effect_named(config, "data.pin_memory").differs);
    assert_false(effect_named(config, "data.num_workers").differs);
    assert_false(effect_named(config, "data.cache").differs);
    assert_true(effect_named(config, "data.batch_size").differs);
    assert_false(effect_named(config, "data.image_size").differs);
    assert_true(effect_named(config, "data.shuffle").differs);
    assert_true(effect_named(config, "data.drop_last").differs);
    assert_null(effect_named(config, "data.drop_last").requested);
    assert_false(effect_named(config, "data.seed").differs);
    const stk__effect limit = effect_named(config, "data.limit"), lr = effect_named(config, "optimizer.lr");
    assert_true(limit.differs && !limit.in_effect && limit.origin == STK_ORIGIN_FILE);
    assert_string_equal(limit.why, "not used by this command");
    assert_true(lr.differs && !lr.in_effect);
    assert_string_equal(lr.requested, "0.1");
    assert_string_equal(lr.why, "not used here: stoker load has no optimiser");
    /* told again: replaced */
    assert_int_equal(stk__config_effect(config, "data.batch_size", "32", NULL, NULL), STK_OK);
    assert_false(effect_named(config, "data.batch_size").differs);
    assert_int_equal(stk__config_effect(config, "optimizer.lr", "1", NULL, NULL), STK_ERROR_ARGUMENT);
    assert_int_equal(stk__config_effect(config, "no_such", "1", NULL, NULL), STK_ERROR_CONFIG);
    stk__config_destroy(&config);
}

static void effects_come_from_a_struct(void **state)
{
    (void)state;
    stk__config *config = config_of("data: {root: /d, batch_size: 8, pin_memory: true, num_workers: 0}\n");
    data_options options = applied(config, "data");
    assert_int_equal(stk__options_fill(&data_table, &options, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "pin_memory", "false", "there is no CUDA here", NULL),
                     STK_OK);
    assert_int_equal(stk__config_effects_from(config, "data", &options, NULL), STK_OK);
    const size_t rows = DATA_COUNT - 1; /* image_size was left open, and nobody has told what became of it */
    assert_int_equal(stk__config_effect_count(config), rows);
    size_t differing = 0;
    for (size_t i = 0; i < rows; i++)
        differing += stk__config_effect_at(config, i).differs;
    assert_int_equal(differing, 1);
    assert_string_equal(effect_named(config, "data.pin_memory").in_effect, "false");
    assert_string_equal(effect_named(config, "data.prefetch_factor").in_effect, "2");
    stk__config_destroy(&config);
}

/* Expected texts have ' for ", to be readable here. */
static void check_json(json_t *rows, const char *name, const char *expected)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), name) != 0) continue;
        char *text = json_dumps(row, JSON_COMPACT);
        for (char *c = text; *c; c++)
            if (*c == '"') *c = '\'';
        assert_string_equal(text, expected);
        free(text);
        return;
    }
    fail_msg("no row %s", name);
}

static void check_json_start(json_t *rows, const char *name, const char *start, const char *end)
{
    char expected[256];
    snprintf(expected, sizeof expected, "%s%s", start, end);
    check_json(rows, name, expected);
}

static void json_keeps_numbers_numbers(void **state)
{
    (void)state;
    stk__config *config =
        config_of("data: {num_workers: 0, cache: 1k, timeout: 2m, pin_memory: on, shuffle: auto,\n"
                  "  image_size: 320x160, on_bad_sample: skip, batch_size: 4}\n"
                  "optimizer: {lr: 3}\n"
                  "run: {threads: auto}\n");
    check_set(config, "root", "caf\xe9", STK_ORIGIN_COMMAND); /* a file name, but not UTF-8 */
    assert_int_equal(stk__config_effect(config, "num_workers", "0", NULL, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "batch_size", "as fits", "a word", NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "pin_memory", "false", "no CUDA", NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "seed", "5", NULL, NULL), STK_OK);
    json_t *rows = stk__config_effects_json(config);
    assert_int_equal(json_array_size(rows), 12);
    check_json(rows, "data.num_workers",
               "{'name':'data.num_workers','requested':0,'in_effect':0,'why':null}");
    check_json(rows, "data.batch_size",
               "{'name':'data.batch_size','requested':4,'in_effect':'as fits','why':'a word'}");
    check_json(rows, "data.pin_memory",
               "{'name':'data.pin_memory','requested':true,'in_effect':false,'why':'no CUDA'}");
    check_json(rows, "data.seed", "{'name':'data.seed','requested':null,'in_effect':5,'why':null}");
    const char unused[] = ",'in_effect':null,'why':'not used by this command'}";
    check_json_start(rows, "data.cache", "{'name':'data.cache','requested':1024", unused);
    check_json_start(rows, "data.timeout", "{'name':'data.timeout','requested':120.0", unused);
    check_json_start(rows, "data.shuffle", "{'name':'data.shuffle','requested':'auto'", unused);
    check_json_start(rows, "data.image_size", "{'name':'data.image_size','requested':[160,320]", unused);
    check_json_start(rows, "data.on_bad_sample", "{'name':'data.on_bad_sample','requested':'skip'", unused);
    check_json_start(rows, "data.root", "{'name':'data.root','requested':'caf?'", unused);
    check_json_start(rows, "run.threads", "{'name':'run.threads','requested':'auto'", unused);
    check_json_start(rows, "optimizer.lr", "{'name':'optimizer.lr','requested':'3'",
                     ",'in_effect':null,'why':'not used here: stoker load has no optimiser'}");
    json_decref(rows);
    stk__config_destroy(&config);
}

static stk__buffer written(const stk__config *config)
{
    stk__buffer text = {0};
    assert_int_equal(stk__config_write_yaml(config, &text, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&text, "", 1, NULL), STK_OK);
    return text;
}

static void yaml_is_written_and_read_back(void **state)
{
    (void)state;
    stk__config *config =
        config_of("run: {device: cpu}\n"
                  "data: {root: 'a: \"b\" \\ c', image_size: 320x160, cache: 1024k, seed: 7,\n"
                  "  mask_map: {0: 0, 255: 1}, val: {batch_size: 8}, limits: {pixels: 1e6}}\n"
                  "optimizer: {lr: 3}\n");
    assert_int_equal(stk__config_effect(config, "data.val.num_workers", "2", NULL, NULL), STK_OK);
    assert_int_equal(stk__config_effect(config, "data.seed", "drawn\nanew", "asked for", NULL), STK_OK);
    stk__buffer text = written(config);
    assert_string_equal((const char *)text.data, "data:\n"
                                                 "  root: \"a: \\\"b\\\" \\\\ c\"\n"
                                                 "  image_size: 320x160\n"
                                                 "  # in words: seed: \"drawn\\x0aanew\"\n"
                                                 "  cache: 1024k\n"
                                                 "  mask_map: \"0:0,255:1\"\n"
                                                 "  limits.pixels: 1e6\n"
                                                 "  val.batch_size: 8\n"
                                                 "  val.num_workers: 2\n"
                                                 "run:\n"
                                                 "  device: \"cpu\"\n");
    stk__config *again = config_of((const char *)text.data);
    assert_string_equal(applied(again, "data").root, "a: \"b\" \\ c");
    assert_int_equal(applied(again, "data").image_size[0], 160);
    assert_int_equal(applied(again, "data").limits_pixels, 1000000);
    assert_int_equal(applied(again, "data.val").num_workers, 2);
    stk__buffer_fini(&text);
    stk__config_destroy(&again);
    stk__config_destroy(&config);
}

/* Paths may hold anything: what YAML would not take, or would take for the end of a line, is escaped. */
static void strange_letters_read_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\x01\t\x7f",    "a\xc2\x81z",   "\xc2\x85 \xc2\xa0", "\xe2\x80\xa8\xe2\x80\xa9",
        "\xef\xbb\277a", "\xef\xbf\xbe", "\xef\xbf\xbf",      " \xc3\xa4 \xf0\x9f\x98\x80 ",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk__config *config = config_of("");
        check_set(config, "data.root", texts[i], STK_ORIGIN_COMMAND);
        stk__buffer text = written(config);
        stk__config *again = config_of((const char *)text.data);
        assert_string_equal(applied(again, "data").root, texts[i]);
        stk__buffer_fini(&text);
        stk__config_destroy(&again);
        stk__config_destroy(&config);
    }
}

static void yaml_cannot_hold_other_bytes(void **state)
{
    (void)state;
    stk__buffer text = {0};
    stk_error error = {0};
    stk__config *config = config_of("");
    check_set(config, "data.root", "caf\xe9", STK_ORIGIN_COMMAND);
    assert_int_equal(stk__config_write_yaml(config, &text, &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.message, "'data.root' is not UTF-8"));
    stk__buffer_fini(&text);
    stk__config_destroy(&config);
}

static void empty_texts_are_not_written(void **state)
{
    (void)state;
    stk__config *config = config_of("data: {root: ''}\nrun: {device: cpu}\n");
    stk__buffer text = written(config);
    assert_string_equal((const char *)text.data, "run:\n  device: \"cpu\"\n");
    stk__buffer_fini(&text);
    stk__config_destroy(&config);
}

static void everything_in_effect_reads_back_the_same(void **state)
{
    (void)state;
    stk__config *config = config_of("data: {root: /d, num_workers: 3, timeout: 90s, on_bad_sample: skip}\n");
    data_options options = applied(config, "data");
    assert_int_equal(stk__options_fill(&data_table, &options, NULL), STK_OK);
    options.image_size[0] = options.image_size[1] = 64;
    options.mask_map = "0:0";
    assert_int_equal(stk__config_effects_from(config, "data", &options, NULL), STK_OK);
    stk__buffer text = written(config);
    stk__config *again = config_of((const char *)text.data);
    data_options back = applied(again, "data");
    assert_string_equal(back.root, options.root);
    assert_string_equal(back.mask_map, options.mask_map);
    back.root = options.root;
    back.mask_map = options.mask_map;
    assert_memory_equal(&back, &options, sizeof back);
    stk__buffer_fini(&text);
    stk__config_destroy(&again);
    stk__config_destroy(&config);
}

static void check_lines(const char *text, size_t columns)
{
    for (; *text; text += strcspn(text, "\n") + 1) {
        const size_t length = strcspn(text, "\n");
        if (length > columns) fail_msg("%zu columns: %.*s", length, (int)length, text);
        assert_true(length == 0 || text[length - 1] != ' ');
        assert_int_equal(text[length], '\n');
    }
}

static void help_names_every_key_once(void **state)
{
    (void)state;
    const int widths[] = {80, 110, 60, 10};
    for (size_t i = 0; i < 4; i++) {
        stk__buffer text = {0};
        assert_int_equal(stk__config_help(tables, TABLE_COUNT, widths[i], &text, NULL), STK_OK);
        assert_int_equal(stk__buffer_append(&text, "", 1, NULL), STK_OK);
        const char *help = (const char *)text.data;
        check_lines(help, widths[i] < 40 ? 40 : (size_t)widths[i]);
        for (size_t k = 0; k < DATA_COUNT; k++) {
            char line[64];
            snprintf(line, sizeof line, "\n  %s", data_table_options[k].name);
            assert_non_null(strstr(help, line));
        }
        assert_non_null(strstr(help, "default 256M"));
        assert_non_null(strstr(help, "\ndata.val\n  every key of data;"));
        stk__buffer_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_differ_in_value_not_in_spelling),
        cmocka_unit_test(effects_come_from_a_struct),
        cmocka_unit_test(json_keeps_numbers_numbers),
        cmocka_unit_test(yaml_is_written_and_read_back),
        cmocka_unit_test(strange_letters_read_back),
        cmocka_unit_test(yaml_cannot_hold_other_bytes),
        cmocka_unit_test(empty_texts_are_not_written),
        cmocka_unit_test(everything_in_effect_reads_back_the_same),
        cmocka_unit_test(help_names_every_key_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
