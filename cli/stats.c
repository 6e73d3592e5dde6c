/* SPDX-License-Identifier: Apache-2.0 */
/* stoker stats: a look at a data set before training. Everything is computed in src/session; here it is
 * printed. */
#include "cli.h"

#include "output/stats_output.h"
#include "session/stats/data_scan.h"

typedef struct stats_job {
    stk__arguments arguments;
    stk__data_scan scan;
    const char *page; /* --html */
    stk__progress progress;
    const char *phase; /* of the progress: "reading", then "comparing" */
    bool shown;        /* the data set */
} stats_job;

/* The first loader's data set is printed, and Ctrl-C interrupts each. */
static void watch_loader(void *context, stk_loader *loader)
{
    stats_job *job = context;
    if (loader)
        stk__cli_loader_target(loader);
    else
        stk__interrupt_target(NULL, NULL);
    if (loader && !job->shown && !stk__cli_json && !stk__cli_quiet)
        stk__cli_print_dataset(stk_loader_describe(loader), &job->scan.loading.options);
    job->shown |= loader != NULL;
}

static void show_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    stats_job *job = context;
    if (what != job->phase) {
        stk__progress_end(&job->progress);
        stk__progress_start(&job->progress);
        job->phase = what;
    }
    stk__progress_show(&job->progress, what, done, total);
}

static void print_damage(void *context, const stk_ledger_entry *entry)
{
    stats_job *job = context;
    stk__progress_end(&job->progress);
    if (stk__cli_json) return;
    FILE *to = stk__cli_wrap_begin(stdout);
    fprintf(to, "  %-16s %s (%s)\n", stk_damage_name(entry->damage), stk__cli_text(entry->path),
            stk__cli_text(entry->detail));
    stk__cli_wrap_end(to, stdout, 19);
}

static stk_status write_page(stats_job *job, const json_t *report, stk_error *error)
{
    STK__TRY(stk__data_scan_write_page(&job->scan, report, job->page, error));
    if (!stk__cli_quiet && !stk__cli_json) printf("\n  %s\n", stk__cli_text(job->page));
    return STK_OK;
}

/* The page last: what was found is printed, even if it cannot be written. */
static int report_all(stats_job *job, stk_error *error)
{
    json_t *report = stk__data_scan_json(&job->scan);
    if (!report) {
        stk__fail_memory(error, 1, "the report");
        return stk__cli_fail(error);
    }
    int code = STK_EXIT_GOOD;
    if (stk__cli_json) {
        code = stk__cli_print_json(json_incref(report));
    } else {
        stk__cli_print_all_effects(job->arguments.config);
        stk__stats_print(report);
    }
    if (code == STK_EXIT_GOOD && job->page && write_page(job, report, error) != STK_OK)
        code = stk__cli_fail(error);
    json_decref(report);
    return code;
}

static int run_job(stats_job *job)
{
    stk_error error;
    stk__data_scan *scan = &job->scan;
    scan->config = job->arguments.config;
    scan->opened = watch_loader;
    scan->progress = show_progress;
    scan->bad = print_damage;
    scan->context = job;
    const stk_status status = stk__data_scan_run(scan, &error);
    stk__progress_end(&job->progress);
    const int code = status == STK_OK ? report_all(job, &error) : stk__cli_fail(&error);
    if (stk__data_scan_fini(scan) != 0) stk__cli_leave(code);
    return code;
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    stats_job job = {0};
    const stk__flag flags[] = {
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
        {.name = "html",
         .value = "FILE",
         .help = "write a self-contained page with samples, masks, histograms and findings to FILE",
         .text = &job.page}};
    job.arguments = (stk__arguments){.verb = verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .prepare = stk__session_loader_foreign,
                                     .most_words = 1};
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0) code = run_job(&job);
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_stats = {
    .name = "stats",
    .usage = "stats CONFIG|DIR [--html FILE] [key=value …]",
    .about = "Check data: formats, sizes, mean, std, class weights, findings.",
    .settings = stk__session_loader_tables,
    .settings_count = STK_SESSION_LOADER_TABLES,
    .common = "data.root data.part data.val_split data.limit data.num_classes data.mask_map "
              "data.num_workers",
    .examples = {{"stoker stats faces", "mean and std for data.mean and data.std, class weights, findings"},
                 {"stoker stats faces --html faces.html", "a page with samples and their masks"},
                 {"stoker stats faces --json data.limit=32", "of the first 32 samples, as JSON"}},
    .run = run_verb};
