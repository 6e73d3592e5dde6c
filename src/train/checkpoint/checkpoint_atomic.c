/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of a checkpoint: a folder under a temporary name, its files written through a small
 * buffer, synced and hashed, then the sums, the rename, and an fsync of the parent. Removal renames first,
 * so that a half-removed folder never looks like a checkpoint. One thread. */
#include "train/checkpoint/checkpoint_atomic.h"

#include "core/durable.h"
#include "core/file.h"
#include "train/checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY ".tmp-"
#define TRASH     ".trash-"

enum { PENDING_BYTES = 1 << 18, WRITE_BYTES = 1 << 24 };

int stk__checkpoint_clean(const char *folder)
{
    char path[PATH_MAX];
    int count = 0;
    DIR *entries = opendir(folder);
    if (!entries) return 0;
    for (const struct dirent *entry; (entry = readdir(entries));)
        if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) == 0 ||
            strncmp(entry->d_name, TRASH, strlen(TRASH)) == 0)
            if (stk__durable_join(path, sizeof path, folder, entry->d_name, NULL) == STK_OK)
                count += stk__durable_remove(path);
    closedir(entries);
    return count;
}

stk_status stk__checkpoint_atomic_begin(stk__checkpoint_atomic *io, const char *folder, const char *name,
                                        stk_error *error)
{
    char temporary[NAME_MAX];
    *io = (stk__checkpoint_atomic){.folder = folder, .file = -1};
    snprintf(temporary, sizeof temporary, TEMPORARY "%s", name);
    STK__TRY(stk__durable_join(io->temporary, sizeof io->temporary, folder, temporary, error));
    STK__TRY(stk__durable_join(io->final, sizeof io->final, folder, name, error));
    STK__TRY(stk__hash_create(&io->hash, error));
    STK__TRY(stk__buffer_reserve(&io->pending, PENDING_BYTES, error));
    STK__TRY(stk__durable_folder(folder, error));
    stk__checkpoint_clean(folder);
    if (mkdir(io->temporary, 0777) != 0) return stk__durable_fail(error, errno, io->temporary);
    io->made = true;
    return STK_OK;
}

stk_status stk__checkpoint_atomic_open(stk__checkpoint_atomic *io, const char *name, stk_error *error)
{
    STK__TRY(stk__durable_join(io->path, sizeof io->path, io->temporary, name, error));
    io->file = open(io->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (io->file < 0) return stk__durable_fail(error, errno, io->path);
    io->file_name = name;
    stk__hash_reset(io->hash);
    return STK_OK;
}

static stk_status write_pieces(stk__checkpoint_atomic *io, const uint8_t *data, size_t size, stk_error *error)
{
    for (size_t part; size; data += part, size -= part) {
        part = size < WRITE_BYTES ? size : WRITE_BYTES;
        const int failed = stk__file_write_all(io->file, data, part);
        if (failed) return stk__durable_fail(error, failed, io->path);
    }
    return STK_OK;
}

static stk_status flush(stk__checkpoint_atomic *io, stk_error *error)
{
    STK__TRY(write_pieces(io, io->pending.data, io->pending.size_bytes, error));
    io->pending.size_bytes = 0;
    return STK_OK;
}

stk_status stk__checkpoint_atomic_put(stk__checkpoint_atomic *io, const void *data, size_t size_bytes,
                                      stk_error *error)
{
    stk__hash_update(io->hash, data, size_bytes);
    if (io->pending.size_bytes + size_bytes > PENDING_BYTES) STK__TRY(flush(io, error));
    if (size_bytes > PENDING_BYTES) return write_pieces(io, data, size_bytes, error);
    return stk__buffer_append(&io->pending, data, size_bytes, error);
}

/* Flushes and syncs the open file. */
static stk_status finish_file(stk__checkpoint_atomic *io, stk_error *error)
{
    STK__TRY(flush(io, error));
    if (fsync(io->file) != 0) return stk__durable_fail(error, errno, io->path);
    const int failed = close(io->file) == 0 ? 0 : errno;
    io->file = -1;
    return failed ? stk__durable_fail(error, failed, io->path) : STK_OK;
}

stk_status stk__checkpoint_atomic_close(stk__checkpoint_atomic *io, stk_error *error)
{
    char digest[STK_DIGEST_TEXT_BYTES], line[NAME_MAX + STK_DIGEST_TEXT_BYTES + 4];
    STK__TRY(finish_file(io, error));
    stk__digest_print(stk__hash_digest(io->hash), digest);
    snprintf(line, sizeof line, "%s  %s\n", digest, io->file_name);
    return stk__buffer_append(&io->sums, line, strlen(line), error);
}

static stk_status write_sums(stk__checkpoint_atomic *io, stk_error *error)
{
    char digest[STK_DIGEST_TEXT_BYTES], line[STK_DIGEST_TEXT_BYTES + 4];
    stk__digest_print(stk__digest_of(io->sums.data, io->sums.size_bytes), digest);
    snprintf(line, sizeof line, "# %s\n", digest);
    STK__TRY(stk__buffer_append(&io->sums, line, strlen(line), error));
    STK__TRY(stk__checkpoint_atomic_open(io, STK_CHECKPOINT_SUMS, error));
    STK__TRY(stk__checkpoint_atomic_put(io, io->sums.data, io->sums.size_bytes, error));
    return finish_file(io, error);
}

stk_status stk__checkpoint_atomic_commit(stk__checkpoint_atomic *io, stk_error *error)
{
    STK__TRY(write_sums(io, error));
    STK__TRY(stk__durable_sync(io->temporary, error));
    if (rename(io->temporary, io->final) != 0) return stk__durable_fail(error, errno, io->final);
    io->committed = true;
    return stk__durable_sync(io->folder, error);
}

void stk__checkpoint_atomic_fini(stk__checkpoint_atomic *io)
{
    if (io->file >= 0) close(io->file);
    if (io->made && !io->committed) stk__durable_remove(io->temporary);
    stk__hash_destroy(&io->hash);
    stk__buffer_fini(&io->pending);
    stk__buffer_fini(&io->sums);
    *io = (stk__checkpoint_atomic){.file = -1};
}

static stk_status throw_away(const char *folder, const char *name, stk_error *error)
{
    char from[PATH_MAX], to[PATH_MAX], trash[NAME_MAX];
    snprintf(trash, sizeof trash, TRASH "%s", name);
    STK__TRY(stk__durable_join(from, sizeof from, folder, name, error));
    STK__TRY(stk__durable_join(to, sizeof to, folder, trash, error));
    return rename(from, to) == 0 ? STK_OK : stk__durable_fail(error, errno, from);
}

stk_status stk__checkpoint_atomic_discard(const char *folder, const char *const *names, int count,
                                          stk_error *error)
{
    stk_status first = STK_OK;
    for (int i = 0; i < count; i++) {
        const stk_status status = throw_away(folder, names[i], first == STK_OK ? error : NULL);
        if (first == STK_OK) first = status;
    }
    /* Before a single file is gone: after a power cut a checkpoint is whole or has another name. */
    if (count) STK__TRY(stk__durable_sync(folder, first == STK_OK ? error : NULL));
    stk__checkpoint_clean(folder);
    return first;
}
