/* SPDX-License-Identifier: Apache-2.0 */
/* Rule by rule: the facts of a healthy run give no advice; a change gives the advice of one rule with its
 * numbers; and where the settings already have what it asks for, or too little is known, there is none. */
#include "session/run_advice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* A classification of ten classes that has learnt well and lost no time. */
static stk__advice_facts healthy(void)
{
    stk__advice_facts f = {
        .task = STK_TASK_CLASSIFICATION,
        .wall_s = 20,
        .steps = 400,
        .classes = 10,
        .image_h = 64,
        .image_w = 64,
        .wait_share = 0.01,
        .eval_share = 0.05,
        .checkpoint_share = 0.01,
        .optimizer_share = 0.05,
        .slowest = STK_STALL_DECODE,
        .workers = 4,
        .cpus = 8,
        .eval_interval = 1,
        .checkpoint_interval = 1,
        .epochs = 10,
        .lr = 0.001,
        .batch_size = 32,
        .samples = 1280,
        .val_samples = 200,
        .has_val = true,
        .evaluated = true,
        .metric = "top1",
        .score = {.loss = 0.4, .values = {0.9, 1}, .counted = 200, .finite = true},
        .log = {.score = {.loss = 0.3, .values = {0.93, 1}}, .grad_norm = 1, .step_count = 10},
        .trend = {.logs = 40,
                  .evaluations = 10,
                  .first_loss = 2.3,
                  .first_norm = 3,
                  .top_norm = 4,
                  .top_norm_step = 20,
                  .low_val_loss = 0.39,
                  .low_train_loss = 0.31,
                  .low_step = 360,
                  .top_value = 0.91},
        .predictions = {.count = 200, .said_class = 3, .said_varies = true}};
    for (int c = 0; c < 10; c++)
        f.predictions.truth_counts[c] = 20;
    return f;
}

static stk__advice_facts healthy_values(void)
{
    stk__advice_facts f = healthy();
    f.task = STK_TASK_REGRESSION;
    f.metric = "r2";
    f.classes = 1;
    f.trend.top_value = f.score.values[0] = 0.8;
    f.predictions.said[0] = (stk__prediction_range){-2, 2};
    f.predictions.truth[0] = (stk__prediction_range){-3, 3};
    return f;
}

static stk__advice_facts healthy_points(void)
{
    stk__advice_facts f = healthy_values();
    f.task = STK_TASK_POINTS;
    f.metric = "error_px";
    f.classes = 3;
    f.trend.top_value = f.score.values[0] = 4;
    for (int i = 0; i < 2; i++) {
        f.predictions.said[i] = (stk__prediction_range){8, 55};
        f.predictions.truth[i] = (stk__prediction_range){6, 58};
    }
    return f;
}

/* Five classes, of which one did not come up. */
static stk__advice_facts healthy_masks(void)
{
    stk__advice_facts f = healthy();
    f.task = STK_TASK_SEGMENTATION;
    f.metric = "miou";
    f.classes = 5;
    f.trend.top_value = f.score.values[0] = 0.6;
    f.score.values[2] = 0.9;
    for (int c = 0; c < 5; c++)
        f.score.per_class[c] = c == 2 ? NAN : 0.7;
    f.log.score.values[0] = 0.65;
    return f;
}

/* Exactly this rule applies, and its text has these parts ('|' between them). */
static void expect(const stk__advice_facts *f, const char *id, const char *parts)
{
    stk__advice list[STK_ADVICE_MOST];
    char wanted[256], *at = wanted;
    const int count = stk__advise(f, list);
    if (count != 1 || strcmp(list[0].id, id) != 0)
        fail_msg("%s: %d rules, %s: %s", id, count, count ? list[0].id : "", count ? list[0].text : "");
    snprintf(wanted, sizeof wanted, "%s", parts);
    for (char *part = strtok_r(at, "|", &at); part; part = strtok_r(NULL, "|", &at))
        if (!strstr(list[0].text, part)) fail_msg("'%s' is not in: %s", part, list[0].text);
}

static void expect_without(const stk__advice_facts *f, const char *id, const char *part)
{
    stk__advice list[STK_ADVICE_MOST];
    assert_int_equal(stk__advise(f, list), 1);
    assert_string_equal(list[0].id, id);
    if (strstr(list[0].text, part)) fail_msg("'%s' is in: %s", part, list[0].text);
}

static void expect_none(const stk__advice_facts *f)
{
    stk__advice list[STK_ADVICE_MOST];
    const int count = stk__advise(f, list);
    if (count) fail_msg("%s: %s", list[0].id, list[0].text);
}

static void healthy_runs_get_none(void **state)
{
    (void)state;
    const stk__advice_facts all[] = {healthy(), healthy_values(), healthy_points(), healthy_masks()};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        expect_none(&all[i]);
}

static void equal_targets(void **state)
{
    (void)state;
    static const char *const names[10] = {"cat"};
    stk__advice_facts f = healthy();
    memset(f.predictions.truth_counts, 0, sizeof f.predictions.truth_counts);
    f.predictions.truth_counts[0] = 200;
    f.predictions.said_varies = false;
    f.score.values[0] = 1;
    f.class_names = names;
    expect(&f, "constant_targets", "all 200 validation samples have class 'cat'|stoker stats");
    f.val_samples = 7; /* a few may well be alike */
    expect_none(&f);

    f = healthy_values();
    f.predictions.truth[0] = f.predictions.said[0] = (stk__prediction_range){1.5, 1.5};
    f.score.values[0] = NAN;
    expect(&f, "constant_targets", "all 200 validation targets are 1.5|r2");

    f = healthy_masks();
    for (int c = 0; c < 5; c++)
        f.score.per_class[c] = c == 1 ? 1 : NAN;
    expect(&f, "constant_targets", "one class only, 1");
}

static void equal_predictions(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    f.predictions.said_varies = false;
    f.score.values[0] = 0.1;
    f.log.score.values[0] = 0.1;
    expect(&f, "constant_predictions",
           "class 3 is predicted for all 200 validation samples (top1 0.1)|(0.001)");
    f.steps = 99; /* too early to say */
    expect_none(&f);

    f = healthy_values();
    f.predictions.said[0] = (stk__prediction_range){0.5, 0.51};
    f.score.values[0] = f.log.score.values[0] = -0.1;
    expect(&f, "constant_predictions", "all 200 validation samples (0.5 to 0.51; targets -3 to 3)");

    f = healthy_points();
    f.score.values[0] = 20;
    for (int i = 0; i < 2; i++)
        f.predictions.said[i] = (stk__prediction_range){32, 32.5};
    expect(&f, "constant_predictions", "x 32 to 32.5 px; in truth 6 to 58 px");
    f.predictions.said[1].most = 50; /* y varies */
    expect_none(&f);

    f = healthy_masks();
    for (int c = 1; c < 5; c++)
        if (c != 2) f.score.per_class[c] = 0;
    f.log.score.values[0] = f.score.values[0] = 0.2;
    expect(&f, "constant_predictions", "of 4 classes only 0 is ever|pixel_accuracy 0.9|loss.class_weights");
    f.class_weights = true;
    expect_without(&f, "constant_predictions", "class_weights");
}

static void no_better_than_chance(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    f.trend.top_value = f.score.values[0] = f.log.score.values[0] = 0.09;
    expect(&f, "chance_level", "top1 0.09 at best in 400 steps|always answering 0 gives 0.1");
    f.predictions.truth_counts[4] = 200; /* the common class counts, not the number of classes */
    f.predictions.count = 380;
    f.trend.top_value = f.score.values[0] = f.log.score.values[0] = 0.5;
    expect(&f, "chance_level", "always answering 4 gives 0.526");
    f.trend.top_value = 0.6; /* once it was better */
    expect_none(&f);
    f.trend.top_value = 0.5;
    f.evaluated = false;
    expect_none(&f);

    f = healthy_values();
    f.trend.top_value = f.score.values[0] = f.log.score.values[0] = -0.02;
    expect(&f, "chance_level", "r2 -0.02|always answering the mean gives 0");
    f = healthy_points();
    f.trend.top_value = f.score.values[0] = 25;
    expect(&f, "chance_level", "error_px 25|the centre of 64x64 gives 24.5");
    f = healthy_masks();
    f.trend.top_value = f.score.values[0] = f.log.score.values[0] = 0.1; /* 1 / 7 of four classes */
    expect(&f, "chance_level", "miou 0.1|guessing among 4 classes gives 0.143");
}

static void a_rising_loss(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    f.log.score.loss = 50;
    expect(&f, "loss_rises", "from 2.3 to 50 in 400 steps|optimizer.lr (0.001)|max_grad_norm=1");
    f.max_grad_norm = 1;
    expect_without(&f, "loss_rises", "max_grad_norm");
    f.trend.logs = 2;
    expect_none(&f);
}

static void exploding_gradients(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    f.trend.top_norm = 900;
    expect(&f, "gradient_norm", "from 3 to 900 at step 20|max_grad_norm=1");
    f.max_grad_norm = 5;
    expect_none(&f);
    f.max_grad_norm = 0;
    f.trend.first_norm = NAN;
    expect_none(&f);
}

static void a_gap_between_the_parts(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    f.score.loss = 0.8;
    f.log.score.loss = 0.02;
    expect(&f, "overfitting",
           "val_loss rose from 0.39 (step 360) to 0.8|fell from 0.31 to 0.02|augment.preset|early_stop=3");
    f.augments = true;
    expect_without(&f, "overfitting", "augment");
    f.early_stop = 5;
    expect_without(&f, "overfitting", "early_stop");
    f.trend.evaluations = 2;
    expect_none(&f);

    f = healthy();
    f.score.values[0] = 0.6;
    expect(&f, "overfitting", "top1 is 0.93 on the training part and 0.6 on the validation part");
    f.log.step_count = 1; /* 32 samples say little */
    expect_none(&f);
    f = healthy_values();
    f.score.values[0] = 0.3;
    expect(&f, "overfitting", "r2 is 0.93 on the training part and 0.3 on the validation part");
    expect_without(&f, "overfitting", "augment"); /* of a series there is none */
    f.log.score.values[0] = 0.5;
    expect_none(&f);
    f = healthy_points(); /* in pixels: no share of anything */
    f.score.values[0] = 20;
    expect_none(&f);
}

static void no_validation_part(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    f.has_val = f.evaluated = false;
    f.val_samples = 0;
    expect(&f, "no_validation", "data.val_split=0.2 holds back 256 of 1280 samples");
    f.samples = 4;
    f.batch_size = 4;
    expect_none(&f);
}

static void waiting_for_data(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    f.wait_share = 0.3;
    expect(&f, "data_wait",
           "30 % of 20.0 s|for decode|more data.num_workers (4 of 8 CPUs)|data.cache|image_size");
    f.workers = 8;
    expect_without(&f, "data_wait", "num_workers");
    f.cached = true;
    expect_without(&f, "data_wait", "cache");
    f.workers = 0;
    expect(&f, "data_wait", "data.num_workers=0 loads in the training thread");
    f.workers = 8;
    f.slowest = STK_STALL_READ;
    expect(&f, "data_wait", "data.order=blocks(256)");
    f.in_blocks = true;
    expect_without(&f, "data_wait", "data.order");
    f.made = true;
    expect(&f, "data_wait", "stoker make");
    f.slowest = STK_STALL_AUGMENT;
    expect(&f, "data_wait", "augment.preset");
    f.cached = false; /* holds what is decoded, not what is augmented */
    expect_without(&f, "data_wait", "cache");

    f = healthy_values(); /* windows: nothing is decoded */
    f.wait_share = 0.3;
    expect(&f, "data_wait", "more data.num_workers (4 of 8 CPUs)");
    expect_without(&f, "data_wait", "image");
    expect_without(&f, "data_wait", "cache");
    f.workers = 8;
    expect_none(&f);
}

static void intervals_that_are_short(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    f.eval_share = 0.4;
    expect(&f, "evaluation_time", "40 % of 20.0 s|train.eval_interval=3");
    f.eval_interval = 4; /* of ten epochs: there are three evaluations */
    expect_none(&f);
    f = healthy();
    f.checkpoint_share = 0.2;
    expect(&f, "checkpoint_time", "20 % of 20.0 s|train.checkpoint_interval=3");
    f.checkpoint_interval = 10;
    expect_none(&f);
    f = healthy();
    f.optimizer_share = 0.5;
    expect(&f, "optimizer_time", "50 % of 20.0 s|32 samples a step");
    f.samples = 40; /* larger batches would be one */
    expect_none(&f);
}

/* Everything at once: three lines, what was learnt before the time; and nothing of a short run. */
static void the_most_important_first(void **state)
{
    (void)state;
    stk__advice_facts f = healthy();
    stk__advice list[STK_ADVICE_MOST], one;
    f.predictions.said_varies = false;
    f.score.values[0] = f.log.score.values[0] = 0.1;
    f.log.score.loss = 50;
    f.trend.top_norm = 1e9;
    f.wait_share = 0.5;
    assert_int_equal(stk__advise(&f, list), STK_ADVICE_MOST);
    assert_string_equal(list[0].id, "constant_predictions");
    assert_string_equal(list[1].id, "loss_rises");
    assert_string_equal(list[2].id, "gradient_norm");
    f.wall_s = 1.99;
    expect_none(&f);
    f.wall_s = 20;
    f.steps = 4;
    expect_none(&f);
    for (int rule = 0; rule < STK_ADVICE_RULES; rule++) {
        assert_false(stk__advice_rule(rule, &f, &one));
        assert_non_null(one.id);
        assert_string_equal(one.text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_runs_get_none),
        cmocka_unit_test(equal_targets),
        cmocka_unit_test(equal_predictions),
        cmocka_unit_test(no_better_than_chance),
        cmocka_unit_test(a_rising_loss),
        cmocka_unit_test(exploding_gradients),
        cmocka_unit_test(a_gap_between_the_parts),
        cmocka_unit_test(no_validation_part),
        cmocka_unit_test(waiting_for_data),
        cmocka_unit_test(intervals_that_are_short),
        cmocka_unit_test(the_most_important_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
