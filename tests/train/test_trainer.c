/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer on batches made here: steps, accumulation, evaluation, saved places. */
#include "trainer_helpers.h"

#include "support/fail_alloc.h"
#include "support/workspace.h"

static void it_learns_and_counts(void **state)
{
    (void)state;
    fixture f;
    prepare(&f);
    open_it(&f);
    assert_int_equal(f.train.epoch,
                     0); /* measuring the constants used the feed, which is at its beginning again */
    assert_int_equal(f.train.batch, 0);
    assert_true(stk__trainer_describe(f.trainer)->starts_standardised);
    assert_int_equal(train_epoch(&f), BATCHES);
    const double first = loss_of(&f);
    for (int epoch = 1; epoch < 30; epoch++)
        train_epoch(&f);
    loss_of(&f);
    train_epoch(&f);
    const double last = loss_of(&f);
    assert_true(last < 0.2 * first);
    assert_true(isnan(loss_of(&f))); /* read and forgotten: nothing is not zero */
    stk__score score;
    assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
    assert_int_equal(score.samples, (BATCHES - 1) * BATCH + LAST);
    assert_true(score.values[0] > 0.5);
    const stk__trainer_place at = stk__trainer_where(f.trainer);
    assert_int_equal(at.step, 31 * BATCHES);
    assert_int_equal(at.epoch, 31);
    stk__trainer_close(&f.trainer);
}

/* Features and target have mean 0 and deviation 1 behind the constants. */
static void constants_standardise(void **state)
{
    (void)state;
    fixture f;
    prepare(&f);
    open_it(&f);
    stk__model *model = stk__trainer_describe(f.trainer)->model;
    float scale[FEATURES], shift[FEATURES], back[2];
    assert_int_equal(
        stk__tensor_read(stk__model_find(model, "input.scale")->value, scale, sizeof scale, NULL), STK_OK);
    assert_int_equal(
        stk__tensor_read(stk__model_find(model, "input.shift")->value, shift, sizeof shift, NULL), STK_OK);
    assert_int_equal(
        stk__tensor_read(stk__model_find(model, "output.scale")->value, &back[0], sizeof back[0], NULL),
        STK_OK);
    assert_int_equal(
        stk__tensor_read(stk__model_find(model, "output.shift")->value, &back[1], sizeof back[1], NULL),
        STK_OK);
    double sum = 0, square = 0, count = 0, targets = 0, samples = 0;
    stk_batch *batch;
    for (; next(&f.train, &batch, NULL) == STK_OK; release(&f.train, batch))
        for (int64_t i = 0; i < batch->count; i++) {
            for (int64_t k = 0; k < WINDOW; k++) {
                const double v = f.train.windows[(i * WINDOW + k) * FEATURES + 1] * scale[1] + shift[1];
                sum += v;
                square += v * v;
                count++;
            }
            targets += (f.train.labels[i] - back[1]) / back[0];
            samples++;
        }
    assert_true(fabs(sum / count) < 1e-5);
    assert_true(fabs(square / count - 1) < 1e-5);
    assert_true(fabs(targets / samples) < 1e-5);
    stk__trainer_close(&f.trainer);
}

static void accumulation_takes_fewer_steps(void **state)
{
    (void)state;
    fixture f;
    prepare(&f);
    f.settings.accumulation = 2;
    open_it(&f);
    assert_int_equal(train_epoch(&f), 3); /* 2 + 2 + 1 batches */
    assert_int_equal(stk__trainer_describe(f.trainer)->steps_per_epoch, 3);
    stk__trainer_close(&f.trainer);
}

/* Cut anywhere, also in the middle of what is logged together: the same losses to the last bit. */
static void a_saved_place_gives_the_same_losses(void **state)
{
    (void)state;
    enum { STEPS = 12, CUT = 7 };
    static char tensors[MODEL_BYTES];
    double expected[STEPS];
    fixture a, b;
    prepare(&a);
    open_it(&a);
    json_t *saved = NULL;
    for (int i = 0; i < STEPS; i++) {
        step_over_epochs(&a);
        if (i == CUT) { /* before the loss has been read */
            saved = stk__trainer_tell(a.trainer);
            assert_non_null(saved);
            copy_model(&a, tensors, false);
        }
        expected[i] = loss_of(&a);
    }
    prepare(&b);
    b.setup.seed = 8; /* other weights at the start: all of them come from what was saved */
    open_it(&b);
    copy_model(&b, tensors, true);
    assert_int_equal(stk__trainer_seek(b.trainer, saved, &b.error), STK_OK);
    assert_true(loss_of(&b) == expected[CUT]);
    for (int i = CUT + 1; i < STEPS; i++) {
        step_over_epochs(&b);
        assert_true(loss_of(&b) == expected[i]);
    }
    json_decref(saved);
    stk__trainer_close(&a.trainer);
    stk__trainer_close(&b.trainer);
}

/* --- methods that were measured --------------------------------------------------------------------------
 */

static const char pictures_network[] = "name: small\n"
                                       "task: classification\n"
                                       "layers:\n"
                                       "  - {op: conv, name: stem, channels: 16, kernel: 3, pad: 1}\n"
                                       "  - {op: conv, name: wide, channels: 16, kernel: 3, pad: 1}\n"
                                       "  - {op: global_pool, name: all}\n"
                                       "  - {op: linear, name: head, channels: 4}\n";

static void open_tuned(fixture *f, const char *network)
{
    prepare(f);
    f->model = (stk__model_settings){.file = network};
    f->settings.compile_mode = STK_COMPILE_MAX_AUTOTUNE;
    f->train.pictures = f->val.pictures = true;
    f->setup.facts = (stk__feed_facts){
        .image_h = SIDE, .image_w = SIDE, .image_c = COLOURS, .classes = true, .num_classes = CLASSES};
    open_it(f);
}

/* Each layer of each pass with another method than it has. */
static void turn_over(json_t *methods)
{
    const char *pass, *layer;
    json_t *layers, *method;
    json_object_foreach(methods, pass, layers) json_object_foreach(layers, layer, method)
        json_string_set(method, strcmp(json_string_value(method), "direct") == 0 ? "winograd" : "direct");
}

/* Whatever is measured on the day it goes on, a run keeps the methods it began with; so losses and weights
 * are the same to the last bit, and the weights others with other methods, whose rounding a loss may not
 * show. */
static void a_saved_run_keeps_its_methods(void **state)
{
    (void)state;
    static char tensors[MODEL_BYTES], ends[3][MODEL_BYTES];
    fixture f;
    char network[300];
    if (strcmp(engine_name, "onednn") != 0) skip(); /* others have no choice */
    workspace folder = workspace_make();
    setenv("STOKER_CACHE_DIR", folder.path, 1);
    workspace_put(&folder, "small.yaml", pictures_network);
    snprintf(network, sizeof network, "%s/small.yaml", folder.path);
    open_tuned(&f, network);
    step_over_epochs(&f);
    loss_of(&f);
    json_t *saved = stk__trainer_tell(f.trainer), *methods = json_object_get(saved, "methods");
    copy_model(&f, tensors, false);
    step_over_epochs(&f);
    double losses[3] = {loss_of(&f)};
    copy_model(&f, ends[0], false);
    stk__trainer_close(&f.trainer);
    assert_int_equal(json_object_size(methods), 4);
    assert_int_equal(json_object_size(json_object_get(methods, "train_last")), 2);
    for (int time = 1; time <= 2; time++) {
        if (time == 2) turn_over(methods);
        open_tuned(&f, network);
        copy_model(&f, tensors, true);
        assert_int_equal(stk__trainer_seek(f.trainer, saved, &f.error), STK_OK);
        json_t *told = stk__trainer_tell(f.trainer);
        assert_true(json_equal(json_object_get(told, "methods"), methods));
        json_decref(told);
        step_over_epochs(&f);
        losses[time] = loss_of(&f);
        copy_model(&f, ends[time], false);
        stk__trainer_close(&f.trainer);
    }
    assert_true(losses[1] == losses[0] && fabs(losses[2] / losses[0] - 1) < 1e-4);
    assert_memory_equal(ends[1], ends[0], MODEL_BYTES);
    assert_memory_not_equal(ends[2], ends[0], MODEL_BYTES);
    json_decref(saved);
    unsetenv("STOKER_CACHE_DIR");
    workspace_remove(&folder);
}

/* Saved after the last step of an epoch, before anyone has seen its end: the end is still to come. */
static void the_end_of_an_epoch_is_not_lost(void **state)
{
    (void)state;
    fixture a, b;
    prepare(&a);
    open_it(&a);
    for (int i = 0; i < BATCHES; i++)
        assert_int_equal(stk__trainer_step(a.trainer, &a.error), STK_OK);
    json_t *saved = stk__trainer_tell(a.trainer);
    prepare(&b);
    open_it(&b);
    assert_int_equal(stk__trainer_seek(b.trainer, saved, &b.error), STK_OK);
    assert_int_equal(stk__trainer_step(b.trainer, &b.error), STK_END);
    assert_int_equal(stk__trainer_where(b.trainer).epoch, 1);
    assert_true(stk__trainer_where(b.trainer).lr == stk__trainer_where(a.trainer).lr); /* of the last step */
    assert_int_equal(train_epoch(&b), BATCHES);
    assert_int_equal(stk__trainer_where(b.trainer).epoch, 2);
    json_decref(saved);
    stk__trainer_close(&a.trainer);
    stk__trainer_close(&b.trainer);
}

static void a_state_of_something_else_is_refused(void **state)
{
    (void)state;
    fixture f;
    prepare(&f);
    open_it(&f);
    json_t *saved = stk__trainer_tell(f.trainer);
    static const char *const keys[] = {"step", "feed", "loss_sums", "metric_sums", "norm_sums", "network"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *broken = json_deep_copy(saved);
        json_object_set_new(broken, keys[i], json_string("other"));
        assert_int_equal(stk__trainer_seek(f.trainer, broken, &f.error), STK_ERROR_STATE);
        json_decref(broken);
    }
    assert_int_equal(stk__trainer_seek(f.trainer, saved, &f.error), STK_OK);
    json_decref(saved);
    stk__trainer_close(&f.trainer);
}

static void mistakes_are_explained(void **state)
{
    (void)state;
    fixture f;
    const struct {
        const char *model, *device, *metric;
        int loss;
        const char *message;
    } cases[] = {
        {.model = "unet",
         .message = "network 'unet' needs images with masks, which this data set does not have"},
        {.device = "cuda:9", .message = "run.device = 'cuda:9' cannot be used: "},
        {.metric = "miou", .message = "train.metric = 'miou' is not a metric of regression"},
        {.loss = STK_LOSS_POINTS, .message = "loss.name = 'points' does not fit regression"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        prepare(&f);
        if (cases[i].model) f.model = (stk__model_settings){.name = cases[i].model};
        f.run.device = cases[i].device;
        f.settings.metric = cases[i].metric;
        f.loss.name = cases[i].loss;
        assert_int_not_equal(stk__trainer_open(&f.trainer, &f.setup, &f.error), STK_OK);
        if (strncmp(f.error.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("'%s' is not '%s'", f.error.message, cases[i].message);
        assert_true(f.error.hint[0] != '\0');
        assert_null(f.trainer);
    }
}

/* The averages follow the weights; evaluation looks at them and puts the weights back. */
static void the_moving_average_is_evaluated(void **state)
{
    (void)state;
    fixture f;
    prepare(&f);
    f.settings.ema = 0.999999;
    open_it(&f);
    stk__score still, score;
    assert_int_equal(stk__trainer_evaluate(f.trainer, &still, &f.error), STK_OK);
    for (int epoch = 0; epoch < 10; epoch++)
        train_epoch(&f);
    f.val.epoch = 0; /* the same samples again */
    assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
    assert_true(fabs(score.values[0] - still.values[0]) < 0.01); /* a slow average has hardly moved */
    train_epoch(&f);
    const double trained = loss_of(&f);
    assert_true(trained < 0.8 * still.loss); /* the weights themselves have */
    stk__trainer_close(&f.trainer);
}

static stk_status open_and_step(void *unused, stk_error *error)
{
    (void)unused;
    fixture f;
    prepare(&f);
    f.settings.ema = 0.9;
    stk_status status = stk__trainer_open(&f.trainer, &f.setup, error);
    if (status == STK_OK) status = stk__trainer_standardise(f.trainer, error);
    if (status == STK_OK) status = stk__trainer_step(f.trainer, error);
    stk__trainer_close(&f.trainer);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(open_and_step(NULL, NULL), STK_OK); /* threads and libraries that stay are there now */
    assert_true(fail_alloc_each(open_and_step, NULL) > 50);
}

static void steps_allocate_nothing(void **state)
{
    (void)state;
    fail_alloc allocator = {.left = -1};
    fixture f;
    prepare(&f);
    f.settings.ema = 0.9;
    f.settings.max_grad_norm = 1;
    fail_alloc_set(&allocator);
    open_it(&f);
    stk__score score;
    train_epoch(&f); /* every slot and batch size comes by once */
    assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
    loss_of(&f);
    allocator.left = 0; /* from now on there is no memory */
    train_epoch(&f);
    assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
    loss_of(&f);
    stk__trainer_close(&f.trainer);
    assert_int_equal(allocator.alive, 0);
    fail_alloc_set(NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1) engine_name = argv[1];
    if (look_for_engine()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns_and_counts),
        cmocka_unit_test(constants_standardise),
        cmocka_unit_test(accumulation_takes_fewer_steps),
        cmocka_unit_test(a_saved_place_gives_the_same_losses),
        cmocka_unit_test(a_saved_run_keeps_its_methods),
        cmocka_unit_test(the_end_of_an_epoch_is_not_lost),
        cmocka_unit_test(a_state_of_something_else_is_refused),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(the_moving_average_is_evaluated),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(steps_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
