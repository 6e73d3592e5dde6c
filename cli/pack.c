/* SPDX-License-Identifier: Apache-2.0 */
/* stoker pack: a data set into shards. */
#include "cli.h"

#include "pack/pack.h"

#include <unistd.h>

typedef struct pack_job {
    stk__arguments arguments;
    stk__pack_request request;
    stk__pack_report report;
    stk__progress progress;
} pack_job;

/* Of images and masks; what tar adds is left aside. */
static double saved_share(const stk__pack_report *report)
{
    return report->source_bytes ? 1 - (double)report->stored_bytes / (double)report->source_bytes : 0;
}

static void print_saved(char *text, size_t size, const stk__pack_report *report)
{
    const double percent = 100 * saved_share(report);
    snprintf(text, size, "%.1f %% %s", percent < 0 ? -percent : percent, percent < 0 ? "larger" : "smaller");
}

static void show_progress(void *context, const stk__pack_report *report)
{
    pack_job *job = context;
    char saved[48];
    print_saved(saved, sizeof saved, report);
    if (report->packed) snprintf(job->progress.note, sizeof job->progress.note, ", %s", saved);
    stk__progress_show(&job->progress, "packing", report->packed + report->left_out, report->count);
}

static void print_exceptions(const stk__pack_report *report)
{
    const uint64_t kept = report->kept, left_out = report->left_out;
    if (kept)
        printf("  %s JPEG%s stored as %s: re-encoded, pixels could differ\n", stk__cli_grouped(kept),
               kept == 1 ? " is" : "s are", kept == 1 ? "it was" : "they were");
    if (left_out)
        printf("  %s bad sample%s left out: see ledger.jsonl\n", stk__cli_grouped(left_out),
               left_out == 1 ? " was" : "s were");
}

static void print_report(const pack_job *job)
{
    const stk__pack_report *report = &job->report;
    const uint64_t done = report->packed + report->left_out - report->found;
    char saved[48];
    print_saved(saved, sizeof saved, report);
    printf("%s: %s in %s, %s (%s)", job->request.folder, stk__cli_count(report->packed, "sample"),
           stk__cli_count(report->shards, "shard"), stk__cli_bytes((double)report->bytes), saved);
    if (done)
        printf(" in %.1f s: %s samples/s with %s\n", report->seconds,
               stk__cli_rate((double)done / report->seconds),
               stk__cli_count(report->workers ? (uint64_t)report->workers : 1, "thread"));
    else
        printf("; already complete\n");
    if (done && report->found) printf("  %s of them were already packed\n", stk__cli_grouped(report->found));
    print_exceptions(report);
}

static json_t *report_json(const pack_job *job, bool complete)
{
    const stk__pack_report *report = &job->report;
    const uint64_t done = report->packed + report->left_out - report->found;
    return json_pack(
        "{s:i, s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:f, s:o, s:i, s:o}", "schema", 1,
        "complete", complete, "folder", stk__json_string(job->request.folder), "samples",
        (json_int_t)report->count, "packed", (json_int_t)report->packed, "left_out",
        (json_int_t)report->left_out, "kept_jpegs", (json_int_t)report->kept, "found",
        (json_int_t)report->found, "shards", (json_int_t)report->shards, "bytes", (json_int_t)report->bytes,
        "source_bytes", (json_int_t)report->source_bytes, "stored_bytes", (json_int_t)report->stored_bytes,
        "saved_share", report->source_bytes ? json_real(saved_share(report)) : json_null(), "seconds",
        report->seconds, "samples_per_s", done ? json_real((double)done / report->seconds) : json_null(),
        "num_workers", report->workers, "effects", stk__config_effects_json(job->arguments.config));
}

/* Records what is in effect, after the run has decided it. */
static stk_status tell_effects(pack_job *job, stk_error *error)
{
    char workers[32];
    stk__pack_settings filled = job->request.settings;
    stk__config *config = job->arguments.config;
    STK__TRY(stk__options_fill(&stk__pack_options, &filled, error));
    snprintf(workers, sizeof workers, "%d", job->report.workers);
    if (filled.num_workers == 0)
        STK__TRY(stk__config_effect(config, "pack.num_workers", workers, "as many as there are CPUs to use",
                                    error));
    return stk__config_effects_from(config, "pack", &filled, error);
}

static int finish_job(pack_job *job, stk_status status, const stk_error *error)
{
    stk_error failed;
    int code = status == STK_OK ? STK_EXIT_GOOD : stk__cli_fail(error), printed = STK_EXIT_GOOD;
    if (job->report.count && tell_effects(job, &failed) != STK_OK) printed = stk__cli_fail(&failed);
    if (printed == STK_EXIT_GOOD) stk__cli_print_all_effects(job->arguments.config);
    if (printed == STK_EXIT_GOOD && stk__cli_json && job->report.count)
        printed = stk__cli_print_json(report_json(job, status == STK_OK));
    else if (code == STK_EXIT_GOOD && !stk__cli_json && !stk__cli_quiet)
        print_report(job);
    if (code == STK_EXIT_GOOD) code = printed;
    if (job->report.hanging) stk__cli_leave(code);
    return code;
}

static int run_job(pack_job *job)
{
    stk_error error;
    stk_status status = stk__config_apply(job->arguments.config, "pack", &job->request.settings, &error);
    if (status != STK_OK) return stk__cli_fail(&error);
    job->request.root = job->arguments.words[0];
    job->request.folder = job->arguments.words[1];
    job->request.stop = stk__interrupt_flag();
    job->request.show = show_progress;
    job->request.context = job;
    stk__progress_start(&job->progress);
    status = stk__pack_run(&job->request, &job->report, &error);
    stk__progress_end(&job->progress);
    return finish_job(job, status, &error);
}

static void print_more(FILE *file)
{
    fprintf(file, "\nDIR is a folder, a list or shards with images: anything `stoker load` reads. OUT\n"
                  "gets shard-000000.tar … with their indices; train/ and val/ become OUT/train and\n"
                  "OUT/val. Pixels stay the same to the last bit, and so does every batch: use OUT\n"
                  "wherever DIR was used.\n"
                  "\n"
                  "JPEGs become baseline with their own Huffman tables, masks plain 8-bit PNGs; old\n"
                  "and new are decoded and compared. Metadata is removed, except the orientation.\n"
                  "\n"
                  "Interrupted at any moment, the same command resumes and produces the same bytes.\n");
}

static const stk__option_table *const *settings(void)
{
    static const stk__option_table *const tables[] = {&stk__pack_options};
    return tables;
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    const stk__flag flags[] = {
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json}};
    pack_job job = {.arguments = {.verb = verb,
                                  .flags = flags,
                                  .flag_count = 1,
                                  .more_help = print_more,
                                  .own_words = true,
                                  .most_words = 2}};
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0 && job.arguments.word_count < 2)
        code = stk__cli_usage("pack", "name a data set and a folder for its shards: stoker pack DIR OUT");
    if (code < 0) code = run_job(&job);
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_pack = {
    .name = "pack",
    .usage = "pack DIR OUT [key=value …]",
    .about = "Convert a data set into shards: large tar files, fast to read.",
    .settings = settings,
    .settings_count = 1,
    .examples = {{"stoker pack faces shards", "one shard, or several of 256 MB"},
                 {"stoker pack faces small shard_samples=16 on_bad_sample=skip",
                  "16 samples a shard, without corrupt ones"}},
    .run = run_verb};
