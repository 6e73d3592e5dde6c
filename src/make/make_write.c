/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a generated data set with several threads: workers take the next index from an atomic counter;
 * the caller watches, reports progress and can stop them. A marker file says what is in the folder and
 * whether it is complete. */
#include "make/make_write.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"
#include "core/thread.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum { MARKER_BYTES = 160, WORKERS_MOST = 256, SLACK_BYTES = 4 << 20 };

static const uint64_t tick_ns = STK_SECOND_NS / 10, patience_ns = STK_SECOND_NS / 2;

/* Shared by the workers. Heap memory: a worker that hangs in a write is left behind together with it. */
typedef struct crew {
    stk__make_kind kind;
    char folder[PATH_MAX];
    uint64_t seed, count;
    atomic_uint_fast64_t next, done, bytes;
    atomic_bool halt;
    pthread_mutex_t lock; /* guards error */
    stk_error error;      /* the first failure */
    int workers;
    stk__thread *threads[WORKERS_MOST];
} crew;

/* --- the marker --------------------------------------------------------------------------------------------
 */

static void marker_text(const stk__make_options *options, bool complete, char text[MARKER_BYTES])
{
    snprintf(text, MARKER_BYTES, "{\"kind\": \"%s\", \"seed\": %llu, \"count\": %llu, \"complete\": %s}\n",
             stk__make_describe(options->kind)->name, (unsigned long long)options->seed,
             (unsigned long long)options->count, complete ? "true" : "false");
}

static void marker_path(const stk__make_options *options, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/.stoker-make", options->folder);
}

static stk_status write_marker(const stk__make_options *options, bool complete, stk_error *error)
{
    char text[MARKER_BYTES], path[PATH_MAX];
    marker_text(options, complete, text);
    marker_path(options, path);
    const stk__buffer data = {(uint8_t *)text, strlen(text), sizeof text};
    return stk__file_write(path, data, STK_FILE_QUICK, error);
}

static bool is_our_marker(const stk__make_options *options, const stk__buffer *found)
{
    for (int complete = 0; complete < 2; complete++) {
        char text[MARKER_BYTES];
        marker_text(options, complete, text);
        if (found->size_bytes == strlen(text) && memcmp(found->data, text, found->size_bytes) == 0)
            return true;
    }
    return false;
}

static bool is_empty(const char *folder)
{
    DIR *entries = opendir(folder);
    bool empty = true;
    for (struct dirent *entry; empty && entries && (entry = readdir(entries));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (entries) closedir(entries);
    return empty;
}

static stk_status check_folder(const stk__make_options *options, stk_error *error)
{
    char path[PATH_MAX];
    stk__buffer found = {0};
    if (options->force || is_empty(options->folder)) return STK_OK;
    marker_path(options, path);
    const stk_status status = stk__file_read(path, 4096, &found, NULL);
    const bool ours = status == STK_OK && is_our_marker(options, &found);
    stk__buffer_fini(&found);
    if (ours) return STK_OK;
    if (status == STK_ERROR_MEMORY) return stk__fail_memory(error, 4096, "a marker");
    stk__fail(error, STK_ERROR_ARGUMENT,
              status == STK_OK ? "'%s' holds a data set that was made with other settings"
                               : "'%s' is not empty and was not made by stoker",
              options->folder);
    stk__error_place(error, "%s", status == STK_OK ? path : options->folder);
    stk__error_hint(error, "choose a new folder, or add --force to write into this one");
    return STK_ERROR_ARGUMENT;
}

static stk_status check_space(const stk__make_options *options, stk_error *error)
{
    struct statvfs facts;
    const uint64_t need = options->count * stk__make_describe(options->kind)->file_bytes + SLACK_BYTES;
    if (statvfs(options->folder, &facts) != 0)
        return stk__fail_errno(error, errno, "cannot get the free space of '%s'", options->folder);
    const uint64_t room = (uint64_t)facts.f_bavail * facts.f_frsize;
    if (room >= need) return STK_OK;
    stk__fail(error, STK_ERROR_IO, "'%s' has %llu MB left, about %llu MB are needed for %llu sample%s",
              options->folder, (unsigned long long)(room >> 20), (unsigned long long)(need >> 20),
              (unsigned long long)options->count, stk__plural(options->count));
    stk__error_hint(error, "free some space, or lower --count");
    return STK_ERROR_IO;
}

static stk_status make_folders(const stk__make_options *options, stk_error *error)
{
    const stk__make_info *info = stk__make_describe(options->kind);
    const bool by_class = info->facts && info->class_count;
    const char *names[32];
    int count = 0;
    for (int32_t i = 0; by_class && i < info->class_count; i++)
        names[count++] = info->class_names[i];
    if (info->w && !by_class) names[count++] = "images";
    if (info->masks) names[count++] = "masks";
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", options->folder, names[i]);
        STK__TRY(stk__folder_make(path, error));
    }
    return STK_OK;
}

/* --- workers -----------------------------------------------------------------------------------------------
 */

static void keep_error(crew *job, const stk_error *error)
{
    pthread_mutex_lock(&job->lock);
    if (job->error.code == STK_OK) job->error = *error;
    pthread_mutex_unlock(&job->lock);
    atomic_store(&job->halt, true);
}

static void work(void *context)
{
    crew *job = context;
    stk__make_bench bench = {0};
    while (!atomic_load(&job->halt)) {
        const uint64_t index = atomic_fetch_add(&job->next, 1);
        if (index >= job->count) break;
        const stk__make_sample sample = {job->kind, job->folder, job->seed, index, job->count};
        stk_error error;
        uint64_t bytes = 0;
        if (stk__make_sample_write(&bench, &sample, &bytes, &error) != STK_OK) {
            keep_error(job, &error);
            break;
        }
        atomic_fetch_add(&job->bytes, bytes);
        atomic_fetch_add(&job->done, 1);
    }
    stk__make_bench_fini(&bench);
}

static void start_workers(crew *job)
{
    for (int i = 0; i < job->workers; i++) {
        stk__thread_options options = {.run = work, .context = job};
        snprintf(options.name, sizeof options.name, "stk-make-%u", (unsigned)i % 1000);
        stk_error error;
        if (stk__thread_start(&job->threads[i], &options, &error) == STK_OK) continue;
        keep_error(job, &error);
        return;
    }
}

static bool join_workers(crew *job, uint64_t deadline_ns)
{
    bool ended = true;
    for (int i = 0; i < job->workers; i++)
        ended &= stk__thread_join(&job->threads[i], deadline_ns);
    return ended;
}

static void read_progress(crew *job, uint64_t start_ns, stk__make_progress *done)
{
    *done = (stk__make_progress){atomic_load(&job->done), job->count, atomic_load(&job->bytes),
                                 (double)(stk__clock_ns() - start_ns) * 1e-9, job->workers};
}

/* False: a worker still runs long after it was asked to end. */
static bool watch_workers(crew *job, const stk__make_options *options, stk__make_progress *done)
{
    const uint64_t start_ns = stk__clock_ns();
    uint64_t give_up_ns = 0;
    while (!join_workers(job, stk__clock_ns() + tick_ns)) {
        const uint64_t now = stk__clock_ns();
        if (options->stop && atomic_load(options->stop)) atomic_store(&job->halt, true);
        if (atomic_load(&job->halt) && !give_up_ns) give_up_ns = now + patience_ns;
        if (give_up_ns && now > give_up_ns) return false;
        read_progress(job, start_ns, done);
        if (options->show) options->show(options->context, done);
    }
    read_progress(job, start_ns, done);
    return true;
}

static stk_status run_job(crew *job, const stk__make_options *options, stk__make_progress *done,
                          stk_error *error)
{
    start_workers(job);
    if (!watch_workers(job, options, done)) {
        for (int i = 0; i < job->workers; i++)
            stk__thread_abandon(&job->threads[i]);
        return stk__fail(error, STK_ERROR_TIMEOUT, "writing to '%s' hangs", options->folder);
    }
    const stk_error failure = job->error;
    pthread_mutex_destroy(&job->lock);
    stk__free(job);
    if (failure.code != STK_OK && error) *error = failure;
    return failure.code;
}

static stk_status write_samples(const stk__make_options *options, stk__make_progress *done, stk_error *error)
{
    if (!stk__make_describe(options->kind)->draw) return STK_OK;
    crew *job = stk__alloc(sizeof *job);
    if (!job) return stk__fail_memory(error, sizeof *job, "the workers");
    job->kind = options->kind;
    job->seed = options->seed;
    job->count = options->count;
    job->workers = options->workers;
    snprintf(job->folder, sizeof job->folder, "%s", options->folder);
    pthread_mutex_init(&job->lock, NULL);
    return run_job(job, options, done, error);
}

/* --- all
 * ---------------------------------------------------------------------------------------------------- */

static stk_status prepare(stk__make_options *options, stk_error *error)
{
    if (options->count == 0) options->count = stk__make_describe(options->kind)->default_count;
    if (options->count > STK_MAKE_MOST)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%llu samples: the maximum is %d",
                         (unsigned long long)options->count, STK_MAKE_MOST);
    if (options->workers <= 0) options->workers = stk__cpu_budget_read(NULL).cpus;
    if (options->workers > WORKERS_MOST) options->workers = WORKERS_MOST;
    STK__TRY(stk__folder_make(options->folder, error));
    STK__TRY(check_folder(options, error));
    STK__TRY(check_space(options, error));
    STK__TRY(write_marker(options, false, error));
    return make_folders(options, error);
}

static stk_status refuse_interrupted(const stk__make_progress *done, stk_error *error)
{
    stk__fail(error, STK_ERROR_INTERRUPTED, "stopped after %llu of %llu sample%s",
              (unsigned long long)done->samples, (unsigned long long)done->count, stk__plural(done->count));
    stk__error_hint(error, "the same command resumes");
    return STK_ERROR_INTERRUPTED;
}

stk_status stk__make_write(const stk__make_options *wanted, stk__make_progress *done, stk_error *error)
{
    stk__make_options options = *wanted;
    const uint64_t start_ns = stk__clock_ns();
    *done = (stk__make_progress){0};
    if (!options.folder || strlen(options.folder) > PATH_MAX - 64)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the folder's name is missing or too long");
    STK__TRY(prepare(&options, error));
    done->count = options.count;
    STK__TRY(write_samples(&options, done, error));
    if (options.stop && atomic_load(options.stop)) return refuse_interrupted(done, error);
    const stk_status status = stk__make_tables_write(&options, &done->bytes, error);
    if (status == STK_ERROR_INTERRUPTED) return refuse_interrupted(done, error);
    STK__TRY(status);
    STK__TRY(write_marker(&options, true, error));
    done->samples = options.count;
    done->workers = stk__make_describe(options.kind)->draw ? options.workers : 1;
    done->seconds = (double)(stk__clock_ns() - start_ns) * 1e-9;
    return STK_OK;
}
