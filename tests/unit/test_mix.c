/* Blending and swapping of two finished samples. */
#include "device/augment.h"
#include "device/mix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void floats_are_blended_both_ways(void **state)
{
    (void)state;
    float a[] = {1, -2, 0.5f}, b[] = {3, 4, -1};
    stk__mix_blend(a, b, 3, STK_DTYPE_F32, 0.75f);
    const float expected_a[] = {1.5f, -0.5f, 0.125f}, expected_b[] = {2.5f, 2.5f, -0.625f};
    assert_memory_equal(a, expected_a, sizeof a);
    assert_memory_equal(b, expected_b, sizeof b);
}

/* Lambda 1 gives every finite value back: the way to float and back loses nothing. */
static void small_types_are_exact_where_nothing_changes(void **state)
{
    (void)state;
    static uint16_t a[0x7c00 * 2], b[0x7c00 * 2], kept[0x7c00 * 2];
    for (int i = 0; i < 0x7c00; i++) {
        a[i] = (uint16_t)i;
        a[i + 0x7c00] = (uint16_t)(i | 0x8000);
    }
    memcpy(kept, a, sizeof a);
    stk__mix_blend(a, b, sizeof a / sizeof a[0], STK_DTYPE_F16, 1);
    kept[0x7c00] = 0; /* -0 + 0 */
    assert_memory_equal(a, kept, sizeof a);
    stk__mix_blend(a, b, sizeof a / sizeof a[0], STK_DTYPE_BF16, 1);
    assert_memory_equal(a, kept, sizeof a);
}

static void small_types_are_blended_in_float(void **state)
{
    (void)state;
    uint16_t a = stk__half_from_float(1), b = stk__half_from_float(2.5f);
    stk__mix_blend(&a, &b, 1, STK_DTYPE_F16, 0.25f);
    assert_int_equal(a, stk__half_from_float(2.125f));
    assert_int_equal(b, stk__half_from_float(1.375f));
    a = stk__bfloat_from_float(1), b = stk__bfloat_from_float(2.5f);
    stk__mix_blend(&a, &b, 1, STK_DTYPE_BF16, 0.25f);
    assert_int_equal(a, stk__bfloat_from_float(2.125f));
    assert_int_equal(b, stk__bfloat_from_float(1.375f));
}

enum { W = 300, H = 5, PLANES = 2 };

static void boxes_change_places_in_every_plane(void **state)
{
    (void)state;
    static uint16_t a[PLANES * W * H], b[PLANES * W * H];
    for (int i = 0; i < PLANES * W * H; i++) {
        a[i] = (uint16_t)i;
        b[i] = (uint16_t)(i + 10000);
    }
    const stk__mix_box box = {.x = 20,
                              .y = 1,
                              .w = 270,
                              .h = 3,
                              .picture_w = W,
                              .picture_h = H,
                              .planes = PLANES,
                              .pixel_bytes = sizeof a[0]};
    stk__mix_swap(a, b, &box);
    for (int i = 0; i < PLANES * W * H; i++) {
        const int x = i % W, y = i / W % H;
        const bool inside = x >= 20 && x < 290 && y >= 1 && y < 4;
        assert_int_equal(a[i], inside ? i + 10000 : i);
        assert_int_equal(b[i], inside ? i : i + 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_blended_both_ways),
        cmocka_unit_test(small_types_are_exact_where_nothing_changes),
        cmocka_unit_test(small_types_are_blended_in_float),
        cmocka_unit_test(boxes_change_places_in_every_plane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
