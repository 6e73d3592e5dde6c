/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about a settings file: each on a file made for it; files of healthy trainings have no findings. Any
 * YAML is read, or refused with its line. */
#include "doctor/settings_rules.h"

#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static stk_status read_text(const char *text, stk__settings_file *file, stk_error *error)
{
    char path[] = "/tmp/stoker-settings-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    close(descriptor);
    const stk_status status = stk__settings_file_read(path, file, error);
    unlink(path);
    return status;
}

static stk__diagnosis diagnosis;

/* The ids of the findings, in their order, separated by blanks. before: "" for none. */
static void check(const char *now, const char *before, const char *expected)
{
    stk__settings_file files[2] = {{0}};
    stk__settings_facts settings = {.now = &files[0], .cpus = 16};
    stk__evidence evidence;
    stk_error error;
    char ids[512] = "";
    stk__evidence_init(&evidence);
    assert_int_equal(read_text(now, &files[0], &error), STK_OK);
    if (*before) assert_int_equal(read_text(before, &files[1], &error), STK_OK);
    if (*before) settings.before = &files[1];
    assert_int_equal(stk__settings_facts_look_up(&settings, &error), STK_OK);
    const stk__doctor_facts facts = {.e = &evidence, .other = &settings};
    stk__diagnose_facts(&facts, stk__rules_settings, &diagnosis);
    for (int i = 0; i < diagnosis.count; i++) {
        const size_t length = strlen(ids);
        const stk__doctor_finding *f = &diagnosis.findings[i];
        assert_true(f->evidence[0] && f->advice[0] && f->numbers[0].key);
        snprintf(ids + length, sizeof ids - length, "%s%s", i ? " " : "", f->rule->id + strlen("settings_"));
    }
    if (strcmp(ids, expected) != 0) fail_msg("found '%s', expected '%s' in:\n%s", ids, expected, now);
    stk__settings_file_fini(&files[0]);
    stk__settings_file_fini(&files[1]);
}

static void each_rule(void **state)
{
    (void)state;
    check("num_workers: 0\npersistent_workers: true\n", "", "worker_options workers");
    check("num_workers: 0\nprefetch_factor: 2\n", "", "worker_options workers");
    check("train:\n  amp: true\n", "", "amp_bool");
    check("train:\n  use_amp: \"True\"\n", "", "quoted_bool");
    check("data: {num_workers: 28}\n", "", "workers");
    check("non_blocking: true\npin_memory: false\n", "", "non_blocking");
    check("compile_mode: default\n", "", "compile_mode");
    check("use_amp: false\n", "", "amp_off");
    check("eval_interval: 1\n", "", "each_epoch");
    check("num_wrokers: 4\n", "", "unknown");
    assert_non_null(strstr(diagnosis.findings[0].evidence, "num_wrokers (line 1"));
}

static void batch_and_learning_rate(void **state)
{
    (void)state;
    check("batch_size: 1024\nlr: 3.0e-4\n", "batch_size: 256\nlr: 3.0e-4\n", "lr");
    check("batch_size: 1024\nlr: 6.0e-4\n", "batch_size: 256\nlr: 3.0e-4\n", "");  /* square root */
    check("batch_size: 1024\nlr: 12.0e-4\n", "batch_size: 256\nlr: 3.0e-4\n", ""); /* linear */
    check("batch_size: 256\ngradient_accumulation_steps: 4\nlr: 3.0e-4\n", "batch_size: 256\nlr: 3.0e-4\n",
          "lr");
    check("batch_size: 256\nlr: 1.0e-4\n", "batch_size: 256\nlr: 3.0e-4\n", ""); /* the same batch */
}

/* Settings of the field reports (tests/unit/core/test_config_reports.c has all of them). */
static void field_reports(void **state)
{
    (void)state;
    check("data:\n  batch_size: 32\n  num_workers: 4\ntraining:\n  use_gpu_augmentation: true\n"
          "  use_amp: true\ngpu_augmentation:\n  horizontal_flip_prob: 0.5\n",
          "", "");
    check("data:\n  batch_size: 8\n  num_workers: 0\ntraining:\n  use_gpu_augmentation: false\n  use_amp: "
          "false\n",
          "", "workers amp_off");
    check("train:\n  batch_size: 256\n  amp: true\n  channels_last: true\n  num_workers: 28\n  pin_memory: "
          "true\n"
          "  non_blocking: true\n  gradient_accumulation_steps: 1\n  compile_model: false\n"
          "  compile_mode: \"default\"\noptimizer:\n  lr: 3.0e-4\n",
          "", "amp_bool workers compile_mode");
}

/* Lists, anchors, several levels, keys that are no words: whatever a program of somebody else has. */
static void any_yaml(void **state)
{
    stk__settings_file file;
    stk_error error;
    (void)state;
    assert_int_equal(
        read_text("a: &x\n  b: [1, {c: 2}]\n  ? [k]\n  : v\nd: *x\ne: |\n  text\nf:\n  g:\n    h: 3\n", &file,
                  &error),
        STK_OK);
    assert_int_equal(file.count, 3);
    assert_string_equal(file.rows[2].key, "f.g.h");
    assert_string_equal(file.rows[2].value, "3");
    assert_int_equal(file.rows[2].line, 10);
    stk__settings_file_fini(&file);
    assert_int_equal(read_text("", &file, &error), STK_OK);
    assert_int_equal(file.count, 0);
    assert_int_equal(read_text("a: 1\nb: ]\n", &file, &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.place, "2"));
    assert_int_equal(read_text("- 1\n- 2\n", &file, &error), STK_ERROR_CONFIG);
    assert_int_not_equal(stk__settings_file_read("/nowhere", &file, &error), STK_OK);
}

static stk_status read_and_look_up(void *context, stk_error *error)
{
    stk__settings_file file;
    stk__settings_facts facts = {.now = &file, .cpus = 8};
    stk_status status = stk__settings_file_read(context, &file, error);
    if (status == STK_OK) status = stk__settings_facts_look_up(&facts, error);
    stk__settings_file_fini(&file);
    return status;
}

static void no_memory(void **state)
{
    char path[] = "/tmp/stoker-settings-XXXXXX";
    const int descriptor = mkstemp(path);
    (void)state;
    assert_true(descriptor >= 0 && write(descriptor, "data:\n  batch_size: 3\n", 22) == 22);
    close(descriptor);
    assert_true(fail_alloc_each(read_and_look_up, path) > 3);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule),     cmocka_unit_test(batch_and_learning_rate),
        cmocka_unit_test(field_reports), cmocka_unit_test(any_yaml),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("settings_rules", tests, NULL, NULL);
}
