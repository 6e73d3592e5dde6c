/* SPDX-License-Identifier: Apache-2.0 */
/* A million samples with a fixed seed: what is drawn has the probabilities, ranges and independence that the
 * settings promise. Every p must be above 1e-6. */
#include "augment/operation.h"
#include "augment_helpers.h"

#include <math.h>
#include <stdlib.h>

static const double p_least = 1e-6;

/* Chance of so much or more, Wilson and Hilferty's approximation; exact for one degree of freedom. */
static double chi_square_p(double chi, int freedom)
{
    if (freedom == 1) return erfc(sqrt(chi / 2));
    const double k = 2.0 / (9 * freedom);
    return erfc((cbrt(chi / freedom) - (1 - k)) / sqrt(2 * k)) / 2;
}

static void check_p(const char *what, double p)
{
    if (!(p > p_least)) fail_msg("%s: p = %g", what, p);
}

static double even_p(const uint32_t *bins, int count)
{
    double total = 0, chi = 0;
    for (int i = 0; i < count; i++)
        total += bins[i];
    const double expected = total / count;
    assert_true(expected > 20);
    for (int i = 0; i < count; i++)
        chi += (bins[i] - expected) * (bins[i] - expected) / expected;
    return chi_square_p(chi, count - 1);
}

static void check_even(const char *what, const uint32_t *bins, int count)
{
    check_p(what, even_p(bins, count));
}

static double prob_p(uint32_t hits, uint32_t total, double prob)
{
    const double off = hits - total * prob;
    assert_true(total > 1000);
    return chi_square_p(off * off / (total * prob * (1 - prob)), 1);
}

enum { SAMPLES = 1000000, BINS = 64, CELLS = 16, SIDE = 30000 };

/* One number that a trace tells: how often, and from where to where. */
typedef struct row {
    const char *operation, *what;
    double prob, low, high; /* prob 0: not looked at */
    uint32_t hits, turns, bins[BINS];
    const char *told; /* the operation's name in traces */
} row;

/* Where it lies between low and high, in [0, 1]. */
static double add_value(row *r, double value)
{
    const double place = (value - r->low) / (r->high - r->low) * BINS;
    const double slack = r->operation ? 1e-6 : 0.05; /* sides of boxes are rounded to pixels */
    if (!(place >= -slack && place <= BINS + slack)) fail_msg("%s %s = %g", r->operation, r->what, value);
    const int bin = (int)fmin(fmax(place, 0), BINS - 1);
    r->bins[bin]++;
    return place / BINS;
}

/* An operation tells either its numbers or that it was not applied. A name that was equal once is known by
 * its address: a million samples are many comparisons. */
static void add_fact(row *r, const stk__plan_fact *fact)
{
    if (!r->told && strcmp(r->operation, fact->operation) == 0) r->told = fact->operation;
    if (r->told != fact->operation) return;
    const bool mine = strcmp(r->what, fact->what) == 0, chance = strcmp(fact->what, "applied") == 0;
    const bool hit = mine && (!chance || fact->value > 0);
    r->turns += mine || chance;
    r->hits += hit;
    if (hit && !chance) add_value(r, fact->value);
}

static void check_row(const row *r)
{
    char name[64];
    snprintf(name, sizeof name, "%s %s", r->operation, r->what);
    if (r->prob > 0) check_p(name, prob_p(r->hits, r->turns, r->prob));
    if (strcmp(r->what, "applied") != 0) check_even(name, r->bins, BINS);
}

typedef struct table {
    const char *name;
    uint32_t cells[CELLS * CELLS];
} table;

static void add_pair(table *t, double a, double b)
{
    const int x = (int)fmin(fmax(a * CELLS, 0), CELLS - 1), y = (int)fmin(fmax(b * CELLS, 0), CELLS - 1);
    t->cells[x * CELLS + y]++;
}

/* Parts of areas: shares of the whole, proportions in logarithms, places. */
typedef struct boxes {
    const char *name;
    row area, ratio, x, y;
    table shape, place;
} boxes;

static void add_box(boxes *b, double x, double y, double w, double h)
{
    const double area = add_value(&b->area, w * h / ((double)SIDE * SIDE));
    add_pair(&b->shape, area, add_value(&b->ratio, log(w / h)));
    const double across = add_value(&b->x, x / (SIDE - w + 1));
    add_pair(&b->place, across, add_value(&b->y, y / (SIDE - h + 1)));
}

static void check_boxes(const boxes *b)
{
    check_even(b->name, b->area.bins, BINS);
    check_even(b->name, b->ratio.bins, BINS);
    check_even(b->name, b->x.bins, BINS);
    check_even(b->name, b->y.bins, BINS);
    check_even(b->name, b->shape.cells, CELLS * CELLS);
    check_even(b->name, b->place.cells, CELLS * CELLS);
}

static row rows[] = {
    {.operation = "horizontal flip", .what = "applied", .prob = 0.5},
    {.operation = "vertical flip", .what = "applied", .prob = 0.25},
    {.operation = "rotation", .what = "degrees", .prob = 0.6, .low = -15, .high = 15},
    {.operation = "scale", .what = "factor", .prob = 0.7, .low = 0.8, .high = 1.2},
    {.operation = "shear", .what = "degrees", .prob = 0.35, .low = -10, .high = 10},
    {.operation = "translate", .what = "x", .prob = 0.4, .low = -0.1 * SIDE, .high = 0.1 * SIDE},
    {.operation = "translate", .what = "y", .prob = 0.4, .low = -0.2 * SIDE, .high = 0.2 * SIDE},
    {.operation = "crop", .what = "applied", .prob = 0.45},
    {.operation = "jitter", .what = "applied", .prob = 0.8},
    {.operation = "brightness", .what = "factor", .prob = 0.9, .low = 0.7, .high = 1.3},
    {.operation = "contrast", .what = "factor", .prob = 0.7, .low = 0.8, .high = 1.2},
    {.operation = "saturation", .what = "factor", .prob = 0.6, .low = 0.5, .high = 0.75},
    {.operation = "hue", .what = "turn", .prob = 0.5, .low = -0.1, .high = 0.1},
    {.operation = "gray", .what = "applied", .prob = 0.15},
    {.operation = "gamma", .what = "exponent", .prob = 0.55, .low = 0.7, .high = 1.3},
    {.operation = "blur", .what = "sigma", .prob = 0.3, .low = 0.1, .high = 2},
    {.operation = "noise", .what = "std", .prob = 0.2, .low = 0.01, .high = 0.05},
    {.operation = "erase", .what = "applied", .prob = 0.65},
};

/* Areas are such that every first try fits: what does not fit is drawn again and would not be even. */
static boxes crops = {.name = "crop",
                      .area = {.low = 0.2, .high = 0.4},
                      .ratio = {.low = -0.28768207, .high = 0.28768207},
                      .x = {.high = 1},
                      .y = {.high = 1}};
static boxes erased = {.name = "erase",
                       .area = {.low = 0.02, .high = 0.2},
                       .ratio = {.low = -1.1939225, .high = 1.2039728},
                       .x = {.high = 1},
                       .y = {.high = 1}};

static void probabilities_and_ranges(void **state)
{
    (void)state;
    stk__plan *plan = plan_of(
        "horizontal_flip_prob=0.5 vertical_flip_prob=0.25 rotation_degrees=15 rotation_prob=0.6 scale=0.2 "
        "scale_prob=0.7 shear=10 shear_prob=0.35 translate=0.1,0.2 translate_prob=0.4 crop=[0.2,0.4] "
        "crop_prob=0.45 jitter_prob=0.8 brightness=0.3 brightness_prob=0.9 contrast=0.2 contrast_prob=0.7 "
        "saturation=[0.5,0.75] saturation_prob=0.6 hue=0.1 hue_prob=0.5 gray_prob=0.15 gamma=0.3 "
        "gamma_prob=0.55 blur_kernel=3 blur_prob=0.3 noise_std=[0.01,0.05] noise_prob=0.2 erase_prob=0.65 "
        "erase_scale=[0.02,0.2]");
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const stk__plan_at at = {.epoch = i % 5,
                                 .sample = i / 5,
                                 .source_w = SIDE,
                                 .source_h = SIDE,
                                 .target_w = SIDE,
                                 .target_h = SIDE,
                                 .channels = 3};
        stk__resolved out;
        stk__plan_trace trace;
        stk__plan_resolve(plan, &at, &out, &trace);
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
            for (int f = 0; f < trace.count; f++)
                add_fact(&rows[k], &trace.facts[f]);
        if (fact_or(&trace, "crop", "applied", 0) > 0)
            add_box(&crops, fact_or(&trace, "crop", "x", 0), fact_or(&trace, "crop", "y", 0),
                    fact_or(&trace, "crop", "width", 0), fact_or(&trace, "crop", "height", 0));
        const stk__augment_block *b = &out.block;
        if (b->erase_w) add_box(&erased, b->erase_x, b->erase_y, b->erase_w, b->erase_h);
    }
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        check_row(&rows[k]);
    check_boxes(&crops);
    check_boxes(&erased);
    stk__plan_destroy(&plan);
}

static void all_orders_are_alike(void **state)
{
    (void)state;
    static uint32_t bins[256], orders[24];
    stk__plan *plan = plan_of("brightness=0.3 contrast=0.2 saturation=0.2 hue=0.1");
    for (uint32_t i = 0; i < 200000; i++) {
        const stk__plan_at at = {
            .sample = i, .source_w = 8, .source_h = 8, .target_w = 8, .target_h = 8, .channels = 3};
        stk__resolved out;
        stk__plan_resolve(plan, &at, &out, NULL);
        const int32_t *kind = out.block.step_kind;
        bins[kind[0] << 6 | kind[1] << 4 | kind[2] << 2 | kind[3]]++;
    }
    int found = 0;
    for (int i = 0; i < 256; i++)
        if (bins[i] && found++ < 24) orders[found - 1] = bins[i];
    assert_int_equal(found, 24);
    check_even("order", orders, 24);
    stk__plan_destroy(&plan);
}

enum { VALUES = 4, PAIRS = 250000 };

/* Two amounts, a colour amount, and the word that decides about a flip of the same sample: in [0, 1). */
static void draw_values(const stk__plan *plan, uint32_t epoch, uint32_t sample, double values[VALUES])
{
    const stk__plan_at at = {.epoch = epoch,
                             .sample = sample,
                             .source_w = 8,
                             .source_h = 8,
                             .target_w = 8,
                             .target_h = 8,
                             .channels = 3};
    stk__resolved out;
    stk__plan_trace trace;
    stk__plan_resolve(plan, &at, &out, &trace);
    values[0] = (fact_or(&trace, "rotation", "degrees", NAN) + 15) / 30;
    values[1] = (fact_or(&trace, "scale", "factor", NAN) - 0.8) / 0.4;
    values[2] = (fact_or(&trace, "brightness", "factor", NAN) - 0.7) / 0.6;
    values[3] = fact_or(&trace, "horizontal flip", "applied", NAN) / 2 + values[1] / 2; /* flip with scale */
}

static void neighbours_are_independent(void **state)
{
    (void)state;
    static table tables[] = {{.name = "next sample, rotation"},    {.name = "next sample, brightness"},
                             {.name = "next epoch, rotation"},     {.name = "next epoch, brightness"},
                             {.name = "rotation and scale"},       {.name = "scale and brightness"},
                             {.name = "rotation and next scale"},  {.name = "flip, scale and rotation"},
                             {.name = "flip and scale, next ones"}};
    stk__plan *plan = plan_of("horizontal_flip_prob=0.5 rotation_degrees=15 scale=0.2 brightness=0.3");
    double before[VALUES], now[VALUES], later[VALUES];
    draw_values(plan, 10, 0, before);
    for (uint32_t i = 1; i <= PAIRS; i++) {
        draw_values(plan, 10, i, now);
        draw_values(plan, 11, i, later);
        add_pair(&tables[0], before[0], now[0]);
        add_pair(&tables[1], before[2], now[2]);
        add_pair(&tables[2], now[0], later[0]);
        add_pair(&tables[3], now[2], later[2]);
        add_pair(&tables[4], now[0], now[1]);
        add_pair(&tables[5], now[1], now[2]);
        add_pair(&tables[6], before[0], now[1]);
        add_pair(&tables[7], now[3], now[0]);
        add_pair(&tables[8], before[3], now[3]);
        memcpy(before, now, sizeof now);
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        check_even(tables[i].name, tables[i].cells, CELLS * CELLS);
    stk__plan_destroy(&plan);
}

/* The regularised incomplete beta function by Lentz's continued fraction. */
static double beta_below(double x, double a, double b)
{
    if (x <= 0) return 0;
    if (x > (a + 1) / (a + b + 2)) return 1 - beta_below(1 - x, b, a);
    const double front = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)) / a;
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m < 300; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d), c = 1 + even / c, f *= c * d;
        d = 1 / (1 + odd * d), c = 1 + odd / c;
        f *= c * d;
        if (fabs(c * d - 1) < 1e-13) break;
    }
    return front * f;
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov. Shares are floats: next to 1 they are coarse, so the last 1e-5 is left out, which
 * can only raise p. */
static double beta_p(const float *sorted, int count, double alpha)
{
    double distance = 0;
    for (int i = 0; i < count && sorted[i] < 1 - 1e-5f; i++) {
        const double expected = beta_below(sorted[i], alpha, alpha);
        distance = fmax(distance, fmax(expected - (double)i / count, (i + 1.0) / count - expected));
    }
    const double root = sqrt(count), t = (root + 0.12 + 0.11 / root) * distance;
    double p = 0;
    for (int k = 1; k <= 100; k++)
        p += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * t * t);
    return t < 0.2 ? 1 : p;
}

static void shares_are_beta(void **state)
{
    (void)state;
    enum { SHARES = 140000 };
    static float shares[SHARES];
    static const struct {
        const char *keys;
        double alpha;
    } cases[] = {{"mixup_alpha=0.1", 0.1}, {"mixup_alpha=0.2", 0.2}, {"mixup_alpha=0.4", 0.4},
                 {"mixup_alpha=1", 1},     {"mixup_alpha=1.5", 1.5}, {"mixup_alpha=8", 8},
                 {"mixup_alpha=200", 200}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        stk__plan *plan = plan_of(cases[k].keys);
        for (uint32_t i = 0; i < SHARES; i++)
            shares[i] = stk__plan_mix(plan, 2, i, 8, 8).lambda;
        qsort(shares, SHARES, sizeof shares[0], compare_floats);
        assert_true(shares[0] >= 0 && shares[SHARES - 1] <= 1);
        check_p(cases[k].keys, beta_p(shares, SHARES, cases[k].alpha));
        stk__plan_destroy(&plan);
    }
    const stk__random_at at = {.seed = 1, .operation = STK_OPERATION_MIX};
    const double tiny = stk__draw_beta(at, 1e-4); /* its gamma variables are far below the smallest double */
    assert_true(tiny >= 0 && tiny <= 1);
}

/* What the tests are worth: the same checks see a small bias. */
static void the_checks_see_a_bias(void **state)
{
    (void)state;
    uint32_t bins[BINS], uneven[BINS];
    for (int i = 0; i < BINS; i++) {
        bins[i] = SAMPLES / BINS;
        uneven[i] = i < BINS / 2 ? bins[i] : bins[i] * 103 / 100;
    }
    assert_true(even_p(bins, BINS) > 0.99 && even_p(uneven, BINS) < p_least);
    assert_true(prob_p(SAMPLES / 2, SAMPLES, 0.5) > 0.99 && prob_p(SAMPLES / 2, SAMPLES, 0.503) < p_least);
    static float even[100000];
    for (int i = 0; i < 100000; i++)
        even[i] = (float)((i + 0.5) / 100000);
    assert_true(beta_p(even, 100000, 1) > 0.99);
    assert_true(beta_p(even, 100000, 1.1) < p_least);
    assert_true(fabs(beta_below(0.5, 0.3, 0.3) - 0.5) < 1e-12 &&
                fabs(beta_below(0.25, 2, 2) - 0.15625) < 1e-12);
    assert_true(fabs(chi_square_p(60.0, 40) - 0.0216) < 0.0005); /* tables of the distribution */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_and_ranges),   cmocka_unit_test(all_orders_are_alike),
        cmocka_unit_test(neighbours_are_independent), cmocka_unit_test(shares_are_beta),
        cmocka_unit_test(the_checks_see_a_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
