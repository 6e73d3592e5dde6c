/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables: every type is parsed, printed and read back; ranges, defaults, and mistakes in tables. */
#include "config_fixture.h"
#include "core/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const stk__option *option_named(const char *name)
{
    for (size_t i = 0; i < DATA_COUNT; i++)
        if (stk__option_is_named(&data_table_options[i], name, strlen(name))) return &data_table_options[i];
    fail_msg("no option %s", name);
    return NULL;
}

static data_options parsed(const char *name, const char *text)
{
    data_options options = {0};
    stk_error error = {0};
    if (stk__option_parse(option_named(name), text, &options, &error) != STK_OK)
        fail_msg("%s: %s", text, error.message);
    return options;
}

static stk_error refused(const char *name, const char *text)
{
    data_options options, before;
    memset(&options, 0x5a, sizeof options);
    before = options;
    stk_error error = {0};
    assert_int_equal(stk__option_parse(option_named(name), text, &options, &error), STK_ERROR_CONFIG);
    assert_memory_equal(&options, &before, sizeof options);
    assert_int_equal(error.code, STK_ERROR_CONFIG);
    return error;
}

/* Printed, and read back to the same. */
static void check_print(const char *name, const char *text, const char *printed)
{
    const stk__option *option = option_named(name);
    data_options options = parsed(name, text), again = {0};
    char out[STK_OPTION_TEXT_BYTES];
    stk__option_print(option, &options, out, sizeof out);
    assert_string_equal(out, printed);
    assert_int_equal(stk__option_parse(option, out, &again, NULL), STK_OK);
    if (option->type != STK_OPTION_TEXT) assert_memory_equal(&options, &again, sizeof again);
}

static void whole_numbers(void **state)
{
    (void)state;
    assert_int_equal(parsed("batch_size", "32").batch_size, 32);
    assert_int_equal(parsed("batch", "1e3").batch_size, 1000);
    assert_int_equal(parsed("seed", "-7").seed, -7);
    assert_true(parsed("seed", "-9223372036854775808").seed == INT64_MIN);
    const char *const bad[] = {
        "", "x", "3.5", "1e40", "32 ", " 32", "0x10", "nan", "9223372036854775808", "[1, 2]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused("seed", bad[i]);
    assert_string_equal(refused("batch_size", "many").message, "batch_size = 'many' is not an integer");
    assert_string_equal(refused("batch_size", "many").hint, "give an integer, 1 to 65536");
    check_print("seed", "1e6", "1000000");
}

static void ranges_are_named(void **state)
{
    (void)state;
    assert_string_equal(refused("batch_size", "0").message, "batch_size = '0' is below 1");
    assert_string_equal(refused("batch_size", "65537").message, "batch_size = '65537' is above 65536");
    assert_string_equal(refused("val_split", "0.95").message, "val_split = '0.95' is above 0.9");
    assert_string_equal(refused("val_split", "-0.1").message, "val_split = '-0.1' is below 0");
    assert_string_equal(refused("num_workers", "5000").message, "num_workers = '5000' is above 1024");
    assert_string_equal(refused("image_size", "0x5").message, "image_size = '0x5' is below 1");
    assert_string_equal(refused("limits.bytes", "0").message, "limits.bytes = '0' is below 1");
    assert_string_equal(refused("limits.pixels", "0").hint, "give an integer, 1 or more");
    assert_string_equal(refused("timeout", "25h").message, "timeout = '25h' is above 86400");
}

static void counts_tell_none_from_auto(void **state)
{
    (void)state;
    assert_int_equal(parsed("num_workers", "auto").num_workers, 0);
    assert_int_equal(parsed("workers", "0").num_workers, -1);
    assert_int_equal(parsed("num_workers", "8").num_workers, 8);
    assert_string_equal(refused("num_workers", "-1").message,
                        "num_workers = '-1' is neither auto nor an integer");
    assert_string_equal(refused("num_workers", "few").hint, "give auto or an integer, 0 to 1024");
    check_print("num_workers", "0", "0");
    check_print("num_workers", "Auto", "auto");
    check_print("num_workers", "3", "3");
}

static void numbers(void **state)
{
    (void)state;
    assert_true(parsed("val_split", "0.1").val_split == 0.1);
    assert_true(parsed("val_split", "5e-2").val_split == 5e-2);
    assert_string_equal(refused("val_split", "a tenth").message, "val_split = 'a tenth' is not a number");
    refused("val_split", "nan");
    refused("val_split", "inf");
    refused("val_split", "0,1");
    check_print("val_split", "0.10", "0.1");
    check_print("val_split", "6.0e-4", "0.0006");
    check_print("val_split", "0.30000000000000004", "0.30000000000000004");
}

static void check_float(float value, const char *expected)
{
    char text[32];
    stk__option_print_float(value, text, sizeof text);
    assert_string_equal(text, expected);
}

static void floats_are_short_and_read_back(void **state)
{
    (void)state;
    check_float(0.1f, "0.1");
    check_float(1.0f / 3, "0.33333334");
    check_float(16777216, "16777216");
    check_float(FLT_MAX, "3.4028235e+38");
    check_float(-FLT_TRUE_MIN, "-1.4013e-45");
    for (uint32_t i = 0; i < 100000; i++) {
        const uint32_t bits = i * 2654435761u; /* of all sizes */
        char text[32];
        float value;
        double back;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        stk__option_print_float(value, text, sizeof text);
        assert_true(stk__number_real(text, strlen(text), &back) && (float)back == value);
        assert_true(strlen(text) <= strlen("-1.23456789e-38"));
    }
}

static void switches(void **state)
{
    (void)state;
    const char *const on[] = {"true", "True", "YES", "on", "1"}, *const off[] = {"false", "no", "Off", "0"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(parsed("pin_memory", on[i]).pin_memory, 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(parsed("pin_memory", off[i]).pin_memory, -1);
    assert_int_equal(parsed("pin_memory", "auto").pin_memory, 0);
    assert_string_equal(refused("pin_memory", "maybe").message,
                        "pin_memory = 'maybe' is neither true nor false");
    refused("pin_memory", "");
    check_print("pin_memory", "yes", "true");
    check_print("pin_memory", "0", "false");
    check_print("pin_memory", "auto", "auto");
}

static void words(void **state)
{
    (void)state;
    assert_int_equal(parsed("on_bad_sample", "fail").on_bad_sample, 0);
    assert_int_equal(parsed("on_bad_sample", "Skip").on_bad_sample, 2);
    assert_int_equal(parsed("on_bad_sample", "stop").on_bad_sample, 0);
    assert_string_equal(refused("on_bad_sample", "ignore").message,
                        "on_bad_sample = 'ignore' is not one of the choices");
    assert_string_equal(refused("on_bad_sample", "ignore").hint, "give fail, replace or skip");
    refused("on_bad_sample", "");
    refused("on_bad_sample", "fail=stop");
    refused("on_bad_sample", "ski");
    check_print("on_bad_sample", "stop", "fail");
    check_print("on_bad_sample", "replace", "replace");
}

static void sizes_in_bytes(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint64_t bytes;
        const char *printed;
    } good[] = {
        {"4096", 4096, "4k"},        {"64k", 65536, "64k"},
        {"64M", 64u << 20, "64M"},   {"2G", 2ull << 30, "2G"},
        {"2GiB", 2ull << 30, "2G"},  {"2 gib", 2ull << 30, "2G"},
        {"1e6", 1000000, "1000000"}, {"1MB", 1000000, "1000000"},
        {"1.5k", 1536, "1536"},      {"0", 0, "0"},
        {"3T", 3ull << 40, "3T"},    {"100b", 100, "100"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(parsed("cache", good[i].text).cache_bytes == good[i].bytes);
        check_print("cache", good[i].text, good[i].printed);
    }
    const char *const bad[] = {"", "-1", "0.1", "64x", "64kk", "M", "1e30", "64 M B", "k64"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused("cache", bad[i]);
    assert_string_equal(refused("cache", "lots").message, "cache = 'lots' is not a size in bytes");
}

static void times(void **state)
{
    (void)state;
    assert_true(parsed("timeout", "30").timeout_s == 30);
    assert_true(parsed("timeout", "1.5 s").timeout_s == 1.5);
    assert_true(parsed("timeout", "500ms").timeout_s == 0.5);
    assert_true(parsed("timeout", "2m").timeout_s == 120);
    assert_true(parsed("timeout", "2min").timeout_s == 120);
    assert_true(parsed("timeout", "1h").timeout_s == 3600);
    const char *const bad[] = {"", "-1", "1d", "ms", "1e999", "2mm"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused("timeout", bad[i]);
    assert_string_equal(refused("timeout", "soon").message, "timeout = 'soon' is not a time");
    check_print("timeout", "500ms", "0.5");
}

static void sizes_of_images(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int32_t h, w;
    } good[] = {{"512", 512, 512},
                {"[160, 320]", 160, 320},
                {"[160,320]", 160, 320},
                {"320x160", 160, 320},
                {"320 X 160", 160, 320}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const data_options options = parsed("image_size", good[i].text);
        assert_int_equal(options.image_size[0], good[i].h);
        assert_int_equal(options.image_size[1], good[i].w);
    }
    const char *const bad[] = {"",   "[]",    "[5]",        "[5, ]", "[1, 2, 3]", "5x",
                               "x5", "1x2x3", "3000000000", "[1, 2", "a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused("image_size", bad[i]);
    assert_string_equal(refused("size", "big").message, "image_size = 'big' is not a height and width");
    check_print("img_size", "320x160", "[160, 320]");
    check_print("img-size", "64x64", "64");
}

static void shares_and_ranges(void **state)
{
    (void)state;
    struct {
        double share, range[2];
    } o = {0}, zero = {0};
    const stk__option share = {.name = "p", .type = STK_OPTION_SHARE};
    const stk__option range = {
        .name = "r", .type = STK_OPTION_RANGE, .offset = sizeof(double), .least = -1, .most = 9};
    char text[STK_OPTION_TEXT_BYTES];
    assert_true(stk__option_is_zero(&share, &zero) && stk__option_is_zero(&range, &zero));
    stk__option_print(&range, &zero, text, sizeof text);
    assert_string_equal(text, "0");
    assert_int_equal(stk__option_parse(&share, "0", &o, NULL), STK_OK);
    assert_true(o.share == -1); /* never, and not default */
    stk__option_print(&share, &o, text, sizeof text);
    assert_string_equal(text, "0");
    assert_int_equal(stk__option_parse(&share, "0.25", &o, NULL), STK_OK);
    assert_true(o.share == 0.25);
    static const struct {
        const char *text;
        double low, high;
        const char *printed;
    } good[] = {{"0", 0, INFINITY, "0"},
                {"0.2", 0.2, INFINITY, "0.2"},
                {"[0.8, 1.2]", 0.8, 1.2, "[0.8, 1.2]"},
                {"[ -1 ,0]", -1, 0, "[-1, 0]"},
                {"[0, 0]", 0, INFINITY, "0"}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(stk__option_parse(&range, good[i].text, &o, NULL), STK_OK);
        assert_true(o.range[0] == good[i].low && o.range[1] == good[i].high);
        assert_false(stk__option_is_zero(&range, &o));
        stk__option_print(&range, &o, text, sizeof text);
        assert_string_equal(text, good[i].printed);
    }
    static const char *const bad_ranges[] = {"[2, 1]",   "[1]",     "[1, 2", "x",
                                             "[1, inf]", "[-2, 1]", "10",    "[1, 10]"};
    for (size_t i = 0; i < sizeof bad_ranges / sizeof bad_ranges[0]; i++)
        assert_int_equal(stk__option_parse(&range, bad_ranges[i], &o, NULL), STK_ERROR_CONFIG);
    static const char *const bad_shares[] = {"-0.1", "1.1", "half", "nan", ""};
    for (size_t i = 0; i < sizeof bad_shares / sizeof bad_shares[0]; i++)
        assert_int_equal(stk__option_parse(&share, bad_shares[i], &o, NULL), STK_ERROR_CONFIG);
}

/* Printed as expected, and read back to the same bits. */
static void check_tuple(const stk__option *option, const char *text, const double *expected,
                        const char *printed)
{
    double got[4] = {0, 0, 0, 7}, again[4] = {0, 0, 0, 7};
    const size_t count = option->type == STK_OPTION_PAIR ? 2 : 3;
    char out[STK_OPTION_TEXT_BYTES];
    assert_int_equal(stk__option_parse(option, text, got, NULL), STK_OK);
    for (size_t i = 0; i < count; i++)
        assert_true(got[i] == expected[i]);
    assert_true(got[3] == 7 && (count == 3 || (got[2] == 0 && !signbit(got[2]))));
    assert_false(stk__option_is_zero(option, got));
    stk__option_print(option, got, out, sizeof out);
    assert_string_equal(out, printed);
    assert_int_equal(stk__option_parse(option, out, again, NULL), STK_OK);
    assert_memory_equal(got, again, sizeof got);
}

static void pairs_and_triples(void **state)
{
    (void)state;
    const stk__option pair = {.name = "p", .type = STK_OPTION_PAIR, .least = 0, .most = 1};
    const stk__option triple = {.name = "t", .type = STK_OPTION_TRIPLE, .help = "h"};
    check_tuple(&pair, "[0.1, 0.2]", (double[]){0.1, 0.2}, "[0.1, 0.2]");
    check_tuple(&pair, " 0.1 ,0", (double[]){0.1, 0}, "[0.1, 0]");
    check_tuple(&pair, "0.5", (double[]){0.5, 0.5}, "0.5");
    check_tuple(&pair, "[0.5]", (double[]){0.5, 0.5}, "0.5");
    check_tuple(&pair, "0", (double[]){0, 0}, "0"); /* explicit, and not default */
    check_tuple(&triple, "1, -2,3e300", (double[]){1, -2, 3e300}, "[1, -2, 3e+300]");
    check_tuple(&triple, "[ 0.1 , 0.2 , 0.3 ]", (double[]){0.1, 0.2, 0.3}, "[0.1, 0.2, 0.3]");
    check_tuple(&triple, "[0, 0, 0]", (double[]){0, 0, 0}, "0");
    check_tuple(&triple, "-1.0000000000000002e-300,-1.0000000000000004e-300,-1.0000000000000007e-300",
                (double[]){-1.0000000000000002e-300, -1.0000000000000004e-300, -1.0000000000000007e-300},
                "[-1.0000000000000002e-300, -1.0000000000000004e-300, -1.0000000000000007e-300]");
    static const char *const bad[] = {"",        "[",       "[]",    "]",       "x",      "0.1,",
                                      ",0.1",    "1,x",     "[0.1,", "0.1,]",   "nan",    "inf",
                                      "1,2,3,4", "0.1 0.2", "[",     "[[1,1]]", "0.1;0.2"};
    double o[3] = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(stk__option_parse(&pair, bad[i], o, NULL), STK_ERROR_CONFIG);
        assert_int_equal(stk__option_parse(&triple, bad[i], o, NULL), STK_ERROR_CONFIG);
    }
    stk_error error;
    assert_int_equal(stk__option_parse(&pair, "1,1,1", o, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, "p = '1,1,1' is neither one number nor two");
    assert_string_equal(error.hint, "give a number or two, [A, B], 0 to 1");
    assert_int_equal(stk__option_parse(&triple, "1,1", o, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, "t = '1,1' is neither one number nor three");
    assert_int_equal(stk__option_parse(&pair, "[0.5, 2]", o, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, "p = '[0.5, 2]' is above 1");
    const stk__option_table table = {"room", NULL, NULL, &triple, 1, sizeof o};
    assert_int_equal(stk__options_check(&table, (double[]){1, (double)NAN, 0}, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, "room.t = '[1, nan, 0]' is not possible");
}

static void texts_point_at_what_was_parsed(void **state)
{
    (void)state;
    const char *text = "/data/faces";
    assert_ptr_equal(parsed("root", text).root, text);
    check_print("root", "", "");
    char out[8];
    const data_options empty = {0};
    stk__option_print(option_named("root"), &empty, out, sizeof out);
    assert_string_equal(out, "");
}

static void numbers_ignore_the_locale(void **state)
{
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *set = NULL;
    for (size_t i = 0; i < 4 && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    assert_true(parsed("val_split", "0.25").val_split == 0.25);
    check_print("val_split", "0.25", "0.25");
    assert_string_equal(refused("val_split", "1.5").message, "val_split = '1.5' is above 0.9");
    setlocale(LC_ALL, "C");
    if (!set) print_message("no locale with a decimal comma is installed: only C was tried\n");
}

static void fill_gives_every_zero_its_fallback(void **state)
{
    (void)state;
    data_options options = {.batch_size = 8, .drop_last = 1};
    assert_int_equal(stk__options_fill(&data_table, &options, NULL), STK_OK);
    assert_int_equal(options.batch_size, 8);
    assert_int_equal(options.drop_last, 1);
    assert_int_equal(options.prefetch_factor, 2);
    assert_int_equal(options.shuffle, 1);
    assert_int_equal(options.num_workers, 0);
    assert_true(options.timeout_s == 30);
    assert_true(options.limits_bytes == 256u << 20);
    assert_int_equal(options.limits_pixels, 100000000);
    assert_null(options.root);
    assert_int_equal(stk__options_check(&data_table, &options, NULL), STK_OK);
}

static void fill_reports_a_wrong_fallback(void **state)
{
    (void)state;
    const stk__option option = {.name = "n", .type = STK_OPTION_INT, .fallback = "many", .help = "h"};
    const stk__option_table table = {"room", NULL, NULL, &option, 1, 8};
    int64_t n = 0;
    stk_error error;
    assert_int_equal(stk__options_fill(&table, &n, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, "room.n = 'many' is not an integer");
    assert_int_equal(stk__option_table_check(&table, &error), STK_ERROR_ARGUMENT);
    assert_int_equal(error.code, STK_ERROR_ARGUMENT);
    assert_int_equal(stk__option_table_check(&table, NULL), STK_ERROR_ARGUMENT);
}

static void check_refuses(data_options options, const char *message)
{
    stk_error error = {0};
    assert_int_equal(stk__options_check(&data_table, &options, &error), STK_ERROR_CONFIG);
    assert_string_equal(error.message, message);
    assert_int_equal(stk__options_check(&data_table, &options, NULL), STK_ERROR_CONFIG);
}

static void check_finds_what_c_code_set_wrong(void **state)
{
    (void)state;
    const data_options zero = {0};
    assert_int_equal(stk__options_check(&data_table, &zero, NULL), STK_OK);
    check_refuses((data_options){.batch_size = -3}, "data.batch_size = '-3' is below 1");
    check_refuses((data_options){.num_workers = -2}, "data.num_workers = '-2' is not possible");
    check_refuses((data_options){.num_workers = 2000}, "data.num_workers = '2000' is above 1024");
    check_refuses((data_options){.pin_memory = 2}, "data.pin_memory = '2' is not possible");
    check_refuses((data_options){.on_bad_sample = 3}, "data.on_bad_sample = '3' is not possible");
    check_refuses((data_options){.on_bad_sample = -1}, "data.on_bad_sample = '-1' is not possible");
    check_refuses((data_options){.val_split = (double)NAN}, "data.val_split = 'nan' is not possible");
    check_refuses((data_options){.val_split = 1}, "data.val_split = '1' is above 0.9");
    check_refuses((data_options){.timeout_s = -1}, "data.timeout = '-1' is not possible");
    check_refuses((data_options){.image_size = {5, 0}}, "data.image_size = '[5, 0]' is below 1");
    check_refuses((data_options){.limits_bytes = 1ull << 50},
                  "data.limits.bytes = '1024T' is above 1000000000000");
    const data_options none = {.num_workers = -1};
    assert_int_equal(stk__options_check(&data_table, &none, NULL), STK_OK);
}

static void table_refuses(stk__option option, const char *message)
{
    const stk__option pair[] = {option,
                                {.name = "other", .aliases = "twin", .type = STK_OPTION_INT, .help = "h"}};
    const stk__option_table table = {"room", NULL, NULL, pair, 2, 16};
    stk_error error = {0};
    assert_int_equal(stk__option_table_check(&table, &error), STK_ERROR_ARGUMENT);
    assert_string_equal(error.message, message);
}

static void tables_are_checked(void **state)
{
    (void)state;
    assert_int_equal(stk__option_table_check(&data_table, NULL), STK_OK);
    assert_int_equal(stk__option_table_check(&run_table, NULL), STK_OK);
    table_refuses((stk__option){.name = "n", .type = STK_OPTION_INT, .offset = 12, .help = "h"},
                  "room.n lies outside its struct");
    table_refuses((stk__option){.name = "n", .type = STK_OPTION_INT}, "room.n lacks its help or its choices");
    table_refuses((stk__option){.name = "n", .type = STK_OPTION_WORD, .help = "h"},
                  "room.n lacks its help or its choices");
    table_refuses((stk__option){.name = "twin", .type = STK_OPTION_INT, .help = "h"},
                  "room.twin is declared twice");
    table_refuses((stk__option){.name = "n", .type = STK_OPTION_INT, .map = true, .help = "h"},
                  "room.n takes a map but is not a text option");
    const stk__option_type types[] = {STK_OPTION_INT, STK_OPTION_NUMBER, STK_OPTION_SECONDS,
                                      STK_OPTION_BYTES};
    for (size_t i = 0; i < 4; i++)
        table_refuses((stk__option){.name = "n", .type = types[i], .fallback = "2", .help = "h"},
                      "room.n takes 0, but 0 means its default '2'");
    table_refuses(
        (stk__option){.name = "n", .type = STK_OPTION_WORD, .choices = "a|b", .fallback = "b", .help = "h"},
        "room.n takes 0, but 0 means its default 'b'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(ranges_are_named),
        cmocka_unit_test(counts_tell_none_from_auto),
        cmocka_unit_test(numbers),
        cmocka_unit_test(floats_are_short_and_read_back),
        cmocka_unit_test(switches),
        cmocka_unit_test(words),
        cmocka_unit_test(sizes_in_bytes),
        cmocka_unit_test(times),
        cmocka_unit_test(sizes_of_images),
        cmocka_unit_test(shares_and_ranges),
        cmocka_unit_test(pairs_and_triples),
        cmocka_unit_test(texts_point_at_what_was_parsed),
        cmocka_unit_test(numbers_ignore_the_locale),
        cmocka_unit_test(fill_gives_every_zero_its_fallback),
        cmocka_unit_test(fill_reports_a_wrong_fallback),
        cmocka_unit_test(check_finds_what_c_code_set_wrong),
        cmocka_unit_test(tables_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
