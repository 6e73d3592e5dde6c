/* SPDX-License-Identifier: Apache-2.0 */
/* data.mask_colors: published tables, lists, files and what is refused. */
#include "decode/mask_palette.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static stk__mask_palette palette;

static int class_of(uint32_t color)
{
    const int index = stk__mask_colors_find(&palette.colors, color);
    return index < 0 ? -1 : palette.colors.id[index];
}

static stk_status read(const char *text, stk_error *error)
{
    palette = (stk__mask_palette){.class_count = 0};
    return stk__mask_palette_read(&palette, text, error);
}

static stk_status parse(const char *text, stk_error *error)
{
    palette = (stk__mask_palette){.class_count = 0};
    return stk__mask_palette_parse(&palette, text, "colors.txt", error);
}

static void test_published(void **state)
{
    (void)state;
    assert_int_equal(read("voc", NULL), STK_OK);
    assert_int_equal(palette.class_count, 21);
    assert_int_equal(class_of(0), 0);
    assert_int_equal(class_of(0xc08080), 15);
    assert_string_equal(palette.name_list[15], "person");
    assert_int_equal(class_of(0xe0e0c0), 255);
    for (int id = 0; id < 21; id++) { /* bits of the id, spread over the channels from the top */
        uint32_t color = 0;
        for (int bit = 0; bit < 8; bit++)
            for (int channel = 0; channel < 3; channel++)
                if (id >> (3 * bit + channel) & 1) color |= 1u << (7 - bit + 8 * (2 - channel));
        assert_int_equal(class_of(color), id);
    }
    assert_int_equal(read("cityscapes", NULL), STK_OK);
    assert_int_equal(palette.class_count, 19);
    assert_string_equal(palette.name_list[6], "traffic light");
    assert_int_equal(class_of(0x00008e), 13);
    assert_int_equal(class_of(0), 255);
    assert_int_equal(read("camvid", NULL), STK_OK);
    assert_int_equal(palette.class_count, 31);
    assert_int_equal(palette.colors.count, 32);
}

static void test_list(void **state)
{
    (void)state;
    assert_int_equal(read("000000:0,ff0000:1,00ff00:1,E0e0c0:255", NULL), STK_OK);
    assert_int_equal(palette.class_count, 2);
    assert_int_equal(class_of(0x00ff00), 1);
    assert_int_equal(class_of(0xe0e0c0), 255);
    assert_string_equal(palette.name_list[1], "#ff0000");
}

static void test_files(void **state)
{
    (void)state;
    const char *const texts[] = {"0 0 0 sky\n255 0 0 red car\n0 0 9 void\n",
                                 "#000000 sky\n#ff0000 red car\n#000009 ignore",
                                 "name,r,g,b\nsky,0,0,0\nred car, 255, 0, 0\r\nvoid,0,0,9\n",
                                 "0 0 0\t\tsky\n\n// comment\n255 0 0 \tred car\n0 0 9 Void\n",
                                 "sky;0;0;0\nred car;255;0;0\nvoid;0;0;9\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(parse(texts[i], NULL), STK_OK);
        assert_int_equal(palette.class_count, 2);
        assert_string_equal(palette.name_list[0], "sky");
        assert_string_equal(palette.name_list[1], "red car");
        assert_int_equal(class_of(0xff0000), 1);
        assert_int_equal(class_of(0x000009), 255);
    }
    assert_int_equal(parse("class 1,255,0,0\nclass 2,0,255,0\nclass 1,0,0,3\n", NULL), STK_OK);
    assert_int_equal(palette.class_count, 2);
    assert_int_equal(class_of(3), 0);
    assert_string_equal(palette.name_list[1], "class 2");
}

static void test_refused(void **state)
{
    (void)state;
    stk_error error;
    const struct {
        const char *text, *message;
    } rows[] = {
        {"", "data.mask_colors: line 1 ends the file, and there is no class in it"},
        {"0 0 0 a\n0 0 0 b\n", "data.mask_colors: line 2 has a color that is there already"},
        {"0 0 0 a\nsky\n", "data.mask_colors: line 2 has no color"},
        {"0 0 0 a\n0 0 256 b\n", "data.mask_colors: line 2 has no color"},
        {"0 0 0 void\n", "data.mask_colors: line 2 ends the file, and there is no class in it"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].text, &error), STK_ERROR_CONFIG);
        assert_string_equal(error.message, rows[i].message);
        assert_string_equal(error.place, "colors.txt");
    }
    assert_int_equal(read("no/such/file", &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.message, "data.mask_colors: "));
    assert_non_null(strstr(error.hint, "voc"));
}

static void test_guess(void **state)
{
    (void)state;
    const uint32_t voc[] = {0x000000, 0x800000, 0xe0e0c0}, none[] = {0x000000, 0x123456}, one[] = {0};
    int from = 0;
    assert_string_equal(stk__mask_palette_guess(voc, 3, &from), "voc");
    assert_null(stk__mask_palette_guess(voc, 3, &from));
    assert_null(stk__mask_palette_guess(none, 2, &(int){0}));
    assert_null(stk__mask_palette_guess(one, 1, &(int){0}));
    const uint32_t both[] = {0x800000, 0x808080, 0x400080};
    from = 0;
    assert_string_equal(stk__mask_palette_guess(both, 3, &from), "voc");
    assert_string_equal(stk__mask_palette_guess(both, 3, &from), "camvid");
    assert_null(stk__mask_palette_guess(both, 3, &from));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published), cmocka_unit_test(test_list),
                                       cmocka_unit_test(test_files), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_guess)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
