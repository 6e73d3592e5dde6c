/* SPDX-License-Identifier: Apache-2.0 */
/* Where indexes are kept: beside their shards, or in the user's cache where that folder may not be written.
 */
#include "source/shards/shard.h"

#include "core/cache_folder.h"
#include "core/file.h"
#include "core/logger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool stk__shard_stamp_read(int file, stk__shard_stamp *stamp)
{
    struct stat facts;
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    *stamp = (stk__shard_stamp){.size_bytes = facts.st_size > 0 ? (uint64_t)facts.st_size : 0,
                                .time_s = facts.st_mtim.tv_sec,
                                .time_ns = (uint64_t)facts.st_mtim.tv_nsec};
    return true;
}

bool stk__shard_stamp_equal(const stk__shard_stamp *a, const stk__shard_stamp *b)
{
    return a->size_bytes == b->size_bytes && a->time_s == b->time_s && a->time_ns == b->time_ns;
}

static int64_t read_file(void *context, void *data, size_t size, uint64_t offset)
{
    const int file = *(const int *)context;
    size_t filled = 0;
    while (filled < size) {
        const ssize_t got = pread(file, (uint8_t *)data + filled, size - filled, (off_t)(offset + filled));
        if (got == 0) break;
        if (got > 0)
            filled += (size_t)got;
        else if (errno != EINTR)
            return -errno;
    }
    return (int64_t)filled;
}

static stk_status refuse_shard(const char *path, int error_number, stk_error *error)
{
    const stk_status status = stk__fail_errno(error, error_number, "cannot read the shard '%s'", path);
    stk__error_place(error, "%s", path);
    if (!stk__file_explain_lack(error_number, error))
        stk__error_hint(error, "its samples cannot be listed: make it readable, or move it away");
    return status;
}

/* An open shard. */
typedef struct shard_file {
    const char *path;
    int file;
    stk__shard_stamp stamp;
} shard_file;

static stk_status open_shard(shard_file *shard, stk_error *error)
{
    shard->file = open(shard->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (shard->file < 0) return refuse_shard(shard->path, errno, error);
    if (stk__shard_stamp_read(shard->file, &shard->stamp)) return STK_OK;
    close(shard->file);
    stk__fail(error, STK_ERROR_IO, "the shard '%s' is not a regular file", shard->path);
    stk__error_place(error, "%s", shard->path);
    stk__error_hint(error, "shards need random access: store the bytes in a regular file first");
    return STK_ERROR_IO;
}

static stk_status build(shard_file *shard, stk__buffer *bytes, bool *lasting, stk_error *error)
{
    const stk__tar_input input = {
        .read = read_file, .context = &shard->file, .size_bytes = shard->stamp.size_bytes};
    return stk__shard_build(&input, shard->stamp, bytes, lasting, error);
}

static bool name_beside(const char *path, char name[PATH_MAX])
{
    return snprintf(name, PATH_MAX, "%s%s", path, STK_SHARD_INDEX_SUFFIX) < PATH_MAX;
}

/* ~/.cache/stoker/shards/HASH.index, the hash being of the shard's real path. */
static bool name_in_cache(const char *path, char name[PATH_MAX])
{
    char folder[PATH_MAX - 64], real[PATH_MAX], hash[STK_DIGEST_TEXT_BYTES];
    if (!realpath(path, real) || !stk__cache_folder(folder, sizeof folder)) return false;
    stk__digest_print(stk__digest_of(real, strlen(real)), hash);
    return snprintf(name, PATH_MAX, "%s/shards/%s%s", folder, hash, STK_SHARD_INDEX_SUFFIX) < PATH_MAX;
}

/* Who changes a shard in the same tick in which its index was made leaves its time as it was: only an index
 * that is younger is sure to be of the shard as it is now. So is one of a shard dated in the future: whoever
 * changes that gives it another time. */
static bool is_of_another_tick(const struct stat *index, const stk__shard_stamp *stamp)
{
    enum { TICK_S = 2 }; /* the longest that file systems have */
    const int64_t time_s = index->st_mtim.tv_sec;
    return time_s > stamp->time_s || stamp->time_s > time_s + TICK_S ||
           (time_s == stamp->time_s && (uint64_t)index->st_mtim.tv_nsec > stamp->time_ns);
}

/* STK_END: there is no index of that name, or none that is of use. */
static stk_status read_index(const char *name, const stk__shard_stamp *stamp, stk__buffer *bytes,
                             stk__shard_index *index, stk_error *error)
{
    struct stat facts;
    stk_error why = {0};
    if (stat(name, &facts) != 0) return STK_END;
    const stk_status status = stk__file_read(name, 0, bytes, &why);
    if (status == STK_ERROR_MEMORY && error) *error = why;
    if (status == STK_ERROR_MEMORY) return status;
    if (status != STK_OK) {
        if (why.damage != STK_DAMAGE_MISSING) /* it may just have been taken away */
            stk__log(STK_LOG_WARNING, "the index '%s' cannot be read: %s", name, why.message);
        return STK_END;
    }
    const char *fault = stk__shard_index_decode(bytes, index);
    if (fault) stk__log(STK_LOG_WARNING, "the index '%s' is rebuilt: %s", name, fault);
    if (fault) return STK_END;
    if (stk__shard_stamp_equal(&index->stamp, stamp) && is_of_another_tick(&facts, stamp)) return STK_OK;
    stk__log(STK_LOG_INFO, "the index '%s' is rebuilt: the shard %s", name,
             stk__shard_stamp_equal(&index->stamp, stamp) ? "is newer" : "has changed");
    return STK_END;
}

static stk_status find_index(const shard_file *shard, stk__buffer *bytes, stk__shard_index *index,
                             stk_error *error)
{
    char name[PATH_MAX];
    stk_status status = STK_END;
    if (name_beside(shard->path, name)) status = read_index(name, &shard->stamp, bytes, index, error);
    if (status == STK_END && name_in_cache(shard->path, name))
        status = read_index(name, &shard->stamp, bytes, index, error);
    return status;
}

/* One thread at a time for each shard: a file that is replaced has a temporary name of its own and the
 * process. */
enum { STORE_LOCKS = 16 };
static pthread_mutex_t store_locks[STORE_LOCKS] = {[0 ... STORE_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

static stk_status write_index(const char *name, stk__buffer bytes, stk__file_care care, stk_error *error)
{
    pthread_mutex_t *lock = &store_locks[stk__digest_of(name, strlen(name)).low % STORE_LOCKS];
    pthread_mutex_lock(lock);
    const stk_status status = stk__file_write(name, bytes, care, error);
    pthread_mutex_unlock(lock);
    return status;
}

static bool store_index(const char *path, stk__buffer bytes)
{
    char name[PATH_MAX], folder[PATH_MAX];
    stk_error why = {0};
    if (name_beside(path, name) && write_index(name, bytes, STK_FILE_QUICK, &why) == STK_OK) return true;
    if (!name_in_cache(path, name)) return false;
    snprintf(folder, sizeof folder, "%s", name);
    *strrchr(folder, '/') = '\0';
    return stk__folder_make(folder, &why) == STK_OK &&
           write_index(name, bytes, STK_FILE_QUICK, &why) == STK_OK;
}

static stk_status build_index(shard_file *shard, stk__buffer *bytes, stk__shard_index *index,
                              stk__shard_origin *origin, stk_error *error)
{
    bool lasting;
    STK__TRY(build(shard, bytes, &lasting, error));
    *origin = lasting && store_index(shard->path, *bytes) ? STK_SHARD_STORED : STK_SHARD_UNSTORED;
    const char *fault = stk__shard_index_decode(bytes, index);
    if (!fault) return STK_OK;
    return stk__fail(error, STK_ERROR_DATA, "the index of '%s' cannot be used: %s", shard->path, fault);
}

stk_status stk__shard_index_get(const char *path, stk__buffer *bytes, stk__shard_index *index,
                                stk__shard_origin *origin, stk_error *error)
{
    shard_file shard = {.path = path};
    *origin = STK_SHARD_FOUND;
    STK__TRY(open_shard(&shard, error));
    stk_status status = find_index(&shard, bytes, index, error);
    if (status == STK_END) status = build_index(&shard, bytes, index, origin, error);
    close(shard.file);
    return status;
}

/* All that was written, and nothing bad: a reader would find it out only when the original is gone. */
static stk_status check_samples(const char *path, const stk__buffer *bytes, uint64_t samples,
                                stk_error *error)
{
    stk__shard_index index;
    stk_status status = STK_OK;
    const char *fault = stk__shard_index_decode(bytes, &index);
    if (fault)
        status = stk__fail(error, STK_ERROR_DATA, "the index of the shard cannot be used: %s", fault);
    else if (index.flaw_count)
        status = stk__fail(error, STK_ERROR_DATA, "'%s' cannot be read back from the shard: %s",
                           index.texts + index.flaws->member, index.texts + index.flaws->detail);
    else if (index.count != samples)
        status = stk__fail(error, STK_ERROR_DATA,
                           "%llu samples can be read back from the shard, %llu were written",
                           (unsigned long long)index.count, (unsigned long long)samples);
    if (status != STK_OK) stk__error_place(error, "%s", path);
    return status;
}

stk_status stk__shard_index_make(const char *path, uint64_t samples, stk_error *error)
{
    shard_file shard = {.path = path};
    stk__buffer bytes = {0};
    char name[PATH_MAX];
    bool lasting;
    if (!name_beside(path, name)) return refuse_shard(path, ENAMETOOLONG, error);
    STK__TRY(open_shard(&shard, error));
    stk_status status = build(&shard, &bytes, &lasting, error);
    close(shard.file);
    if (status == STK_OK && !lasting) status = refuse_shard(path, EIO, error);
    if (status == STK_OK) status = check_samples(path, &bytes, samples, error);
    if (status == STK_OK) status = write_index(name, bytes, STK_FILE_DURABLE, error);
    stk__buffer_fini(&bytes);
    return status;
}
