/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of masks and points: what sizes prove, what is refused, and points turned like pixels. */
#include "loader/mask_frame.h"

#include "core/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static stk__picture picture(int32_t w, int32_t h, int orientation)
{
    return (stk__picture){.w = w, .h = h, .orientation = orientation};
}

static void test_fit(void **state)
{
    (void)state;
    const struct {
        int32_t mask_w, mask_h, w, h;
        stk__mask_fit fit;
    } rows[] = {
        {40, 30, 40, 30, STK_MASK_FITS},         {20, 15, 40, 30, STK_MASK_SCALED},
        {80, 60, 40, 30, STK_MASK_SCALED},       {30, 40, 40, 30, STK_MASK_OTHER},
        {51, 38, 101, 75, STK_MASK_SCALED},      {25, 18, 101, 75, STK_MASK_SCALED},
        {25, 20, 101, 75, STK_MASK_OTHER},       {1, 1, 100, 50, STK_MASK_OTHER},
        {512, 512, 1024, 1024, STK_MASK_SCALED}, {32, 32, 40, 30, STK_MASK_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const stk__picture mask = picture(rows[i].mask_w, rows[i].mask_h, 1);
        assert_int_equal(stk__mask_fit_of(&mask, rows[i].w, rows[i].h), rows[i].fit);
    }
}

/* All orientations, square and oblong, mask of the stored and of the upright size. */
static void test_proofs(void **state)
{
    (void)state;
    for (int o = 1; o <= 8; o++) {
        const stk__picture oblong = picture(40, 30, o), square = picture(40, 40, o);
        const stk__picture as_stored = picture(40, 30, 1), turned = picture(30, 40, 1),
                           same = picture(40, 40, 1);
        const bool swaps = o >= 5;
        const stk__frame_proof open = o == 1 ? STK_FRAME_SAME : STK_FRAME_OPEN;
        assert_int_equal(stk__mask_frame_prove(&square, &same), open);
        assert_int_equal(stk__mask_frame_prove(&oblong, &as_stored), swaps ? STK_FRAME_STORED : open);
        if (swaps) assert_int_equal(stk__mask_frame_prove(&oblong, &turned), STK_FRAME_UPRIGHT);
    }
}

static stk_status choose(stk_mask_frame frame, stk__picture image, stk__picture mask, int *turn, stk_error *e)
{
    const stk__mask_frame_rule rule = {.frame = frame};
    return stk__mask_frame_choose(&rule, &image, &mask, turn, e);
}

static void test_choices(void **state)
{
    (void)state;
    stk_error error;
    int turn = 0;
    for (int o = 2; o <= 8; o++) {
        const stk__picture square = picture(40, 40, o), same = picture(40, 40, 1);
        assert_int_equal(choose(STK_MASK_FRAME_AUTO, square, same, &turn, &error), STK_ERROR_CONFIG);
        assert_non_null(strstr(error.hint, "data.mask_frame=upright"));
        assert_non_null(strstr(error.hint, "data.mask_frame=stored"));
        assert_int_equal(choose(STK_MASK_FRAME_STORED, square, same, &turn, &error), STK_OK);
        assert_int_equal(turn, o);
        assert_int_equal(choose(STK_MASK_FRAME_UPRIGHT, square, same, &turn, &error), STK_OK);
        assert_int_equal(turn, 1);
    }
    for (int o = 5; o <= 8; o++) {
        const stk__picture oblong = picture(40, 30, o), stored = picture(40, 30, 1),
                           upright = picture(15, 20, 1);
        assert_int_equal(choose(STK_MASK_FRAME_AUTO, oblong, stored, &turn, &error), STK_OK);
        assert_int_equal(turn, o);
        assert_int_equal(choose(STK_MASK_FRAME_AUTO, oblong, upright, &turn, &error), STK_OK);
        assert_int_equal(turn, 1);
        assert_int_equal(choose(STK_MASK_FRAME_UPRIGHT, oblong, stored, &turn, &error), STK_ERROR_CONFIG);
        assert_string_equal(error.message,
                            o == 6 ? "the mask is 40x30, drawn on the stored pixels of an image of "
                                     "EXIF orientation 6 (stored as 40x30), but data.mask_frame is "
                                     "'upright'"
                                   : error.message);
        assert_non_null(strstr(error.hint, "data.mask_frame=stored"));
        assert_int_equal(choose(STK_MASK_FRAME_STORED, oblong, upright, &turn, &error), STK_ERROR_CONFIG);
        assert_non_null(strstr(error.hint, "data.mask_frame=upright"));
    }
}

static void test_sizes(void **state)
{
    (void)state;
    stk_error error;
    int turn;
    const stk__picture image = picture(40, 30, 1), other = picture(32, 32, 1), half = picture(20, 15, 1);
    assert_int_equal(choose(STK_MASK_FRAME_AUTO, image, other, &turn, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_MASK_SIZE);
    assert_string_equal(error.message, "the mask is 32x32, its image 40x30");
    assert_int_equal(choose(STK_MASK_FRAME_AUTO, image, half, &turn, &error), STK_OK);
    const stk__mask_frame_rule any = {.any_aspect = true};
    assert_int_equal(stk__mask_frame_choose(&any, &image, &other, &turn, &error), STK_OK);
    assert_int_equal(turn, 1);
}

/* Each stored pixel goes where stk__orientation_apply brings it. */
static void test_points(void **state)
{
    (void)state;
    enum { W = 5, H = 3 };
    for (int o = 1; o <= 8; o++)
        for (int at = 0; at < W * H; at++) {
            uint8_t stored[W * H] = {0}, upright[W * H] = {0};
            const bool swaps = o >= 5;
            const stk__pixels from = {stored, W, W, H, 1}, to = swaps ? (stk__pixels){upright, H, H, W, 1}
                                                                      : (stk__pixels){upright, W, W, H, 1};
            stored[at] = 1;
            stk__orientation_apply(from, to, o);
            float point[3] = {(float)(at % W) + 0.5f, (float)(at / W) + 0.5f, 1};
            stk__points_turn(point, 1, o, to.w, to.h);
            assert_int_equal(upright[(int)point[1] * to.w + (int)point[0]], 1);
        }
}

static void test_points_frame(void **state)
{
    (void)state;
    stk_error error;
    int turn;
    const stk__picture plain = picture(40, 30, 1), turned = picture(40, 30, 6);
    stk__mask_frame_rule rule = {.frame = STK_MASK_FRAME_AUTO};
    assert_int_equal(stk__points_frame_choose(&rule, &plain, &turn, &error), STK_OK);
    assert_int_equal(stk__points_frame_choose(&rule, &turned, &turn, &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.message, "its points may be drawn"));
    rule.frame = STK_MASK_FRAME_STORED;
    assert_int_equal(stk__points_frame_choose(&rule, &turned, &turn, &error), STK_OK);
    assert_int_equal(turn, 6);
    rule.frame = STK_MASK_FRAME_UPRIGHT;
    assert_int_equal(stk__points_frame_choose(&rule, &turned, &turn, &error), STK_OK);
    assert_int_equal(turn, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),   cmocka_unit_test(test_proofs), cmocka_unit_test(test_choices),
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_points), cmocka_unit_test(test_points_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
