/* SPDX-License-Identifier: Apache-2.0 */
/* Text in pictures: every letter has its own shape, nothing outside of the picture is touched. */
#include "image/bitmap_font.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { W = 40, H = 20, GUARD = 64 };

static const uint8_t ink[3] = {10, 20, 30};

static int count_dots(const uint8_t *data, size_t pixels)
{
    int count = 0;
    for (size_t i = 0; i < pixels; i++)
        count += memcmp(data + 3 * i, ink, 3) == 0;
    return count;
}

static void test_letters_differ(void **state)
{
    static uint8_t seen[95][3 * 6 * 10];
    (void)state;
    for (int i = 0; i < 95; i++) {
        const char text[2] = {(char)(' ' + i), 0};
        stk__font_draw(stk__pixels_dense(seen[i], 6, 10, 3), 0, 0, 1, ink, text);
        assert_int_equal(count_dots(seen[i], 6 * 10) == 0, i == 0);
        for (int k = 0; k < i; k++)
            if (memcmp(seen[k], seen[i], sizeof seen[i]) == 0)
                fail_msg("'%c' looks like '%c'", ' ' + k, ' ' + i);
    }
}

static void test_scale_and_width(void **state)
{
    uint8_t small[3 * W * H] = {0}, large[3 * W * H] = {0};
    (void)state;
    stk__font_draw(stk__pixels_dense(small, W, H, 3), 1, 1, 1, ink, "a|1");
    stk__font_draw(stk__pixels_dense(large, W, H, 3), 1, 1, 2, ink, "a|1");
    assert_int_equal(count_dots(large, W * H), 4 * count_dots(small, W * H));
    assert_int_equal(stk__font_width("", 2), 0);
    assert_int_equal(stk__font_width("a|1", 1), 17);
    assert_int_equal(stk__font_width("a|1", 2), 34);
}

static void test_other_characters(void **state)
{
    uint8_t theirs[3 * W * H] = {0}, ours[3 * W * H] = {0};
    (void)state;
    assert_int_equal(stk__font_width("\xc3\xa4z", 1), stk__font_width("?z", 1)); /* one letter, two bytes */
    stk__font_draw(stk__pixels_dense(theirs, W, H, 3), 0, 0, 1, ink, "\xc3\xa4z\xff\n");
    stk__font_draw(stk__pixels_dense(ours, W, H, 3), 0, 0, 1, ink, "?z??");
    assert_memory_equal(theirs, ours, sizeof ours);
}

static void test_stays_inside(void **state)
{
    static uint8_t memory[GUARD + 3 * W * H + GUARD];
    (void)state;
    memset(memory, 7, sizeof memory);
    for (int32_t y = -12; y <= H; y += 3)
        for (int32_t x = -50; x <= W; x += 7)
            stk__font_draw(stk__pixels_dense(memory + GUARD, W, H, 3), x, y, 2, ink, "#@#@");
    for (int i = 0; i < GUARD; i++) {
        assert_int_equal(memory[i], 7);
        assert_int_equal(memory[GUARD + 3 * W * H + i], 7);
    }
    assert_true(count_dots(memory + GUARD, W * H) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letters_differ), cmocka_unit_test(test_scale_and_width),
        cmocka_unit_test(test_other_characters), cmocka_unit_test(test_stays_inside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
