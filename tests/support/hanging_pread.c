/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: reading a file whose path ends with $HANG_FILE never returns, as on storage that went away;
 * $FAIL_FILE gives an error of the storage. Every other read passes through. */
#undef _FILE_OFFSET_BITS /* else the headers make one function of pread and pread64 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t (*pread_function)(int, void *, size_t, off_t);
typedef ssize_t (*checked_function)(int, void *, size_t, off_t, size_t);

static int is_named(int file, const char *variable)
{
    const char *wanted = getenv(variable);
    char link[64], path[PATH_MAX];
    if (!wanted || !*wanted) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || (size_t)length < strlen(wanted)) return 0;
    path[length] = '\0';
    return strcmp(path + (size_t)length - strlen(wanted), wanted) == 0;
}

/* Whether the read fails. */
static int hang_or_fail(int file)
{
    while (is_named(file, "HANG_FILE"))
        sleep(1000); /* signals do not end it either */
    errno = EIO;
    return is_named(file, "FAIL_FILE");
}

#define EXPORTED __attribute__((visibility("default")))

#define PASS_ON(name)                                                                                        \
    EXPORTED ssize_t name(int file, void *data, size_t size_bytes, off_t offset);                            \
    ssize_t name(int file, void *data, size_t size_bytes, off_t offset)                                      \
    {                                                                                                        \
        if (hang_or_fail(file)) return -1;                                                                   \
        return ((pread_function)dlsym(RTLD_NEXT, #name))(file, data, size_bytes, offset);                    \
    }

#define PASS_ON_CHECKED(name)                                                                                \
    EXPORTED ssize_t name(int file, void *data, size_t size_bytes, off_t offset, size_t room_bytes);         \
    ssize_t name(int file, void *data, size_t size_bytes, off_t offset, size_t room_bytes)                   \
    {                                                                                                        \
        if (hang_or_fail(file)) return -1;                                                                   \
        return ((checked_function)dlsym(RTLD_NEXT, #name))(file, data, size_bytes, offset, room_bytes);      \
    }

PASS_ON(pread)
PASS_ON(pread64)
PASS_ON_CHECKED(__pread_chk)
PASS_ON_CHECKED(__pread64_chk)
