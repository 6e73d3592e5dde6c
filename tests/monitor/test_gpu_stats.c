/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the summary against closed forms. */
#include "monitor/verdict/gpu_stats.h"

#include "frame_maker.h"
#include "support/fail_alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

static frame_maker maker;
static stk__gpu_stats *stats;
static stk_monitor_summary summary;

static int start(void **state)
{
    (void)state;
    maker_start(&maker, 2);
    maker_next(&maker, 0);
    assert_int_equal(stk__gpu_stats_create(&stats, maker.gpus, 2, NULL), STK_OK);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    stk__gpu_stats_destroy(&stats);
    assert_null(stats);
    return 0;
}

static const stk_gpu_summary *judge(void)
{
    stk__gpu_stats_judge(stats, &summary);
    return &summary.gpus[0];
}

static void near(stk_reading reading, double value, double bound)
{
    if (reading.known != STK_KNOWN || fabs(reading.value - value) > bound)
        fail_msg("%g (known: %d) instead of %g", reading.value, reading.known, value);
}

static void unknown(stk_reading reading)
{
    assert_int_equal(reading.known, STK_UNKNOWN);
}

/* Mean of a square wave with a period of 0.4 s that is on for its first 70 %, between two moments. */
static double square_mean(double from_s, double to_s)
{
    const double ends[] = {to_s, from_s};
    double on_s[2];
    for (int i = 0; i < 2; i++) {
        const double periods = floor(ends[i] / 0.4);
        on_s[i] = periods * 0.28 + fmin(ends[i] - periods * 0.4, 0.28);
    }
    return 100 * (on_s[0] - on_s[1]) / (to_s - from_s);
}

/* Frames of `interval_s`, in each the samples a driver took itself, `sample_s` long, told late. */
static void add_square(double seconds, double interval_s, double sample_s)
{
    double told_s = 0;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < lrint(seconds / interval_s); i++) {
        const double until_s = maker_next(&maker, interval_s) + interval_s;
        for (; told_s + sample_s < until_s + 1e-9; told_s += sample_s)
            maker_load(&maker, 0, told_s, told_s + sample_s, square_mean(told_s, told_s + sample_s));
        stk__gpu_stats_add(stats, &maker.frame);
    }
}

/* Seconds hold 2.5 periods: by turns 0.76 and 0.64 s of it are on. */
static void square_wave(void **state)
{
    (void)state;
    add_square(60, 1, 0.02);
    const stk_gpu_summary *gpu = judge();
    near(gpu->util_mean_percent, 70, 0.1);
    near(gpu->util_std_percent, 6, 0.1);
    near(gpu->below_half, 0.3, 0.02);
    near(gpu->util_p5_percent, 0, 0);
    near(gpu->util_p95_percent, 100, 0);
    unknown(summary.gpus[1].util_mean_percent);
    near(summary.util_mean_percent, 70, 0.1);
    assert_true(fabs(summary.seconds - 60) < 1e-6 && summary.frame_count == 61);
}

/* Samples of a sixth of a second are cut at the full second: mean exact, fluctuation within 1. */
static void square_wave_as_a_driver_samples_it(void **state)
{
    (void)state;
    add_square(120, 1, 1.0 / 6);
    const stk_gpu_summary *gpu = judge();
    near(gpu->util_mean_percent, 70, 1);
    near(gpu->util_std_percent, 6, 1);
}

/* Ten frames a second: samples come rarely, and most frames have none. */
static void samples_are_not_counted_twice(void **state)
{
    (void)state;
    maker_set(&maker, 0, STK_METRIC_UTIL, 3);
    add_square(30, 0.1, 1.0 / 6);
    near(judge()->util_mean_percent, 70, 1);
    /* the same moments once more, and moments to come, change nothing */
    maker_next(&maker, 0.1);
    maker_load(&maker, 0, 5, 10, 0);
    maker_load(&maker, 0, 29.99, 29.9, 0);
    maker_load(&maker, 0, 30, 30.1, NAN);
    maker_load(&maker, 0, 30, 30.1, -2);
    stk__gpu_stats_add(stats, &maker.frame);
    near(judge()->util_mean_percent, 70, 1);
}

/* Samples that end behind their frame are counted whole, and those far behind it are nonsense. */
static void samples_may_end_late(void **state)
{
    (void)state;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 300; i++) {
        const double from_s = maker_next(&maker, 1);
        maker_load(&maker, 0, from_s - 0.7, from_s - 0.5, 100);
        maker_load(&maker, 0, from_s - 0.5, from_s + 0.3, 0);
        maker_load(&maker, 0, from_s + 0.3, from_s + 0.5, 100);
        maker_load(&maker, 0, from_s + 0.5, from_s + 1.3, 0);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    near(judge()->util_mean_percent, 20, 0.1);
    near(summary.gpus[0].util_std_percent, 0, 0.7);
    maker_next(&maker, 1);
    maker_load(&maker, 0, 0, 1e9, 100);
    stk__gpu_stats_add(stats, &maker.frame);
    near(judge()->util_mean_percent, 20, 0.6);
}

static void same(stk_reading one, stk_reading other)
{
    assert_int_equal(other.known, STK_KNOWN);
    near(one, other.value, 1e-9);
}

/* The first GPU tells its load in one long sample, the second one the same cut at full seconds. */
static void long_samples_count_like_short_ones(void **state)
{
    (void)state;
    static const double percents[] = {80, 20, 95};
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 3; i++) {
        const double from_s = maker_next(&maker, 200.7), to_s = from_s + 200.7;
        maker_load(&maker, 0, from_s, to_s, percents[i]);
        for (double at_s = from_s; at_s < to_s; at_s = floor(at_s) + 1)
            maker_load(&maker, 1, at_s, fmin(floor(at_s) + 1, to_s), percents[i]);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    const stk_gpu_summary *whole = judge(), *cut = &summary.gpus[1];
    same(whole->util_mean_percent, cut->util_mean_percent);
    same(whole->util_std_percent, cut->util_std_percent);
    same(whole->below_half, cut->below_half);
    same(whole->util_p5_percent, cut->util_p5_percent);
    same(whole->util_median_percent, cut->util_median_percent);
    near(whole->util_mean_percent, 65, 1e-6);
    near(whole->below_half, 1.0 / 3, 1e-6);
}

/* Stopped by Ctrl-Z and forgotten: a frame of a year takes no longer than one of a minute. */
static void years_cost_no_more(void **state)
{
    (void)state;
    const clock_t begun = clock();
    maker_set(&maker, 0, STK_METRIC_UTIL, 90);
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 50; i++) {
        maker_next(&maker, 365 * 86400.0);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    near(judge()->util_mean_percent, 90, 1e-6);
    near(summary.gpus[0].util_std_percent, 0, 1e-3);
    assert_true(clock() - begun < 2 * CLOCKS_PER_SEC); /* second by second it is ten times that */
}

/* Readers compute means, which may miss 0 and 100 by a rounding error. */
static void rounding_errors_count(void **state)
{
    (void)state;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 20; i++) {
        const double from_s = maker_next(&maker, 1);
        maker_load(&maker, 0, from_s, from_s + 0.5, -1e-12);
        maker_load(&maker, 0, from_s + 0.5, from_s + 1, 100 + 1e-12);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    near(judge()->util_mean_percent, 50, 1e-9);
}

/* Without samples of the driver the reading stands for its interval. */
static void polled(void **state)
{
    (void)state;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 20; i++) {
        maker_next(&maker, 2);
        maker_set(&maker, 0, STK_METRIC_UTIL, i % 2 ? 90 : 40);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    const stk_gpu_summary *gpu = judge();
    near(gpu->util_mean_percent, 65, 1e-6);
    near(gpu->util_std_percent, 25, 1e-6);
    near(gpu->below_half, 0.5, 1e-6);
}

static double wave(double second)
{
    return 60 + 30 * sin(second * 0.7) * cos(second * 0.013);
}

/* Hours: buckets are joined again and again, and sums stay what they are. */
static void hours_cost_no_more(void **state)
{
    (void)state;
    fail_alloc none = {.left = 0};
    double sum = 0, squares = 0, below = 0;
    const int seconds = 20000;
    stk__gpu_stats_add(stats, &maker.frame);
    fail_alloc_set(&none);
    for (int i = 0; i < seconds; i++) {
        const double from_s = maker_next(&maker, 1), value = wave(i);
        maker_load(&maker, 0, from_s, from_s + 0.5, value - 5);
        maker_load(&maker, 0, from_s + 0.5, from_s + 1, value + 5);
        maker_set(&maker, 0, STK_METRIC_POWER, value);
        maker_set(&maker, 0, STK_METRIC_POWER_LIMIT, 200);
        stk__gpu_stats_add(stats, &maker.frame);
        sum += value;
        squares += value * value;
        below += 0.5 * (value - 5 < 50) + 0.5 * (value + 5 < 50);
    }
    const stk_gpu_summary *gpu = judge();
    fail_alloc_set(NULL);
    assert_true(summary.steady_from_s == 0 && fabs(summary.steady_to_s - seconds) < 1e-6);
    near(gpu->util_mean_percent, sum / seconds, 1e-6);
    near(gpu->util_std_percent, sqrt(squares / seconds - pow(sum / seconds, 2)), 1e-6);
    near(gpu->below_half, below / seconds, 1e-9);
    near(gpu->power_mean_w, sum / seconds, 1e-6);
    near(gpu->power_share, sum / seconds / 200, 1e-9);
}

/* Judging in between, as a screen does, changes nothing. */
static void judging_changes_nothing(void **state)
{
    (void)state;
    stk_monitor_summary first;
    stk_gpu_summary gpus[2];
    add_square(90, 0.5, 0.05);
    stk__gpu_stats_judge(stats, &first);
    memcpy(gpus, first.gpus, sizeof gpus);
    stop(NULL);
    start(NULL);
    double told_s = 0;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 180; i++) {
        const double until_s = maker_next(&maker, 0.5) + 0.5;
        for (; told_s + 0.05 < until_s + 1e-9; told_s += 0.05)
            maker_load(&maker, 0, told_s, told_s + 0.05, square_mean(told_s, told_s + 0.05));
        stk__gpu_stats_add(stats, &maker.frame);
        judge();
    }
    assert_string_equal(first.verdict, summary.verdict);
    near(summary.gpus[0].util_mean_percent, gpus[0].util_mean_percent.value, 0);
    near(summary.gpus[0].util_std_percent, gpus[0].util_std_percent.value, 0);
}

/* 30 s of loading data, 100 s of work with a hole, 20 s of saving: the work is judged. */
static void warm_up_is_cut(void **state)
{
    (void)state;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 150; i++) {
        maker_next(&maker, 1);
        const bool works = i >= 30 && i < 130 && (i < 60 || i >= 65);
        maker_set(&maker, 0, STK_METRIC_UTIL, works || i == 10 ? 90 : 3);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    const stk_gpu_summary *gpu = judge();
    /* after 128 s buckets are 2 s long, 3 of them in a row begin the work */
    assert_true(summary.steady_from_s == 30 && summary.steady_to_s == 130);
    near(gpu->util_mean_percent, (95 * 90 + 5 * 3) / 100.0, 1e-6);
    near(gpu->util_median_percent, 90, 0);
}

static void a_few_seconds_are_not_cut(void **state)
{
    (void)state;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 8; i++) {
        maker_next(&maker, 1);
        maker_set(&maker, 0, STK_METRIC_UTIL, i < 4 ? 0 : 80);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    near(judge()->util_mean_percent, 40, 1e-6);
    assert_true(summary.steady_from_s == 0 && fabs(summary.steady_to_s - 8) < 1e-9);
}

static void counters_grow(void **state)
{
    (void)state;
    for (int i = 0; i <= 20; i++) {
        maker_set(&maker, 0, STK_METRIC_ENERGY, 1e6 + 300 * i);
        maker_set(&maker, 0, STK_METRIC_THROTTLED_POWER, 50 + 0.25 * i);
        maker_set(&maker, 0, STK_METRIC_PCIE_RECEIVED, i < 10 ? 5e9 + 1e9 * i : 2e9 * (i - 10)); /* anew */
        maker_set(&maker, 0, STK_METRIC_THROTTLE, i > 15 ? STK_THROTTLE_HEAT | STK_THROTTLE_BRAKE : 0);
        maker_set(&maker, 0, STK_METRIC_TEMPERATURE, i == 7 ? 81 : 60);
        maker_set(&maker, 0, STK_METRIC_MEMORY_USED, i == 7 ? 6e9 : 3e9);
        maker_set(&maker, 0, STK_METRIC_MEMORY_TOTAL, 8e9);
        maker.frame.host.quota_throttled_s = maker_known(&maker, 3 + 0.1 * i);
        maker.frame.host.job_memory_bytes = maker_known(&maker, i == 3 ? 5e9 : 4e9);
        maker.frame.host.job_cpu_percent = maker_known(&maker, 10 * i);
        stk__gpu_stats_add(stats, &maker.frame);
        maker_next(&maker, 1);
    }
    const stk_gpu_summary *gpu = judge();
    near(gpu->energy_j, 6000, 1e-6);
    near(gpu->throttled_power_s, 5, 1e-9);
    near(gpu->throttled_heat_s, 5, 1e-9); /* by bits: there is no counter */
    near(gpu->throttled_brake_s, 5, 1e-9);
    near(gpu->pcie_received_bytes_per_s, (9e9 + 20e9) / 19, 1);
    unknown(gpu->pcie_sent_bytes_per_s);
    unknown(gpu->sm_active_mean_percent);
    near(gpu->hottest_c, 81, 0);
    near(gpu->memory_peak_share, 0.75, 1e-9);
    near(summary.quota_throttled_s, 2, 1e-9);
    near(summary.job_memory_peak_bytes, 5e9, 0);
    near(summary.job_cpu_mean_percent, 105, 1e-6);
}

static void lost_time_is_not_zero(void **state)
{
    (void)state;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 40; i++) {
        const double from_s = maker_next(&maker, 1);
        const bool lost = i >= 20 && i < 30;
        maker.seen[0].state = lost ? STK_GPU_LOST : STK_GPU_GOOD;
        snprintf(maker.seen[0].note, sizeof maker.seen[0].note, "%s", lost ? "fell off the bus" : "");
        if (!lost) maker_load(&maker, 0, from_s, from_s + 1, 80);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    const stk_gpu_summary *gpu = judge();
    near(gpu->util_mean_percent, 80, 1e-9);
    near(gpu->util_std_percent, 0, 1e-6);
    assert_true(fabs(gpu->good_share - 0.75) < 1e-9);
    assert_int_equal(gpu->bad_state, STK_GPU_LOST);
    assert_int_equal(gpu->last_state, STK_GPU_GOOD);
    assert_string_equal(gpu->bad_note, "fell off the bus");
}

static void nothing_seen(void **state)
{
    (void)state;
    const stk_gpu_summary *gpu = judge();
    unknown(gpu->util_mean_percent);
    assert_string_equal(gpu->finding, "too_short");
    stk__gpu_stats_add(stats, &maker.frame);
    unknown(judge()->util_mean_percent);
    assert_true(summary.seconds == 0 && summary.frame_count == 1);
}

static void finds_the_period(void **state)
{
    (void)state;
    stk__gpu_stats_add(stats, &maker.frame);
    for (int i = 0; i < 300; i++) {
        const double from_s = maker_next(&maker, 1);
        for (int k = 0; k < 4; k++)
            maker_load(&maker, 0, from_s + k / 4.0, from_s + (k + 1) / 4.0,
                       fmod(from_s + k / 4.0, 12.5) < 2 ? 10 : 95);
        stk__gpu_stats_add(stats, &maker.frame);
    }
    near(judge()->dip_period_s, 12.5, 0.2);
    unknown(summary.gpus[1].dip_period_s);
}

static stk_status create_once(void *context, stk_error *error)
{
    (void)context;
    stk__gpu_stats *made = NULL;
    STK__TRY(stk__gpu_stats_create(&made, maker.gpus, 2, error));
    stk__gpu_stats_destroy(&made);
    return STK_OK;
}

static void failing_memory(void **state)
{
    (void)state;
    assert_int_equal(fail_alloc_each(create_once, NULL), 4);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        CASE(square_wave),
        CASE(square_wave_as_a_driver_samples_it),
        CASE(samples_are_not_counted_twice),
        CASE(samples_may_end_late),
        CASE(long_samples_count_like_short_ones),
        CASE(years_cost_no_more),
        CASE(rounding_errors_count),
        CASE(polled),
        CASE(hours_cost_no_more),
        CASE(judging_changes_nothing),
        CASE(warm_up_is_cut),
        CASE(a_few_seconds_are_not_cut),
        CASE(counters_grow),
        CASE(lost_time_is_not_zero),
        CASE(nothing_seen),
        CASE(finds_the_period),
        CASE(failing_memory),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
