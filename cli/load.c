/* SPDX-License-Identifier: Apache-2.0 */
/* stoker load: runs the loader alone, without a consumer, and reports rate, digest and corrupt samples. */
#include "cli.h"

#include "core/clock.h"
#include "loader/digest.h"
#include "loader/loader_open.h"
#include "session/data_json.h"
#include "session/loader_state_file.h"

#include <string.h>

typedef struct load_job {
    stk__arguments arguments;
    int64_t epochs, stop_after; /* stop_after < 0: at the end */
    bool hash;
    const char *state_path;

    stk__session_loading loading;
    stk_loader *loader;
    stk__loader_state_file state;
    stk__hash *hasher;
    stk__ledger_file ledger;
    stk__progress progress;
    uint64_t start_ns, first_batch_ns, end_ns;
    double cpu_s;
    stk_loader_stats stats;
} load_job;

static stk_status refuse_digest(const char *path, stk_error *error)
{
    stk__fail(error, STK_ERROR_STATE,
              "the state has no digest: the batches before it were loaded without --hash");
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "leave out --hash, or remove the file to start from the beginning");
    return STK_ERROR_STATE;
}

/* The state is written once at the start: a place where that cannot be done is refused now, not after hours.
 */
static stk_status open_state(load_job *job, bool *resumed, stk_error *error)
{
    *resumed = false;
    job->state.hashed = true; /* nothing is in the digest, and nothing was loaded */
    if (!job->state_path) return STK_OK;
    STK__TRY(stk__loader_state_file_read(&job->state, job->state_path, resumed, error));
    if (job->hash && !job->state.hashed) return refuse_digest(job->state_path, error);
    if (*resumed && job->state.old) STK__TRY(stk__loader_refuse_new_pairs(job->loader, "the state", error));
    if (*resumed) STK__TRY(stk_loader_seek(job->loader, &job->state.loader, error));
    stk_loader_tell(job->loader, &job->state.loader);
    return stk__loader_state_file_write(&job->state, job->state_path, error);
}

static stk_status open_job(load_job *job, stk_error *error)
{
    job->start_ns = stk__clock_ns();
    job->loading.options.dedicated_cpus = true;
    job->loading.options.epochs = (uint64_t)job->epochs;
    STK__TRY(stk__hash_create(&job->hasher, error));
    STK__TRY(stk__cli_loader_open(&job->arguments, &job->loading, &job->loader, error));
    bool resumed;
    STK__TRY(open_state(job, &resumed, error));
    if (!job->ledger.path) job->ledger.tell = stk__cli_tell_sample;
    job->ledger.context = &job->progress;
    return stk__ledger_file_open(&job->ledger, job->loader, resumed, error);
}

/* One batch; STK_END when everything asked for has been loaded. */
static stk_status load_batch(load_job *job, uint64_t *batches, stk_error *error)
{
    stk_batch *batch;
    const stk_loader_info *info = stk_loader_describe(job->loader);
    if (job->stop_after >= 0 && *batches == (uint64_t)job->stop_after) return STK_END;
    stk_status status = stk_loader_next(job->loader, &batch, error);
    if (status == STK_END) {
        stk_loader_state at;
        stk_loader_tell(job->loader, &at);
        return at.epoch >= job->loading.options.epochs ? STK_END : STK_OK;
    }
    if (status != STK_OK) return status;
    if (!job->first_batch_ns) job->first_batch_ns = stk__clock_ns();
    if (job->hash) job->state.digest = stk__digest_chain(job->hasher, job->state.digest, batch);
    job->state.hashed &= job->hash;
    char what[32];
    snprintf(what, sizeof what, "epoch %llu", (unsigned long long)batch->epoch + 1);
    const uint64_t done = (batch->position + (uint64_t)batch->count);
    stk__progress_show(&job->progress, what, done < info->sample_count ? done : info->sample_count,
                       info->sample_count);
    stk_batch_release(batch);
    ++*batches;
    return STK_OK;
}

static stk_status run_job(load_job *job, stk_error *error)
{
    uint64_t batches = 0;
    stk_status status;
    const double cpu_before = stk__process_cpu_s();
    stk__progress_start(&job->progress);
    while ((status = load_batch(job, &batches, error)) == STK_OK)
        continue;
    stk__progress_end(&job->progress);
    job->end_ns = stk__clock_ns();
    job->cpu_s = stk__process_cpu_s() - cpu_before;
    stk_loader_get_stats(job->loader, &job->stats);
    if (!job->state_path || status == STK_ERROR_TIMEOUT)
        return status; /* a loader that hangs has no position to resume from */
    stk_loader_tell(job->loader, &job->state.loader);
    stk_error unsaved;
    const stk_status saved = stk__loader_state_file_write(&job->state, job->state_path, &unsaved);
    if (saved == STK_OK) return status;
    *error = unsaved; /* weighs more than having been interrupted: the position is lost */
    return saved;
}

static double seconds_of(const load_job *job)
{
    return (double)(job->end_ns - job->start_ns) * 1e-9;
}

static double share_of(const load_job *job, int stage)
{
    uint64_t all = 0;
    for (int i = 0; i < STK_STAGE_COUNT; i++)
        all += job->stats.stage_ns[i];
    return all ? (double)job->stats.stage_ns[stage] / (double)all : 0;
}

static double ms_per_batch(const load_job *job, int stage)
{
    return job->stats.batches ? 1e-6 * (double)job->stats.stage_ns[stage] / (double)job->stats.batches : 0;
}

/* Masks are a stage of data sets that have some. */
static bool has_stage(const load_job *job, int stage)
{
    return stage != STK_STAGE_MASK || stk_loader_describe(job->loader)->masks;
}

static json_t *stages_json(const load_job *job)
{
    json_t *rows = json_array();
    for (int i = 0; i < STK_STAGE_COUNT; i++)
        if (has_stage(job, i))
            json_array_append_new(rows,
                                  json_pack("{s:s, s:f, s:f}", "name", stk_stage_name((stk_stage)i),
                                            "ms_per_batch", ms_per_batch(job, i), "share", share_of(job, i)));
    return rows;
}

static json_t *cache_json(const load_job *job)
{
    const stk_loader_stats *stats = &job->stats;
    if (!stk_loader_describe(job->loader)->cache_bytes) return json_null();
    return json_pack("{s:I, s:I, s:I}", "samples", (json_int_t)stats->cache_samples, "bytes",
                     (json_int_t)stats->cache_bytes, "hits", (json_int_t)stats->cache_hits);
}

static json_t *null_or(bool known, double value)
{
    return known ? json_real(value) : json_null();
}

static json_t *report_json(const load_job *job, bool complete)
{
    const stk_loader_info *info = stk_loader_describe(job->loader);
    char digest[STK_DIGEST_TEXT_BYTES];
    stk__digest_print(job->state.digest, digest);
    const double seconds = seconds_of(job), samples = (double)job->stats.samples;
    json_t *report = json_pack(
        "{s:i, s:s, s:b, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:i, s:i, s:s, s:o}",
        "schema", 1, "layout", info->layout, "complete", complete, "samples", (json_int_t)job->stats.samples,
        "batches", (json_int_t)job->stats.batches, "seconds", seconds, "samples_per_s",
        null_or(samples > 0, samples / seconds), "first_batch_ms",
        null_or(job->first_batch_ns, 1e-6 * (double)(job->first_batch_ns - job->start_ns)), "cpu_s_per_1000",
        null_or(samples > 0, 1000 * job->cpu_s / samples), "digest",
        job->hash ? json_string(digest) : json_null(), "peak_memory_bytes",
        (json_int_t)stk__process_peak_bytes(), "bytes_read", (json_int_t)job->stats.bytes_read, "bad_samples",
        (json_int_t)job->stats.bad_samples, "damages", stk__cli_damages_json(&job->stats), "stages",
        stages_json(job), "num_workers", (int)info->num_workers, "slots", (int)info->slot_count,
        "fingerprint", info->fingerprint, "effects", stk__config_effects_json(job->arguments.config));
    if (report) json_object_set_new(report, "cache", cache_json(job));
    if (report) json_object_set_new(report, "data", stk__data_json(info));
    if (report) stk__cli_add_file_notes(report, job->loader);
    return report;
}

static void print_stages(const load_job *job)
{
    printf("\n  %-8s %10s %8s\n", "stage", "ms/batch", "share");
    for (int i = 0; i < STK_STAGE_COUNT; i++) {
        const bool optional = i == STK_STAGE_AUGMENT || i == STK_STAGE_CACHE;
        if (!has_stage(job, i) || (optional && !job->stats.stage_ns[i])) continue;
        printf("  %-8s %10.2f %7.1f %%\n", stk_stage_name((stk_stage)i), ms_per_batch(job, i),
               100 * share_of(job, i));
    }
    const int64_t workers = stk_loader_describe(job->loader)->num_workers;
    if (workers)
        printf("  (of %s)\n", stk__cli_count((uint64_t)workers, "worker"));
    else
        printf("  (of the caller's thread)\n");
}

static void print_cache(const load_job *job)
{
    const stk_loader_info *info = stk_loader_describe(job->loader);
    const stk_loader_stats *stats = &job->stats;
    if (!info->cache_bytes) return;
    printf("\n  cache: %s of %s, %s; %s\n", stk__cli_grouped(stats->cache_samples),
           stk__cli_count(info->sample_count, "sample"), stk__cli_bytes((double)stats->cache_bytes),
           stk__cli_count(stats->cache_hits, "hit"));
}

static void print_damages(const load_job *job)
{
    if (!job->stats.bad_samples) {
        printf("\n  bad samples: none\n");
        return;
    }
    printf("\n  bad samples: %s\n", stk__cli_grouped(job->stats.bad_samples));
    for (int i = 0; i < STK_DAMAGE_COUNT; i++)
        if (job->stats.damages[i])
            printf("  %8s %-16s %s\n", stk__cli_grouped(job->stats.damages[i]),
                   stk_damage_name((stk_damage)i), stk_damage_phrase((stk_damage)i));
}

/* The position in --state is behind everything that was asked for, or nothing was asked for. */
static void print_nothing(const load_job *job)
{
    if (job->stop_after == 0) {
        printf("nothing to do: --stop-after 0 loads no batch\n");
        return;
    }
    printf("nothing to do: '%s' is at the end of epoch %llu; ask for more --epochs, or remove the file\n",
           stk__cli_text(job->state_path), (unsigned long long)job->state.loader.epoch);
}

static void print_report(const load_job *job)
{
    const double seconds = seconds_of(job), samples = (double)job->stats.samples;
    printf("%s in %.2f s: %s samples/s", stk__cli_count(job->stats.samples, "sample"), seconds,
           stk__cli_rate(samples / seconds));
    if (job->first_batch_ns)
        printf("; first batch after %.0f ms", 1e-6 * (double)(job->first_batch_ns - job->start_ns));
    printf("; %s peak memory\n", stk__cli_bytes((double)stk__process_peak_bytes()));
    print_stages(job);
    print_cache(job);
    print_damages(job);
    stk__cli_print_file_notes("  ", "", job->loader);
}

static void print_digest(const load_job *job)
{
    char digest[STK_DIGEST_TEXT_BYTES];
    stk__digest_print(job->state.digest, digest);
    if (job->hash) printf("  digest: %s\n", digest);
}

static void print_text(const load_job *job, bool complete)
{
    if (job->stats.batches)
        print_report(job);
    else if (complete && (job->state_path || job->stop_after == 0))
        print_nothing(job);
    else if (job->stats.bad_samples)
        print_damages(job); /* it failed before the first batch: there is no rate */
    print_digest(job);
}

static void print_beginning(const load_job *job)
{
    if (stk__cli_quiet || stk__cli_json) return;
    stk__cli_print_dataset(stk_loader_describe(job->loader), &job->loading.options);
    FILE *to = stk__cli_wrap_begin(stderr);
    stk__cli_print_found(to, stk_loader_describe(job->loader), NULL);
    stk__cli_wrap_end(to, stderr, 11);
    stk__cli_print_effects(job->arguments.config);
}

static int finish_job(load_job *job, stk_status status, const stk_error *error)
{
    int code = status == STK_END ? STK_EXIT_GOOD : stk__cli_fail(error);
    if (job->loader && job->end_ns) {
        if (stk__cli_json) {
            const int printed = stk__cli_print_json(report_json(job, status == STK_END));
            if (code == STK_EXIT_GOOD) code = printed;
        } else {
            print_text(job, status == STK_END);
        }
    }
    if (!stk__cli_ledger_close(&job->ledger) && code == STK_EXIT_GOOD) code = STK_EXIT_FAILED;
    stk__cli_loader_close(&job->loader, code);
    stk__hash_destroy(&job->hasher);
    return code;
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    load_job job = {.epochs = 1, .stop_after = -1};
    const stk__flag flags[] = {
        {.name = "epochs",
         .value = "N",
         .help = "number of passes over the data set (1)",
         .number = &job.epochs},
        {.name = "stop-after",
         .value = "N",
         .help = "stop after N batches; 0: only print what is in effect",
         .number = &job.stop_after},
        {.name = "hash",
         .help = "print a digest of all batches: equal digests, equal bytes",
         .given = &job.hash},
        {.name = "state",
         .value = "FILE",
         .help = "resume from the position in FILE if it exists; save the position to it at the end",
         .text = &job.state_path},
        {.name = "ledger",
         .value = "FILE",
         .help = "append each corrupt sample to FILE as a line of JSON",
         .text = &job.ledger.path},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    job.arguments = (stk__arguments){.verb = verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .prepare = stk__session_loader_foreign,
                                     .most_words = 1};
    stk_error error;
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0 && job.epochs < 1) code = stk__cli_usage("load", "--epochs must be at least 1");
    if (code < 0) {
        stk_status status = open_job(&job, &error);
        if (status == STK_OK) {
            print_beginning(&job);
            status = run_job(&job, &error);
        }
        code = finish_job(&job, status, &error);
    }
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_load = {
    .name = "load",
    .usage = "load CONFIG|DIR [key=value …]",
    .about = "Measure the data loader alone: samples/s, CPU time, stages.",
    .settings = stk__session_loader_tables,
    .settings_count = STK_SESSION_LOADER_TABLES,
    .common = "data.root data.batch_size data.image_size data.num_workers data.prefetch_factor "
              "data.cache data.shuffle data.seed data.on_bad_sample augment.preset augment.device",
    .examples = {{"stoker load faces --epochs 2 data.num_workers=2 data.batch_size=16",
                  "two epochs of a folder"},
                 {"stoker load make:gray?count=500 --hash data.seed=1",
                  "generated images, with a digest of all batches"},
                 {"stoker load faces --stop-after 1 --state position.json",
                  "one batch; the next call resumes behind it"}},
    .run = run_verb};
