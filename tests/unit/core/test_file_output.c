/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that a user names for output: devices, FIFOs and open descriptors are written through, the target of
 * a link is replaced and the link stays; nothing is ever renamed over them. */
#include "core/file.h"
#include "support/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

static workspace home;
static const stk__file_care cares[] = {STK_FILE_DURABLE | STK_FILE_NAMED, STK_FILE_QUICK | STK_FILE_NAMED};

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
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", home.path, name);
    return path;
}

static stk__buffer text_buffer(const char *text)
{
    return (stk__buffer){.data = (uint8_t *)(uintptr_t)text, .size_bytes = strlen(text)};
}

static void check_content(const char *name, const char *expected)
{
    stk__buffer back = {0};
    assert_int_equal(stk__file_read(below(name), 0, &back, NULL), STK_OK);
    assert_int_equal(back.size_bytes, strlen(expected));
    assert_memory_equal(back.data, expected, strlen(expected));
    stk__buffer_fini(&back);
}

static mode_t kind_of(const char *name)
{
    struct stat facts;
    assert_int_equal(lstat(below(name), &facts), 0);
    return facts.st_mode & S_IFMT;
}

static void a_device_is_written_through(void **state)
{
    (void)state;
    if (mknod(below("null"), S_IFCHR | 0666, makedev(1, 3)) != 0) {
        print_message("mknod: %s\n", strerror(errno));
        skip();
    }
    const int probe = open(below("null"), O_WRONLY | O_CLOEXEC);
    if (probe < 0) { /* a file system without devices */
        print_message("device nodes cannot be opened here: %s\n", strerror(errno));
        unlink(below("null"));
        skip();
    }
    close(probe);
    const stk__file_care all[] = {STK_FILE_DURABLE, STK_FILE_QUICK, cares[0], cares[1]};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(stk__file_write(below("null"), text_buffer("x"), all[i], NULL), STK_OK);
        assert_int_equal(kind_of("null"), S_IFCHR);
    }
    assert_int_equal(symlink("null", below("to_null")), 0);
    assert_int_equal(stk__file_write(below("to_null"), text_buffer("x"), cares[1], NULL), STK_OK);
    assert_int_equal(kind_of("null"), S_IFCHR);
    assert_int_equal(kind_of("to_null"), S_IFLNK);
    unlink(below("null"));
    unlink(below("to_null"));
}

static char heard[64];

static void *listen_at(void *path)
{
    size_t size = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; (got = read(file, heard + size, sizeof heard - 1 - size)) > 0;)
        size += (size_t)got;
    heard[size] = '\0';
    close(file);
    return NULL;
}

static void a_fifo_is_written_to_its_reader(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", below("fifo"));
    assert_int_equal(mkfifo(path, 0666), 0);
    for (size_t i = 0; i < 2; i++) {
        pthread_t reader;
        assert_int_equal(pthread_create(&reader, NULL, listen_at, path), 0);
        assert_int_equal(stk__file_write(path, text_buffer("through the pipe"), cares[i], NULL), STK_OK);
        pthread_join(reader, NULL);
        assert_string_equal(heard, "through the pipe");
        assert_int_equal(kind_of("fifo"), S_IFIFO);
    }
    unlink(path);
}

static void the_target_of_a_link_is_replaced(void **state)
{
    (void)state;
    workspace_put(&home, "there/real", "old");
    assert_int_equal(symlink("there/real", below("link")), 0);
    assert_int_equal(symlink(below("link"), below("link2")), 0);
    for (size_t i = 0; i < 2; i++) {
        const int before = open(below("there/real"), O_RDONLY | O_CLOEXEC);
        char kept[8] = "";
        const char *text = i ? "newest" : "new";
        assert_int_equal(stk__file_write(below("link2"), text_buffer(text), cares[i], NULL), STK_OK);
        check_content("there/real", text);
        assert_int_equal(kind_of("link"), S_IFLNK);
        assert_int_equal(kind_of("link2"), S_IFLNK);
        assert_int_equal(kind_of("there/real"), S_IFREG);
        assert_true(read(before, kept, sizeof kept) > 0); /* replaced, not overwritten */
        assert_string_equal(kept, i ? "new" : "old");
        close(before);
    }
    assert_int_equal(workspace_count(&home), 3);
    assert_int_equal(unlink(below("there/real")), 0); /* one that leads nowhere makes its target */
    assert_int_equal(stk__file_write(below("link2"), text_buffer("made"), cares[1], NULL), STK_OK);
    check_content("there/real", "made");
    assert_int_equal(kind_of("link"), S_IFLNK);
}

static void links_that_lead_nowhere_are_refused(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(symlink("round", below("round")), 0);
    assert_int_equal(stk__file_write(below("round"), text_buffer("x"), cares[1], &error), STK_ERROR_IO);
    assert_int_equal(kind_of("round"), S_IFLNK);
    assert_int_equal(symlink("no/such/folder", below("lost")), 0);
    assert_int_equal(stk__file_write(below("lost"), text_buffer("x"), cares[1], &error), STK_ERROR_IO);
    assert_int_equal(kind_of("lost"), S_IFLNK);
    assert_int_equal(stk__file_write(home.path, text_buffer("x"), cares[1], &error), STK_ERROR_IO);
}

/* In a folder that others may write to, a link is a trap: files of our own replace it. */
static void files_of_our_own_replace_links(void **state)
{
    (void)state;
    workspace_put(&home, "victim", "precious");
    assert_int_equal(symlink("victim", below("cache")), 0);
    assert_int_equal(stk__file_write(below("cache"), text_buffer("x"), STK_FILE_QUICK, NULL), STK_OK);
    check_content("victim", "precious");
    assert_int_equal(kind_of("cache"), S_IFREG);
}

/* `>> log` and `--output /dev/stdout`: what is in the log stays. */
static void an_open_descriptor_is_written_where_it_stands(void **state)
{
    (void)state;
    char path[64];
    workspace_put(&home, "log", "before ");
    const int file = open(below("log"), O_WRONLY | O_APPEND | O_CLOEXEC);
    snprintf(path, sizeof path, "/dev/fd/%d", file);
    assert_int_equal(stk__file_write(path, text_buffer("first "), cares[1], NULL), STK_OK);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    assert_int_equal(stk__file_write(path, text_buffer("second"), cares[0], NULL), STK_OK);
    close(file);
    check_content("log", "before first second");
    assert_int_equal(stk__file_write("/dev/fd/999999", text_buffer("x"), cares[1], NULL), STK_ERROR_IO);
}

/* A link to an open file that has no name any more must not make a file of the name it had. */
static void a_link_to_a_descriptor_is_written_through(void **state)
{
    (void)state;
    char target[64], text[8] = "";
    const int file = open(below("gone"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(unlink(below("gone")), 0);
    snprintf(target, sizeof target, "/proc/self/fd/%d", file);
    assert_int_equal(symlink(target, below("link")), 0);
    assert_int_equal(stk__file_write(below("link"), text_buffer("text"), cares[1], NULL), STK_OK);
    assert_int_equal(pread(file, text, sizeof text - 1, 0), 4);
    assert_string_equal(text, "text");
    assert_int_equal(kind_of("link"), S_IFLNK);
    assert_int_not_equal(access(below("gone (deleted)"), F_OK), 0);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_device_is_written_through, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_fifo_is_written_to_its_reader, make_home, remove_home),
        cmocka_unit_test_setup_teardown(the_target_of_a_link_is_replaced, make_home, remove_home),
        cmocka_unit_test_setup_teardown(links_that_lead_nowhere_are_refused, make_home, remove_home),
        cmocka_unit_test_setup_teardown(files_of_our_own_replace_links, make_home, remove_home),
        cmocka_unit_test_setup_teardown(an_open_descriptor_is_written_where_it_stands, make_home,
                                        remove_home),
        cmocka_unit_test_setup_teardown(a_link_to_a_descriptor_is_written_through, make_home, remove_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
