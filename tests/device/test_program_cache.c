/* SPDX-License-Identifier: Apache-2.0 */
/* Built kernels on disk: what was saved comes back, everything else counts as absent. */
#include "core/file.h"
#include "device/program_cache.h"
#include "support/workspace.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static workspace folder;
static stk__buffer loaded;
static char path[512];
static int warnings;
static const char program[] = "the bytes of a program";

static stk__digest some_key(void)
{
    return stk__program_key((const char *const[]){"text", "options", "device"}, 3);
}

static void count_warning(void *context, stk_log_level level, const char *line)
{
    (void)context, (void)line;
    warnings += level == STK_LOG_WARNING;
}

static int make_folder(void **state)
{
    (void)state;
    char name[STK_DIGEST_TEXT_BYTES];
    folder = workspace_make();
    setenv("STOKER_CACHE_DIR", folder.path, 1);
    stk__digest_print(some_key(), name);
    snprintf(path, sizeof path, "%s/%s.program", folder.path, name);
    warnings = 0;
    stk_log_set(count_warning, NULL, STK_LOG_WARNING);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    stk__buffer_fini(&loaded);
    workspace_remove(&folder);
    return 0;
}

static void expect_program(void)
{
    assert_true(stk__program_load(some_key(), &loaded));
    assert_int_equal(loaded.size_bytes, sizeof program);
    assert_memory_equal(loaded.data, program, sizeof program);
}

static void what_was_saved_comes_back(void **state)
{
    (void)state;
    assert_false(stk__program_load(some_key(), &loaded));
    stk__program_save(some_key(), program, sizeof program);
    expect_program();
    assert_int_equal(workspace_count(&folder), 1);
    stk__program_save(some_key(), program, sizeof program); /* over the first */
    expect_program();
    assert_int_equal(workspace_count(&folder), 1);
    assert_int_equal(warnings, 0);
}

static void every_text_is_part_of_the_key(void **state)
{
    (void)state;
    const char *const lists[][3] = {{"text", "options", "device"},
                                    {"texto", "ptions", "device"},
                                    {"text", "options", "devicf"},
                                    {"options", "text", "device"},
                                    {"text", "optionsdevice", ""}};
    stk__digest keys[5];
    for (int i = 0; i < 5; i++) {
        keys[i] = stk__program_key(lists[i], 3);
        for (int j = 0; j < i; j++)
            assert_true(memcmp(&keys[i], &keys[j], sizeof keys[i]) != 0);
    }
    stk__program_save(keys[1], program, sizeof program);
    assert_false(stk__program_load(keys[0], &loaded));
}

/* Every byte of the file counts: one flipped anywhere, or cut off anywhere, and it is not there. */
static void damaged_files_are_not_there(void **state)
{
    (void)state;
    stk__buffer file = {0};
    stk_error error;
    stk__program_save(some_key(), program, sizeof program);
    assert_int_equal(stk__file_read(path, 0, &file, &error), STK_OK);
    for (size_t i = 0; i < file.size_bytes; i++) {
        file.data[i] ^= 0x10;
        assert_int_equal(stk__file_write(path, file, STK_FILE_QUICK, &error), STK_OK);
        assert_false(stk__program_load(some_key(), &loaded));
        file.data[i] ^= 0x10;
        const stk__buffer cut = {file.data, i, 0};
        assert_int_equal(stk__file_write(path, cut, STK_FILE_QUICK, &error), STK_OK);
        assert_false(stk__program_load(some_key(), &loaded));
    }
    stk__program_save(some_key(), program, sizeof program);
    expect_program();
    stk__buffer_fini(&file);
}

static void foreign_files_are_not_there(void **state)
{
    (void)state;
    const stk__digest other = stk__program_key((const char *const[]){"another"}, 1);
    char name[STK_DIGEST_TEXT_BYTES], from[512];
    stk__digest_print(other, name);
    snprintf(from, sizeof from, "%s/%s.program", folder.path, name);
    stk__program_save(other, program, sizeof program);
    assert_int_equal(rename(from, path), 0);
    assert_false(stk__program_load(some_key(), &loaded));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* and a folder is no file */
    assert_false(stk__program_load(some_key(), &loaded));
}

/* A file where the folder should be: stands for every folder that cannot be written, also for root. */
static void a_folder_that_cannot_be_written_only_warns(void **state)
{
    (void)state;
    char below[512];
    workspace_put(&folder, "file", "x");
    snprintf(below, sizeof below, "%s/file/cache", folder.path);
    setenv("STOKER_CACHE_DIR", below, 1);
    stk__program_save(some_key(), program, sizeof program);
    assert_int_equal(warnings, 1);
    assert_false(stk__program_load(some_key(), &loaded));
}

/* A limit of the file size fails writes as a full disk does, and leaves nothing behind. */
static void a_full_disk_only_warns(void **state)
{
    (void)state;
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 16;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    stk__program_save(some_key(), program, sizeof program);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(warnings, 1);
    assert_int_equal(workspace_count(&folder), 0);
    assert_false(stk__program_load(some_key(), &loaded));
}

static void without_a_folder_it_only_warns(void **state)
{
    (void)state;
    const char *home = getenv("HOME");
    char before[256] = "";
    if (home) snprintf(before, sizeof before, "%s", home);
    unsetenv("STOKER_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    stk__program_save(some_key(), program, sizeof program);
    assert_int_equal(warnings, 1);
    if (home) setenv("HOME", before, 1);
}

int main(void)
{
#define IN_A_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(what_was_saved_comes_back),
        IN_A_FOLDER(every_text_is_part_of_the_key),
        IN_A_FOLDER(damaged_files_are_not_there),
        IN_A_FOLDER(foreign_files_are_not_there),
        IN_A_FOLDER(a_folder_that_cannot_be_written_only_warns),
        IN_A_FOLDER(a_full_disk_only_warns),
        IN_A_FOLDER(without_a_folder_it_only_warns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
