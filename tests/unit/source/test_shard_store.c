/* SPDX-License-Identifier: Apache-2.0 */
/* Where shard indexes are kept: beside the shard, in the cache or nowhere; stale and damaged ones,
 * permissions, several processes at once, and failing allocations. */
#include "source/shards/shard.h"

#include "core/file.h"
#include "support/fail_alloc.h"
#include "support/tarball.h"
#include "support/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { NOBODY = 65534 };

static workspace home;
static char shard[PATH_MAX], beside[PATH_MAX + 8], cache[PATH_MAX];
static char logged[4096];
static stk__shard_origin origin;

static void keep_log(void *context, stk_log_level level, const char *line)
{
    (void)context;
    (void)level;
    snprintf(logged, sizeof logged, "%s", line);
}

/* Instead of libc's. */
static int synced;

int fsync(int file)
{
    synced++;
    return (int)syscall(SYS_fsync, file);
}

/* A shard with samples a0, a1, …; written anew with another time. */
static void write_shard(int samples, int64_t time_s)
{
    tarball ball = {0};
    char name[32];
    for (int i = 0; i < samples; i++) {
        snprintf(name, sizeof name, "a%d.jpg", i);
        tarball_text(&ball, name, "x");
    }
    tarball_end(&ball);
    tarball_write(&ball, shard);
    tarball_clear(&ball);
    const struct timespec times[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};
    assert_int_equal(utimensat(AT_FDCWD, shard, times, 0), 0);
}

static int begin(void **state)
{
    (void)state;
    home = workspace_make();
    if (chmod(home.path, 0755) != 0) return -1;
    snprintf(cache, sizeof cache, "%s/cache", home.path);
    workspace_put(&home, "data/empty", "");
    snprintf(shard, sizeof shard, "%s/data/x.tar", home.path);
    snprintf(beside, sizeof beside, "%s.index", shard);
    setenv("STOKER_CACHE_DIR", cache, 1);
    write_shard(3, 1000);
    logged[0] = '\0';
    stk_log_set(keep_log, NULL, STK_LOG_INFO);
    return 0;
}

static int end(void **state)
{
    (void)state;
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    workspace_remove(&home);
    return 0;
}

static uint32_t get(void)
{
    stk__buffer bytes = {0};
    stk__shard_index idx;
    stk_error error = {0};
    const stk_status status = stk__shard_index_get(shard, &bytes, &idx, &origin, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    const uint32_t count = idx.count;
    assert_string_equal(idx.keys, "a0");
    stk__buffer_fini(&bytes);
    return count;
}

static bool is_there(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0;
}

static int count_cached(void)
{
    char folder[PATH_MAX + 8];
    int count = 0;
    snprintf(folder, sizeof folder, "%s/shards", cache);
    DIR *opened = opendir(folder);
    for (const struct dirent *found; opened && (found = readdir(opened));)
        count += found->d_name[0] != '.';
    if (opened) closedir(opened);
    return count;
}

static void found_again(void **state)
{
    (void)state;
    synced = 0;
    assert_int_equal(get(), 3);
    assert_int_equal(synced, 0); /* it can be made again */
    assert_int_equal(origin, STK_SHARD_STORED);
    assert_true(is_there(beside));
    assert_int_equal(count_cached(), 0);
    assert_int_equal(get(), 3);
    assert_int_equal(origin, STK_SHARD_FOUND);
    assert_string_equal(logged, "");
}

static void made_at_once(void **state)
{
    (void)state;
    stk__buffer first = {0}, second = {0};
    synced = 0;
    assert_int_equal(stk__shard_index_make(shard, 3, NULL), STK_OK);
    assert_int_equal(synced, 2); /* it and its folder: a power cut must not take it from its shard */
    assert_int_equal(stk__file_read(beside, 0, &first, NULL), STK_OK);
    get();
    assert_int_equal(origin, STK_SHARD_FOUND);
    assert_int_equal(stk__shard_index_make(shard, 3, NULL), STK_OK);
    assert_int_equal(stk__file_read(beside, 0, &second, NULL), STK_OK);
    assert_int_equal(first.size_bytes, second.size_bytes);
    assert_memory_equal(first.data, second.data, first.size_bytes);
    stk__buffer_fini(&first);
    stk__buffer_fini(&second);
}

/* Who writes a shard wants it to be read. */
static void made_of_good_samples_only(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__shard_index_make(shard, 4, &error), STK_ERROR_DATA);
    assert_non_null(strstr(error.message, "3 samples can be read back from the shard, 4 were written"));
    assert_string_equal(error.place, shard);
    tarball ball = {0};
    tarball_text(&ball, "a0.jpg", "x");
    tarball_text(&ball, "a1.jpg", "x");
    tarball_text(&ball, "a1.cls", "many");
    tarball_end(&ball);
    tarball_write(&ball, shard);
    tarball_clear(&ball);
    assert_int_equal(stk__shard_index_make(shard, 2, &error), STK_ERROR_DATA);
    assert_non_null(strstr(error.message, "'a1.cls' cannot be read back from the shard: cls is 'many'"));
    assert_string_equal(error.place, shard);
    assert_int_equal(stk__shard_index_make(shard, 2, NULL), STK_ERROR_DATA);
    assert_false(is_there(beside));
}

static void stale_ones_are_made_anew(void **state)
{
    (void)state;
    get();
    write_shard(4, 1000); /* larger */
    assert_int_equal(get(), 4);
    assert_int_equal(origin, STK_SHARD_STORED);
    assert_non_null(strstr(logged, "the shard has changed"));
    write_shard(4, 1001); /* later */
    get();
    assert_int_equal(origin, STK_SHARD_STORED);
    get();
    assert_int_equal(origin, STK_SHARD_FOUND);
    const struct timespec times[2] = {{.tv_sec = 1001}, {.tv_sec = 1001}};
    assert_int_equal(utimensat(AT_FDCWD, beside, times, 0), 0); /* of the same moment: who knows */
    get();
    assert_int_equal(origin, STK_SHARD_STORED);
}

/* Unpacked with times of a machine whose clock is ahead, or touched. */
static void of_the_future_made_once(void **state)
{
    (void)state;
    const int64_t tomorrow_s = (int64_t)time(NULL) + 86400;
    write_shard(3, tomorrow_s);
    get();
    assert_int_equal(origin, STK_SHARD_STORED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get(), 3);
        assert_int_equal(origin, STK_SHARD_FOUND);
    }
    assert_string_equal(logged, "");
    write_shard(3, tomorrow_s + 1); /* another one */
    get();
    assert_int_equal(origin, STK_SHARD_STORED);
    write_shard(3, (int64_t)time(NULL)); /* written now */
    get();
    assert_int_equal(origin, STK_SHARD_STORED);
    const int64_t soon_s = (int64_t)time(NULL) + 1;
    write_shard(3, soon_s);
    get();
    const struct timespec nearly[2] = {{.tv_sec = soon_s - 1}, {.tv_sec = soon_s - 1}};
    assert_int_equal(utimensat(AT_FDCWD, beside, nearly, 0), 0); /* nearly of the same moment: who knows */
    get();
    assert_int_equal(origin, STK_SHARD_STORED);
}

static void flip(const char *path, long offset)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 0x10, file), byte ^ 0x10);
    assert_int_equal(fclose(file), 0);
}

static void damaged_ones_are_made_anew(void **state)
{
    (void)state;
    get();
    flip(beside, 150);
    assert_int_equal(get(), 3);
    assert_int_equal(origin, STK_SHARD_STORED);
    assert_non_null(strstr(logged, "rebuilt: its checksum does not match"));
    assert_int_equal(truncate(beside, 20), 0);
    get();
    assert_non_null(strstr(logged, "truncated"));
    flip(beside, 13); /* its version */
    get();
    assert_non_null(strstr(logged, "another version, or is not an index"));
    assert_int_equal(get(), 3);
    assert_int_equal(origin, STK_SHARD_FOUND);
}

static void kept_in_the_cache(void **state)
{
    (void)state;
    assert_int_equal(mkdir(beside, 0755), 0); /* nothing can get that name */
    assert_int_equal(get(), 3);
    assert_int_equal(origin, STK_SHARD_STORED);
    assert_int_equal(count_cached(), 1);
    get();
    assert_int_equal(origin, STK_SHARD_FOUND);
    assert_non_null(strstr(logged, "cannot be read: is a directory"));
    stk_error error = {0};
    assert_int_equal(stk__shard_index_make(shard, 3, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "cannot write"));
}

static void kept_nowhere(void **state)
{
    (void)state;
    assert_int_equal(mkdir(beside, 0755), 0);
    workspace_put(&home, "cache", "a file, so no folder");
    assert_int_equal(get(), 3);
    assert_int_equal(origin, STK_SHARD_UNSTORED);
    unsetenv("STOKER_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(get(), 3);
    assert_int_equal(origin, STK_SHARD_UNSTORED);
}

/* Without root's rights, in a folder of others. */
static void folders_that_may_not_be_written(void **state)
{
    (void)state;
    if (getuid() != 0) {
        assert_int_equal(chmod(home.path, 0755), 0);
        *strrchr(beside, '/') = '\0';
        assert_int_equal(chmod(beside, 0555), 0);
    }
    assert_int_equal(mkdir(cache, 0777), 0);
    assert_int_equal(chmod(cache, 0777), 0);
    if (getuid() == 0 && (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)) skip();
    get();
    const stk__shard_origin first = origin;
    get();
    const stk__shard_origin second = origin;
    if (getuid() == 0) assert_int_equal(seteuid(0) | setegid(0), 0);
    if (getuid() != 0) assert_int_equal(chmod(beside, 0755), 0);
    prctl(PR_SET_DUMPABLE, 1); /* or leak checkers cannot look at this process any more */
    assert_int_equal(first, STK_SHARD_STORED);
    assert_int_equal(second, STK_SHARD_FOUND);
    assert_int_equal(count_cached(), 1);
}

static void shards_that_cannot_be_read(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    stk__shard_index idx;
    stk_error error = {0};
    assert_int_equal(unlink(shard), 0);
    assert_int_equal(stk__shard_index_get(shard, &bytes, &idx, &origin, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "No such file"));
    assert_string_equal(error.place, shard);
    assert_true(error.hint[0]);
    assert_int_equal(stk__shard_index_make(shard, 3, NULL), STK_ERROR_IO);
    assert_int_equal(mkfifo(shard, 0644), 0);
    assert_int_equal(stk__shard_index_get(shard, &bytes, &idx, &origin, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "not a regular file"));
    assert_int_equal(stk__shard_index_make(shard, 3, NULL), STK_ERROR_IO);
    char path[PATH_MAX];
    memset(path, 'x', sizeof path);
    path[PATH_MAX - 3] = '\0';
    assert_int_equal(stk__shard_index_make(path, 3, NULL), STK_ERROR_IO);
    stk__buffer_fini(&bytes);
}

static void too_many_open_files_is_not_the_shards_fault(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    stk__shard_index idx;
    stk_error error = {0};
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const stk_status status = stk__shard_index_get(shard, &bytes, &idx, &origin, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, STK_ERROR_IO);
    assert_string_equal(error.place, shard);
    assert_non_null(strstr(error.hint, "ulimit -n"));
    stk__buffer_fini(&bytes);
}

/* Processes that all find nothing at the same time: each gets the right index, and a whole one stays. */
static void processes_build_at_once(void **state)
{
    (void)state;
    enum { CHILDREN = 8, TURNS = 20 };
    write_shard(200, 1000);
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] != 0) continue;
        int wrong = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            if (turn % 4 == 0) unlink(beside);
            stk__buffer bytes = {0};
            stk__shard_index idx;
            wrong |= stk__shard_index_get(shard, &bytes, &idx, &origin, NULL) != STK_OK || idx.count != 200;
            stk__buffer_fini(&bytes);
        }
        if (logged[0]) print_error("%s\n", logged);
        _exit(wrong || logged[0]); /* nobody ever sees half an index */
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    get();
    assert_int_equal(get(), 200);
    assert_int_equal(origin, STK_SHARD_FOUND);
    assert_int_equal(count_cached(), 0);
}

static stk_status get_once(void *context, stk_error *error)
{
    stk__buffer bytes = {0};
    stk__shard_index idx;
    if (context) unlink(beside);
    const stk_status status = stk__shard_index_get(shard, &bytes, &idx, &origin, error);
    stk__buffer_fini(&bytes);
    return status;
}

static stk_status make_once(void *context, stk_error *error)
{
    (void)context;
    return stk__shard_index_make(shard, 3, error);
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(get_once, &home) > 5); /* building */
    assert_true(fail_alloc_each(get_once, NULL) > 1);  /* reading */
    assert_true(fail_alloc_each(make_once, NULL) > 5);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(found_again),
        TEST(made_at_once),
        TEST(made_of_good_samples_only),
        TEST(stale_ones_are_made_anew),
        TEST(of_the_future_made_once),
        TEST(damaged_ones_are_made_anew),
        TEST(kept_in_the_cache),
        TEST(kept_nowhere),
        TEST(folders_that_may_not_be_written),
        TEST(shards_that_cannot_be_read),
        TEST(too_many_open_files_is_not_the_shards_fault),
        TEST(processes_build_at_once),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
