/* SPDX-License-Identifier: Apache-2.0 */
/* Before a pack resumes: every complete shard must still be there with its size and time; where times were
 * lost by copying, the content's hash decides. Files that look like shards but are not counted are
 * refused. */
#include "pack/pack_verify.h"

#include "core/file.h"
#include "pack/pack_shard.h"
#include "source/shards/shard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

static stk_status refuse_shards(const char *folder, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_STATE, "'%s' was modified: %s", folder, why);
    stk__error_hint(error, "choose another folder, or remove this one to pack again");
    return STK_ERROR_STATE;
}

/* The bytes of a pack are always the same, so there is another way to get this shard. */
static stk_status refuse_shard(const char *path, const char *what, stk_error *error)
{
    const char *slash = strrchr(path, '/');
    stk__fail(error, STK_ERROR_STATE, "'%.*s' was modified: '%s' %s", (int)(slash - path), path, slash + 1,
              what);
    stk__error_place(error, "%s", path);
    stk__error_hint(
        error,
        "restore it and its .index from a copy, or pack into another folder: that writes the same shard");
    return STK_ERROR_STATE;
}

/* --- one shard ----------------------------------------------------------------------------------------- */

static bool find_stamp(const char *path, stk__shard_stamp *stamp)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const bool found = file >= 0 && stk__shard_stamp_read(file, stamp);
    if (file >= 0) close(file);
    return found;
}

/* A time that only pack gives to shards. */
static bool is_own_time(const stk__shard_stamp *stamp)
{
    return stamp->time_ns == 0 && stamp->time_s >= STK_SHARD_TIME_S &&
           stamp->time_s < STK_SHARD_TIME_S + STK_SHARD_TIME_RANGE_S;
}

/* What the index beside the shard says; *stamp stays as it is where there is none that can be read. */
static stk_status ask_index(const char *path, stk__shard_stamp *stamp, stk_error *error)
{
    char name[PATH_MAX + sizeof STK_SHARD_INDEX_SUFFIX];
    stk__buffer bytes = {0};
    stk__shard_index index;
    snprintf(name, sizeof name, "%s" STK_SHARD_INDEX_SUFFIX, path);
    stk_error why = {0};
    const stk_status status = stk__file_read(name, 0, &bytes, &why);
    if (status == STK_ERROR_MEMORY && error) *error = why;
    if (status == STK_OK && !stk__shard_index_decode(&bytes, &index)) *stamp = index.stamp;
    stk__buffer_fini(&bytes);
    return status == STK_ERROR_MEMORY ? status : STK_OK;
}

static stk_status hash_file(int file, stk__hash *hash, stk__buffer *piece, const atomic_bool *stop)
{
    for (;;) {
        const ssize_t got = read(file, piece->data, PIECE_BYTES);
        if (stop && atomic_load(stop)) return STK_ERROR_INTERRUPTED;
        if (got < 0 && errno != EINTR) return STK_ERROR_IO;
        if (got == 0) return STK_OK;
        if (got > 0) stk__hash_update(hash, piece->data, (size_t)got);
    }
}

static stk_status read_content(const char *path, stk__hash *hash, const atomic_bool *stop, stk_error *error)
{
    stk__buffer piece = {0};
    STK__TRY(stk__buffer_reserve(&piece, PIECE_BYTES, error));
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const stk_status status = file < 0 ? STK_ERROR_IO : hash_file(file, hash, &piece, stop);
    if (status == STK_ERROR_IO) stk__fail_errno(error, errno, "cannot read '%s'", path);
    if (status == STK_ERROR_INTERRUPTED) stk__fail(error, status, "stopped");
    if (file >= 0) close(file);
    stk__buffer_fini(&piece);
    return status;
}

/* The time that the bytes of the shard stand for, whatever its time is now. */
static stk_status compute_time(const char *path, stk__shard_stamp *stamp, const atomic_bool *stop,
                               stk_error *error)
{
    stk__hash *hash;
    STK__TRY(stk__hash_create(&hash, error));
    const stk_status status = read_content(path, hash, stop, error);
    stamp->time_s = stk__pack_shard_time(stk__hash_digest(hash));
    stamp->time_ns = 0;
    stk__hash_destroy(&hash);
    return status;
}

/* Copies may lack their times, and an index that was rebuilt has those of the copy: then it is the content
 * that counts. */
static stk_status verify_shard(const char *path, const stk__pack_verify_options *options,
                               stk__shard_stamp *stamp, stk_error *error)
{
    if (!find_stamp(path, stamp))
        return refuse_shard(path, access(path, F_OK) == 0 ? "cannot be read" : "is missing", error);
    stk__shard_stamp then = *stamp;
    STK__TRY(ask_index(path, &then, error));
    if (then.size_bytes != stamp->size_bytes) return refuse_shard(path, "has changed", error);
    if (!stk__pack_digest_known(options->part->stamps)) return STK_OK;
    if (!stk__shard_stamp_equal(&then, stamp) || !is_own_time(stamp))
        STK__TRY(compute_time(path, stamp, options->stop, error));
    if (is_own_time(&then) && !stk__shard_stamp_equal(&then, stamp))
        return refuse_shard(path, "has changed", error);
    return STK_OK;
}

/* --- all of them --------------------------------------------------------------------------------------- */

static stk_status refuse_stranger(const char *folder, const char *name, uint64_t shards, stk_error *error)
{
    stk__fail(error, STK_ERROR_STATE, "'%s' is not a shard of this pack, which has %llu", name,
              (unsigned long long)shards);
    stk__error_place(error, "%s/%s", folder, name);
    stk__error_hint(error, "move it elsewhere: loaders would read it as a part of the pack");
    return STK_ERROR_STATE;
}

/* A shard can have its name without being counted yet, but only where some are still to come. */
static stk_status find_strangers(const char *folder, const stk__pack_part *part, stk_error *error)
{
    const uint64_t first = part->shards + (part->next < part->count);
    DIR *entries = opendir(folder);
    stk_status status = STK_OK;
    if (!entries) return stk__fail_errno(error, errno, "cannot list '%s'", folder);
    for (const struct dirent *entry; status == STK_OK && (entry = readdir(entries));) {
        uint64_t number;
        if (stk__pack_shard_number(entry->d_name, &number) && number >= first)
            status = refuse_stranger(folder, entry->d_name, part->shards, error);
    }
    closedir(entries);
    return status;
}

static stk_status verify_shards(const stk__pack_verify_options *options, stk_error *error)
{
    const stk__pack_part *part = options->part;
    stk__digest stamps = {0};
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < part->shards; i++) {
        char path[PATH_MAX];
        stk__shard_stamp stamp;
        if (!stk__pack_shard_path(path, options->folder, i))
            return refuse_shards(options->folder, "its path is too long now", error);
        STK__TRY(verify_shard(path, options, &stamp, error));
        stamps = stk__pack_stamps_add(stamps, stamp.size_bytes, stamp.time_s);
        bytes += stamp.size_bytes;
    }
    if (bytes != part->bytes) return refuse_shards(options->folder, "its shards have other sizes", error);
    if (stk__pack_digest_known(part->stamps) && !stk__pack_digest_equal(stamps, part->stamps))
        return refuse_shards(options->folder, "its shards are others, or in another order", error);
    return STK_OK;
}

stk_status stk__pack_verify(const stk__pack_verify_options *options, stk_error *error)
{
    STK__TRY(verify_shards(options, error));
    return find_strangers(options->folder, options->part, error);
}
