/* SPDX-License-Identifier: Apache-2.0 */
/* One process per folder: flock on a file in it, with the owner's process id for the message. The kernel
 * releases the lock when the owner dies; the file stays. */
#include "core/folder_lock.h"

#include "core/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static stk_status refuse(int lock, const char *folder, stk_error *error)
{
    char text[32] = "";
    if (pread(lock, text, sizeof text - 1, 0) < 0) text[0] = '\0';
    const long id = strtol(text, NULL, 10);
    if (id > 0)
        stk__fail(error, STK_ERROR_STATE, "process %ld is using the folder '%s'", id, folder);
    else
        stk__fail(error, STK_ERROR_STATE, "another process is using the folder '%s'", folder);
    stk__error_hint(error, "wait for it, or choose another folder");
    return STK_ERROR_STATE;
}

static stk_status write_id(int lock, const char *path, stk_error *error)
{
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(lock, 0) != 0) return stk__durable_fail(error, errno, path);
    const ssize_t put = pwrite(lock, text, (size_t)length, 0);
    if (put == length) return STK_OK;
    return stk__durable_fail(error, put < 0 ? errno : ENOSPC, path);
}

stk_status stk__folder_lock_take(const char *folder, bool make, int *lock, stk_error *error)
{
    char path[PATH_MAX];
    *lock = -1;
    STK__TRY(stk__durable_join(path, sizeof path, folder, STK_FOLDER_LOCK, error));
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0666);
    if (file < 0 && errno == ENOENT && !make) return STK_OK;
    if (file < 0) return stk__durable_fail(error, errno, path);
    stk_status status = STK_OK;
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            status = refuse(file, folder, error);
        else
            status = stk__fail_errno(error, errno, "cannot lock '%s'", path);
    }
    if (status == STK_OK) status = write_id(file, path, error);
    if (status == STK_OK)
        *lock = file;
    else
        close(file);
    return status;
}

void stk__folder_lock_release(int *lock)
{
    if (*lock < 0) return;
    if (ftruncate(*lock, 0) != 0) errno = 0; /* the id is only for messages */
    close(*lock);
    *lock = -1;
}
