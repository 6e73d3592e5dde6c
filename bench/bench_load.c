/* SPDX-License-Identifier: Apache-2.0 */
/* stoker bench load: files to batches, beside the baseline (a decoder loop on all cores) and beside other
 * libraries (the load race). Rounds are interleaved. Also: time to the first batch, the loader's own cost, a
 * warm cache, peak memory. One thread, but for Ctrl-C, which calls abandon. */
#include "baseline_decoder.h"
#include "load_race.h"
#include "timed_loader.h"
#include "warm_cache.h"

#include "core/clock.h"
#include "core/process.h"
#include "core/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 32, FACES = 1500, QUICK_FACES = 160, QUICK_S = 38 };

typedef struct load_job {
    const stk__bench_options *options;
    uint64_t start_ns;
    stk__bench_data data;
    char images[PATH_MAX];
    int cpus;
    stk__source *source; /* of the folder: the baseline takes its files from it */
    stk__load_race race;
    stk__bench *bench;
} load_job;

/* --- ours beside the baseline ------------------------------------------------------------------------------
 */

typedef struct pair {
    stk__contestant baseline, ours;
} pair;

static pair make_pair(const char *baseline_setting, const char *our_setting)
{
    pair p = {{.name = "baseline"}, {.name = "stoker", .ours = true}};
    snprintf(p.baseline.setting, sizeof p.baseline.setting, "%s", baseline_setting);
    snprintf(p.ours.setting, sizeof p.ours.setting, "%s", our_setting);
    return p;
}

static double ratio_of(const pair *p, stk__column column)
{
    return stk__contestant_median(&p->ours, column) / stk__contestant_median(&p->baseline, column);
}

static stk_status run_baseline(const load_job *job, uint64_t count, bool masks, stk__loader_cost *out,
                               stk_error *error)
{
    const stk__baseline baseline = {
        .source = job->source, .count = count, .threads = job->cpus, .masks = masks};
    const uint64_t start = stk__clock_ns();
    const double cpu = stk__process_cpu_s();
    STK__TRY(stk__baseline_run(&baseline, error));
    *out = (stk__loader_cost){(double)(stk__clock_ns() - start) * 1e-9, stk__process_cpu_s() - cpu, 0, count};
    return STK_OK;
}

static stk_status measure_pair(load_job *job, const char *test, bool masks, pair *p, stk_error *error)
{
    const stk_loader_options options = {.root = masks ? job->data.folder : job->images,
                                        .batch_size = BATCH,
                                        .epochs = 1,
                                        .dedicated_cpus = true};
    const uint64_t count = job->source->info.count;
    stk__loader_cost cost;
    *p = make_pair(masks ? "libjpeg-turbo, libspng" : "libjpeg-turbo", "batches of 32, auto");
    stk__contestant_enter_rows(&p->baseline, job->bench, test, "samples/s", "ms/sample");
    stk__contestant_enter_rows(&p->ours, job->bench, test, "samples/s", "ms/sample");
    STK__TRY(run_baseline(job, count, masks, &cost, error)); /* warms the page cache */
    for (int64_t round = 0; round < job->options->rounds; round++) {
        STK__TRY(run_baseline(job, count, masks, &cost, error));
        stk__loader_cost_add(&cost, &p->baseline, 1e-3);
        STK__TRY(stk__timed_loader_run(&options, NULL, &cost, error));
        stk__loader_cost_add(&cost, &p->ours, 1e-3);
    }
    return STK_OK;
}

static stk_status bench_jpeg(load_job *job, stk_error *error)
{
    pair p;
    STK__TRY(measure_pair(job, "JPEG to batches", false, &p, error));
    stk__bench_ratio *by_rate = stk__bench_judge(job->bench, "JPEG: rate / baseline (or the next line)",
                                                 ratio_of(&p, STK_COLUMN_VALUE), true, 0.95);
    stk__bench_ratio *by_cpu = stk__bench_judge(job->bench, "JPEG: CPU time per sample / baseline",
                                                ratio_of(&p, STK_COLUMN_CPU), false, 1.05);
    by_rate->met = by_cpu->met = by_rate->met || by_cpu->met; /* the goal is either of them */
    return STK_OK;
}

static stk_status bench_pairs(load_job *job, stk_error *error)
{
    pair p;
    STK__TRY(measure_pair(job, "JPEG + PNG mask", true, &p, error));
    stk__bench_judge(job->bench, "image + mask: rate / baseline with libspng", ratio_of(&p, STK_COLUMN_VALUE),
                     true, 1.6);
    return STK_OK;
}

static stk_status bench_first_batch(load_job *job, stk_error *error)
{
    const stk_loader_options options = {
        .root = job->images, .batch_size = BATCH, .limit = BATCH, .epochs = 1, .dedicated_cpus = true};
    pair p = make_pair("32 JPEGs, all cores", "open to first batch");
    stk__contestant_enter_rows(&p.baseline, job->bench, "first batch", "ms", NULL);
    stk__contestant_enter_rows(&p.ours, job->bench, "first batch", "ms", NULL);
    stk__loader_cost cost;
    for (int64_t round = 0; round < 3 * job->options->rounds; round++) {
        STK__TRY(run_baseline(job, BATCH, false, &cost, error));
        stk__bench_add(p.baseline.rows, 1000 * cost.wall_s);
        STK__TRY(stk__timed_loader_run(&options, NULL, &cost, error));
        stk__bench_add(p.ours.rows, 1000 * cost.first_batch_s);
    }
    stk__bench_judge(job->bench, "first batch: ms more than the baseline takes to decode it",
                     stk__bench_median(p.ours.rows) - stk__bench_median(p.baseline.rows), false, 10);
    return STK_OK;
}

/* --- ours alone --------------------------------------------------------------------------------------------
 */

static stk_status bench_overhead(load_job *job, stk_error *error)
{
    stk__source nothing = stk__bench_null_source(job->options->quick ? 200000 : 2000000);
    const stk_loader_options options = {.batch_size = BATCH, .epochs = 1, .dedicated_cpus = true};
    stk__contestant ours = {.name = "stoker", .setting = "nothing to read or decode", .ours = true};
    stk__contestant_enter_rows(&ours, job->bench, "own cost", "us/sample", "us/sample");
    stk__loader_cost cost;
    for (int64_t round = 0; round < job->options->rounds; round++) {
        STK__TRY(stk__timed_loader_run(&options, &nothing, &cost, error));
        stk__bench_add(&ours.rows[STK_COLUMN_VALUE], 1e6 * cost.wall_s / (double)cost.samples);
        stk__bench_add(&ours.rows[STK_COLUMN_CPU], 1e6 * cost.cpu_s / (double)cost.samples);
    }
    stk__bench_judge(job->bench, "own cost: us of CPU time per sample",
                     stk__contestant_median(&ours, STK_COLUMN_CPU), false, 1);
    return STK_OK;
}

static stk_status bench_warm_cache(load_job *job, stk_error *error)
{
    const stk__warm_cache cache = {job->bench, job->data.folder, job->options->rounds, BATCH, job->cpus};
    return stk__warm_cache_run(&cache, error);
}

/* Memory can only be measured in a process of its own. */
static stk_status run_self(const load_job *job, stk__buffer *output, stk_error *error)
{
    char *const argv[] = {"stoker", "load",          (char *)job->images, "--json",
                          "-q",     "num_workers=2", "prefetch_factor=2", NULL};
    int pipes[2];
    pid_t child;
    extern char **environ;
    if (pipe2(pipes, O_CLOEXEC) != 0) return stk__fail_errno(error, errno, "cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    const int failed = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    char part[4096];
    stk_status status = failed ? stk__fail_errno(error, failed, "cannot start stoker load") : STK_OK;
    for (ssize_t got; status == STK_OK && (got = read(pipes[0], part, sizeof part)) > 0;)
        status = stk__buffer_append(output, part, (size_t)got, error);
    close(pipes[0]);
    int ended = 0;
    if (!failed) waitpid(child, &ended, 0);
    if (status == STK_OK && ended != 0) status = stk__fail(error, STK_ERROR_DATA, "stoker load failed");
    return status;
}

static stk_status bench_memory(load_job *job, stk_error *error)
{
    stk__buffer output = {0};
    stk__contestant ours = {.name = "stoker", .setting = "u8, 2 workers, prefetch 2", .ours = true};
    stk__contestant_enter_rows(&ours, job->bench, "peak memory", "MB", NULL);
    stk_status status = run_self(job, &output, error);
    json_t *report =
        status == STK_OK ? json_loadb((const char *)output.data, output.size_bytes, 0, NULL) : NULL;
    const double peak = (double)json_integer_value(json_object_get(report, "peak_memory_bytes"));
    if (status == STK_OK && peak <= 0)
        status = stk__fail(error, STK_ERROR_DATA, "stoker load did not report its memory");
    stk__bench_add(ours.rows, peak * 1e-6);
    stk__bench_judge(job->bench, "peak memory: MB", peak * 1e-6, false, 200);
    json_decref(report);
    stk__buffer_fini(&output);
    return status;
}

static stk_status bench_race(load_job *job, stk_error *error)
{
    job->race =
        (stk__load_race){.options = job->options,
                         .data = job->data.folder,
                         .source = job->source,
                         .until_ns = job->options->quick ? job->start_ns + QUICK_S * STK_SECOND_NS : 0,
                         .cpus = job->cpus,
                         .bench = job->bench};
    return stk__load_race_run(&job->race, error);
}

/* --- all of it ---------------------------------------------------------------------------------------------
 */

static stk_status open_folder(load_job *job, stk_error *error)
{
    const stk__source_options options = {.root = job->data.folder};
    STK__TRY(stk__source_open(&job->source, &options, error));
    const stk__source_info *info = &job->source->info;
    if (!info->images || info->count < BATCH)
        return stk__fail(error, STK_ERROR_DATA, "'%s' has too few images to measure: %llu, at least %d",
                         job->data.folder, info->images ? (unsigned long long)info->count : 0, BATCH);
    snprintf(job->images, sizeof job->images, "%s%s", job->data.folder, info->masks ? "/images" : "");
    job->cpus = stk__cpu_budget_read(NULL).cpus;
    stk__bench_describe(job->bench, "%llu samples%s, %lld interleaved rounds, page cache warm",
                        (unsigned long long)info->count, info->masks ? "" : " without masks",
                        (long long)job->options->rounds);
    return STK_OK;
}

static stk_status run_all(load_job *job, stk_error *error)
{
    static const struct {
        stk_status (*run)(load_job *, stk_error *);
        bool masks; /* it loads masks, too */
    } parts[] = {{bench_jpeg, false},     {bench_pairs, true},      {bench_first_batch, false},
                 {bench_overhead, false}, {bench_warm_cache, true}, {bench_race, true},
                 {bench_memory, false}};
    STK__TRY(open_folder(job, error));
    const stk__bench_host *host = job->options->host;
    const stk__bench_progress progress = {.start_ns = stk__clock_ns()};
    const uint64_t count = sizeof parts / sizeof parts[0];
    stk_status status = STK_OK;
    for (uint64_t i = 0; i < count && status == STK_OK; i++) {
        host->show(&progress, "measuring", i, count);
        status = stk__bench_check_stop(host, error);
        if (status == STK_OK && (job->source->info.masks || !parts[i].masks))
            status = parts[i].run(job, error);
    }
    host->hide();
    return status;
}

/* After Ctrl-C. */
static void abandon(void *context)
{
    const load_job *job = context;
    stk__load_race_abandon(&job->race);
    stk__bench_data_remove(&job->data);
}

stk_status stk__bench_load(const stk__bench_options *options, stk__bench *bench, stk_error *error)
{
    static load_job job; /* too large for a stack */
    job = (load_job){.options = options, .bench = bench, .start_ns = stk__clock_ns()};
    options->host->on_stop(abandon, &job);
    stk_status status = stk__bench_data_open(&job.data, options, options->quick ? QUICK_FACES : FACES, error);
    if (status == STK_OK) status = run_all(&job, error);
    options->host->on_stop(NULL, NULL);
    stk__load_race_close(&job.race);
    stk__source_close(&job.source);
    stk__bench_data_close(&job.data);
    return status;
}
