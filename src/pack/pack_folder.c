/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that a pack writes to: it must not lie inside the data set or contain anything foreign, one
 * process at a time may use it (lock), and the disk must have room for what is expected. */
#include "pack/pack_folder.h"

#include "core/durable.h"
#include "core/file.h"
#include "core/folder_lock.h"
#include "core/logger.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { CLASS_BYTES = 255 };

/* --- which folder -------------------------------------------------------------------------------------- */

/* The real path of a folder that may not be there yet: that of the part which is. */
static bool find_real(const char *folder, char real[PATH_MAX])
{
    char partial[PATH_MAX];
    if (snprintf(partial, sizeof partial, "%s", folder) >= (int)sizeof partial) return false;
    while (!realpath(partial, real)) {
        char *slash = strrchr(partial, '/');
        if (errno != ENOENT || strcmp(partial, ".") == 0) return false;
        if (slash == partial) slash++;
        if (slash)
            *slash = '\0';
        else
            strcpy(partial, ".");
    }
    return true;
}

static bool is_inside(const char *path, const char *folder)
{
    const size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static stk_status refuse_gone(const char *folder, stk_error *error)
{
    stk__fail(error, STK_ERROR_IO, "the working directory was deleted: '%s' cannot be resolved", folder);
    stk__error_hint(error, "change into a folder that exists, or give an absolute path");
    return STK_ERROR_IO;
}

stk_status stk__pack_folder_check(const char *root, const char *folder, stk_error *error)
{
    char real_root[PATH_MAX], real[PATH_MAX];
    struct stat facts, own;
    if (!*folder) return stk__fail(error, STK_ERROR_ARGUMENT, "the name of the pack's folder is empty");
    if (*folder != '/' && !realpath(".", real) && errno == ENOENT) return refuse_gone(folder, error);
    if (stat(root, &facts) != 0 || !S_ISDIR(facts.st_mode) || !realpath(root, real_root)) return STK_OK;
    if (!find_real(folder, real) || !is_inside(real, real_root)) return STK_OK;
    const bool same = stat(folder, &own) == 0 && own.st_dev == facts.st_dev && own.st_ino == facts.st_ino;
    stk__fail(error, STK_ERROR_ARGUMENT, same ? "'%s' is the data set itself" : "'%s' is inside the data set",
              folder);
    stk__error_place(error, "%s", folder);
    stk__error_hint(error, "choose a new folder next to '%s'", root);
    return STK_ERROR_ARGUMENT;
}

/* Nothing in it but what a start that died at once can have left. */
static stk_status is_empty(const char *folder, bool *empty, stk_error *error)
{
    DIR *entries = opendir(folder);
    *empty = true;
    if (!entries) return stk__fail_errno(error, errno, "cannot list '%s'", folder);
    for (const struct dirent *entry; *empty && (entry = readdir(entries));) {
        const char *name = entry->d_name;
        *empty = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, STK_FOLDER_LOCK) == 0 ||
                 (strncmp(name, STK_PACK_STATE, strlen(STK_PACK_STATE)) == 0 && stk__file_is_left_over(name));
    }
    closedir(entries);
    return STK_OK;
}

static stk_status look(const char *folder, stk__pack_state *state, bool *found, stk_error *error)
{
    bool empty;
    STK__TRY(stk__pack_state_read(folder, state, found, error));
    if (*found) return STK_OK;
    STK__TRY(is_empty(folder, &empty, error));
    if (empty) return STK_OK;
    stk__fail(error, STK_ERROR_ARGUMENT, "'%s' is not empty and is not a pack", folder);
    stk__error_place(error, "%s", folder);
    stk__error_hint(error, "choose a new folder");
    return STK_ERROR_ARGUMENT;
}

/* Looked at again under the lock: another process may have begun meanwhile. */
stk_status stk__pack_folder_open(const char *folder, int *lock, stk__pack_state *state, bool *found,
                                 stk_error *error)
{
    STK__TRY(stk__durable_folder(folder, error));
    STK__TRY(look(folder, state, found, error));
    STK__TRY(stk__folder_lock_take(folder, true, lock, error));
    return look(folder, state, found, error);
}

/* --- what is in it ------------------------------------------------------------------------------------- */

static unsigned long long whole_mb(uint64_t bytes)
{
    return (unsigned long long)(bytes / 1000000 + 1);
}

stk_status stk__pack_folder_room(const char *folder, stk__pack_need need, const char *what, stk_error *error)
{
    struct statvfs facts;
    if (statvfs(folder, &facts) != 0)
        return stk__fail_errno(error, errno, "cannot get the free space of '%s'", folder);
    const uint64_t room = (uint64_t)facts.f_bavail * facts.f_frsize;
    const unsigned long long room_mb = (unsigned long long)(room / 1000000);
    if (room >= need.most_bytes || facts.f_blocks == 0) return STK_OK; /* 0: the file system does not know */
    if (room >= need.least_bytes) {
        stk__log(STK_LOG_WARNING, "'%s' has %llu MB left, %s may need up to %llu MB", folder, room_mb, what,
                 whole_mb(need.most_bytes));
        return STK_OK;
    }
    stk__fail(error, STK_ERROR_IO, "'%s' has %llu MB left, %s needs at least %llu MB", folder, room_mb, what,
              whole_mb(need.least_bytes));
    stk__error_hint(error, "free some space, then the same command resumes");
    return STK_ERROR_IO;
}

/* As source/classes.c reads them: one name per line. */
static bool fits_line(const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && length <= CLASS_BYTES && !strchr(name, '\n') && name[length - 1] != '\r' &&
           strncmp(name, "\xEF\xBB\xBF", 3) != 0;
}

static stk_status list_classes(const stk__source_info *info, stk__buffer *text, stk_error *error)
{
    for (int32_t i = 0; i < info->class_count; i++) {
        const char *name = info->class_names[i];
        if (!fits_line(name)) {
            stk__fail(error, STK_ERROR_DATA, "the class '%.80s' cannot be a line of classes.txt", name);
            stk__error_hint(error, "class names have 1 to 255 bytes and no line breaks: rename it");
            return STK_ERROR_DATA;
        }
        STK__TRY(stk__buffer_append(text, name, strlen(name), error));
        STK__TRY(stk__buffer_append(text, "\n", 1, error));
    }
    return STK_OK;
}

/* No lines: no file either. */
static stk_status write_lines(const char *folder, const char *name, stk__buffer text, stk_error *error)
{
    char path[PATH_MAX];
    STK__TRY(stk__durable_join(path, sizeof path, folder, name, error));
    if (!text.size_bytes)
        return unlink(path) == 0 || errno == ENOENT
                   ? STK_OK
                   : stk__fail_errno(error, errno, "cannot remove '%s'", path);
    return stk__file_write(path, text, STK_FILE_DURABLE, error);
}

stk_status stk__pack_folder_classes(const char *folder, const stk__source_info *info, stk_error *error)
{
    stk__buffer text = {0};
    stk_status status = info->class_names ? list_classes(info, &text, error) : STK_OK;
    if (status == STK_OK) status = write_lines(folder, "classes.txt", text, error);
    stk__buffer_fini(&text);
    return status;
}

stk_status stk__pack_folder_points(const char *folder, const stk__source_info *info, stk_error *error)
{
    stk__buffer text = {0};
    stk_status status = STK_OK;
    bool fit = info->point_names;
    for (int32_t i = 0; fit && i < info->point_count; i++)
        fit = fits_line(info->point_names[i]);
    for (int32_t i = 0; fit && status == STK_OK && i < info->point_count; i++) {
        status = stk__buffer_append(&text, info->point_names[i], strlen(info->point_names[i]), error);
        if (status == STK_OK) status = stk__buffer_append(&text, "\n", 1, error);
    }
    if (status == STK_OK) status = write_lines(folder, "points.txt", text, error);
    stk__buffer_fini(&text);
    return status;
}
