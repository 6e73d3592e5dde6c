/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are NaN or infinite are named with step and layer, or with the sample they came from; an epoch
 * in which nothing counted is named, too. On the engine of the command line. */
#include "trainer_helpers.h"

#include <stdlib.h>

static void put_first(fixture *f, const char *name, float value)
{
    stk_tensor view;
    stk__model_tensor *tensor = stk__model_find(stk__trainer_describe(f->trainer)->model, name);
    assert_non_null(tensor);
    assert_int_equal(stk__tensor_map(tensor->value, &view, &f->error), STK_OK);
    ((float *)view.data)[0] = value;
    assert_int_equal(stk__tensor_unmap(tensor->value, &view, true, &f->error), STK_OK);
}

/* Batch 2 of each epoch has a bad window (or target). */
static bool bad_target;
static float bad_value;
static stk_status next_bad(void *context, stk_batch **batch, stk_error *error)
{
    made_feed *f = context;
    const stk_status status = next(context, batch, error);
    if (status == STK_OK && f->batch == 3) *(bad_target ? &f->labels[1] : &f->windows[20]) = bad_value;
    return status;
}

static stk_status locate(void *context, int64_t id, char *text, size_t size)
{
    (void)context;
    snprintf(text, size, "folder/%lld.csv", (long long)id);
    return STK_OK;
}

/* Constants are measured while all of it is fine. */
static void open_bad(fixture *f, bool target, float value)
{
    prepare(f);
    bad_target = target;
    bad_value = 0;
    f->setup.feed.next = next_bad;
    f->setup.feed.locate = locate;
    open_it(f);
    bad_value = value;
}

static int steps_until_failure(fixture *f)
{
    int steps = 0;
    stk_status status = STK_OK;
    while ((status == STK_OK || status == STK_END) && steps < 40) {
        status = stk__trainer_step(f->trainer, &f->error);
        steps += status == STK_OK;
    }
    assert_int_equal(status, STK_ERROR_DATA);
    return steps;
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in '%s'", part, text);
}

/* Window 20 / (WINDOW * FEATURES) = 1 of the batch, which is sample 2 * BATCH + 1. */
static void bad_data_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        fixture f;
        const bool target = i & 1;
        stk__trainer_log log;
        open_bad(&f, target, i & 2 ? INFINITY : NAN);
        for (int k = 0; k < 5; k++)
            assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_OK);
        assert_int_equal(stk__trainer_read(f.trainer, &log, &f.error), STK_OK);
        assert_false(log.score.finite);
        assert_int_equal(stk__trainer_refuse(f.trainer, "loss is", 5, &f.error), STK_ERROR_DATA);
        expect_text(f.error.message, "loss is NaN or infinite at step 5: first in the ");
        expect_text(f.error.message, target ? "target of step 3 (sample 9, folder/9.csv)"
                                            : "input of step 3 (sample 9, folder/9.csv)");
        expect_text(f.error.hint, "fix or remove");
        stk__trainer_close(&f.trainer);
    }
}

static void every_step_is_checked_if_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *tensor, *where;
        float value;
        int steps; /* good ones before */
    } cases[] = {
        {"lstm.weight_hh_l0", "parameter 'lstm.weight_hh_l0' of layer 'lstm'", NAN, 0},
        {"head.weight", "parameter 'head.weight' of layer 'head'", INFINITY, 0},
        {"head.weight", "layer 'head'", 3e38F, 0}, /* finite itself */
        {NULL, "input of step 3 (sample 9", NAN, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f;
        prepare(&f);
        f.settings.detect_nan = STK_SWITCH_ON;
        bad_target = false;
        bad_value = 0;
        if (!cases[i].tensor) f.setup.feed.next = next_bad;
        open_it(&f);
        bad_value = cases[i].value;
        if (cases[i].tensor) put_first(&f, cases[i].tensor, cases[i].value);
        assert_int_equal(steps_until_failure(&f), cases[i].steps);
        expect_text(f.error.message, cases[i].where);
        char step[48];
        snprintf(step, sizeof step, "NaN or infinite at step %d", cases[i].steps + 1);
        expect_text(f.error.message, step);
        stk__trainer_close(&f.trainer);
    }
}

/* The first step itself makes the weights infinite. */
static void an_update_that_overflows_is_named(void **state)
{
    (void)state;
    fixture f;
    prepare(&f);
    f.settings.detect_nan = STK_SWITCH_ON;
    f.optimizer.lr = 1e39;
    open_it(&f);
    assert_int_equal(steps_until_failure(&f), 0);
    expect_text(f.error.message, "weights are NaN or infinite at step 1: first in parameter ");
    expect_text(f.error.hint, "lower optimizer.lr (1e+39), or set train.max_grad_norm=1");
    stk__trainer_close(&f.trainer);
}

static void a_search_changes_no_bit(void **state)
{
    (void)state;
    double losses[2][3];
    for (int run = 0; run < 2; run++) {
        fixture f;
        prepare(&f);
        f.settings.detect_nan = run ? STK_SWITCH_ON : STK_SWITCH_OFF;
        open_it(&f);
        for (int epoch = 0; epoch < 3; epoch++) {
            assert_int_equal(train_epoch(&f), BATCHES);
            losses[run][epoch] = loss_of(&f);
        }
        stk__trainer_close(&f.trainer);
    }
    assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
}

/* With the moving average, whose weights are those that are evaluated. */
static void evaluations_are_checked(void **state)
{
    (void)state;
    for (int average = 0; average < 2; average++) {
        fixture f;
        stk__score score;
        prepare(&f);
        f.settings.ema = average ? 0.9 : 0;
        open_it(&f);
        train_epoch(&f);
        assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
        assert_true(score.finite);
        assert_int_equal(stk__trainer_check_score(f.trainer, &score, &f.error), STK_OK);
        stk__model *model = stk__trainer_describe(f.trainer)->model;
        if (average) stk__model_swap_average(model);
        put_first(&f, "head.bias", INFINITY);
        if (average) stk__model_swap_average(model);
        assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
        assert_false(score.finite);
        assert_int_equal(stk__trainer_check_score(f.trainer, &score, &f.error), STK_ERROR_DATA);
        expect_text(f.error.message, "validation loss is NaN or infinite after step 5: first in ");
        expect_text(f.error.message, average ? "the output of layer 'head'" : "parameter 'head.bias'");
        stk__trainer_close(&f.trainer);
    }
}

/* Where no number that is counted may show it. */
static void weights_are_checked(void **state)
{
    (void)state;
    fixture f;
    prepare(&f);
    open_it(&f);
    train_epoch(&f);
    assert_int_equal(stk__trainer_check_weights(f.trainer, 5, &f.error), STK_OK);
    put_first(&f, "lstm.bias_hh_l0", NAN);
    assert_int_equal(stk__trainer_check_weights(f.trainer, 5, &f.error), STK_ERROR_DATA);
    expect_text(f.error.message,
                "weights are NaN or infinite at step 5: first in parameter 'lstm.bias_hh_l0'");
    expect_text(f.error.hint, "train.detect_nan=true");
    stk__trainer_close(&f.trainer);
}

static stk_status next_without_weight(void *context, stk_batch **batch, stk_error *error)
{
    const stk_status status = next(context, batch, error);
    if (status == STK_OK) memset(((made_feed *)context)->weights, 0, sizeof((made_feed *)context)->weights);
    return status;
}

static void nothing_that_counts_is_named(void **state)
{
    (void)state;
    fixture f;
    stk__score score;
    prepare(&f);
    f.setup.val.next = next_without_weight;
    open_it(&f);
    assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
    assert_true(score.finite && score.counted == 0);
    assert_int_equal(stk__trainer_check_score(f.trainer, &score, &f.error), STK_ERROR_DATA);
    expect_text(f.error.message, "no value counted in the evaluation: there is nothing to measure");
    assert_int_equal(stk__trainer_refuse_empty(f.trainer, 3, &f.error), STK_ERROR_DATA);
    expect_text(f.error.message, "no value counted in epoch 3: there is nothing to learn");
    expect_text(f.error.hint, "target column");
    stk__trainer_close(&f.trainer);
}

int main(int argc, char **argv)
{
    if (argc > 1) engine_name = argv[1];
    if (look_for_engine()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_data_is_named),
        cmocka_unit_test(every_step_is_checked_if_asked_for),
        cmocka_unit_test(an_update_that_overflows_is_named),
        cmocka_unit_test(a_search_changes_no_bit),
        cmocka_unit_test(evaluations_are_checked),
        cmocka_unit_test(weights_are_checked),
        cmocka_unit_test(nothing_that_counts_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
