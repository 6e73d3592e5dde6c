/* SPDX-License-Identifier: Apache-2.0 */
/* Curves: what the text says, exact means, totals, and lines that are refused. */
#include "monitor/curve.h"
#include "support/fail_alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static stk__curves *curves_of(const char *text)
{
    stk__curves *curves;
    stk_error error = {0};
    if (stk__curves_read(&curves, text, &error) != STK_OK) fail_msg("%s", error.message);
    return curves;
}

static double at(const stk__curves *curves, int gpu, stk_metric metric, double second)
{
    double value = NAN;
    assert_true(stk__curves_at(curves, gpu, metric, second, &value));
    return value;
}

static double mean(const stk__curves *curves, stk_metric metric, double from_s, double to_s)
{
    double value = NAN;
    assert_true(stk__curves_mean(curves, 0, metric, from_s, to_s, &value));
    return value;
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected))))
        fail_msg("%.12g, not %.12g", value, expected);
}

static void shapes_have_their_values(void **state)
{
    (void)state;
    stk__curves *c = curves_of("# all of them\n"
                               "0 util_percent square 0.4 0.7 100 10 # comment\n"
                               "\t0 power_w sine 20 250 400\r\n"
                               "\n"
                               "0 memory_used_bytes ramp 10 60 1e9 20e9\n"
                               "0 temperature_c const 71\n"
                               "0 fan_percent steps 0:95 30:20 35:95");
    near(at(c, 0, STK_METRIC_UTIL, 0), 100);
    near(at(c, 0, STK_METRIC_UTIL, 0.27), 100);
    near(at(c, 0, STK_METRIC_UTIL, 0.29), 10);
    near(at(c, 0, STK_METRIC_UTIL, 4.05), 100);
    near(at(c, 0, STK_METRIC_POWER, 0), 250);
    near(at(c, 0, STK_METRIC_POWER, 5), 325);
    near(at(c, 0, STK_METRIC_POWER, 30), 400);
    near(at(c, 0, STK_METRIC_MEMORY_USED, 5), 1e9);
    near(at(c, 0, STK_METRIC_MEMORY_USED, 35), 10.5e9);
    near(at(c, 0, STK_METRIC_MEMORY_USED, 99), 20e9);
    near(at(c, 0, STK_METRIC_TEMPERATURE, 1e6), 71);
    near(at(c, 0, STK_METRIC_FAN, 29.9), 95);
    near(at(c, 0, STK_METRIC_FAN, 34.9), 20);
    near(at(c, 0, STK_METRIC_FAN, 35), 95);
    near(at(c, 0, STK_METRIC_FAN, 66), 20);
    assert_int_equal(stk__curves_gpus(c), 1);
    double value = -1;
    assert_false(stk__curves_at(c, 0, STK_METRIC_SM_CLOCK, 0, &value));
    assert_false(stk__curves_mean(c, 0, STK_METRIC_SM_CLOCK, 0, 1, &value));
    assert_false(stk__curves_at(c, 1, STK_METRIC_UTIL, 0, &value));
    assert_false(stk__curves_at(c, -1, STK_METRIC_UTIL, 0, &value));
    assert_true(value == -1);
    stk__curves_destroy(&c);
    assert_null(c);
    stk__curves_destroy(&c);
}

static void means_are_exact(void **state)
{
    (void)state;
    stk__curves *c = curves_of("0 util_percent square 0.4 0.7 100 0\n"
                               "0 power_w sine 20 250 400\n"
                               "0 memory_used_bytes ramp 10 60 1e9 20e9\n"
                               "0 fan_percent steps 0:95 30:20 35:95\n");
    near(mean(c, STK_METRIC_UTIL, 0, 0.4), 70);
    near(mean(c, STK_METRIC_UTIL, 3.2, 5.2), 70);
    near(mean(c, STK_METRIC_UTIL, 0.2, 0.4), 40); /* 0.08 of 0.2 */
    near(mean(c, STK_METRIC_UTIL, 0.3, 1), 100 * 0.48 / 0.7);
    near(mean(c, STK_METRIC_POWER, 0, 20), 325);
    near(mean(c, STK_METRIC_POWER, 0, 10), 325);
    near(mean(c, STK_METRIC_POWER, 0, 5), 325 - 75 * 2 / M_PI);
    near(mean(c, STK_METRIC_MEMORY_USED, 0, 10), 1e9);
    near(mean(c, STK_METRIC_MEMORY_USED, 10, 60), 10.5e9);
    near(mean(c, STK_METRIC_MEMORY_USED, 0, 70), (10 * 1e9 + 50 * 10.5e9 + 10 * 20e9) / 70);
    near(mean(c, STK_METRIC_FAN, 0, 35), (30 * 95 + 5 * 20) / 35.);
    near(mean(c, STK_METRIC_FAN, 25, 40), (5 * 95 + 5 * 20 + 5 * 95) / 15.);
    near(mean(c, STK_METRIC_FAN, 32, 32), 20);
    stk__curves_destroy(&c);
}

/* Against sums over small steps, at odd moments. */
static void means_of_noise_are_exact(void **state)
{
    (void)state;
    stk__curves *c = curves_of("0 util_percent const 50 noise 20\n1 util_percent const 50 noise 20\n"
                               "* power_w sine 3 100 200 noise 10");
    const double from = 1.013, to = 2.777;
    double util = 0, power = 0, least = 100, most = 0;
    enum { PARTS = 176400 }; /* edges of noise lie between the steps */
    for (int i = 0; i < PARTS; i++) {
        const double second = from + (to - from) * (i + 0.5) / PARTS;
        const double value = at(c, 0, STK_METRIC_UTIL, second);
        util += value / PARTS;
        power += at(c, 0, STK_METRIC_POWER, second) / PARTS;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    assert_true(fabs(util - mean(c, STK_METRIC_UTIL, from, to)) < 2e-3);
    assert_true(fabs(power - mean(c, STK_METRIC_POWER, from, to)) < 2e-3);
    assert_true(least >= 30 && least < 40 && most <= 70 && most > 60);
    assert_true(fabs(mean(c, STK_METRIC_UTIL, 0, 100) - 50) < 1e-9); /* pairs cancel */
    assert_true(at(c, 0, STK_METRIC_UTIL, 1.23) == at(c, 0, STK_METRIC_UTIL, 1.23));
    assert_true(at(c, 0, STK_METRIC_UTIL, 1.23) != at(c, 1, STK_METRIC_UTIL, 1.23));
    assert_true(at(c, 0, STK_METRIC_POWER, 1.23) != at(c, 1, STK_METRIC_POWER, 1.23));
    stk__curves_destroy(&c);
}

static void what_grows_is_summed(void **state)
{
    (void)state;
    stk__curves *c = curves_of("0 power_w const 300\n1 energy_j const 10\n1 power_w const 300\n"
                               "0 pcie_sent_bytes_total square 2 0.5 100 0\n2 state steps 0:0 60:2 75:0");
    double value;
    assert_true(stk__curves_total(c, 0, STK_METRIC_ENERGY, 10, &value));
    near(value, 3000);
    assert_true(stk__curves_total(c, 1, STK_METRIC_ENERGY, 10, &value));
    near(value, 100);
    assert_true(stk__curves_total(c, 0, STK_METRIC_PCIE_SENT, 5.5, &value));
    near(value, 300);
    assert_false(stk__curves_total(c, 0, STK_METRIC_THROTTLED_HEAT, 5.5, &value));
    assert_false(stk__curves_total(c, 2, STK_METRIC_ENERGY, 5.5, &value));
    assert_int_equal(stk__curves_state(c, 2, 59), STK_GPU_GOOD);
    assert_int_equal(stk__curves_state(c, 2, 61), STK_GPU_LOST);
    assert_int_equal(stk__curves_state(c, 0, 61), STK_GPU_GOOD);
    stk__curves_destroy(&c);
}

static void stars_are_for_the_others(void **state)
{
    (void)state;
    stk__curves *c = curves_of("* power_w const 1\n3 power_w const 2\n");
    assert_int_equal(stk__curves_gpus(c), 4);
    near(at(c, 0, STK_METRIC_POWER, 0), 1);
    near(at(c, 3, STK_METRIC_POWER, 0), 2);
    near(at(c, 63, STK_METRIC_POWER, 0), 1);
    stk__curves_destroy(&c);
}

static void wrong_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"0 util_percent", "line 1: expected GPU METRIC SHAPE NUMBERS"},
        {"\n64 util_percent const 1", "line 2: not a GPU index"},
        {"-1 util_percent const 1", "not a GPU index"},
        {"0 utilisation const 1", "unknown metric: 'utilisation'"},
        {"0 util_percent wave 1", "unknown shape (const, square, sine, ramp, steps): 'wave'"},
        {"0 util_percent const x", "'const' takes a value"},
        {"0 util_percent const 1 2", "'const' takes a value"},
        {"0 util_percent const inf", "'const' takes a value"},
        {"0 util_percent square 0 0.7 1 2", "'square' takes period in s"},
        {"0 util_percent square 1 1.1 1 2", "'square' takes period in s"},
        {"0 util_percent square 1e-9 0.5 1 2", "'square' takes period in s (0.001 or more)"},
        {"0 power_w const 1e19", "'const' takes a value"},
        {"0 util_percent sine -1 1 2", "'sine' takes"},
        {"0 util_percent ramp 5 5 1 2", "'ramp' takes"},
        {"0 util_percent const 1 noise x", "invalid noise amplitude: 'x'"},
        {"0 util_percent const 1 noise -1", "invalid noise amplitude: '-1'"},
        {"0 util_percent steps 0:1", "at least two"},
        {"0 util_percent steps 1:1 2:1", "start at second 0"},
        {"0 util_percent steps 0:1 0:1", "start at second 0 and increase by at least 0.001: '0:1'"},
        {"0 util_percent steps 0:1 5", "not SECOND:VALUE: '5'"},
        {"0 util_percent steps 0:1 5:2", "must equal the first"},
        {"0 util_percent const 101",
         "line 1: range 101 to 101 (with noise) exceeds the range of 'util_percent', 0 to 100"},
        {"0 util_percent const 99 noise 2", "range 97 to 101"},
        {"0 power_w sine 5 -1 2", "range -1 to 2"},
        {"0 util_percent square 1 0.5 -3 2", "range -3 to 2"},
        {"0 state steps 0:0 5:5 9:0", "'state', 0 to 4"},
        {"0 power_w const 1\n\n0 power_w const 2", "line 3: duplicate of line 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk__curves *curves;
        stk_error error = {0};
        assert_int_equal(stk__curves_read(&curves, rows[i].text, &error), STK_ERROR_CONFIG);
        assert_null(curves);
        if (!strstr(error.message, rows[i].message)) fail_msg("'%s': %s", rows[i].text, error.message);
    }
}

static void long_lines_are_refused(void **state)
{
    (void)state;
    char text[1024] = "0 util_percent steps 0:1";
    for (int i = 1; i < 80; i++)
        sprintf(text + strlen(text), " %d:1", i);
    stk__curves *curves;
    assert_int_equal(stk__curves_read(&curves, text, NULL), STK_ERROR_CONFIG);
}

static void too_many_lines_are_refused(void **state)
{
    (void)state;
    static char text[40000];
    memset(text, '\n', sizeof text - 1);
    stk__curves *curves;
    assert_int_equal(stk__curves_read(&curves, text, NULL), STK_ERROR_CONFIG);
}

static stk_status read_once(void *context, stk_error *error)
{
    stk__curves *curves;
    const stk_status status = stk__curves_read(&curves, context, error);
    stk__curves_destroy(&curves);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(fail_alloc_each(read_once, "0 util_percent steps 0:1 5:1\n"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_have_their_values),  cmocka_unit_test(means_are_exact),
        cmocka_unit_test(means_of_noise_are_exact),  cmocka_unit_test(what_grows_is_summed),
        cmocka_unit_test(stars_are_for_the_others),  cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(long_lines_are_refused),    cmocka_unit_test(too_many_lines_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("curve", tests, NULL, NULL);
}
