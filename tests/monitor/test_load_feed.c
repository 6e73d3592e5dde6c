/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a driver as loads, counters as unwrap, polls as one frame: arithmetic, without a driver. */
#include "monitor/counter_unwrap.h"
#include "monitor/load_feed.h"
#include "monitor/poll_merge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS 1000000ull

static stk_gpu_frame frame;

static stk__load_feed begin(uint64_t now_ns)
{
    stk__load_feed feed;
    stk__gpu_frame_clear(&frame);
    stk__load_feed_begin(&feed, now_ns);
    return feed;
}

static void expect_load(int number, uint64_t from_ns, uint64_t to_ns, double percent)
{
    const stk_load_sample *load = &frame.loads[number];
    if (load->from_ns != from_ns || load->to_ns != to_ns || load->percent != percent)
        fail_msg("load %d: %llu to %llu, %g %%", number, (unsigned long long)load->from_ns,
                 (unsigned long long)load->to_ns, load->percent);
}

static void samples_are_told_once_and_in_order(void **state)
{
    (void)state;
    stk__load_feed feed = begin(1000 * MS);
    const stk__load_raw history[] = {{5000000, 10}, {5100000, 20}};
    assert_true(stk__load_feed_samples(&feed, history, 2, 1000 * MS, &frame));
    assert_int_equal(frame.load_count, 0);
    assert_int_equal(feed.stamp_us, 5100000);
    const stk__load_raw next[] = {{5100000, 20}, {5200000, 30}, {5150000, 99}, {5200000, 31}, {5300000, 40}};
    assert_true(stk__load_feed_samples(&feed, next, 5, 1200 * MS, &frame));
    assert_int_equal(frame.load_count, 2);
    expect_load(0, 1000 * MS, 1100 * MS, 30);
    expect_load(1, 1100 * MS, 1200 * MS, 40);
    assert_false(stk__load_feed_samples(&feed, next, 5, 1300 * MS, &frame));
    assert_int_equal(frame.load_count, 2);
}

static void the_tightest_bound_on_the_clock_counts(void **state)
{
    (void)state;
    stk__load_feed feed = begin(1000 * MS);
    assert_true(stk__load_feed_samples(&feed, (stk__load_raw[]){{5000000, 0}}, 1, 1000 * MS, &frame));
    /* seen 30 ms after it was made: the first one must have been 70 ms old */
    assert_true(stk__load_feed_samples(&feed, (stk__load_raw[]){{5100000, 50}}, 1, 1030 * MS, &frame));
    expect_load(0, 1000 * MS, 1030 * MS, 50);
    assert_true(stk__load_feed_samples(&feed, (stk__load_raw[]){{5200000, 60}}, 1, 1190 * MS, &frame));
    assert_true(frame.loads[1].to_ns >= 1130 * MS && frame.loads[1].to_ns < 1131 * MS);
}

static void what_is_no_load_leaves_a_gap(void **state)
{
    (void)state;
    stk__load_feed feed = begin(1000 * MS);
    assert_true(stk__load_feed_samples(&feed, (stk__load_raw[]){{5000000, 0}}, 1, 1000 * MS, &frame));
    const stk__load_raw raw[] = {{5100000, 50}, {5200000, 101}, {5300000, -1}, {5400000, NAN}, {5500000, 70}};
    assert_true(stk__load_feed_samples(&feed, raw, 5, 1500 * MS, &frame));
    assert_int_equal(frame.load_count, 2);
    expect_load(1, 1400 * MS, 1500 * MS, 70);
    assert_false(stk__load_feed_samples(&feed, (stk__load_raw[]){{UINT64_MAX, 5}}, 1, 1600 * MS, &frame));
}

static void a_pause_is_not_covered(void **state)
{
    (void)state;
    stk__load_feed feed = begin(1000 * MS);
    const stk__load_raw raw[] = {{5000000, 0}, {5100000, 0}};
    assert_true(stk__load_feed_samples(&feed, raw, 2, 1000 * MS, &frame));
    assert_true(stk__load_feed_samples(&feed, (stk__load_raw[]){{9100000, 80}}, 1, 5000 * MS, &frame));
    expect_load(0, 4900 * MS, 5000 * MS, 80);
}

static void polls_stand_in(void **state)
{
    (void)state;
    stk__load_feed feed = begin(1000 * MS);
    assert_false(stk__load_feed_stale(&feed, 2000 * MS));
    assert_true(stk__load_feed_stale(&feed, 2600 * MS));
    stk__load_feed_poll(&feed, 12, 2600 * MS, &frame);
    stk__load_feed_poll(&feed, 101, 2700 * MS, &frame);
    stk__load_feed_poll(&feed, 14, 2800 * MS, &frame);
    stk__load_feed_poll(&feed, 15, 2800 * MS, &frame);
    assert_int_equal(frame.load_count, 2);
    expect_load(0, 1000 * MS, 2600 * MS, 12);
    expect_load(1, 2700 * MS, 2800 * MS, 14);
}

static void clocks_that_are_set_are_found_out(void **state)
{
    (void)state;
    stk__load_feed feed = begin(1000 * MS);
    assert_true(stk__load_feed_samples(&feed, (stk__load_raw[]){{9000000, 0}}, 1, 1000 * MS, &frame));
    /* forward */
    assert_true(stk__load_feed_samples(&feed, (stk__load_raw[]){{99100000, 33}}, 1, 1100 * MS, &frame));
    expect_load(0, 1000 * MS, 1100 * MS, 33);
    /* back: the old ones are still in the buffer */
    const stk__load_raw all[] = {{9000000, 0}, {99100000, 33}, {500000, 44}, {600000, 55}};
    assert_false(stk__load_feed_samples(&feed, all, 4, 1300 * MS, &frame));
    assert_int_equal(stk__load_feed_rewind(&feed, all, 2), -1);
    assert_int_equal(stk__load_feed_rewind(&feed, all, 0), -1);
    assert_int_equal(stk__load_feed_rewind(&feed, all, 4), 2);
    assert_true(stk__load_feed_samples(&feed, all + 2, 2, 1300 * MS, &frame));
    expect_load(1, 1100 * MS, 1200 * MS, 44);
    expect_load(2, 1200 * MS, 1300 * MS, 55);
}

static bool grow(stk__counter_unwrap *unwrap, double raw, uint64_t now_ms, double *total)
{
    return stk__counter_unwrap_add(unwrap, raw, 1e9, now_ms * MS, total);
}

static void counters_only_grow(void **state)
{
    (void)state;
    stk__counter_unwrap unwrap = {0};
    double total = -1;
    assert_true(grow(&unwrap, 4.2e9, 0, &total) && total == 4.2e9);
    assert_true(grow(&unwrap, 4.25e9, 100, &total) && total == 4.25e9);
    assert_true(grow(&unwrap, 1e7, 200, &total) && fabs(total - 4294967296. - 1e7) < 1); /* wrapped */
    assert_true(grow(&unwrap, 3e7, 300, &total) && fabs(total - 4294967296. - 3e7) < 1);
    assert_true(grow(&unwrap, 2.9e7, 350, &total) && fabs(total - 4294967296. - 3e7) < 1); /* a little back */
    assert_true(grow(&unwrap, 1e7, 400, &total) && fabs(total - 4294967296. - 4e7) < 1);   /* began anew */
    total = -1;
    assert_false(grow(&unwrap, 1e19, 500, &total)); /* nobody is that fast */
    assert_true(total == -1);
    assert_true(grow(&unwrap, 2e7, 600, &total) && fabs(total - 4294967296. - 5e7) < 1);
    assert_false(grow(&unwrap, 8e12, 700, &total));
    assert_true(grow(&unwrap, 8e12 + 5, 800, &total) &&
                fabs(total - 4294967296. - 5e7) < 1); /* it stays there */
    assert_true(grow(&unwrap, 8e12 + 9, 900, &total) && fabs(total - 4294967296. - 5e7 - 4) < 1);
}

static void polls_are_put_together(void **state)
{
    (void)state;
    static stk__poll_merge merge;
    static stk_gpu_frame poll, out;
    for (int i = 0; i < 4; i++) {
        stk__gpu_frame_clear(&poll);
        poll.readings[STK_METRIC_SM_ACTIVE] = stk__reading_known(10 * i, 1);
        poll.readings[STK_METRIC_POWER] = stk__reading_known(100 + i, 1);
        poll.load_count = 1;
        poll.loads[0] = (stk_load_sample){(uint64_t)i * MS, (uint64_t)(i + 1) * MS, 20 * i};
        stk__poll_merge_add(&merge, &poll);
    }
    stk__poll_merge_take(&merge, &out);
    assert_int_equal(out.load_count, 4);
    assert_true(out.readings[STK_METRIC_SM_ACTIVE].value == 15 &&
                out.readings[STK_METRIC_POWER].value == 103);
    assert_true(out.readings[STK_METRIC_UTIL].value == 30 && out.readings[STK_METRIC_UTIL].when_ns == 4 * MS);
    stk__poll_merge_take(&merge, &out);
    assert_int_equal(out.load_count, 0); /* told once, but still known */
    assert_true(out.readings[STK_METRIC_POWER].value == 103);
    stk__gpu_frame_clear(&poll);
    poll.state = STK_GPU_RESET;
    stk__poll_merge_add(&merge, &poll);
    stk__poll_merge_take(&merge, &out);
    assert_int_equal(out.state, STK_GPU_RESET);
    assert_int_equal(out.readings[STK_METRIC_POWER].known, STK_UNKNOWN);
}

/* An hour in one frame: neighbours are joined, the mean stays. */
static void too_many_loads_are_joined(void **state)
{
    (void)state;
    static stk__poll_merge merge;
    static stk_gpu_frame poll, out;
    double sum = 0;
    enum { COUNT = 21600 };
    for (int i = 0; i < COUNT; i++) {
        stk__gpu_frame_clear(&poll);
        poll.load_count = 1;
        poll.loads[0] = (stk_load_sample){(uint64_t)i * MS, (uint64_t)(i + 1) * MS, i * 37 % 101};
        sum += poll.loads[0].percent;
        stk__poll_merge_add(&merge, &poll);
    }
    stk__poll_merge_take(&merge, &out);
    assert_in_range(out.load_count, STK_GPU_LOADS / 2, STK_GPU_LOADS);
    assert_true(fabs(out.readings[STK_METRIC_UTIL].value - sum / COUNT) < 1e-9);
    assert_true(out.loads[0].from_ns == 0 && out.loads[out.load_count - 1].to_ns == COUNT * MS);
    for (int i = 1; i < out.load_count; i++)
        assert_true(out.loads[i].from_ns == out.loads[i - 1].to_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_told_once_and_in_order),
        cmocka_unit_test(the_tightest_bound_on_the_clock_counts),
        cmocka_unit_test(what_is_no_load_leaves_a_gap),
        cmocka_unit_test(a_pause_is_not_covered),
        cmocka_unit_test(polls_stand_in),
        cmocka_unit_test(clocks_that_are_set_are_found_out),
        cmocka_unit_test(counters_only_grow),
        cmocka_unit_test(polls_are_put_together),
        cmocka_unit_test(too_many_loads_are_joined),
    };
    return cmocka_run_group_tests_name("load_feed", tests, NULL, NULL);
}
