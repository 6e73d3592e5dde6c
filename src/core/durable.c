/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that survive a power cut: mkdir -p with an fsync of each parent, fsync of a folder after
 * renames, recursive removal that never follows links. Plain system calls, no state. */
#include "core/durable.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REMOVE_FOLDERS_OPEN = 8 };

stk_status stk__durable_fail(stk_error *error, int error_number, const char *path)
{
    const stk_status status = stk__fail_errno(error, error_number, "cannot write '%s'", path);
    stk__file_explain_full(error_number, ", then resume; what was saved before is intact", error);
    return status;
}

stk_status stk__durable_sync(const char *folder, stk_error *error)
{
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return stk__durable_fail(error, errno, folder);
    const int failed = fsync(file) == 0 || errno == EINVAL ? 0 : errno; /* EINVAL: has no such thing */
    close(file);
    return failed ? stk__durable_fail(error, failed, folder) : STK_OK;
}

/* partial ends at a component that was just made. */
static stk_status sync_parent(const char *partial, stk_error *error)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(partial, '/');
    while (slash > partial && slash[-1] == '/')
        slash--;
    if (!slash) return stk__durable_sync(".", error);
    snprintf(parent, sizeof parent, "%.*s", slash == partial ? 1 : (int)(slash - partial), partial);
    return stk__durable_sync(parent, error);
}

static stk_status make_one(const char *partial, stk_error *error)
{
    struct stat facts;
    int failed;
    if (stat(partial, &facts) != 0) {
        if (mkdir(partial, 0777) == 0) return sync_parent(partial, error);
        failed = errno; /* unless another process was faster: */
        if (stat(partial, &facts) != 0) return stk__durable_fail(error, failed, partial);
    }
    if (S_ISDIR(facts.st_mode)) return STK_OK;
    return stk__fail_errno(error, ENOTDIR, "cannot create the folder '%s'", partial);
}

stk_status stk__durable_folder(const char *path, stk_error *error)
{
    char partial[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 0 || length >= sizeof partial)
        return stk__fail(error, STK_ERROR_ARGUMENT, "'%.80s' is not a usable path", path);
    memcpy(partial, path, length);
    partial[length] = '\0';
    for (char *slash = partial + 1;; slash++) {
        if (*slash && (*slash != '/' || slash[-1] == '/')) continue;
        const char kept = *slash;
        *slash = '\0';
        STK__TRY(make_one(partial, error));
        if (!kept) return STK_OK;
        *slash = kept;
    }
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)walk;
    if (kind == FTW_DP || kind == FTW_DNR) {
        if (rmdir(path) == 0) return 0;
    } else if (unlink(path) == 0) {
        return 0;
    }
    return errno == ENOENT ? 0 : -1;
}

bool stk__durable_remove(const char *path)
{
    struct stat facts;
    if (lstat(path, &facts) != 0) return errno == ENOENT;
    return nftw(path, remove_one, REMOVE_FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS) == 0;
}

stk_status stk__durable_join(char *path, size_t size, const char *folder, const char *name, stk_error *error)
{
    const int length = snprintf(path, size, "%s/%s", folder, name);
    if (length >= 0 && (size_t)length < size) return STK_OK;
    return stk__fail(error, STK_ERROR_ARGUMENT, "the path '%.80s…' is too long", folder);
}
