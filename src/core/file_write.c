/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic writes. A file is written without a name (O_TMPFILE) or under a temporary one and gets its name when
 * it is complete, so that readers see the old content or the new one, never a part. Devices, FIFOs and open
 * files are written through instead. Re-entrant: no state. */
#include "core/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY_BYTES = 32 }; /* most that a temporary name adds */

bool stk__file_explain_full(int error_number, const char *then, stk_error *error)
{
    if (error_number == EFBIG)
        stk__error_hint(error, "the limit on file sizes is reached: raise it (ulimit -f)%s", then);
    else if (error_number == ENOSPC || error_number == EDQUOT)
        stk__error_hint(error, "the disk is full: free some space%s", then);
    else
        return false;
    return true;
}

static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(folder, PATH_MAX, ".");
    else
        snprintf(folder, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

int stk__file_write_all(int file, const void *data, size_t size_bytes)
{
    for (size_t done = 0; done < size_bytes;) {
        const ssize_t put = write(file, (const uint8_t *)data + done, size_bytes - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        done += (size_t)put;
    }
    return 0;
}

static int write_content(int file, stk__buffer data, stk__file_care care)
{
    const int failed = stk__file_write_all(file, data.data, data.size_bytes);
    if (failed || (care & STK_FILE_QUICK)) return failed;
    return fsync(file) == 0 ? 0 : errno;
}

/* Gives an unnamed file its name; one that exists is replaced through a temporary name. */
static int name_unnamed(int file, const char *path, const char *temporary)
{
    char from[64];
    snprintf(from, sizeof from, "/proc/self/fd/%d", file);
    if (linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != EEXIST) return errno;
    unlink(temporary);
    if (linkat(AT_FDCWD, from, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) != 0) return errno;
    if (rename(temporary, path) == 0) return 0;
    const int failed = errno;
    unlink(temporary);
    return failed;
}

static int write_unnamed(const char *folder, const char *path, const char *temporary, stk__buffer data,
                         stk__file_care care)
{
    const int file = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (file < 0) return errno;
    int failed = write_content(file, data, care);
    if (!failed) failed = name_unnamed(file, path, temporary);
    close(file);
    return failed;
}

/* Some file systems have no unnamed files, and without /proc they cannot be named. A disk that is full or
 * broken is so for named ones, too. */
static bool may_be_named(int failed)
{
    return failed && failed != EEXIST && failed != ENOSPC && failed != EDQUOT && failed != EFBIG &&
           failed != EIO;
}

static int write_named(const char *path, const char *temporary, stk__buffer data, stk__file_care care)
{
    unlink(temporary); /* left over, or a link that somebody put there: never written through */
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return errno;
    int failed = write_content(file, data, care);
    if (close(file) != 0 && !failed) failed = errno;
    if (!failed && rename(temporary, path) != 0) failed = errno;
    if (failed) unlink(temporary);
    return failed;
}

static int sync_folder(const char *folder)
{
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return errno;
    const int failed = fsync(file) == 0 || errno == EINVAL ? 0 : errno;
    close(file);
    return failed;
}

/* Whole or not at all: path is a regular file, a link that is to be replaced, or nothing. */
static int write_whole(const char *path, stk__buffer data, stk__file_care care)
{
    char folder[PATH_MAX], temporary[PATH_MAX];
    if (strlen(path) >= PATH_MAX - TEMPORARY_BYTES) return ENAMETOOLONG;
    folder_of(path, folder);
    snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)getpid());
    int failed = write_unnamed(folder, path, temporary, data, care);
    if (may_be_named(failed)) failed = write_named(path, temporary, data, care);
    if (!failed && !(care & STK_FILE_QUICK)) failed = sync_folder(folder);
    return failed;
}

/* The number of an open file that a path stands for: /dev/stdout, /dev/fd/5, …; -1: none. Opening such a path
 * again would start at the file's beginning, over what is there. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *digits = path + strlen(folders[i]);
        if (strncmp(path, folders[i], strlen(folders[i])) != 0 || strlen(digits) > 9) continue;
        if (*digits && strspn(digits, "0123456789") == strlen(digits)) return atoi(digits);
    }
    return -1;
}

static int write_through(const char *path, stk__buffer data)
{
    const int number = descriptor_of(path);
    const int file =
        number >= 0 ? fcntl(number, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return errno;
    const int failed = stk__file_write_all(file, data.data, data.size_bytes);
    return close(file) != 0 && !failed ? errno : failed;
}

/* Follows the links at the end of a path, also to a target that does not exist yet, but not that of an open
 * file, which may have no name any more. 0, or an errno. */
static int follow_links(const char *path, char target[PATH_MAX])
{
    enum { LINKS_MOST = 40 }; /* as many as the kernel follows */
    char folder[PATH_MAX], next[PATH_MAX];
    if (snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX) return ENAMETOOLONG;
    for (int i = 0; i < LINKS_MOST; i++) {
        if (descriptor_of(target) >= 0) return 0;
        const ssize_t length = readlink(target, next, sizeof next - 1);
        if (length < 0) return errno == EINVAL || errno == ENOENT ? 0 : errno;
        next[length] = '\0';
        folder_of(target, folder);
        if (next[0] == '/')
            memcpy(target, next, (size_t)length + 1);
        else if (snprintf(target, PATH_MAX, "%s/%s", folder, next) >= PATH_MAX)
            return ENAMETOOLONG;
    }
    return ELOOP;
}

/* True: bytes go through the path to something else, which must never be renamed over. */
static bool leads_elsewhere(const char *path, stk__file_care care)
{
    struct stat facts;
    if (descriptor_of(path) >= 0) return true;
    const bool there = (care & STK_FILE_NAMED ? stat(path, &facts) : lstat(path, &facts)) == 0;
    return there && !S_ISREG(facts.st_mode) && !S_ISLNK(facts.st_mode);
}

stk_status stk__file_write(const char *path, stk__buffer data, stk__file_care care, stk_error *error)
{
    char target[PATH_MAX];
    int failed = 0;
    if (strlen(path) >= PATH_MAX - TEMPORARY_BYTES)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the path '%.80s…' is too long", path);
    if (leads_elsewhere(path, care)) {
        failed = write_through(path, data);
    } else if (care & STK_FILE_NAMED) {
        failed = follow_links(path, target);
        if (!failed)
            failed =
                descriptor_of(target) >= 0 ? write_through(target, data) : write_whole(target, data, care);
    } else {
        failed = write_whole(path, data, care);
    }
    if (!failed) return STK_OK;
    const stk_status status = stk__fail_errno(error, failed, "cannot write '%s'", path);
    stk__file_explain_full(failed, " and try again", error);
    return status;
}

bool stk__file_is_left_over(const char *name)
{
    const char *mark = strstr(name, ".tmp-");
    if (!mark || !isdigit((unsigned char)mark[5])) return false;
    for (mark += 5; isdigit((unsigned char)*mark); mark++)
        continue;
    return *mark == '\0';
}
