/* SPDX-License-Identifier: Apache-2.0 */
/* Files of lines KEY = value: INI, TOML and Python's literals; what is not that is refused with its place. */
#include "config_helpers.h"

static stk_status read_as(const char *name, const char *text, stk__config **config, stk_error *error)
{
    *config = config_new();
    *error = (stk_error){0};
    return stk__config_read_text(*config, text, name, error);
}

static void check_refused(const char *name, const char *text, const char *place, const char *message)
{
    stk__config *config;
    stk_error error;
    assert_int_equal(read_as(name, text, &config, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.place, place);
    assert_string_equal(error.message, message);
    stk__config_destroy(&config);
}

static data_options read_good(const char *name, const char *text, stk__config **config)
{
    stk_error error;
    if (read_as(name, text, config, &error) != STK_OK)
        fail_msg("%s: %s (%s)", error.place, error.message, error.hint);
    return applied(*config, "data");
}

static void lines_of_ini_are_read(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf; my settings\r\n\r\n"
                               "[data]\r\n"
                               "root = my pictures # here\r\n"
                               "BATCH_SIZE = 256\r\n"
                               "  num-workers=3 ; threads\r\n"
                               "image_size = [64, 128]\r\n"
                               "drop_last = True\r\n"
                               "seed =\r\n"
                               "[data.val]\r\n"
                               "batch_size = 8\r\n"
                               "[run]\r\n"
                               "device = \"cuda:0\"";
    stk__config *config;
    const data_options data = read_good("a", text, &config);
    assert_string_equal(data.root, "my pictures");
    assert_int_equal(data.batch_size, 256);
    assert_int_equal(data.num_workers, 3);
    assert_int_equal(data.image_size[0], 64);
    assert_int_equal(data.image_size[1], 128);
    assert_int_equal(data.drop_last, 1);
    assert_int_equal(applied(config, "data.val").batch_size, 8);
    assert_null(stk__config_requested(config, "data.seed", NULL));
    assert_string_equal(stk__config_requested(config, "run.device", NULL), "cuda:0");
    stk__config_destroy(&config);
}

static void literals_of_python_are_read(void **state)
{
    (void)state;
    static const char text[] = "# settings\n"
                               "BATCH_SIZE = 1_024  # large\n"
                               "ROOT = 'C:\\data\\\\x#y'\n"
                               "PIN_MEMORY = True\n"
                               "PERSISTENT_WORKERS = False\n"
                               "LIMIT = None\n"
                               "IMAGE_SIZE = (64, 128)\n"
                               "SEED = (7)\n"
                               "VAL_SPLIT = .25\n"
                               "TIMEOUT = \"2m\"\n";
    stk__config *config;
    const data_options data = read_good("settings.py", text, &config);
    assert_int_equal(data.batch_size, 1024);
    assert_string_equal(data.root, "C:\\data\\x#y");
    assert_int_equal(data.pin_memory, 1);
    assert_int_equal(data.persistent_workers, -1);
    assert_int_equal(data.limit, 0);
    assert_int_equal(data.image_size[1], 128);
    assert_int_equal(data.seed, 7);
    assert_true(data.val_split == 0.25 && data.timeout_s == 120);
    stk__config_destroy(&config);
}

static void content_decides(void **state)
{
    (void)state;
    stk__config *config;
    assert_int_equal(read_good("x.yaml", "# c\n\nseed = 3\n", &config).seed, 3);
    stk__config_destroy(&config);
    assert_int_equal(read_good("x", "[data]\nseed = 3\n", &config).seed, 3);
    stk__config_destroy(&config);
    assert_int_equal(read_good("x", "seed: 3\n", &config).seed, 3);
    stk__config_destroy(&config);
    assert_int_equal(read_good("x", "{seed: 3}\n", &config).seed, 3);
    stk__config_destroy(&config);
    assert_int_equal(read_good("x.ini", "", &config).seed, 0);
    stk__config_destroy(&config);
    assert_string_equal(read_good("x", "root: a=b\n", &config).root, "a=b");
    stk__config_destroy(&config);
    check_refused("x", "[]\n", "x:1:1", "settings must be a map of keys and values");
    check_refused("x.ini", "seed: 3\n", "x.ini:1:1", "this line is not KEY = value");
}

static void code_is_refused(void **state)
{
    (void)state;
    static const char not_pair[] = "this line is not KEY = value", not_literal[] = "this is not a literal";
    check_refused("a.py", "import os\n", "a.py:1:1", not_pair);
    check_refused("a.py", "SEED = 1\nclass Config:\n    SEED = 2\n", "a.py:2:1", not_pair);
    check_refused("a.py", "SEED = 1\n    LIMIT = 2\n", "a.py:2:5", not_pair);
    check_refused("a.py", "[data]\n", "a.py:1:1", not_pair);
    check_refused("a.py", "SEED == 1\n", "a.py:1:1", not_pair);
    check_refused("a.py", "SEED += 1\n", "a.py:1:1", not_pair);
    check_refused("a.py", "BATCH_SIZE = 2 * 16\n", "a.py:1:14", not_literal);
    check_refused("a.py", "ROOT = os.path.join('a', 'b')\n", "a.py:1:8", not_literal);
    check_refused("a.py", "ROOT = 'a' + 'b'\n", "a.py:1:12", not_literal);
    check_refused("a.py", "SEED = nan\n", "a.py:1:8", not_literal);
    check_refused("a.py", "SEED =\n", "a.py:1:7", not_literal);
    check_refused("a.py", "ROOT = 'a\n", "a.py:1:8", "a text without its second quote");
    check_refused("a.py", "IMAGE_SIZE = [64,\n", "a.py:1:14", "a list must end in its line");
    check_refused("a.py", "IMAGE_SIZE = [[1], 2]\n", "a.py:1:15", "a list inside a list");
    check_refused("a.py", "IMAGE_SIZE = [1 2]\n", "a.py:1:15", not_literal);
    check_refused("a.py", "IMAGE_SIZE = ['1' 2]\n", "a.py:1:19", "a list needs ',' between its values");
    check_refused("a.py", "IMAGE_SIZE = [None, 2]\n", "a.py:1:15",
                  "a value in a list must be a number or a word without ',' and brackets");
    check_refused("a.py", "MASK_MAP = {0: 1}\n", "a.py:1:12", "a map is not possible here");
}

static void mistakes_have_their_place(void **state)
{
    (void)state;
    check_refused("a.ini", "[data]\n\nseeed = 1\n", "a.ini:3:1", "unknown key 'seeed' in section 'data'");
    check_refused("a.ini", "[dat]\n", "a.ini:1:2", "unknown section 'dat'");
    check_refused("a.ini", "[data\n", "a.ini:1:1", "this is not a section");
    check_refused("a.ini", "[data] x\n", "a.ini:1:1", "this is not a section");
    check_refused("a.ini", "batch_size =   many\n", "a.ini:1:16",
                  "data.batch_size = 'many' is not an integer");
    check_refused("a.ini", "seed = 1\nSEED = 2\n", "a.ini:2:8", "'data.seed' is set twice");
    check_refused("a.ini", "root = \"\xc3\xa4\" b\n", "a.ini:1:12", "this is not a literal");
    check_refused("a.ini", "root = \xff\n", "a.ini:1:1", "not valid UTF-8");
    check_refused("a.ini", "just words\n", "a.ini:1:1", "this line is not KEY = value");
}

static void bounds_hold(void **state)
{
    (void)state;
    char *text = repeat("root = ", "a", 5000, "\n");
    check_refused("a.ini", text, "a.ini:1:1", "a line is too long");
    stk__free(text);
    text = repeat("", "a", 300, " = 1\n");
    check_refused("a.ini", text, "a.ini:1:1", "a key is too long");
    stk__free(text);
    text = repeat("", "seed = 1\n", 2, "");
    check_refused("a.ini", text, "a.ini:2:8", "'data.seed' is set twice");
    stk__free(text);
    text = repeat("mask_map = [", "1,", 2000, "1]\n");
    check_refused("a.ini", text, "a.ini:1:12", "a value is too long");
    stk__free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_ini_are_read),     cmocka_unit_test(literals_of_python_are_read),
        cmocka_unit_test(content_decides),           cmocka_unit_test(code_is_refused),
        cmocka_unit_test(mistakes_have_their_place), cmocka_unit_test(bounds_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
