/* stoker bench load: files to batches, beside a bare decoder loop on all cores and beside other libraries.
 * Rounds are interleaved. */
#include "measurements.h"
#include "baseline_decoder.h"
#include "warm_cache.h"
#include "bench_data.h"
#include "timed_loader.h"
#include "bench_null.h"
#include "load_race.h"

#include "core/clock.h"
#include "core/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 32, QUICK_FACES = 160, QUICK_S = 38 };

typedef struct bench_job {
    uint64_t start_ns;
    int64_t rounds;
    bool quick;
    const char *python; /* of the peers; NULL: none */
    stk__bench_data data;
    char images[PATH_MAX];
    int cpus;
    stk__source *source; /* of the folder: the bare loop takes its files from it */
    stk__race race;
    stk__bench bench;
} bench_job;

static stk_status measure_bare(const bench_job *job, uint64_t count, bool masks, stk__bench_cost *out,
                               stk_error *error)
{
    const stk__bare bare = {.source = job->source, .count = count, .threads = job->cpus, .masks = masks};
    const uint64_t start = stk__clock_ns();
    const double cpu = stk__cli_cpu_seconds();
    STK__TRY(stk__bare_run(&bare, error));
    *out =
        (stk__bench_cost){(double)(stk__clock_ns() - start) * 1e-9, stk__cli_cpu_seconds() - cpu, 0, count};
    return STK_OK;
}

typedef struct pair_rows {
    stk__bench_row *bare, *bare_cpu, *ours, *ours_cpu;
} pair_rows;

static pair_rows begin_pair(bench_job *job, const char *test, const char *bare_setting,
                            const char *our_setting)
{
    stk__bench *b = &job->bench;
    return (pair_rows){stk__bench_begin(b, "bare loop", test, bare_setting, "samples/s"),
                       stk__bench_begin(b, "bare loop", test, "CPU time", "ms/sample"),
                       stk__bench_begin(b, "stoker", test, our_setting, "samples/s"),
                       stk__bench_begin(b, "stoker", test, "CPU time", "ms/sample")};
}

static void add_cost(stk__bench_row *rate, stk__bench_row *cpu, const stk__bench_cost *c)
{
    stk__bench_add(rate, (double)c->samples / c->wall_s);
    stk__bench_add(cpu, 1000 * c->cpu_s / (double)c->samples);
}

static stk_status bench_rates(bench_job *job, const char *test, bool masks, pair_rows *rows, stk_error *error)
{
    const stk_loader_options options = {
        .root = masks ? job->data.folder : job->images, .batch_size = BATCH, .epochs = 1, .alone = true};
    *rows = begin_pair(job, test, masks ? "libjpeg-turbo, libspng" : "libjpeg-turbo", "batches of 32, auto");
    stk__bench_cost c;
    STK__TRY(measure_bare(job, job->source->info.count, masks, &c, error)); /* warms the page cache */
    for (int64_t round = 0; round < job->rounds; round++) {
        STK__TRY(measure_bare(job, job->source->info.count, masks, &c, error));
        add_cost(rows->bare, rows->bare_cpu, &c);
        STK__TRY(stk__bench_drain(&options, NULL, &c, error));
        add_cost(rows->ours, rows->ours_cpu, &c);
    }
    return STK_OK;
}

static stk_status bench_jpeg(bench_job *job, stk_error *error)
{
    pair_rows rows;
    STK__TRY(bench_rates(job, "JPEG to batches", false, &rows, error));
    const double rate = stk__bench_median(rows.ours) / stk__bench_median(rows.bare);
    const double cpu = stk__bench_median(rows.ours_cpu) / stk__bench_median(rows.bare_cpu);
    stk__bench_ratio *by_rate =
        stk__bench_judge(&job->bench, "JPEG: rate / bare loop (or the next line)", rate, true, 0.95);
    stk__bench_ratio *by_cpu =
        stk__bench_judge(&job->bench, "JPEG: CPU time per sample / bare loop", cpu, false, 1.05);
    by_rate->met = by_cpu->met = by_rate->met || by_cpu->met; /* the goal is either of them */
    return STK_OK;
}

static stk_status bench_pairs(bench_job *job, stk_error *error)
{
    pair_rows rows;
    STK__TRY(bench_rates(job, "JPEG + PNG mask", true, &rows, error));
    stk__bench_judge(&job->bench, "image + mask: rate / bare loop with libspng",
                     stk__bench_median(rows.ours) / stk__bench_median(rows.bare), true, 1.6);
    return STK_OK;
}

static stk_status bench_first_batch(bench_job *job, stk_error *error)
{
    const stk_loader_options options = {
        .root = job->images, .batch_size = BATCH, .limit = BATCH, .epochs = 1, .alone = true};
    stk__bench_row *bare =
        stk__bench_begin(&job->bench, "bare loop", "first batch", "32 JPEGs, all cores", "ms");
    stk__bench_row *ours =
        stk__bench_begin(&job->bench, "stoker", "first batch", "open to first batch", "ms");
    stk__bench_cost c;
    for (int64_t round = 0; round < 3 * job->rounds; round++) {
        STK__TRY(measure_bare(job, BATCH, false, &c, error));
        stk__bench_add(bare, 1000 * c.wall_s);
        STK__TRY(stk__bench_drain(&options, NULL, &c, error));
        stk__bench_add(ours, 1000 * c.first_batch_s);
    }
    stk__bench_judge(&job->bench, "first batch: ms more than bare decoding of it",
                     stk__bench_median(ours) - stk__bench_median(bare), false, 10);
    return STK_OK;
}

static stk_status bench_overhead(bench_job *job, stk_error *error)
{
    stk__source nothing = stk__bench_null_source(job->quick ? 200000 : 2000000);
    const stk_loader_options options = {.batch_size = BATCH, .epochs = 1, .alone = true};
    stk__bench_row *wall =
        stk__bench_begin(&job->bench, "stoker", "own cost", "nothing to read or decode", "us/sample");
    stk__bench_row *cpu = stk__bench_begin(&job->bench, "stoker", "own cost", "CPU time", "us/sample");
    stk__bench_cost c;
    for (int64_t round = 0; round < job->rounds; round++) {
        STK__TRY(stk__bench_drain(&options, &nothing, &c, error));
        stk__bench_add(wall, 1e6 * c.wall_s / (double)c.samples);
        stk__bench_add(cpu, 1e6 * c.cpu_s / (double)c.samples);
    }
    stk__bench_judge(&job->bench, "own cost: us of CPU time per sample", stk__bench_median(cpu), false, 1);
    return STK_OK;
}

static stk_status bench_warm_cache(bench_job *job, stk_error *error)
{
    return stk__bench_cache_run(
        &(stk__bench_cache){&job->bench, job->data.folder, job->rounds, BATCH, job->cpus}, error);
}

/* Memory can only be measured in a process of its own. */
static stk_status run_self(const bench_job *job, stk__buffer *output, stk_error *error)
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

static stk_status bench_memory(bench_job *job, stk_error *error)
{
    stk__buffer output = {0};
    stk__bench_row *row =
        stk__bench_begin(&job->bench, "stoker", "peak memory", "u8, 2 workers, prefetch 2", "MB");
    stk_status status = run_self(job, &output, error);
    json_t *report =
        status == STK_OK ? json_loadb((const char *)output.data, output.size_bytes, 0, NULL) : NULL;
    const double peak = (double)json_integer_value(json_object_get(report, "peak_memory_bytes"));
    if (status == STK_OK && peak <= 0)
        status = stk__fail(error, STK_ERROR_DATA, "stoker load did not report its memory");
    stk__bench_add(row, peak * 1e-6);
    stk__bench_judge(&job->bench, "peak memory: MB", peak * 1e-6, false, 200);
    json_decref(report);
    stk__buffer_fini(&output);
    return status;
}

/* Whoever loads files, each in a process of its own. */
static stk_status bench_peers(bench_job *job, stk_error *error)
{
    job->race = (stk__race){.python = job->python,
                            .data = job->data.folder,
                            .source = job->source,
                            .quick = job->quick,
                            .rounds = job->rounds,
                            .until_ns = job->quick ? job->start_ns + QUICK_S * STK_SECOND_NS : 0,
                            .cpus = job->cpus,
                            .bench = &job->bench};
    return stk__race_run(&job->race, error);
}

static stk_status open_folder(bench_job *job, stk_error *error)
{
    const stk__source_options options = {.root = job->data.folder};
    STK__TRY(stk__source_open(&job->source, &options, error));
    if (!job->source->info.masks || job->source->info.count < BATCH)
        return stk__fail(error, STK_ERROR_DATA, "'%s' must have images and masks, at least %d",
                         job->data.folder, BATCH);
    snprintf(job->images, sizeof job->images, "%s/images", job->data.folder);
    job->cpus = stk__cpu_budget_read(NULL).cpus;
    stk__bench_describe(&job->bench, "%llu samples, %lld interleaved rounds, page cache warm",
                        (unsigned long long)job->source->info.count, (long long)job->rounds);
    return STK_OK;
}

static stk_status run_all(bench_job *job, stk_error *error)
{
    stk_status (*const parts[])(bench_job *, stk_error *) = {
        bench_jpeg,       bench_pairs, bench_first_batch, bench_overhead,
        bench_warm_cache, bench_peers, bench_memory};
    STK__TRY(open_folder(job, error));
    stk__progress progress;
    stk__progress_start(&progress);
    const uint64_t count = sizeof parts / sizeof parts[0];
    stk_status status = STK_OK;
    for (uint64_t i = 0; i < count && status == STK_OK; i++) {
        stk__progress_show(&progress, "measuring", i, count);
        status = atomic_load(stk__interrupt_flag()) ? stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted")
                                                    : parts[i](job, error);
    }
    stk__progress_end(&progress);
    return status;
}

/* After Ctrl-C: a turn may last longer than the program is given to end. */
static void abandon(void *context)
{
    const bench_job *job = context;
    stk__race_abandon(&job->race);
    stk__bench_data_remove(&job->data);
}

static int run_bench(bench_job *job, const char *folder)
{
    stk_error error;
    stk__interrupt_target(abandon, job);
    stk_status status = stk__bench_data_open(&job->data, folder, job->quick ? QUICK_FACES : 1500, &error);
    if (status == STK_OK) status = run_all(job, &error);
    const int code = status == STK_OK ? stk__bench_report(&job->bench) : stk__cli_fail(&error);
    stk__interrupt_target(NULL, NULL);
    stk__race_close(&job->race);
    stk__source_close(&job->source);
    stk__bench_data_close(&job->data);
    return code;
}

int stk__bench_load(int argc, char **argv)
{
    static const stk__verb verb = {
        .name = "bench load",
        .usage = "bench load [DIR]",
        .about =
            "Files to batches, beside a bare decoder loop on all cores and other libraries. Without DIR, "
            "1,500 faces are made for it."};
    static bench_job job; /* too large for a stack */
    job = (bench_job){.rounds = 7, .start_ns = stk__clock_ns()};
    const stk__flag flags[] = {
        {.name = "rounds", .value = "N", .help = "interleaved rounds (7)", .number = &job.rounds},
        {.name = "quick", .help = "three rounds, 160 faces, fewer peers", .given = &job.quick},
        {.name = "peers",
         .value = "PYTHON",
         .help = "interpreter that has the other libraries (bench/peers/setup makes one)",
         .text = &job.python},
        {.name = "json", .help = "report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {
        .verb = &verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0], .most_words = 1};
    const int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    if (job.quick) job.rounds = 3;
    if (job.rounds < 1 || job.rounds > STK_BENCH_ROUNDS / 3)
        return stk__cli_usage("bench load", "--rounds must be from 1 to %d", STK_BENCH_ROUNDS / 3);
    return run_bench(&job, arguments.words[0]);
}
