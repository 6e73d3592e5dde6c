/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: numbers the system calls that change files below $CUT_UNDER (an absolute path), per thread
 * and call, writes them to $CUT_LOG, and cuts the program off at one of them. tests/cut/cut_calls.py drives
 * it.
 *
 *     CUT_LOG=FILE          a line a call: thread, call, number from 1, path, second path; tabs between
 *     CUT_AT=THREAD:CALL:N  where to cut: "main:rename:2"; threads other than the first by their names
 *     CUT_DO=kill           the process dies before the call
 *            ENOSPC, EIO    that call fails
 *            full           from that call on everything that needs room on the disk fails with ENOSPC
 *            broken         from that call on everything fails with EIO
 *            short          a write puts half of its bytes, then the disk is full
 *     CUT_NO_SYNC=1         fsync does nothing: no test here loses power
 *
 * Calls are passed on as bare system calls. What stdio writes is not seen. */
#undef _FILE_OFFSET_BITS /* else the headers make one function of open and open64 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_COUNTERS = 128, NAME_BYTES = 48 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock: */
static struct {
    char name[NAME_BYTES]; /* "main:rename" */
    int count;
} counters[MOST_COUNTERS];
static bool reached;

static bool is_doing(const char *what)
{
    const char *word = getenv("CUT_DO");
    return word && strcmp(word, what) == 0;
}

/* --- paths --------------------------------------------------------------------------------------------- */

static void path_of_file(int file, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
}

static void path_of_name(int folder, const char *name, char path[PATH_MAX])
{
    char base[PATH_MAX] = "";
    if (name[0] != '/' && folder == AT_FDCWD && !getcwd(base, sizeof base)) base[0] = '\0';
    if (name[0] != '/' && folder != AT_FDCWD) path_of_file(folder, base);
    if (snprintf(path, PATH_MAX, "%s%s%s", base, base[0] ? "/" : "", name) >= PATH_MAX) path[0] = '\0';
}

static bool is_below(const char *path)
{
    const char *under = getenv("CUT_UNDER");
    const size_t length = under ? strlen(under) : 0;
    return length && strncmp(path, under, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* --- the decision -------------------------------------------------------------------------------------- */

static int count_call(const char *call, char name[NAME_BYTES])
{
    char thread[17] = "main";
    if (syscall(SYS_gettid) != syscall(SYS_getpid)) prctl(PR_GET_NAME, thread);
    snprintf(name, NAME_BYTES, "%s:%s", thread, call);
    for (int i = 0; i < MOST_COUNTERS; i++) {
        if (!counters[i].name[0]) memcpy(counters[i].name, name, NAME_BYTES);
        if (strcmp(counters[i].name, name) == 0) return ++counters[i].count;
    }
    abort();
}

static void log_call(const char *name, int number, const char *path, const char *second)
{
    char line[2 * PATH_MAX + 128];
    const char *file = getenv("CUT_LOG"), *call = strrchr(name, ':');
    if (!file) return;
    const int length = snprintf(line, sizeof line, "%.*s\t%s\t%d\t%s\t%s\n", (int)(call - name), name,
                                call + 1, number, path, second);
    const long log = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (log < 0 || syscall(SYS_write, log, line, length) != length) abort();
    syscall(SYS_close, log);
}

/* What the call fails with, or 0. */
static int choose_failure(bool here, bool needs_room)
{
    if (is_doing("full") || is_doing("short")) return needs_room ? ENOSPC : 0;
    if (is_doing("broken")) return EIO;
    if (!here) return 0;
    if (is_doing("kill")) {
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
        for (;;)
            pause();
    }
    return is_doing("ENOSPC") ? ENOSPC : EIO;
}

/* Counts and logs a call; 0, or the errno it fails with. *half is set when half of a write is to be done. */
static int meet(const char *call, bool needs_room, const char *path, const char *second, bool *half)
{
    char name[NAME_BYTES], place[NAME_BYTES + 16];
    const char *at = getenv("CUT_AT");
    if (!is_below(path) && !is_below(second)) return 0;
    pthread_mutex_lock(&lock);
    const int number = count_call(call, name);
    log_call(name, number, path, second);
    snprintf(place, sizeof place, "%s:%d", name, number);
    const bool here = at && strcmp(place, at) == 0;
    reached |= here;
    int failure = reached ? choose_failure(here, needs_room) : 0;
    if (here && half && is_doing("short")) {
        *half = true;
        failure = 0;
    }
    pthread_mutex_unlock(&lock);
    return failure;
}

static int fail_with(int number)
{
    errno = number;
    return -1;
}

static int meet_file(const char *call, bool needs_room, int file, bool *half)
{
    char path[PATH_MAX];
    const int before = errno;
    path_of_file(file, path);
    const int failure = meet(call, needs_room, path, "", half);
    errno = before;
    return failure;
}

static int meet_name(const char *call, bool needs_room, int folder, const char *name)
{
    char path[PATH_MAX];
    const int before = errno;
    path_of_name(folder, name, path);
    const int failure = meet(call, needs_room, path, "", NULL);
    errno = before;
    return failure;
}

static int meet_names(const char *call, int from_folder, const char *from, int to_folder, const char *to)
{
    char path[PATH_MAX], second[PATH_MAX];
    const int before = errno;
    path_of_name(from_folder, from, path);
    path_of_name(to_folder, to, second);
    const int failure = meet(call, true, path, second, NULL);
    errno = before;
    return failure;
}

/* --- calls --------------------------------------------------------------------------------------------- */

#define EXPORTED __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static int open_at(int folder, const char *name, int flags, va_list rest)
{
    const bool makes = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    const mode_t mode = makes ? va_arg(rest, mode_t) : 0;
    const int failure = makes || (flags & O_TRUNC) ? meet_name("open", true, folder, name) : 0;
    return failure ? fail_with(failure) : (int)syscall(SYS_openat, folder, name, flags, mode);
}

#define OPEN(function)                                                                                       \
    EXPORTED int function(const char *name, int flags, ...)                                                  \
    {                                                                                                        \
        va_list rest;                                                                                        \
        va_start(rest, flags);                                                                               \
        const int file = open_at(AT_FDCWD, name, flags, rest);                                               \
        va_end(rest);                                                                                        \
        return file;                                                                                         \
    }
#define OPENAT(function)                                                                                     \
    EXPORTED int function(int folder, const char *name, int flags, ...)                                      \
    {                                                                                                        \
        va_list rest;                                                                                        \
        va_start(rest, flags);                                                                               \
        const int file = open_at(folder, name, flags, rest);                                                 \
        va_end(rest);                                                                                        \
        return file;                                                                                         \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

EXPORTED ssize_t write(int file, const void *data, size_t size)
{
    bool half = false;
    const int failure = meet_file("write", true, file, &half);
    return failure ? fail_with(failure) : syscall(SYS_write, file, data, half ? size / 2 : size);
}

#define PWRITE(function)                                                                                     \
    EXPORTED ssize_t function(int file, const void *data, size_t size, off_t offset)                         \
    {                                                                                                        \
        bool half = false;                                                                                   \
        const int failure = meet_file("pwrite", true, file, &half);                                          \
        return failure ? fail_with(failure)                                                                  \
                       : syscall(SYS_pwrite64, file, data, half ? size / 2 : size, offset);                  \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

EXPORTED ssize_t writev(int file, const struct iovec *parts, int count)
{
    const int failure = meet_file("writev", true, file, NULL);
    return failure ? fail_with(failure) : syscall(SYS_writev, file, parts, count);
}

#define SYNC(function)                                                                                       \
    EXPORTED int function(int file)                                                                          \
    {                                                                                                        \
        const int failure = meet_file(#function, true, file, NULL);                                          \
        if (failure) return fail_with(failure);                                                              \
        return getenv("CUT_NO_SYNC") ? 0 : (int)syscall(SYS_##function, file);                               \
    }
SYNC(fsync)
SYNC(fdatasync)

#define FTRUNCATE(function)                                                                                  \
    EXPORTED int function(int file, off_t size)                                                              \
    {                                                                                                        \
        const int failure = meet_file("ftruncate", false, file, NULL);                                       \
        return failure ? fail_with(failure) : (int)syscall(SYS_ftruncate, file, size);                       \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

static int rename_at(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    const int failure = meet_names("rename", from_folder, from, to_folder, to);
    if (failure) return fail_with(failure);
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

EXPORTED int rename(const char *from, const char *to)
{
    return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORTED int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return rename_at(from_folder, from, to_folder, to, 0);
}

EXPORTED int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    return rename_at(from_folder, from, to_folder, to, flags);
}

EXPORTED int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    const int failure = meet_names("link", from_folder, from, to_folder, to);
    return failure ? fail_with(failure) : (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

EXPORTED int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORTED int unlinkat(int folder, const char *name, int flags)
{
    const int failure = meet_name(flags & AT_REMOVEDIR ? "rmdir" : "unlink", false, folder, name);
    return failure ? fail_with(failure) : (int)syscall(SYS_unlinkat, folder, name, flags);
}

EXPORTED int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

EXPORTED int rmdir(const char *name)
{
    return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}

EXPORTED int remove(const char *name)
{
    const int result = unlinkat(AT_FDCWD, name, 0);
    return result != 0 && errno == EISDIR ? unlinkat(AT_FDCWD, name, AT_REMOVEDIR) : result;
}

EXPORTED int mkdirat(int folder, const char *name, mode_t mode)
{
    const int failure = meet_name("mkdir", true, folder, name);
    return failure ? fail_with(failure) : (int)syscall(SYS_mkdirat, folder, name, mode);
}

EXPORTED int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}

/* Only pages that are written back to a file count. */
#define MMAP(function)                                                                                       \
    EXPORTED void *function(void *at, size_t size, int rights, int flags, int file, off_t offset)            \
    {                                                                                                        \
        const bool writes = file >= 0 && (rights & PROT_WRITE) && !(flags & (MAP_PRIVATE | MAP_ANONYMOUS));  \
        const int failure = writes ? meet_file("mmap", true, file, NULL) : 0;                                \
        if (!failure) return (void *)syscall(SYS_mmap, at, size, rights, flags, file, offset);               \
        errno = failure;                                                                                     \
        return MAP_FAILED;                                                                                   \
    }
MMAP(mmap)
MMAP(mmap64)
