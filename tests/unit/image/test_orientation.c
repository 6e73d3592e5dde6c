/* SPDX-License-Identifier: Apache-2.0 */
/* The eight EXIF orientations on a picture of six pixels, and on ones larger than the stripes. */
#include "image/orientation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* "abc/def" turned by each of the eight, as EXIF describes them. */
static void eight_ways(void **state)
{
    (void)state;
    static const char *const upright[] = {"abcdef", "cbafed", "fedcba", "defabc",
                                          "adbecf", "daebfc", "fcebda", "cfbead"};
    for (stk__orientation o = 1; o <= 8; o++)
        for (int32_t channels = 1; channels <= 3; channels += 2) {
            uint8_t from[6 * 3], to[3 * 16];
            for (int i = 0; i < 6; i++)
                for (int c = 0; c < channels; c++)
                    from[i * channels + c] = (uint8_t)("abcdef"[i] + 20 * c);
            memset(to, 1, sizeof to);
            const bool swaps = stk__orientation_swaps(o);
            const stk__pixels target = {to, 16, swaps ? 2 : 3, swaps ? 3 : 2, channels};
            stk__orientation_apply(stk__pixels_dense(from, 3, 2, channels), target, o);
            for (int i = 0; i < 6; i++)
                for (int c = 0; c < channels; c++)
                    assert_int_equal(to[i / target.w * 16 + i % target.w * channels + c],
                                     upright[o - 1][i] + 20 * c);
            for (int i = target.w * channels; i < 16; i++) /* nothing beside the rows */
                assert_int_equal(to[i], 1);
        }
}

/* Wider and higher than the stripes it works in. */
static void large_pictures(void **state)
{
    (void)state;
    enum { W = 131, H = 203 };
    static uint8_t from[W * H], to[W * H], back[W * H];
    static const stk__orientation inverse[] = {1, 2, 3, 4, 5, 8, 7, 6};
    for (int i = 0; i < W * H; i++)
        from[i] = (uint8_t)(i * 7 + i / W);
    for (stk__orientation o = 1; o <= 8; o++) {
        const bool swaps = stk__orientation_swaps(o);
        const stk__pixels turned = stk__pixels_dense(to, swaps ? H : W, swaps ? W : H, 1);
        stk__orientation_apply(stk__pixels_dense(from, W, H, 1), turned, o);
        stk__orientation_apply(turned, stk__pixels_dense(back, W, H, 1), inverse[o - 1]);
        assert_memory_equal(back, from, sizeof from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(eight_ways), cmocka_unit_test(large_pictures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
