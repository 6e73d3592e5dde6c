/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, read into a reused buffer (file_write.c writes them). Re-entrant: no state. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOKAHEAD_BYTES = 64 };

bool stk__file_explain_lack(int error_number, stk_error *error)
{
    if (error_number == EMFILE || error_number == ENFILE)
        stk__error_hint(error, "raise the limit on open files (ulimit -n)");
    else if (error_number == ENOMEM)
        stk__error_hint(error, "the system is out of memory: free some and try again");
    else
        return false;
    return true;
}

stk_status stk__file_refuse(const char *path, int error_number, stk_error *error)
{
    struct stat link;
    stk_damage damage = STK_DAMAGE_READ_ERROR;
    if (error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM) {
        const stk_status status = stk__fail_errno(error, error_number, "cannot open the file");
        stk__error_place(error, "%s", path);
        stk__file_explain_lack(error_number, error);
        return status;
    }
    if (error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP)
        damage =
            lstat(path, &link) == 0 && S_ISLNK(link.st_mode) ? STK_DAMAGE_DANGLING_LINK : STK_DAMAGE_MISSING;
    else if (error_number == EACCES || error_number == EPERM)
        damage = STK_DAMAGE_NO_PERMISSION;
    else if (error_number == ENXIO || error_number == EISDIR || error_number == ENODEV)
        damage = STK_DAMAGE_NOT_A_FILE;
    char text[128];
    stk__damaged(error, damage, "cannot open: %s", strerror_r(error_number, text, sizeof text));
    stk__error_place(error, "%s", path);
    return STK_ERROR_SAMPLE;
}

static stk_status refuse_size(const char *path, uint64_t size_bytes, uint64_t limit_bytes, stk_error *error)
{
    stk__damaged(error, STK_DAMAGE_TOO_MANY_BYTES, "%llu bytes, the limit is %llu",
                 (unsigned long long)size_bytes, (unsigned long long)limit_bytes);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "raise limits.bytes if the file is meant to be that large");
    return STK_ERROR_SAMPLE;
}

static stk_status refuse_read(const char *path, int error_number, stk_error *error)
{
    char text[128];
    stk__damaged(error, STK_DAMAGE_READ_ERROR, "cannot read: %s",
                 strerror_r(error_number, text, sizeof text));
    stk__error_place(error, "%s", path);
    return STK_ERROR_SAMPLE;
}

/* An open file on its way into a buffer. */
typedef struct reading {
    int file;
    const char *path;
    uint64_t size_bytes;  /* as the file system reports it; 0 also where it does not know, as in /proc */
    uint64_t limit_bytes; /* 0: none */
    size_t start_bytes;   /* of the buffer, which stay in front of the file */
} reading;

/* What comes next: the rest of the reported size, or as much as fits where there is no such size. -1: errno.
 */
static ssize_t read_more(const reading *from, stk__buffer *buffer)
{
    const size_t got_bytes = buffer->size_bytes - from->start_bytes;
    uint64_t wanted = buffer->capacity_bytes - buffer->size_bytes - LOOKAHEAD_BYTES;
    if (from->size_bytes > got_bytes && from->size_bytes - got_bytes < wanted)
        wanted = from->size_bytes - got_bytes;
    ssize_t got;
    do
        got = pread(from->file, buffer->data + buffer->size_bytes, wanted, (off_t)got_bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Reads until one of these holds:
 *
 *     the reported size has been read       what was added meanwhile is left out
 *     nothing comes any more                the file has become shorter, or had no reported size
 *     there are more bytes than the limit   refused; only a file without a reported size comes this far
 *     a read fails                          refused
 *
 * Zeros follow the bytes: LOOKAHEAD_BYTES, which do not count. */
static stk_status read_all(const reading *from, stk__buffer *buffer, stk_error *error)
{
    for (bool complete = false; !complete;) {
        STK__TRY(stk__buffer_reserve(buffer, buffer->size_bytes + 1 + LOOKAHEAD_BYTES, error));
        const ssize_t got = read_more(from, buffer);
        if (got < 0) return refuse_read(from->path, errno, error);
        buffer->size_bytes += (size_t)got;
        const size_t got_bytes = buffer->size_bytes - from->start_bytes;
        if (from->limit_bytes && got_bytes > from->limit_bytes)
            return refuse_size(from->path, got_bytes, from->limit_bytes, error);
        complete = got == 0 || got_bytes == from->size_bytes;
    }
    memset(buffer->data + buffer->size_bytes, 0, LOOKAHEAD_BYTES);
    return STK_OK;
}

static stk_status read_regular(int file, const char *path, uint64_t limit_bytes, stk__buffer *buffer,
                               stk_error *error)
{
    struct stat facts;
    if (fstat(file, &facts) != 0) return stk__file_refuse(path, errno, error);
    if (!S_ISREG(facts.st_mode)) {
        stk__damaged(error, STK_DAMAGE_NOT_A_FILE,
                     S_ISDIR(facts.st_mode) ? "is a directory" : "is not a regular file");
        stk__error_place(error, "%s", path);
        return STK_ERROR_SAMPLE;
    }
    const uint64_t size = facts.st_size > 0 ? (uint64_t)facts.st_size : 0;
    if (limit_bytes && size > limit_bytes) return refuse_size(path, size, limit_bytes, error);
    const size_t start = buffer->size_bytes;
    STK__TRY(stk__buffer_reserve(buffer, start + (size_t)size + 1 + LOOKAHEAD_BYTES, error));
    return read_all(&(reading){file, path, size, limit_bytes, start}, buffer, error);
}

stk_status stk__file_read(const char *path, uint64_t limit_bytes, stk__buffer *buffer, stk_error *error)
{
    buffer->size_bytes = 0;
    return stk__file_append(path, limit_bytes, buffer, error);
}

stk_status stk__file_append(const char *path, uint64_t limit_bytes, stk__buffer *buffer, stk_error *error)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return stk__file_refuse(path, errno, error);
    const stk_status status = read_regular(file, path, limit_bytes, buffer, error);
    close(file);
    return status;
}

void stk__file_hint(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return;
    posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED);
    close(file);
}

stk_status stk__folder_make(const char *path, stk_error *error)
{
    char partial[PATH_MAX];
    if (snprintf(partial, sizeof partial, "%s", path) >= (int)sizeof partial || !*path)
        return stk__fail(error, STK_ERROR_ARGUMENT, "'%.80s' is not a usable path", path);
    for (char *slash = partial + 1;; slash++) {
        if (*slash && *slash != '/') continue;
        const char kept = *slash;
        *slash = '\0';
        struct stat facts;
        if (mkdir(partial, 0777) != 0 &&
            (errno != EEXIST || stat(partial, &facts) != 0 || !S_ISDIR(facts.st_mode)))
            return stk__fail_errno(error, errno == EEXIST ? ENOTDIR : errno, "cannot create the folder '%s'",
                                   partial);
        if (!kept) return STK_OK;
        *slash = kept;
    }
}
