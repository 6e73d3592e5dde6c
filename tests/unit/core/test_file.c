/* SPDX-License-Identifier: Apache-2.0 */
/* Reading whole files and atomic writes: classes of damage, limits, missing /proc, planted links, and
 * writes that fail and leave the old content. */
#include "core/file.h"
#include "support/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

static workspace home;

/* Instead of libc's. */
static int link_error; /* with which it fails; 0: as ever */

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    if (!link_error) return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    errno = link_error;
    return -1;
}

/* Reads in pieces of piece_bytes (0: as ever); the file ends at end_bytes, as if it had become shorter;
 * interruptions come first. */
static struct {
    size_t piece_bytes;
    off_t end_bytes; /* 0: where it is */
    int interruptions, error, calls;
} reads;

ssize_t pread(int file, void *data, size_t size, off_t offset)
{
    reads.calls++;
    if (reads.interruptions && reads.interruptions--) {
        errno = EINTR;
        return -1;
    }
    if (reads.error) {
        errno = reads.error;
        return -1;
    }
    if (reads.piece_bytes && size > reads.piece_bytes) size = reads.piece_bytes;
    if (reads.end_bytes && offset >= reads.end_bytes) return 0;
    if (reads.end_bytes && (off_t)size > reads.end_bytes - offset) size = (size_t)(reads.end_bytes - offset);
    return syscall(SYS_pread64, file, data, size, offset);
}

static int make_home(void **state)
{
    (void)state;
    home = workspace_make();
    return 0;
}

static int remove_home(void **state)
{
    (void)state;
    workspace_remove(&home);
    return 0;
}

static const char *below(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", home.path, name);
    return path;
}

static stk__buffer text_buffer(const char *text)
{
    return (stk__buffer){.data = (uint8_t *)(uintptr_t)text, .size_bytes = strlen(text)};
}

static void expect_damage(const char *name, uint64_t limit, stk_damage damage)
{
    stk__buffer buffer = {0};
    stk_error error = {0};
    assert_int_equal(stk__file_read(below(name), limit, &buffer, &error), STK_ERROR_SAMPLE);
    assert_string_equal(stk_damage_name(error.damage), stk_damage_name(damage));
    assert_string_equal(error.place, below(name));
    stk__buffer_fini(&buffer);
}

static void a_file_is_read_whole_with_zeros_behind(void **state)
{
    (void)state;
    stk__buffer buffer = {0};
    workspace_put(&home, "text", "hello");
    assert_int_equal(stk__file_read(below("text"), 0, &buffer, NULL), STK_OK);
    assert_int_equal(buffer.size_bytes, 5);
    assert_memory_equal(buffer.data, "hello\0\0\0", 8);
    for (int i = 0; i < 64; i++)
        assert_int_equal(buffer.data[5 + i], 0);
    workspace_put(&home, "empty", "");
    assert_int_equal(stk__file_read(below("empty"), 0, &buffer, NULL), STK_OK);
    assert_int_equal(buffer.size_bytes, 0);
    stk__buffer_fini(&buffer);
}

static void expect_content(const char *path, uint64_t limit, const char *expected)
{
    static const uint8_t zeros[64];
    stk__buffer buffer = {0};
    assert_int_equal(stk__file_read(path, limit, &buffer, NULL), STK_OK);
    assert_int_equal(buffer.size_bytes, strlen(expected));
    assert_memory_equal(buffer.data, expected, buffer.size_bytes);
    assert_memory_equal(buffer.data + buffer.size_bytes, zeros, sizeof zeros);
    stk__buffer_fini(&buffer);
}

/* The size that a file reports is what is read of it: pieces, interruptions and what is added behind it do
 * not matter; a file that has become shorter is read to its end. */
static void reads_come_as_they_like(void **state)
{
    (void)state;
    workspace_put(&home, "ten", "0123456789");
    memset(&reads, 0, sizeof reads);
    expect_content(below("ten"), 0, "0123456789");
    assert_int_equal(reads.calls, 1); /* none to find out that it ends */
    reads.piece_bytes = 3;
    reads.interruptions = 2;
    reads.calls = 0;
    expect_content(below("ten"), 0, "0123456789");
    assert_int_equal(reads.calls, 4 + 2);
    reads.end_bytes = 7;
    expect_content(below("ten"), 0, "0123456");
    expect_content(below("ten"), 10, "0123456");
    reads.end_bytes = 0;
    expect_damage("ten", 9, STK_DAMAGE_TOO_MANY_BYTES);
    reads.error = EIO;
    expect_damage("ten", 0, STK_DAMAGE_READ_ERROR);
    memset(&reads, 0, sizeof reads);
    workspace_put(&home, "nothing", "");
    expect_content(below("nothing"), 0, "");
    expect_content(below("nothing"), 1, "");
}

/* In pieces, too; the limit is the file's own. */
static void files_are_read_one_behind_the_other(void **state)
{
    (void)state;
    static const uint8_t zeros[64];
    stk__buffer buffer = {0};
    workspace_put(&home, "ten", "0123456789");
    memset(&reads, 0, sizeof reads);
    reads.piece_bytes = 3;
    assert_int_equal(stk__file_read(below("ten"), 10, &buffer, NULL), STK_OK);
    assert_int_equal(stk__file_append(below("ten"), 10, &buffer, NULL), STK_OK);
    assert_int_equal(buffer.size_bytes, 20);
    assert_memory_equal(buffer.data, "01234567890123456789", 20);
    assert_memory_equal(buffer.data + 20, zeros, sizeof zeros);
    assert_int_equal(stk__file_append(below("ten"), 9, &buffer, NULL), STK_ERROR_SAMPLE);
    memset(&reads, 0, sizeof reads);
    stk__buffer_fini(&buffer);
}

/* Files of /proc say that they have no bytes: they are read until nothing comes any more. */
static void files_without_a_size_are_read_to_their_end(void **state)
{
    (void)state;
    stk__buffer buffer = {0};
    stk_error error = {0};
    memset(&reads, 0, sizeof reads);
    reads.piece_bytes = 5;
    assert_int_equal(stk__file_read("/proc/self/status", 0, &buffer, &error), STK_OK);
    assert_true(buffer.size_bytes > 100);
    assert_memory_equal(buffer.data, "Name:", 5);
    const uint64_t size = buffer.size_bytes;
    assert_int_equal(stk__file_read("/proc/self/status", size + 100, &buffer, &error), STK_OK);
    assert_int_equal(stk__file_read("/proc/self/status", 99, &buffer, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_TOO_MANY_BYTES);
    assert_string_equal(error.message, "100 bytes, the limit is 99");
    assert_string_equal(error.place, "/proc/self/status");
    memset(&reads, 0, sizeof reads);
    stk__buffer_fini(&buffer);
}

static void what_is_not_a_readable_file_is_named(void **state)
{
    (void)state;
    expect_damage("nowhere", 0, STK_DAMAGE_MISSING);
    expect_damage("text/below-a-file", 0, STK_DAMAGE_MISSING);
    expect_damage(".", 0, STK_DAMAGE_NOT_A_FILE);
    assert_int_equal(symlink("nowhere", below("link")), 0);
    expect_damage("link", 0, STK_DAMAGE_DANGLING_LINK);
    assert_int_equal(symlink("loop", below("loop")), 0);
    expect_damage("loop", 0, STK_DAMAGE_DANGLING_LINK);
    assert_int_equal(mkfifo(below("pipe"), 0600), 0);
    expect_damage("pipe", 0, STK_DAMAGE_NOT_A_FILE);
    workspace_put(&home, "text", "hello");
    expect_damage("text", 4, STK_DAMAGE_TOO_MANY_BYTES);
    stk__file_hint(below("nowhere")); /* best effort: silent */
    stk__file_hint(below("text"));
}

static void too_many_open_files_is_not_the_samples_fault(void **state)
{
    (void)state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    stk__buffer buffer = {0};
    stk_error error = {0};
    const stk_status status = stk__file_read(below("text"), 0, &buffer, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, STK_ERROR_IO);
    assert_non_null(strstr(error.hint, "ulimit -n"));
    stk__buffer_fini(&buffer);
}

static void no_memory_is_not_the_samples_fault(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__file_refuse("x.jpg", ENOMEM, &error), STK_ERROR_MEMORY);
    assert_string_equal(error.place, "x.jpg");
    assert_non_null(strstr(error.hint, "memory"));
    assert_null(strstr(error.hint, "ulimit"));
    assert_int_equal(stk__file_refuse("x.jpg", ENFILE, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.hint, "ulimit -n"));
}

static void written_files_are_whole_and_alone(void **state)
{
    (void)state;
    workspace_remove(&home);
    home = workspace_make();
    const stk__file_care cares[] = {STK_FILE_DURABLE, STK_FILE_QUICK};
    stk__buffer back = {0};
    for (int i = 0; i < 4; i++) { /* new, and over an old one */
        const char *text = i % 2 ? "longer than before" : "short";
        assert_int_equal(stk__file_write(below("state"), text_buffer(text), cares[i / 2], NULL), STK_OK);
        assert_int_equal(stk__file_read(below("state"), 0, &back, NULL), STK_OK);
        assert_int_equal(back.size_bytes, strlen(text));
        assert_memory_equal(back.data, text, strlen(text));
        assert_int_equal(workspace_count(&home), 1);
    }
    stk__buffer_fini(&back);
}

static void check_state(const char *expected)
{
    stk__buffer back = {0};
    assert_int_equal(stk__file_read(below("state"), 0, &back, NULL), STK_OK);
    assert_int_equal(back.size_bytes, strlen(expected));
    assert_memory_equal(back.data, expected, strlen(expected));
    assert_int_equal(workspace_count(&home), 1);
    stk__buffer_fini(&back);
}

/* Without /proc no unnamed file gets a name; a full disk is another matter. */
static void files_are_written_without_proc(void **state)
{
    (void)state;
    workspace_remove(&home);
    home = workspace_make();
    stk_error error = {0};
    link_error = ENOENT;
    assert_int_equal(stk__file_write(below("state"), text_buffer("new"), STK_FILE_QUICK, NULL), STK_OK);
    check_state("new");
    assert_int_equal(stk__file_write(below("state"), text_buffer("newer"), STK_FILE_DURABLE, NULL), STK_OK);
    check_state("newer");
    link_error = ENOSPC;
    assert_int_equal(stk__file_write(below("state"), text_buffer("newest"), STK_FILE_QUICK, &error),
                     STK_ERROR_IO);
    assert_non_null(strstr(error.hint, "free some space"));
    check_state("newer");
    link_error = 0;
}

/* Others may write to the folder, too: the temporary name can be guessed. */
static void planted_links_are_not_written_through(void **state)
{
    (void)state;
    workspace_remove(&home);
    home = workspace_make();
    char temporary[64];
    stk__buffer back = {0};
    workspace_put(&home, "victim", "precious");
    snprintf(temporary, sizeof temporary, "state.tmp-%ld", (long)getpid());
    assert_int_equal(symlink("victim", below(temporary)), 0);
    link_error = ENOENT;
    assert_int_equal(stk__file_write(below("state"), text_buffer("new"), STK_FILE_QUICK, NULL), STK_OK);
    link_error = 0;
    assert_int_equal(stk__file_read(below("victim"), 0, &back, NULL), STK_OK);
    assert_int_equal(back.size_bytes, strlen("precious"));
    assert_int_equal(workspace_count(&home), 2);
    stk__buffer_fini(&back);
}

static void a_write_that_fails_leaves_the_old_file(void **state)
{
    (void)state;
    workspace_remove(&home);
    home = workspace_make();
    workspace_put(&home, "state", "old");
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 2; /* as if the disk were full */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    stk_error error = {0};
    const stk_status status = stk__file_write(below("state"), text_buffer("newer"), STK_FILE_DURABLE, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, STK_ERROR_IO);
    assert_non_null(strstr(error.message, "cannot write"));
    stk__buffer back = {0};
    assert_int_equal(stk__file_read(below("state"), 0, &back, NULL), STK_OK);
    assert_memory_equal(back.data, "old", 4);
    assert_int_equal(workspace_count(&home), 1);
    assert_int_equal(stk__file_write(below("no/such/folder"), text_buffer("x"), STK_FILE_QUICK, &error),
                     STK_ERROR_IO);
    stk__buffer_fini(&back);
}

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__folder_make(below("a/b//c"), &error), STK_OK);
    assert_int_equal(stk__folder_make(below("a/b/c/"), &error), STK_OK);
    workspace_put(&home, "plain", "");
    assert_int_equal(stk__folder_make(below("plain/d"), &error), STK_ERROR_IO);
    assert_int_equal(stk__folder_make("", &error), STK_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole_with_zeros_behind),
        cmocka_unit_test(reads_come_as_they_like),
        cmocka_unit_test(files_are_read_one_behind_the_other),
        cmocka_unit_test(files_without_a_size_are_read_to_their_end),
        cmocka_unit_test(what_is_not_a_readable_file_is_named),
        cmocka_unit_test(too_many_open_files_is_not_the_samples_fault),
        cmocka_unit_test(no_memory_is_not_the_samples_fault),
        cmocka_unit_test(written_files_are_whole_and_alone),
        cmocka_unit_test(files_are_written_without_proc),
        cmocka_unit_test(planted_links_are_not_written_through),
        cmocka_unit_test(a_write_that_fails_leaves_the_old_file),
        cmocka_unit_test(folders_are_made_with_their_parents),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
