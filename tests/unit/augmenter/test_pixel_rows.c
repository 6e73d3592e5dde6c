/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of values as bytes: every level of the CPU against plain formulas, for every length and every place of
 * a value that is wrong. */
#include "augmenter/pixel_rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 131, GUARD = 0xa5 };

static const stk__pixel_rows *rows_at(int level)
{
    return level <= (int)stk__cpu_level_found() ? stk__pixel_rows_at((stk__cpu_level)level) : NULL;
}

static void floats_become_levels(void **state)
{
    (void)state;
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        for (int32_t count = 0; rows_at(level) && count <= MOST; count++) {
            float values[MOST];
            uint8_t to[MOST + 1];
            memset(to, GUARD, sizeof to);
            for (int32_t i = 0; i < count; i++)
                values[i] = i % 17 == 3   ? -0.0f
                            : i % 19 == 5 ? 1
                            : i % 19 == 7 ? 1 + STK_PIXEL_ROUNDING
                                          : (float)(i * 7919 % 10007) / 10006;
            assert_true(rows_at(level)->levels(values, to, count));
            for (int32_t i = 0; i < count; i++)
                assert_int_equal(to[i], (int)(values[i] * 255 + 0.5f));
            assert_int_equal(to[count], GUARD);
        }
}

static void a_wrong_float_is_seen_everywhere(void **state)
{
    (void)state;
    static const float wrong[] = {NAN,     -NAN, INFINITY, -INFINITY, 1 + 1.125f * STK_PIXEL_ROUNDING,
                                  -1e-30f, 255,  3e38f};
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        for (int32_t at = 0; rows_at(level) && at < MOST; at++)
            for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
                float values[MOST] = {0};
                uint8_t to[MOST];
                values[at] = wrong[k];
                assert_false(rows_at(level)->levels(values, to, MOST));
                values[at] = 1;
                assert_true(rows_at(level)->levels(values, to, MOST));
            }
}

static void ids_become_bytes(void **state)
{
    (void)state;
    static const int64_t wrong[] = {256, -1, INT64_MIN, INT64_MAX, INT64_C(1) << 32};
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        for (int32_t at = 0; rows_at(level) && at < MOST; at++) {
            int64_t ids[MOST];
            uint8_t to[MOST + 1];
            memset(to, GUARD, sizeof to);
            for (int32_t i = 0; i < MOST; i++)
                ids[i] = i * 37 % 256;
            assert_true(rows_at(level)->ids(ids, to, at));
            for (int32_t i = 0; i < at; i++)
                assert_int_equal(to[i], ids[i]);
            assert_int_equal(to[at], GUARD);
            for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
                ids[at] = wrong[k];
                assert_false(rows_at(level)->ids(ids, to, MOST));
            }
        }
}

static void planes_are_woven(void **state)
{
    (void)state;
    uint8_t values[3][MOST], to[3 * MOST + 1];
    const uint8_t *const planes[3] = {values[0], values[1], values[2]};
    for (int32_t i = 0; i < 3 * MOST; i++)
        values[i / MOST][i % MOST] = (uint8_t)(i * 151);
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        for (int32_t count = 0; rows_at(level) && count <= MOST; count++) {
            memset(to, GUARD, sizeof to);
            rows_at(level)->weave(planes, to, count);
            for (int32_t i = 0; i < 3 * count; i++)
                assert_int_equal(to[i], values[i % 3][i / 3]);
            assert_int_equal(to[3 * count], GUARD);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_become_levels),
        cmocka_unit_test(a_wrong_float_is_seen_everywhere),
        cmocka_unit_test(ids_become_bytes),
        cmocka_unit_test(planes_are_woven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
