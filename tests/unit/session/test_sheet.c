/* SPDX-License-Identifier: Apache-2.0 */
/* Contact sheets: where cells, headings, captions and legend lie, and that nothing is drawn outside. */
#include "session/sheet/sheet.h"

#include "session/sheet/sheet_ink.h"
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const char *const headings[] = {"one", "a heading that is much too long for its column to be shown"};

static stk__sheet_form small_form(void)
{
    return (stk__sheet_form){.columns = 2, .rows = 3, .shape = stk__pixels_dense(NULL, 20, 10, 3)};
}

static bool is_paper(stk__pixels picture)
{
    for (int32_t y = 0; y < picture.h; y++)
        for (int32_t x = 0; x < 3 * picture.w; x++)
            if (stk__pixels_row(picture, y)[x] != 245) return false;
    return true;
}

/* The page cuts cells out of it by their size and the gap alone. */
static void plain_sheets_have_cells_and_gaps(void **state)
{
    stk__sheet sheet;
    const stk__sheet_form form = small_form();
    (void)state;
    assert_int_equal(stk__sheet_init(&sheet, &form, NULL), STK_OK);
    const stk__pixels all = stk__sheet_pixels(&sheet);
    assert_int_equal(sheet.cell_w, 20);
    assert_int_equal(sheet.cell_h, 10);
    assert_int_equal(all.w, 2 * 26 + 6);
    assert_int_equal(all.h, 3 * 16 + 6);
    assert_ptr_equal(stk__sheet_cell(&sheet, (stk__sheet_place){1, 2}).data,
                     all.data + 3 * ((6 + 2 * 16) * all.w + 32));
    stk__sheet_fini(&sheet);
}

static void texts_enlarge_small_pictures(void **state)
{
    stk__sheet sheet;
    stk__sheet_form form = small_form();
    (void)state;
    form.title = "title";
    form.headings = headings;
    form.caption_lines = 2;
    assert_int_equal(stk__sheet_init(&sheet, &form, NULL), STK_OK);
    assert_int_equal(sheet.cell_w, 192);
    assert_int_equal(sheet.cell_h, 96);
    const stk__pixels all = stk__sheet_pixels(&sheet);
    assert_false(is_paper(stk__ink_part(all, 0, 0, all.w, sheet.head_h)));
    assert_true(is_paper(stk__ink_part(all, 0, sheet.head_h, all.w, all.h - sheet.head_h)));
    assert_true(is_paper(stk__ink_part(all, 198, 0, 6, sheet.head_h))); /* between the headings */
    const stk__sheet_place place = {1, 2};
    stk__sheet_caption(&sheet, place, 1, 1, STK_INK_BAD,
                       "a caption that is so long that it has to be cut somewhere");
    const stk__pixels cell = stk__sheet_cell(&sheet, place);
    assert_true(is_paper(cell));
    assert_true(is_paper(stk__ink_part(all, all.w - 6, 0, 6, all.h)));
    assert_true(is_paper(stk__ink_part(all, 0, all.h - 6, all.w, 6)));
    stk__sheet_caption(&sheet, place, 1, 1, STK_INK_BAD, "");
    assert_true(is_paper(stk__ink_part(all, 0, sheet.head_h, all.w, all.h - sheet.head_h)));
    stk__sheet_fini(&sheet);
}

static void narrow_and_wide_pictures(void **state)
{
    static const struct {
        int32_t w, h, cell_w, cell_h;
    } cases[] = {
        {1000, 500, 256, 128}, {50, 100, 128, 256}, {1, 4000, 1, 256}, {4000, 1, 256, 1}, {64, 64, 192, 192}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stk__sheet sheet;
        stk__sheet_form form = small_form();
        form.title = "t";
        form.shape = stk__pixels_dense(NULL, cases[i].w, cases[i].h, 3);
        assert_int_equal(stk__sheet_init(&sheet, &form, NULL), STK_OK);
        assert_int_equal(sheet.cell_w, cases[i].cell_w);
        assert_int_equal(sheet.cell_h, cases[i].cell_h);
        stk__sheet_fini(&sheet);
    }
}

static void the_legend_lists_classes(void **state)
{
    static const char *const names[] = {"background", "left_eye",
                                        "a class with a name that is longer than all others here"};
    stk__sheet_entry legend[80];
    stk__sheet sheet, without;
    stk__sheet_form form = small_form();
    (void)state;
    assert_int_equal(stk__sheet_list_classes(legend, 80, 3, names), 4);
    assert_int_equal(legend[0].symbol, STK_SYMBOL_OUTLINE); /* masks leave it as it is */
    assert_string_equal(legend[1].text, "left_eye");
    uint8_t rgb[3], pixel[3] = {0, 0, 0};
    stk__sheet_colour(1, rgb);
    stk__sheet_tint(pixel, 1);
    for (int c = 0; c < 3; c++) {
        assert_int_equal(legend[1].rgb[c], rgb[c]);
        assert_int_equal(pixel[c], rgb[c] / 2); /* half of what masks are drawn with */
    }
    assert_string_equal(legend[3].text, "ignored");
    assert_int_equal(stk__sheet_init(&without, &form, NULL), STK_OK);
    form.legend = legend;
    form.legend_count = 4;
    assert_int_equal(stk__sheet_init(&sheet, &form, NULL), STK_OK);
    const stk__pixels all = stk__sheet_pixels(&sheet), plain = stk__sheet_pixels(&without);
    assert_true(all.h > plain.h + 3 * STK_INK_LINE_PX); /* in several lines: the sheet is narrow */
    assert_true(is_paper(stk__ink_part(all, 0, 0, all.w, plain.h)));
    assert_false(is_paper(stk__ink_part(all, 0, plain.h, all.w, all.h - plain.h)));
    assert_int_equal(stk__sheet_list_classes(legend, 80, 255, NULL),
                     65); /* the first ones, and what is ignored */
    assert_string_equal(legend[63].text, "class 63");
    stk__sheet_fini(&sheet);
    stk__sheet_fini(&without);
}

/* Everywhere around and far outside of a picture between guard bytes. */
static void symbols_stay_inside(void **state)
{
    enum { W = 30, H = 20, GUARD = 4096 };
    static uint8_t memory[GUARD + 3 * W * H + GUARD];
    (void)state;
    memset(memory, 245, sizeof memory);
    const stk__pixels picture = stk__pixels_dense(memory + GUARD, W, H, 3);
    static const double places[] = {-1e300, -40, -3, 0, 9.5, 19.99, 29.9, 35, 1e9, 0.0 / 0.0};
    for (size_t i = 0; i < 10; i++)
        for (size_t k = 0; k < 10; k++) {
            stk__ink_point(picture, places[i], places[k], STK_SYMBOL_RING, STK_INK_BAD);
            stk__ink_point(picture, places[i], places[k], STK_SYMBOL_CROSS, STK_INK_GOOD);
            stk__ink_line(picture, (double[2]){places[i], places[k]}, (double[2]){places[k], places[i]},
                          STK_INK_TEXT);
        }
    assert_false(is_paper(picture));
    for (int i = 0; i < GUARD; i++) {
        assert_int_equal(memory[i], 245);
        assert_int_equal(memory[GUARD + 3 * W * H + i], 245);
    }
}

static stk_status make_once(void *context, stk_error *error)
{
    stk__sheet sheet;
    uint8_t grey[12] = {0};
    stk_status status = stk__sheet_init(&sheet, context, error);
    if (status == STK_OK)
        status = stk__sheet_draw(&sheet, (stk__sheet_place){0, 0}, stk__pixels_dense(grey, 4, 3, 1),
                                 stk__pixels_dense(grey, 4, 3, 1), error);
    stk__sheet_fini(&sheet);
    return status;
}

static void without_memory(void **state)
{
    stk__sheet_form form = small_form();
    (void)state;
    form.title = "title";
    assert_true(fail_alloc_each(make_once, &form) > 2);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(plain_sheets_have_cells_and_gaps),
                                       TEST(texts_enlarge_small_pictures),
                                       TEST(narrow_and_wide_pictures),
                                       TEST(the_legend_lists_classes),
                                       TEST(symbols_stay_inside),
                                       TEST(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
