/* SPDX-License-Identifier: Apache-2.0 */
/* Regular dips are found, noise is not taken for them. */
#include "monitor/verdict/period.h"

#include "core/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

typedef struct dice {
    uint32_t series, draw;
} dice;

static double roll(dice *d)
{
    const stk__random random =
        stk__random_draw((stk__random_at){.seed = 7, .epoch = d->series, .sample = d->draw++});
    return (double)stk__random_unit(random.word[0]);
}

/* About normal: the sum of twelve. */
static double bell(dice *d)
{
    double sum = -6;
    for (int i = 0; i < 3; i++) {
        const stk__random random =
            stk__random_draw((stk__random_at){.seed = 8, .epoch = d->series, .sample = d->draw++});
        for (int k = 0; k < 4; k++)
            sum += (double)stk__random_unit(random.word[k]);
    }
    return sum;
}

static stk__period_work work;

typedef struct dips {
    double period, share, noise, jitter; /* steps; of a period; percent; of a period */
} dips;

static void fill_dips(dice *d, int count, dips shape)
{
    for (int i = 0; i < count; i++)
        work.series[i] = (float)(92 + shape.noise * bell(d));
    for (double at = shape.period * roll(d); at < count; at += shape.period * (1 + shape.jitter * bell(d)))
        for (int i = (int)at; i < at + shape.share * shape.period && i < count; i++)
            work.series[i] -= 80;
}

static void finds_dips(void **state)
{
    (void)state;
    static const dips shapes[] = {{10, 0.1, 5, 0},     {24, 0.1, 10, 0},     {48.5, 0.1, 10, 0},
                                  {97, 0.08, 5, 0},    {24, 0.3, 20, 0},     {40, 0.5, 10, 0.01},
                                  {60, 0.15, 8, 0.02}, {120, 0.1, 10, 0.01}, {180, 0.1, 5, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (uint32_t trial = 0; trial < 10; trial++) {
            dice d = {.series = 1000 + trial};
            const int count = (int)(shapes[i].period * 11);
            fill_dips(&d, count, shapes[i]);
            const double found = stk__period_find(&work, count, 8);
            if (fabs(found - shapes[i].period) > 0.03 * shapes[i].period)
                fail_msg("shape %zu, trial %u: %g instead of %g", i, trial, found, shapes[i].period);
        }
}

/* Values that follow each other slowly look like waves. */
static void fill_slow(dice *d, int count, double memory)
{
    double value = 0;
    for (int i = 0; i < count; i++) {
        value = memory * value + sqrt(1 - memory * memory) * bell(d);
        work.series[i] = (float)(60 + 20 * value);
    }
}

/* Dips that come when they like. */
static void fill_shots(dice *d, int count)
{
    const double mean = 10 + 30 * roll(d);
    for (int i = 0; i < count; i++)
        work.series[i] = 95;
    for (int i = 0; i < count;) {
        i += 1 - (int)(mean * log(1 - roll(d)));
        for (const int end = i + 2 + (int)(8 * roll(d)); i < end && i < count; i++)
            work.series[i] = 10;
    }
}

/* Neighbours averaged, as summary.c does it. */
static int smooth(int count, int width)
{
    for (int i = 0; i + width <= count; i++) {
        float sum = 0;
        for (int k = 0; k < width; k++)
            sum += work.series[i + k];
        work.series[i] = sum / (float)width;
    }
    return count - width + 1;
}

static void noise_is_no_period(void **state)
{
    (void)state;
    static const int counts[] = {60, 120, 240, 480, 1000};
    static const double memories[] = {0, 0.5, 0.8, 0.95, 0.99};
    int series = 0, alarms = 0;
    for (size_t c = 0; c < 5; c++)
        for (size_t m = 0; m < 6; m++)
            for (uint32_t trial = 0; trial < 100; trial++, series++) {
                dice d = {.series = (uint32_t)series};
                if (m < 5)
                    fill_slow(&d, counts[c], memories[m]);
                else
                    fill_shots(&d, counts[c]);
                const int width = trial % 2 ? 4 : 1;
                alarms += stk__period_find(&work, smooth(counts[c], width), 4 * width) > 0;
            }
    assert_int_equal(series, 3000);
    assert_int_equal(alarms, 0);
}

/* Batches have a rhythm too: it is not told, nor are its multiples. */
static void short_periods_are_not_told(void **state)
{
    (void)state;
    for (int period = 2; period < 16; period++) {
        for (int i = 0; i < 600; i++)
            work.series[i] = i % period ? 90 : 30;
        assert_true(stk__period_find(&work, 600, 16) == 0);
        for (int i = 0; i < 600; i++)
            work.series[i] = i % period ? 90 : 30;
        assert_true(fabs(stk__period_find(&work, 600, 2) - period) < 0.01);
    }
}

static void nothing_to_find(void **state)
{
    (void)state;
    for (int i = 0; i < STK_PERIOD_STEPS; i++)
        work.series[i] = 88;
    assert_true(stk__period_find(&work, STK_PERIOD_STEPS, 8) == 0);
    for (int i = 0; i < STK_PERIOD_STEPS; i++)
        work.series[i] = (float)i * 0.04F; /* only rises */
    assert_true(stk__period_find(&work, STK_PERIOD_STEPS, 8) == 0);
    for (int i = 0; i < STK_PERIOD_STEPS; i++)
        work.series[i] = 90 - (i % 20 == 0); /* dips that nobody would mind */
    assert_true(stk__period_find(&work, STK_PERIOD_STEPS, 8) == 0);
    for (int count = 0; count < 48; count++) /* too short for six periods */
        assert_true(stk__period_find(&work, count, 8) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_dips),
        cmocka_unit_test(noise_is_no_period),
        cmocka_unit_test(short_periods_are_not_told),
        cmocka_unit_test(nothing_to_find),
    };
    return cmocka_run_group_tests_name("period", tests, NULL, NULL);
}
