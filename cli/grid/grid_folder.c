/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a grid: grid.json, and of each combination its run's folder and NAME.log, what its process
 * printed. */
#include "grid.h"

#include "core/durable.h"
#include "core/file.h"
#include "core/folder_lock.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "report/run_keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_BYTES = 4096 };

void stk__grid_path(const stk__grid *grid, const stk__grid_run *run, const char *end, char *path, size_t size)
{
    snprintf(path, size, "%s/%s%s", grid->folder, run->name, end);
}

/* --- what runs have left ---------------------------------------------------------------------------------
 */

static double real_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int64_t asked_epochs(const json_t *report)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(report, STK_RUN_KEY_EFFECTS), i, row)
    {
        const char *name = json_string_value(json_object_get(row, STK_RUN_KEY_NAME_OF_EFFECT));
        if (name && strcmp(name, "train.epochs") == 0)
            return (int64_t)json_number_value(json_object_get(row, STK_RUN_KEY_IN_EFFECT_OF_EFFECT));
    }
    return INT64_MAX;
}

static bool is_finished(const json_t *report)
{
    return !json_is_true(json_object_get(report, STK_RUN_KEY_INTERRUPTED)) &&
           !json_is_true(json_object_get(report, STK_RUN_KEY_FAILED)) &&
           (json_is_true(json_object_get(report, STK_RUN_KEY_STOPPED_EARLY)) ||
            json_integer_value(json_object_get(report, STK_RUN_KEY_EPOCHS)) >= asked_epochs(report));
}

void stk__grid_read_result(const stk__grid *grid, stk__grid_run *r)
{
    char path[512];
    stk__grid_path(grid, r, "/" STK_RUN_FILE, path, sizeof path);
    json_t *report = json_load_file(path, 0, NULL);
    if (!report) return;
    const char *metric = json_string_value(json_object_get(report, STK_RUN_KEY_METRIC));
    snprintf(r->metric, sizeof r->metric, "%s", metric ? metric : "");
    r->best = real_of(report, STK_RUN_KEY_BEST_METRIC);
    r->best_step = json_integer_value(json_object_get(report, STK_RUN_KEY_BEST_STEP));
    r->final_loss = real_of(report, STK_RUN_KEY_LOSS);
    r->step_ms = real_of(report, STK_RUN_KEY_STEP_MS);
    r->samples_per_s = real_of(report, STK_RUN_KEY_SAMPLES_PER_S);
    if (r->wall_s == 0) r->wall_s = real_of(report, STK_RUN_KEY_WALL_S); /* nobody was there to see it end */
    if (isnan(r->wall_s)) r->wall_s = 0;
    if (is_finished(report)) r->state = STK_GRID_DONE;
    json_decref(report);
}

/* The end of a file from `from` on, as text; empty: nothing there. */
static void read_end(const char *path, off_t from, char *text, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    text[0] = '\0';
    if (file < 0) return;
    const off_t end = lseek(file, 0, SEEK_END), least = end - (off_t)(size - 1);
    const ssize_t count = pread(file, text, size - 1, from > least ? from : least);
    text[count > 0 ? count : 0] = '\0';
    close(file);
}

void stk__grid_read_log(const stk__grid *grid, stk__grid_run *r, char *text, size_t size)
{
    char path[512];
    stk__grid_path(grid, r, ".log", path, sizeof path);
    read_end(path, r->log_start, text, size);
}

void stk__grid_read_progress(const stk__grid *grid, stk__grid_run *r)
{
    char path[512], text[TAIL_BYTES];
    stk__grid_path(grid, r, "/metrics.jsonl", path, sizeof path);
    read_end(path, 0, text, sizeof text);
    char *end = strrchr(text, '\n'); /* behind it a line may be under way */
    if (!end) return;
    *end = '\0';
    const char *start = strrchr(text, '\n');
    json_t *line = json_loads(start ? start + 1 : text, 0, NULL);
    if (!line) return;
    r->step = json_integer_value(json_object_get(line, "step"));
    r->epoch = json_integer_value(json_object_get(line, "epoch"));
    if (!isnan(real_of(line, "loss"))) r->loss = real_of(line, "loss");
    json_decref(line);
}

/* A folder without settings was left by a process that was killed at its very beginning. */
static void look_at_run(stk__grid *grid, stk__grid_run *r)
{
    char path[512];
    stk__grid_read_result(grid, r);
    stk__grid_path(grid, r, "/config.yaml", path, sizeof path);
    r->goes_on = access(path, R_OK) == 0;
    stk__grid_path(grid, r, "", path, sizeof path);
    if (!r->goes_on && access(path, F_OK) == 0) stk__durable_remove(path);
}

/* --- the folder ------------------------------------------------------------------------------------------
 */

/* The same grid has the same folder each time, so that it goes on by itself. */
static stk_status name_folder(stk__grid *grid, const char *asked, stk_error *error)
{
    char labels[64] = "", digits[STK_DIGEST_TEXT_BYTES];
    const char *parent = stk__config_requested(grid->arguments->config, "run.dir", NULL),
               *name = stk__config_requested(grid->arguments->config, "run.name", NULL);
    json_t *both = json_pack("[OO]", grid->settings, grid->axes_json);
    char *identity = json_dumps(both, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(both);
    if (!identity) return stk__fail_memory(error, 4096, "the name of a grid");
    stk__digest_print(stk__digest_of(identity, strlen(identity)), digits);
    free(identity);
    for (int a = 0; a < grid->axis_count; a++)
        snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "-%s", grid->axes[a].label);
    const int length = asked ? snprintf(grid->folder, sizeof grid->folder, "%s", asked)
                             : snprintf(grid->folder, sizeof grid->folder, "%s/%s%s-%.8s",
                                        parent ? parent : "runs", name ? name : "grid", labels, digits);
    for (size_t end = strlen(grid->folder); end > 1 && grid->folder[end - 1] == '/'; end--)
        grid->folder[end - 1] = '\0';
    if (length < STK_GRID_PATH_BYTES - (int)sizeof grid->runs[0].name) return STK_OK;
    return stk__fail(error, STK_ERROR_CONFIG, "the path of a grid has at most %d bytes",
                     STK_GRID_PATH_BYTES - (int)sizeof grid->runs[0].name);
}

static bool is_empty(const char *path)
{
    bool empty = true;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        empty &= !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
                 !strcmp(entry->d_name, STK_FOLDER_LOCK) || stk__file_is_left_over(entry->d_name);
    if (folder) closedir(folder);
    return empty;
}

/* What only whoever started the runs could know. */
static void take_report(stk__grid *grid, const json_t *report)
{
    size_t i;
    json_t *row;
    const char *why = json_string_value(json_object_get(report, "why"));
    grid->wall_s = json_number_value(json_object_get(report, "wall_s"));
    grid->jobs = (int)json_integer_value(json_object_get(report, "jobs"));
    grid->threads = (int)json_integer_value(json_object_get(report, "threads"));
    snprintf(grid->why, sizeof grid->why, "%s", why ? why : "");
    json_array_foreach(json_object_get(report, "runs"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        for (int r = 0; name && r < grid->run_count; r++)
            if (strcmp(grid->runs[r].name, name) == 0)
                grid->runs[r].wall_s = json_number_value(json_object_get(row, "wall_s"));
    }
}

static stk_status check_folder(stk__grid *grid, stk_error *error)
{
    char path[512];
    snprintf(path, sizeof path, "%s/grid.json", grid->folder);
    json_t *report = json_load_file(path, 0, NULL);
    if (!report && is_empty(grid->folder)) return STK_OK;
    if (!report) {
        stk__fail(error, STK_ERROR_CONFIG, "the folder '%s' is not empty and has no grid", grid->folder);
        stk__error_hint(error, "choose another --run DIR");
        return STK_ERROR_CONFIG;
    }
    const bool same = json_equal(json_object_get(report, "settings"), grid->settings) &&
                      json_equal(json_object_get(report, "grid"), grid->axes_json);
    if (same) take_report(grid, report);
    json_decref(report);
    if (same) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG, "the folder '%s' has another grid", grid->folder);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "the same settings resume it; otherwise choose another --run DIR");
    return STK_ERROR_CONFIG;
}

stk_status stk__grid_open(stk__grid *grid, const stk__grid_request *request, stk_error *error)
{
    struct stat facts;
    STK__TRY(name_folder(grid, request->folder, error));
    const bool there = stat(grid->folder, &facts) == 0;
    if (request->resume && !there) {
        stk__fail(error, STK_ERROR_CONFIG, "there is no grid '%s' to resume", grid->folder);
        stk__error_hint(error, "leave out --resume: a grid resumes by itself");
        return STK_ERROR_CONFIG;
    }
    if (!there) return STK_OK; /* made when all plans are good */
    if (!S_ISDIR(facts.st_mode))
        return stk__fail(error, STK_ERROR_CONFIG, "'%s' is not a folder", grid->folder);
    STK__TRY(check_folder(grid, error));
    if (request->plan) return STK_OK;
    STK__TRY(stk__folder_lock_take(grid->folder, true, &grid->lock, error));
    STK__TRY(check_folder(grid, error)); /* again: nobody else changes it from now on */
    for (int i = 0; i < grid->run_count; i++)
        look_at_run(grid, &grid->runs[i]);
    return STK_OK;
}

stk_status stk__grid_write(const stk__grid *grid, stk_error *error)
{
    char path[512];
    stk__buffer text = {0};
    snprintf(path, sizeof path, "%s/grid.json", grid->folder);
    stk_status status = stk__json_text(&text, stk__grid_json(grid), JSON_INDENT(2), error);
    if (status == STK_OK) status = stk__file_write(path, text, STK_FILE_DURABLE, error);
    stk__buffer_fini(&text);
    return status;
}

void stk__grid_close(stk__grid *grid)
{
    stk__folder_lock_release(&grid->lock);
    for (int i = 0; i < grid->run_count; i++)
        if (grid->runs[i].told >= 0) close(grid->runs[i].told);
    for (int a = 0; a < grid->axis_count; a++)
        stk__free(grid->axes[a].text);
    stk__free(grid->runs);
    json_decref(grid->settings);
    json_decref(grid->axes_json);
}
