/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a run: which one, one process at a time, whole lines of metrics, and nothing left over. */
#include "train/run_folder.h"

#include "core/durable.h"
#include "core/file.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static workspace space; /* the tests work in it */

static int enter(void **state)
{
    (void)state;
    space = workspace_make();
    return chdir(space.path);
}

static int leave(void **state)
{
    (void)state;
    if (chdir("/") != 0) return -1;
    workspace_remove(&space);
    return 0;
}

static stk__run_folder *open_good(const char *path, bool resume)
{
    stk__run_folder *folder;
    stk_error error = {0};
    const stk__run_folder_options options = {.path = path, .name = "unet-faces", .resume = resume};
    if (stk__run_folder_open(&folder, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return folder;
}

static stk_error refuse(const char *path, bool resume, stk_status code)
{
    stk__run_folder *folder;
    stk_error error = {0};
    const stk__run_folder_options options = {.path = path, .name = "unet-faces", .resume = resume};
    assert_int_equal(stk__run_folder_open(&folder, &options, &error), code);
    assert_null(folder);
    return error;
}

static bool is_there(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0;
}

static void expect_text(const char *path, const char *text)
{
    stk__buffer read = {0};
    assert_int_equal(stk__file_read(path, 0, &read, NULL), STK_OK);
    assert_string_equal((const char *)read.data, text);
    stk__buffer_fini(&read);
}

/* --- which folder -------------------------------------------------------------------------------------- */

static void numbers_count_up(void **state)
{
    (void)state;
    stk__run_folder *first = open_good(NULL, false), *second = open_good(NULL, false);
    char path[64];
    assert_string_equal(stk__run_folder_path(first), "runs/unet-faces-0001");
    assert_string_equal(stk__run_folder_path(second), "runs/unet-faces-0002");
    stk__run_folder_file(second, "run.json", path, sizeof path);
    assert_string_equal(path, "runs/unet-faces-0002/run.json");
    stk__run_folder_close(&first);
    assert_true(stk__durable_remove("runs/unet-faces-0001"));
    first = open_good(NULL, false); /* the lowest that is free */
    assert_string_equal(stk__run_folder_path(first), "runs/unet-faces-0001");
    stk__run_folder_close(&first);
    stk__run_folder_close(&second);
    stk__run_folder_close(&second);
}

/* Processes that start at once never get the same one. */
static void numbers_are_free_of_races(void **state)
{
    (void)state;
    enum { PROCESSES = 6, EACH = 8 };
    pid_t ids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        ids[i] = fork();
        assert_true(ids[i] >= 0);
        if (ids[i]) continue;
        for (int k = 0; k < EACH; k++) {
            stk__run_folder *folder;
            const stk__run_folder_options options = {.name = "race"};
            if (stk__run_folder_open(&folder, &options, NULL) != STK_OK) _exit(1);
            stk__run_folder_close(&folder);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(ids[i], &status, 0), ids[i]);
        assert_int_equal(status, 0);
    }
    assert_true(is_there("runs/race-0048"));
    assert_false(is_there("runs/race-0049"));
}

static void names_are_checked(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "", ".", "../up", "a/b"};
    char longest[300];
    stk__run_folder *folder;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(stk__run_folder_open(&folder, &(stk__run_folder_options){.name = names[i]}, NULL),
                         STK_ERROR_CONFIG);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(stk__run_folder_open(&folder, &(stk__run_folder_options){.name = longest}, NULL),
                     STK_ERROR_CONFIG);
    refuse(NULL, true, STK_ERROR_ARGUMENT);
    refuse("", false, STK_ERROR_ARGUMENT);
    char *endless = malloc(PATH_MAX + 1);
    assert_non_null(endless);
    memset(endless, 'x', PATH_MAX);
    endless[PATH_MAX] = '\0';
    refuse(endless, false, STK_ERROR_ARGUMENT);
    free(endless);
    workspace_put(&space, "file", "");
    refuse("file/run", false, STK_ERROR_IO);
    refuse("file", false, STK_ERROR_IO);
    assert_int_equal(rmdir("runs"), 0);
    workspace_put(&space, "runs", "");
    refuse(NULL, false, STK_ERROR_IO);
}

static void new_ones_are_empty_and_old_ones_are_runs(void **state)
{
    (void)state;
    stk__run_folder *folder = open_good("deep//er/run/", false);
    stk__run_folder_close(&folder);
    expect_text("deep/er/run/lock", "");
    folder = open_good("deep/er/run", false); /* a lock alone is empty */
    stk__run_folder_close(&folder);
    workspace_put(&space, "deep/er/run/config.yaml", "a: 1\n");
    stk_error error = refuse("deep/er/run", false, STK_ERROR_CONFIG);
    assert_string_equal(error.message, "the folder 'deep/er/run' is not empty");
    assert_non_null(strstr(error.hint, "--resume"));
    folder = open_good("deep/er/run", true);
    stk__run_folder_close(&folder);
    workspace_put(&space, "data/picture.png", "");
    refuse("data", false, STK_ERROR_CONFIG);
    error = refuse("data", true, STK_ERROR_CONFIG);
    assert_string_equal(error.message, "'data' is not a run folder");
    assert_false(is_there("data/lock")); /* foreign folders stay as they are */
    error = refuse("nothing", true, STK_ERROR_CONFIG);
    assert_string_equal(error.message, "there is no run 'nothing' to resume");
    refuse("data/picture.png", true, STK_ERROR_CONFIG);
    workspace_put(&space, "copied/checkpoints/notes", ""); /* the lock was not copied */
    folder = open_good("copied", true);
    stk__run_folder_close(&folder);
}

/* --- one process --------------------------------------------------------------------------------------- */

static void a_second_process_is_refused(void **state)
{
    (void)state;
    char expected[64];
    stk__run_folder *folder = open_good("run", false);
    snprintf(expected, sizeof expected, "process %ld is using the folder 'run'", (long)getpid());
    assert_string_equal(refuse("run", false, STK_ERROR_STATE).message, expected);
    workspace_put(&space, "run/config.yaml", "");
    assert_string_equal(refuse("run", false, STK_ERROR_STATE).message, expected);
    assert_string_equal(refuse("run", true, STK_ERROR_STATE).message, expected);
    assert_int_equal(truncate("run/lock", 0), 0); /* between the lock and its text */
    assert_string_equal(refuse("run", true, STK_ERROR_STATE).message,
                        "another process is using the folder 'run'");
    stk__run_folder_close(&folder);
    folder = open_good("run", true);
    stk__run_folder_close(&folder);
}

static void a_lock_of_the_dead_is_taken_over(void **state)
{
    (void)state;
    int ends[2];
    char ready;
    assert_int_equal(pipe(ends), 0);
    const pid_t id = fork();
    assert_true(id >= 0);
    if (id == 0) {
        stk__run_folder *folder;
        const stk__run_folder_options options = {.path = "run"};
        ready = stk__run_folder_open(&folder, &options, NULL) == STK_OK;
        if (write(ends[1], &ready, 1) == 1) pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &ready, 1), 1);
    assert_true(ready);
    char expected[64];
    snprintf(expected, sizeof expected, "process %ld is using the folder 'run'", (long)id);
    assert_string_equal(refuse("run", true, STK_ERROR_STATE).message, expected);
    assert_int_equal(kill(id, SIGKILL), 0);
    assert_int_equal(waitpid(id, NULL, 0), id);
    stk__run_folder *folder = open_good("run", true);
    stk__run_folder_close(&folder);
    close(ends[0]);
    close(ends[1]);
}

static void locks_that_cannot_be_taken(void **state)
{
    (void)state;
    assert_int_equal(mkdir("run", 0777) + mkdir("run/lock", 0777), 0);
    refuse("run", true, STK_ERROR_IO);
    assert_int_equal(rmdir("run/lock"), 0);
    assert_int_equal(symlink("/etc/hostname", "run/lock"), 0); /* is not followed */
    refuse("run", true, STK_ERROR_IO);
}

/* --- metrics ------------------------------------------------------------------------------------------- */

static void add(stk__run_folder *folder, int step)
{
    json_t *line = json_pack("{s:i, s:f}", "step", step, "loss", 1.0 / (step + 1));
    assert_int_equal(stk__run_folder_metric(folder, line, NULL), STK_OK);
}

static void metrics_are_lines(void **state)
{
    (void)state;
    stk__run_folder *folder = open_good("run", false);
    assert_int_equal(stk__run_folder_cut(folder, (stk__metrics_end){3, 3, 0}, NULL),
                     STK_OK); /* there is no file yet */
    add(folder, 0);
    add(folder, 1);
    expect_text("run/metrics.jsonl", "{\"step\":0,\"loss\":1.0}\n{\"step\":1,\"loss\":0.5}\n");
    assert_int_equal(stk__run_folder_cut(folder, (stk__metrics_end){0, 0, 0}, NULL), STK_OK);
    add(folder, 3); /* goes to the new file */
    expect_text("run/metrics.jsonl", "{\"step\":0,\"loss\":1.0}\n{\"step\":3,\"loss\":0.25}\n");
    stk__run_folder_close(&folder);
    folder = open_good("run", true);
    add(folder, 7);
    expect_text("run/metrics.jsonl", "{\"step\":0,\"loss\":1.0}\n{\"step\":3,\"loss\":0.25}\n"
                                     "{\"step\":7,\"loss\":0.125}\n");
    stk_error error = {0};
    assert_int_equal(stk__run_folder_metric(folder, NULL, &error), STK_ERROR_MEMORY);
    stk__run_folder_close(&folder);
}

static void what_is_beyond_is_cut_off(void **state)
{
    (void)state;
    static const char before[] =
        "{\"note\":\"start\"}\n{\"step\":1}\n{\"eval\":1}\nrubbish\n\n[3]\n{\"step\":2}\n"
        "{\"step\":3}\n{\"eval\":3}\n{\"step\":-1}\n{\"step\":2.5}\n{\"step\":9}\n{\"st";
    static const char after[] =
        "{\"note\":\"start\"}\n{\"step\":1}\n{\"eval\":1}\n{\"step\":2}\n{\"step\":-1}\n"
        "{\"step\":2.5}\n";
    stk__run_folder *folder = open_good("run", false);
    workspace_put(&space, "run/metrics.jsonl", before);
    assert_int_equal(stk__run_folder_cut(folder, (stk__metrics_end){2, 2, 0}, NULL), STK_OK);
    expect_text("run/metrics.jsonl", after);
    struct stat facts, again;
    assert_int_equal(stat("run/metrics.jsonl", &facts), 0);
    assert_int_equal(stk__run_folder_cut(folder, (stk__metrics_end){2, 2, 0}, NULL), STK_OK);
    assert_int_equal(stat("run/metrics.jsonl", &again), 0);
    assert_int_equal(facts.st_ino, again.st_ino); /* nothing to do: the file is not written again */
    stk__run_folder_close(&folder);
}

/* A run that was stopped at the end of an epoch, went on, and was stopped again while it evaluated. */
static void logs_and_evaluations_end_apart(void **state)
{
    (void)state;
    static const char before[] =
        "{\"step\":3}\n{\"step\":3,\"val_loss\":1}\n{\"step\":4}\n{\"step\":4,\"val_loss\":1}\n";
    const struct {
        stk__metrics_end end;
        size_t kept; /* bytes */
    } cases[] = {{{4, 4, 0}, 70}, {{4, 3, 0}, 46}, {{3, 3, 0}, 35}, {{3, 2, 0}, 11}};
    stk__run_folder *folder = open_good("run", false);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char after[sizeof before] = "";
        memcpy(after, before, cases[i].kept);
        workspace_put(&space, "run/metrics.jsonl", before);
        assert_int_equal(stk__run_folder_cut(folder, cases[i].end, NULL), STK_OK);
        expect_text("run/metrics.jsonl", after);
    }
    stk__run_folder_close(&folder);
}

/* Epochs in which every step was skipped have evaluations of one step. */
static void evaluations_of_one_step_end_by_epoch(void **state)
{
    (void)state;
    static const char before[] =
        "{\"step\":3,\"epoch\":1,\"val_loss\":1}\n{\"step\":3,\"epoch\":2,\"val_loss\":1}\n"
        "{\"step\":4,\"epoch\":2}\n";
    const struct {
        stk__metrics_end end;
        size_t kept; /* bytes */
    } cases[] = {{{4, 4, 3}, 89}, {{3, 2, 3}, 68}, {{3, 2, 2}, 34}, {{3, 3, 1}, 0}, {{3, 2, 0}, 0}};
    stk__run_folder *folder = open_good("run", false);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char after[sizeof before] = "";
        memcpy(after, before, cases[i].kept);
        workspace_put(&space, "run/metrics.jsonl", before);
        assert_int_equal(stk__run_folder_cut(folder, cases[i].end, NULL), STK_OK);
        expect_text("run/metrics.jsonl", after);
    }
    stk__run_folder_close(&folder);
}

/* A limit on file sizes stands for a full disk: the first write is short, the second fails. */
static void no_half_lines_on_a_full_disk(void **state)
{
    (void)state;
    struct rlimit before;
    stk_error error = {0};
    stk__run_folder *folder = open_good("run", false);
    add(folder, 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 30, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const stk_status status = stk__run_folder_metric(folder, json_pack("{s:i}", "step", 2), &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, STK_ERROR_IO);
    expect_text("run/metrics.jsonl", "{\"step\":1,\"loss\":0.5}\n");
    assert_int_equal(stk__run_folder_metric(folder, json_pack("{s:i}", "step", 2), &error), STK_OK);
    expect_text("run/metrics.jsonl", "{\"step\":1,\"loss\":0.5}\n{\"step\":2}\n");
    stk__run_folder_close(&folder);
}

static void metrics_that_are_no_file(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__run_folder *folder = open_good("run", false);
    assert_int_equal(mkdir("run/metrics.jsonl", 0777), 0);
    assert_int_equal(stk__run_folder_metric(folder, json_object(), &error), STK_ERROR_IO);
    assert_int_equal(stk__run_folder_cut(folder, (stk__metrics_end){3, 3, 0}, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "is a directory"));
    stk__run_folder_close(&folder);
}

/* --- files --------------------------------------------------------------------------------------------- */

static void files_are_written_whole(void **state)
{
    (void)state;
    stk__run_folder *folder = open_good("run", false);
    char text[] = "data: {}\n";
    const stk__buffer data = {.data = (uint8_t *)text, .size_bytes = strlen(text)};
    assert_int_equal(stk__run_folder_write(folder, "config.yaml", data, NULL), STK_OK);
    expect_text("run/config.yaml", text);
    json_t *json = json_pack("{s:i, s:[i]}", "b", 1, "a", 2);
    assert_int_equal(stk__run_folder_write_json(folder, "run.json", json, NULL), STK_OK);
    expect_text("run/run.json", "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}\n");
    assert_int_equal(stk__run_folder_write_json(folder, "no/run.json", json_object(), NULL), STK_ERROR_IO);
    assert_int_equal(stk__run_folder_write_json(folder, "run.json", NULL, NULL), STK_ERROR_MEMORY);
    stk__run_folder_close(&folder);
}

static void what_crashes_leave_is_removed(void **state)
{
    (void)state;
    static const char *const stay[] = {"run/a.tmp-", "run/a.tmp-12x", "run/tmp-12", "run/checkpoints/mine"};
    static const char *const go[] = {"run/run.json.tmp-123", "run/checkpoints/.tmp-epoch/model",
                                     "run/checkpoints/.trash-epoch/model"};
    for (size_t i = 0; i < 4; i++)
        workspace_put(&space, stay[i], "");
    for (size_t i = 0; i < 3; i++)
        workspace_put(&space, go[i], "");
    stk__run_folder *folder = open_good("run", true);
    for (size_t i = 0; i < 4; i++)
        assert_true(is_there(stay[i]));
    for (size_t i = 0; i < 3; i++)
        assert_false(is_there(go[i]));
    assert_false(is_there("run/checkpoints/.trash-epoch"));
    stk__run_folder_close(&folder);
}

static stk_status use(void *context, stk_error *error)
{
    (void)context;
    stk__run_folder *folder;
    const stk__run_folder_options options = {.path = "run", .resume = true};
    STK__TRY(stk__run_folder_open(&folder, &options, error));
    stk_status status = stk__run_folder_metric(folder, json_pack("{s:i}", "step", 9), error);
    if (status == STK_OK) status = stk__run_folder_cut(folder, (stk__metrics_end){3, 3, 0}, error);
    if (status == STK_OK) status = stk__run_folder_write_json(folder, "run.json", json_object(), error);
    stk__run_folder_close(&folder);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    stk__run_folder *folder = open_good("run", false);
    stk__run_folder_close(&folder);
    assert_true(fail_alloc_each(use, NULL) > 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_count_up),
        TEST(numbers_are_free_of_races),
        TEST(names_are_checked),
        TEST(new_ones_are_empty_and_old_ones_are_runs),
        TEST(a_second_process_is_refused),
        TEST(a_lock_of_the_dead_is_taken_over),
        TEST(locks_that_cannot_be_taken),
        TEST(metrics_are_lines),
        TEST(what_is_beyond_is_cut_off),
        TEST(logs_and_evaluations_end_apart),
        TEST(evaluations_of_one_step_end_by_epoch),
        TEST(no_half_lines_on_a_full_disk),
        TEST(metrics_that_are_no_file),
        TEST(files_are_written_whole),
        TEST(what_crashes_leave_is_removed),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
