/* SPDX-License-Identifier: Apache-2.0 */
/* One shard file at a time: written under a temporary name, synced, then renamed after its index. The
 * modification time is derived from the content's hash, so that equal shards have equal times and
 * different ones differ. Also removes what an interrupted pack left behind. */
#include "pack/pack_shard.h"

#include "core/durable.h"
#include "core/file.h"
#include "core/number.h"
#include "pack/tar_blocks.h"
#include "source/shards/shard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY ".tmp-"
#define NAME      "shard-"
#define TAR       ".tar"
#define INDEX     STK_SHARD_INDEX_SUFFIX

enum { INDEX_PATH_BYTES = PATH_MAX + sizeof INDEX };

stk_status stk__pack_write_fail(stk_error *error, int error_number, const char *path)
{
    const stk_status status = stk__fail_errno(error, error_number, "cannot write '%s'", path);
    stk__file_explain_full(error_number, ", then the same command resumes", error);
    return status;
}

static bool make_path(char path[PATH_MAX], const char *folder, const char *prefix, uint64_t number)
{
    /* Room for the index and its temporary name. */
    return snprintf(path, PATH_MAX, "%s/%s" NAME "%06llu" TAR, folder, prefix, (unsigned long long)number) <
           PATH_MAX - 32;
}

bool stk__pack_shard_path(char path[PATH_MAX], const char *folder, uint64_t number)
{
    return make_path(path, folder, "", number);
}

void stk__pack_shard_init(stk__pack_shard *shard, const char *folder)
{
    shard->folder = folder;
    shard->file = -1;
}

static stk_status write_bytes(stk__pack_shard *shard, const stk__buffer *data, stk_error *error)
{
    const int failed = stk__file_write_all(shard->file, data->data, data->size_bytes);
    if (failed) return stk__pack_write_fail(error, failed, shard->temporary);
    stk__hash_update(shard->hash, data->data, data->size_bytes);
    shard->bytes += data->size_bytes;
    return STK_OK;
}

static stk_status write_frame(stk__pack_shard *shard, stk_status (*frame)(stk__buffer *, stk_error *),
                              stk_error *error)
{
    stk__buffer blocks = {0};
    stk_status status = frame(&blocks, error);
    if (status == STK_OK) status = write_bytes(shard, &blocks, error);
    stk__buffer_fini(&blocks);
    return status;
}

stk_status stk__pack_shard_open(stk__pack_shard *shard, uint64_t number, stk_error *error)
{
    if (number >= STK_PACK_SHARDS_MOST) {
        stk__fail(error, STK_ERROR_ARGUMENT, "more than %d shards", STK_PACK_SHARDS_MOST);
        stk__error_hint(error, "raise pack.shard_bytes or pack.shard_samples");
        return STK_ERROR_ARGUMENT;
    }
    if (!make_path(shard->temporary, shard->folder, TEMPORARY, number) ||
        !make_path(shard->final, shard->folder, "", number))
        return stk__fail(error, STK_ERROR_ARGUMENT, "the path '%.80s…' is too long", shard->folder);
    shard->bytes = shard->samples = 0;
    STK__TRY(stk__hash_create(&shard->hash, error));
    shard->file = open(shard->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (shard->file < 0) return stk__pack_write_fail(error, errno, shard->temporary);
    shard->unfinished = true;
    return write_frame(shard, stk__tar_blocks_begin, error);
}

stk_status stk__pack_shard_append(stk__pack_shard *shard, const stk__buffer *tar, stk_error *error)
{
    STK__TRY(write_bytes(shard, tar, error));
    shard->samples++;
    return STK_OK;
}

/* The time is part of the index, so it must not be that of packing; copying programs take a shard of the same
 * size and time for the same shard, so it must not be one for all. Some file systems know even seconds only.
 */
int64_t stk__pack_shard_time(stk__digest content)
{
    return STK_SHARD_TIME_S + (int64_t)(content.low % STK_SHARD_TIME_RANGE_S / 2 * 2);
}

static stk_status close_file(stk__pack_shard *shard, stk_error *error)
{
    shard->time_s = stk__pack_shard_time(stk__hash_digest(shard->hash));
    const struct timespec time = {.tv_sec = shard->time_s};
    const struct timespec times[2] = {time, time};
    if (futimens(shard->file, times) != 0 || fsync(shard->file) != 0)
        return stk__pack_write_fail(error, errno, shard->temporary);
    const int failed = close(shard->file) == 0 ? 0 : errno;
    shard->file = -1;
    return failed ? stk__pack_write_fail(error, failed, shard->temporary) : STK_OK;
}

/* The index first: a shard that has its name has its index. */
static stk_status give_names(const stk__pack_shard *shard, stk_error *error)
{
    char from[INDEX_PATH_BYTES], to[INDEX_PATH_BYTES];
    snprintf(from, sizeof from, "%s" INDEX, shard->temporary);
    snprintf(to, sizeof to, "%s" INDEX, shard->final);
    if (rename(from, to) != 0) return stk__pack_write_fail(error, errno, to);
    if (rename(shard->temporary, shard->final) == 0) return stk__durable_sync(shard->folder, error);
    const stk_status status = stk__pack_write_fail(error, errno, shard->final);
    unlink(to);
    return status;
}

stk_status stk__pack_shard_finish(stk__pack_shard *shard, stk_error *error)
{
    STK__TRY(write_frame(shard, stk__tar_blocks_end, error));
    STK__TRY(close_file(shard, error));
    STK__TRY(stk__shard_index_make(shard->temporary, shard->samples, error));
    STK__TRY(give_names(shard, error));
    stk__hash_destroy(&shard->hash);
    shard->unfinished = false;
    return STK_OK;
}

void stk__pack_shard_abandon(stk__pack_shard *shard)
{
    char index[INDEX_PATH_BYTES];
    if (shard->file >= 0) close(shard->file);
    shard->file = -1;
    stk__hash_destroy(&shard->hash);
    if (!shard->unfinished) return;
    snprintf(index, sizeof index, "%s" INDEX, shard->temporary);
    unlink(index);
    unlink(shard->temporary);
    shard->unfinished = false;
}

/* --- what is left over --------------------------------------------------------------------------------- */

bool stk__pack_shard_number(const char *name, uint64_t *number)
{
    const size_t start = strlen(NAME);
    if (strncmp(name, NAME, start) != 0) return false;
    const size_t digits = strspn(name + start, "0123456789");
    const char *end = name + start + digits;
    int64_t value;
    if (digits != 6 || !stk__number_whole(name + start, digits, &value)) return false;
    *number = (uint64_t)value;
    return strcmp(end, TAR) == 0 || strcmp(end, TAR INDEX) == 0;
}

/* Temporary names of what a pack writes, or of the index that a reader makes. */
static bool is_temporary(const char *name)
{
    static const char *const starts[] = {NAME, "pack.json", "classes.txt", "points.txt"};
    if (strncmp(name, TEMPORARY NAME, strlen(TEMPORARY NAME)) == 0) return true;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) return stk__file_is_left_over(name);
    return false;
}

static bool is_left_over(const char *name, uint64_t next)
{
    uint64_t number;
    return is_temporary(name) || (stk__pack_shard_number(name, &number) && number == next);
}

stk_status stk__pack_shard_tidy(const char *folder, uint64_t next, stk_error *error)
{
    DIR *entries = opendir(folder);
    stk_status status = STK_OK;
    if (!entries) return stk__fail_errno(error, errno, "cannot list '%s'", folder);
    for (const struct dirent *entry; status == STK_OK && (entry = readdir(entries));) {
        if (!is_left_over(entry->d_name, next)) continue;
        if (unlinkat(dirfd(entries), entry->d_name, 0) != 0)
            status = stk__fail_errno(error, errno, "cannot remove '%s/%s'", folder, entry->d_name);
    }
    closedir(entries);
    return status;
}
