/* SPDX-License-Identifier: Apache-2.0 */
/* Charts: scales, points that may be left out, gaps; and text that wants to be HTML. */
#include "report/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static stk_error failure;

static const char *text_of(stk__page *page)
{
    assert_int_equal(page->status, STK_OK);
    assert_int_equal(stk__buffer_append(&page->text, "", 1, NULL), STK_OK);
    return (const char *)page->text.data;
}

/* --- text ------------------------------------------------------------------------------------------------
 */

static void assert_text(const char *text, size_t size, const char *expected)
{
    stk__page page = {.error = &failure};
    stk__page_text_part(&page, text, size);
    assert_string_equal(text_of(&page), expected);
    stk__buffer_fini(&page.text);
}

static void text_is_escaped(void **state)
{
    (void)state;
    assert_text("a<b>&\"c'", 8, "a&lt;b&gt;&amp;&quot;c&#39;");
    assert_text("plain", 5, "plain");
    assert_text("plain", 2, "pl");
    assert_text("", 0, "");
    assert_text("<<", 2, "&lt;&lt;");
    assert_text("ü€😀", 9, "ü€😀");
    assert_text("x\xff\xc3(y", 5, "x\xef\xbf\xbd\xef\xbf\xbd(y");
    assert_text("ab\xc3", 3, "ab\xef\xbf\xbd");   /* cut at the end */
    assert_text("a\xc3\xbc", 2, "a\xef\xbf\xbd"); /* … and by the size */
    assert_text("a\x01\x7f\n\tb", 6, "a\xef\xbf\xbd\xef\xbf\xbd\n\tb");
}

static void base64_is_padded(void **state)
{
    static const char *const expected[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    (void)state;
    for (size_t n = 0; n <= 6; n++) {
        stk__page page = {.error = &failure};
        stk__page_base64(&page, (const uint8_t *)"foobar", n);
        assert_string_equal(text_of(&page), expected[n]);
        stk__buffer_fini(&page.text);
    }
}

static void numbers_are_for_people(void **state)
{
    (void)state;
    stk__page page = {.error = &failure};
    static const double values[] = {0.123456, 1234567, -12345, 0, 1e20};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        stk__page_number(&page, values[i]);
        stk__page_html(&page, "|");
    }
    stk__page_number(&page, NAN);
    stk__page_share(&page, INFINITY);
    stk__page_bytes(&page, 31e6);
    assert_string_equal(text_of(&page), "0.1235|1,234,567|-12,345|0|1e+20|––31.0 MB");
    stk__buffer_fini(&page.text);
}

/* --- scales ----------------------------------------------------------------------------------------------
 */

static void check_scale(double least, double most, stk__scale_form form)
{
    stk__scale s = stk__scale_make(least, most, form);
    s.from_px = 100;
    s.to_px = 0;
    assert_true(s.least < s.most);
    assert_in_range(s.tick_count, 2, STK_PLOT_TICKS);
    for (int i = 0; i < s.tick_count; i++) {
        char text[24];
        stk__scale_print(&s, s.ticks[i], text);
        assert_true(strlen(text) <= 9);
        assert_true(s.ticks[i] >= s.least - 1e-6 * (s.most - s.least));
        assert_true(s.ticks[i] <= s.most + 1e-6 * (s.most - s.least));
        if (form.whole) assert_true(s.ticks[i] == floor(s.ticks[i]));
        if (i) assert_true(s.ticks[i] > s.ticks[i - 1]);
    }
    const double low = stk__scale_px(&s, least), high = stk__scale_px(&s, most);
    assert_true(low >= high && low <= 100.001 && high >= -0.001);
}

static void scales_hold_their_values(void **state)
{
    static const double ends[][2] = {{0, 1},          {1, 1},          {0, 0},         {-3, -3},
                                     {0.001, 0.001},  {-5, 7},         {1e-9, 2e-9},   {1e-8, 1e8},
                                     {1e299, -1e299}, {-1e299, 1e299}, {0.97, 0.9701}, {3, 3000},
                                     {12345, 12346}};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends[i][0] > ends[i][1]) continue;
        for (int form = 0; form < 4; form++)
            check_scale(ends[i][0], ends[i][1], (stk__scale_form){.widen = form & 1, .may_log = form & 2});
    }
    check_scale(1, 1, (stk__scale_form){.whole = true});
    check_scale(1, 3, (stk__scale_form){.whole = true});
    check_scale(7, 91234, (stk__scale_form){.whole = true});
}

static void far_apart_is_shown_by_powers(void **state)
{
    (void)state;
    const stk__scale_form form = {.widen = true, .may_log = true};
    const stk__scale s = stk__scale_make(0.001, 10, form);
    assert_true(s.log);
    assert_int_equal(s.tick_count, 5);
    assert_false(stk__scale_make(0, 10, form).log); /* 0 has no power */
    assert_false(stk__scale_make(1, 10, form).log);
}

/* --- thinning --------------------------------------------------------------------------------------------
 */

static void few_points_all_stay(void **state)
{
    static uint32_t kept[STK_PLOT_KEPT];
    static double y[STK_PLOT_KEPT];
    (void)state;
    assert_int_equal(stk__plot_thin(y, STK_PLOT_KEPT, kept), STK_PLOT_KEPT);
    for (uint32_t i = 0; i < STK_PLOT_KEPT; i++)
        assert_int_equal(kept[i], i);
    assert_int_equal(stk__plot_thin(y, 0, kept), 0);
}

static void many_points_keep_their_peaks(void **state)
{
    enum { COUNT = 100003, PEAK = 54321, DIP = 77777, GAP = 12345 };
    static uint32_t kept[STK_PLOT_KEPT];
    double *y = calloc(COUNT, sizeof *y);
    bool seen[3] = {false};
    (void)state;
    assert_non_null(y);
    for (int i = 0; i < COUNT; i++)
        y[i] = sin(i * 0.37);
    y[PEAK] = 9;
    y[DIP] = -9;
    y[GAP] = NAN;
    const size_t count = stk__plot_thin(y, COUNT, kept);
    assert_in_range(count, 1000, STK_PLOT_KEPT);
    assert_int_equal(kept[0], 0);
    assert_int_equal(kept[count - 1], COUNT - 1);
    for (size_t i = 0; i < count; i++) {
        if (i) assert_true(kept[i] > kept[i - 1]);
        seen[0] |= kept[i] == PEAK;
        seen[1] |= kept[i] == DIP;
        seen[2] |= kept[i] == GAP;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    free(y);
}

/* --- the whole chart ---------------------------------------------------------------------------------------
 */

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        count++;
    return count;
}

static void gaps_stay_gaps(void **state)
{
    static const double x[] = {1, 2, 3, 4, 5, 6}, y[] = {3, 2, NAN, INFINITY, 4, 5};
    (void)state;
    stk__page page = {.error = &failure};
    const stk__plot plot = {
        .title = "<t>", .x_name = "step", .line_count = 1, .lines = {{"a\"b", 0, x, y, 6}}};
    assert_true(stk__plot_draw(&page, &plot));
    const char *text = text_of(&page), *path = strstr(text, " d=\"");
    assert_non_null(path);
    const char *end = strchr(path + 4, '"');
    int moves = 0, lines = 0;
    for (const char *at = path + 4; at < end; at++) {
        moves += *at == 'M';
        lines += *at == 'L';
    }
    assert_int_equal(moves, 2);
    assert_int_equal(lines, 2);
    assert_non_null(strstr(text, "data-x=\"1 2 5 6\""));
    assert_non_null(strstr(text, "data-y=\"3 2 4 5\""));
    assert_non_null(strstr(text, "data-name=\"a&quot;b\""));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_int_equal(count_of(text, "<circle"), 4);
    stk__buffer_fini(&page.text);
}

static void nothing_draws_nothing(void **state)
{
    static const double x[] = {1, 2}, y[] = {NAN, NAN};
    (void)state;
    stk__page page = {.error = &failure};
    const stk__plot plot = {.title = "t",
                            .x_name = "step",
                            .line_count = 2,
                            .lines = {{"a", 0, x, y, 2}, {"b", 1, NULL, NULL, 0}}};
    assert_false(stk__plot_draw(&page, &plot));
    assert_int_equal(page.text.size_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(base64_is_padded),
        cmocka_unit_test(numbers_are_for_people),
        cmocka_unit_test(scales_hold_their_values),
        cmocka_unit_test(far_apart_is_shown_by_powers),
        cmocka_unit_test(few_points_all_stay),
        cmocka_unit_test(many_points_keep_their_peaks),
        cmocka_unit_test(gaps_stay_gaps),
        cmocka_unit_test(nothing_draws_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
