/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a run: a numbered new one or a given one, locked against other processes, with atomic
 * writes of its files. Foreign content is refused, leftovers of a crash are removed. */
#include "train/run_folder.h"

#include "core/durable.h"
#include "core/file.h"
#include "core/folder_lock.h"
#include "core/json_text.h"
#include "core/logger.h"
#include "train/checkpoint/checkpoint.h"
#include "train/event_file.h"
#include "train/metrics_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RUNS        "runs"
#define CHECKPOINTS "checkpoints"

enum { MOST_RUNS = 1000000 };

struct stk__run_folder {
    char path[PATH_MAX];
    int lock; /* -1: not taken */
    char metrics_path[PATH_MAX];
    stk__metrics_file metrics;
    stk__event_file events;
};

/* --- which folder -------------------------------------------------------------------------------------- */

/* mkdir decides between processes that start at once. */
static stk_status make_numbered(stk__run_folder *folder, const stk__run_folder_options *options,
                                stk_error *error)
{
    const char *parent = options->parent ? options->parent : RUNS, *name = options->name;
    const int room = (int)sizeof folder->path;
    if (!name || !*name || *name == '.' || strchr(name, '/'))
        return stk__fail(error, STK_ERROR_CONFIG, "invalid run name '%.80s'", name ? name : "");
    STK__TRY(stk__durable_folder(parent, error));
    for (int number = 1; number < MOST_RUNS; number++) {
        if (strlen(name) + 5 > NAME_MAX ||
            snprintf(folder->path, sizeof folder->path, "%s/%s-%04d", parent, name, number) >= room)
            return stk__fail(error, STK_ERROR_CONFIG, "the name '%.80s…' of the run is too long", name);
        if (mkdir(folder->path, 0777) == 0) return stk__durable_sync(parent, error);
        if (errno != EEXIST) return stk__durable_fail(error, errno, folder->path);
    }
    return stk__fail(error, STK_ERROR_IO, "there are too many runs '%.80s'", name);
}

static stk_status take_path(stk__run_folder *folder, const stk__run_folder_options *options, stk_error *error)
{
    struct stat facts;
    if (strlen(options->path) >= sizeof folder->path)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the path '%.80s…' is too long", options->path);
    strcpy(folder->path, options->path);
    if (!options->resume) return stk__durable_folder(folder->path, error);
    if (stat(folder->path, &facts) == 0 && S_ISDIR(facts.st_mode)) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG, "there is no run '%s' to resume", folder->path);
    stk__error_hint(error, "without --resume a new run is started");
    return STK_ERROR_CONFIG;
}

/* --- what is in it ------------------------------------------------------------------------------------- */

/* What a look into the folder finds. */
typedef struct content {
    bool empty; /* but for a lock */
    bool run;   /* has something that only runs have */
} content;

static stk_status look(const char *path, content *found, stk_error *error)
{
    DIR *entries = opendir(path);
    *found = (content){.empty = true};
    if (!entries) return stk__fail_errno(error, errno, "cannot list '%s'", path);
    for (const struct dirent *entry; (entry = readdir(entries));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (strcmp(name, STK_FOLDER_LOCK) == 0 || strcmp(name, CHECKPOINTS) == 0) found->run = true;
        if (strcmp(name, STK_FOLDER_LOCK) != 0) found->empty = false;
    }
    closedir(entries);
    return STK_OK;
}

static void clean(const char *path)
{
    char name[PATH_MAX];
    int count = 0;
    DIR *entries = opendir(path);
    if (!entries) return;
    for (const struct dirent *entry; (entry = readdir(entries));)
        if (stk__file_is_left_over(entry->d_name) &&
            stk__durable_join(name, sizeof name, path, entry->d_name, NULL) == STK_OK)
            count += stk__durable_remove(name);
    closedir(entries);
    if (stk__durable_join(name, sizeof name, path, CHECKPOINTS, NULL) == STK_OK)
        count += stk__checkpoint_clean(name);
    if (count) stk__log(STK_LOG_INFO, "removed %d incomplete files of an earlier start", count);
}

static stk_status refuse_content(const char *path, bool resume, stk_error *error)
{
    if (resume) {
        stk__fail(error, STK_ERROR_CONFIG, "'%s' is not a run folder", path);
        stk__error_hint(error, "a run has a file '" STK_FOLDER_LOCK "' or a folder '" CHECKPOINTS "'");
        return STK_ERROR_CONFIG;
    }
    stk__fail(error, STK_ERROR_CONFIG, "the folder '%s' is not empty", path);
    stk__error_hint(error, "--resume continues the run in it; otherwise choose another folder");
    return STK_ERROR_CONFIG;
}

/* Foreign folders get no lock; between two starts in a new one the lock decides. */
static stk_status take_lock(stk__run_folder *folder, bool resume, stk_error *error)
{
    content found;
    STK__TRY(look(folder->path, &found, error));
    const bool make = found.empty || (resume && found.run);
    STK__TRY(stk__folder_lock_take(folder->path, make, &folder->lock, error));
    STK__TRY(look(folder->path, &found, error));
    if (resume ? !found.run : !found.empty) return refuse_content(folder->path, resume, error);
    return STK_OK;
}

static stk_status open_folder(stk__run_folder *folder, const stk__run_folder_options *options,
                              stk_error *error)
{
    if (options->resume && !options->path)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the run to resume is not given");
    if (options->path)
        STK__TRY(take_path(folder, options, error));
    else
        STK__TRY(make_numbered(folder, options, error));
    STK__TRY(take_lock(folder, options->resume, error));
    STK__TRY(stk__durable_join(folder->metrics_path, sizeof folder->metrics_path, folder->path,
                               "metrics.jsonl", error));
    clean(folder->path);
    return STK_OK;
}

stk_status stk__run_folder_open(stk__run_folder **folder, const stk__run_folder_options *options,
                                stk_error *error)
{
    *folder = stk__alloc(sizeof **folder);
    if (!*folder) return stk__fail_memory(error, sizeof **folder, "the folder of a run");
    (*folder)->lock = -1;
    stk__metrics_file_init(&(*folder)->metrics, (*folder)->metrics_path);
    stk__event_file_init(&(*folder)->events, (*folder)->path);
    const stk_status status = open_folder(*folder, options, error);
    if (status != STK_OK) stk__run_folder_close(folder);
    return status;
}

void stk__run_folder_close(stk__run_folder **folder)
{
    if (!*folder) return;
    stk__metrics_file_fini(&(*folder)->metrics);
    stk__event_file_fini(&(*folder)->events);
    stk__folder_lock_release(&(*folder)->lock);
    stk__free(*folder);
    *folder = NULL;
}

const char *stk__run_folder_path(const stk__run_folder *folder)
{
    return folder->path;
}

void stk__run_folder_file(const stk__run_folder *folder, const char *name, char *text, size_t size)
{
    snprintf(text, size, "%s/%s", folder->path, name);
}

/* --- what is written ----------------------------------------------------------------------------------- */

stk_status stk__run_folder_metric(stk__run_folder *folder, json_t *line, stk_error *error)
{
    json_t *again = json_incref(line); /* NULL stays NULL: out of memory */
    stk_status status = stk__metrics_file_add(&folder->metrics, line, error);
    if (status == STK_OK) status = stk__event_file_add(&folder->events, again, error);
    json_decref(again);
    return status;
}

stk_status stk__run_folder_cut(stk__run_folder *folder, stk__metrics_end end, stk_error *error)
{
    folder->events.step = end.logged > end.evaluated ? end.logged : end.evaluated;
    return stk__metrics_file_cut(&folder->metrics, end, error);
}

stk_status stk__run_folder_write(stk__run_folder *folder, const char *name, stk__buffer data,
                                 stk_error *error)
{
    char path[PATH_MAX];
    STK__TRY(stk__durable_join(path, sizeof path, folder->path, name, error));
    return stk__file_write(path, data, STK_FILE_DURABLE, error);
}

stk_status stk__run_folder_write_json(stk__run_folder *folder, const char *name, json_t *json,
                                      stk_error *error)
{
    stk__buffer text = {0};
    stk_status status = stk__json_text(&text, json, JSON_INDENT(2) | JSON_SORT_KEYS, error);
    if (status == STK_OK) status = stk__run_folder_write(folder, name, text, error);
    stk__buffer_fini(&text);
    return status;
}
