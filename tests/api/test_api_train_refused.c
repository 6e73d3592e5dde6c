/* SPDX-License-Identifier: Apache-2.0 */
/* What the public trainer refuses, with which hint; and that a failure leaves nothing behind.
 *
 *     test_api_train_refused STOKER ENGINE */
#include "train_helpers.h"

#include "support/fail_alloc.h"

#include <jansson.h>

static const struct {
    const char *setting;
    stk_status status;
    const char *message, *hint; /* parts of them */
} wrong[] = {
    {"optimizer.lrr=1", STK_ERROR_CONFIG, "lrr", "lr"},
    {"train.epochs", STK_ERROR_CONFIG, "key=value", "train.epochs=2"},
    {"optimizer.lr=fast", STK_ERROR_CONFIG, "optimizer.lr", "number"},
    {"model.name=resnett", STK_ERROR_CONFIG, "resnett", "resnet"},
    {"data.root=/nowhere/at/all", STK_ERROR_IO, "/nowhere/at/all", "data.root"},
    {"data.root=", STK_ERROR_CONFIG, "data.root", "data.root"},
    {"data.image_size=8192", STK_ERROR_MEMORY, "needs",
     "run.force"} /* with a network as wide as it can be */,
    {"run.resume=true", STK_ERROR_CONFIG, "resume", ""},
};

static void failures_come_back_with_a_hint(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        given g;
        stk_error error = {0};
        stk_trainer *trainer = (stk_trainer *)&g;
        fail_alloc counter = {.left = -1};
        stk_trainer_options *options = given_with(&g, wrong[i].setting);
        options->no_files = true;
        g.list[options->setting_count++] = "data.num_workers=0"; /* it counts in one thread */
        if (wrong[i].status == STK_ERROR_MEMORY) g.list[options->setting_count++] = "model.width=1024";
        fail_alloc_set(&counter);
        const stk_status status = stk_trainer_open(&trainer, options, &error);
        fail_alloc_set(NULL);
        print_message("%s: %s; hint: %s\n", wrong[i].setting, error.message, error.hint);
        assert_int_equal(status, wrong[i].status);
        assert_null(trainer);
        assert_int_equal(counter.alive, 0);
        assert_non_null(strstr(error.message, wrong[i].message));
        assert_non_null(strstr(error.hint, wrong[i].hint));
    }
}

static void refuse(const stk_trainer_options *options, const char *message)
{
    stk_error error = {0};
    stk_trainer *trainer;
    assert_int_equal(stk_trainer_open(&trainer, options, &error), STK_ERROR_ARGUMENT);
    assert_null(trainer);
    if (!strstr(error.message, message)) fail_msg("%s", error.message);
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    given g;
    const char *const missing[] = {NULL};
    stk_trainer_options *o = given_with(&g, NULL);
    o->resume = true;
    refuse(o, "resume");
    o = given_with(&g, NULL);
    o->no_files = true;
    o->run = "anywhere";
    refuse(o, "no_files and run");
    o->run = NULL;
    o->trace_steps = 1;
    refuse(o, "no_files and trace_steps");
    o = given_with(&g, NULL);
    o->stop_after = -1;
    refuse(o, "stop_after");
    o = given_with(&g, NULL);
    o->trace_steps = 1 << 20;
    refuse(o, "trace_steps");
    o = given_with(&g, NULL);
    o->settings = missing;
    o->setting_count = 1;
    refuse(o, "settings[0]");
    o->settings = NULL;
    refuse(o, "setting_count");
    o = given_with(&g, NULL);
    o->struct_size = 3;
    refuse(o, "struct_size");
    o = given_with(&g, NULL);
    stk_trainer_callbacks odd = {.struct_size = 3};
    o->callbacks = &odd;
    refuse(o, "stk_trainer_callbacks");
}

static void without_validation_nothing_is_evaluated(void **state)
{
    (void)state;
    given g;
    stk_error error = {0};
    stk_trainer_score score = STK_TRAINER_SCORE_INIT;
    stk_trainer_options *options = given_with(&g, "data.val_split=0");
    options->no_files = true;
    stk_trainer *trainer = open_trainer(options);
    assert_int_equal(stk_trainer_evaluate(trainer, &score, &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.hint, "data.val_split"));
    assert_int_equal(stk_trainer_close(&trainer), 0);
}

/* A run that fails at its data says so in run.json; steps that went well before are in a checkpoint. */
static void a_failure_is_in_the_report(void **state)
{
    (void)state;
    given g;
    char path[512], file[600];
    stk_error error = {0};
    stk_trainer_options *options = given_with(&g, "optimizer.lr=1000");
    options->run = run_path(path, "failed");
    g.list[options->setting_count++] = "optimizer.name=sgd";
    g.list[options->setting_count++] = "train.epochs=50";
    stk_trainer *trainer = open_trainer(options);
    assert_int_equal(stk_trainer_train(trainer, &error), STK_ERROR_DATA);
    assert_true(error.message[0] && error.hint[0]);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    snprintf(file, sizeof file, "%s/run.json", path);
    json_t *report = json_load_file(file, 0, NULL);
    assert_true(json_is_true(json_object_get(report, "failed")));
    json_decref(report);
}

static stk_status open_and_close(void *context, stk_error *error)
{
    given g;
    stk_trainer *trainer;
    (void)context;
    stk_trainer_options *options = given_with(&g, "data.num_workers=0");
    options->no_files = true;
    const stk_status status = stk_trainer_open(&trainer, options, error);
    assert_int_equal(status == STK_OK, trainer != NULL);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(open_and_close, NULL) > 50);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    program = argv[1];
    engine = argv[2];
    if (!has_engine()) return 77; /* skipped */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_come_back_with_a_hint),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(without_validation_nothing_is_evaluated),
        cmocka_unit_test(a_failure_is_in_the_report),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
