/* SPDX-License-Identifier: Apache-2.0 */
/* stoker train: one command from data to a network that has learnt. */
#include "grid/grid.h"
#include "train_print.h"

#include "report/run_keys.h"
#include "session/run_json.h"
#include "session/run_start.h"
#include "session/trained_run.h"

#include <string.h>

typedef struct train_job {
    stk__arguments arguments;
    stk__session session;
    stk__run_start start;
    int64_t stop_after, trace_steps;
    bool plan;
    stk__run_folder *folder;
    stk__buffer settings; /* config.yaml */
    stk__run run;
    stk__train_screen screen;
    stk__run_artifacts artifacts;
    stk__ledger_file ledger, val_ledger; /* one file: both add to it */
    char ledger_path[1024];
} train_job;

static stk_status open_ledgers(train_job *job, stk_error *error)
{
    stk__run_folder_file(job->folder, "ledger.jsonl", job->ledger_path, sizeof job->ledger_path);
    const stk__ledger_file form = {.path = job->ledger_path,
                                   .late = true,
                                   .tell = stk__cli_tell_sample,
                                   .context = &job->screen.progress};
    job->ledger = job->val_ledger = form;
    STK__TRY(stk__ledger_file_open(&job->ledger, job->session.loader, true, error));
    if (!job->session.val_loader) return STK_OK;
    return stk__ledger_file_open(&job->val_ledger, job->session.val_loader, true, error);
}

/* --- the end ---------------------------------------------------------------------------------------------
 */

/* An exit status that stays what the first failure made it. */
static void keep_first(int *code, int next)
{
    if (*code == STK_EXIT_GOOD) *code = next;
}

static void keep_failure(int *code, stk_status status, const stk_error *error)
{
    if (status != STK_OK && *code == STK_EXIT_GOOD) *code = stk__cli_fail(error);
}

static int tell_failure(const train_job *job, const stk_error *error)
{
    const int code = stk__cli_fail(error);
    if (job->run.report.checkpoint[0])
        fprintf(stderr, "newest checkpoint: %s; resume with: stoker train --run %s --resume\n",
                job->run.report.checkpoint, stk__run_folder_path(job->folder));
    return code;
}

/* Written if there were steps, or if the file does not describe this end of the run yet. */
static stk_status write_run_json(train_job *job, bool failed, stk_error *error)
{
    if (!job->run.step_count && (failed || stk__run_json_is_current(&job->run))) return STK_OK;
    const stk__run_result result = {.session = &job->session,
                                    .run = &job->run,
                                    .artifacts = &job->artifacts,
                                    .failed = failed,
                                    .monitor = stk__train_monitor_judge(job->screen.monitor)};
    json_t *report = stk__run_json(&result);
    const stk_status status =
        stk__run_folder_write_json(job->folder, STK_RUN_FILE, json_incref(report), error);
    if (stk__cli_json)
        stk__cli_print_json(report);
    else
        json_decref(report);
    return status;
}

static stk_status write_artifacts(train_job *job, stk_error *error)
{
    stk__run_artifacts *a = &job->artifacts;
    if (!job->run.trainer) return STK_OK; /* it never began */
    const stk_status status = stk__run_artifacts_write(a, &job->run, error);
    if (a->too_short)
        fprintf(stderr, "stoker: no trace.json: the run ended before step %d\n", STK_RUN_UNTRACED + 1);
    else if (a->trace.lost)
        fprintf(stderr, "stoker: trace.json is short of %llu spans, for which there was no room\n",
                (unsigned long long)a->trace.lost);
    return status;
}

static void close_ledgers(train_job *job, int *code)
{
    stk__ledger_file *const files[] = {&job->ledger, &job->val_ledger};
    for (int i = 0; i < 2; i++)
        if (!stk__cli_ledger_close(files[i])) keep_first(code, STK_EXIT_FAILED);
}

/* Everything is closed before the program leaves; threads that hang are left behind. */
static void close_job(train_job *job, int code)
{
    stk__run_artifacts_close(&job->artifacts);
    stk__run_folder_close(&job->folder);
    stk__buffer_fini(&job->settings);
    const int hung = stk__train_monitor_close(&job->screen.monitor);
    stk__cli_session_close(&job->session, code);
    if (hung) stk__cli_leave(code);
}

/* A failure does not keep the rest from being written; the first one is the exit status. */
static int finish(train_job *job, stk_status status, const stk_error *error)
{
    const bool failed = status != STK_OK;
    int code = STK_EXIT_GOOD;
    stk_error next;
    stk__progress_end(&job->screen.progress);
    if (failed) code = tell_failure(job, error);
    if (job->folder) {
        keep_failure(&code, write_run_json(job, failed, &next), &next);
        keep_failure(&code, write_artifacts(job, &next), &next);
        if (!failed && !stk__cli_json) stk__train_print_end(&job->screen);
    }
    close_ledgers(job, &code);
    if (job->run.report.interrupted) keep_first(&code, STK_EXIT_INTERRUPTED);
    close_job(job, code);
    return code;
}

/* --- the run ---------------------------------------------------------------------------------------------
 */

static stk_status print_plan(const train_job *job, stk_error *error)
{
    const stk__trainer_info *info = stk__trainer_describe(job->session.trainer);
    if (stk__cli_json) {
        stk__cli_print_json(stk__plan_json(&job->session));
        return STK_OK;
    }
    stk__buffer text = {0};
    const stk_status status = stk__pass_print(info->pass, info->network, &text, error);
    if (status == STK_OK) fwrite(text.data, 1, text.size_bytes, stdout);
    stk__buffer_fini(&text);
    printf("  %-14s %9s\n", "batches", stk__cli_bytes((double)job->session.plan.batch_bytes));
    if (job->session.plan.cache_bytes)
        printf("  %-14s %9s\n", "cache", stk__cli_bytes((double)job->session.plan.cache_bytes));
    if (job->session.plan.temporary_bytes)
        printf("  %-14s %9s\n", "temporary", stk__cli_bytes((double)job->session.plan.temporary_bytes));
    if (job->session.plan.device_bytes)
        printf("  %-14s %9s\n  %-14s %9s\n", "CUDA itself",
               stk__cli_bytes((double)job->session.plan.cuda_bytes), job->session.device,
               stk__cli_bytes((double)job->session.plan.device_bytes));
    printf("  %-14s %9s\n  %-14s %9s\n", "program", stk__cli_bytes((double)job->session.plan.program_bytes),
           "at most", stk__cli_bytes((double)job->session.plan.planned_bytes));
    char verdict[256];
    stk__memory_verdict_text(&job->session.verdict, verdict, sizeof verdict);
    printf("%s\n", verdict);
    return status;
}

static stk_status run_job(train_job *job, stk_error *error)
{
    job->session.config = job->arguments.config;
    job->screen = (stk__train_screen){.session = &job->session, .run = &job->run};
    job->start.on_top = stk__arguments_config(&job->arguments);
    STK__TRY(stk__run_read_settings(job->arguments.config, &job->start, error));
    job->session.plan_only = job->plan;
    job->session.has_checkpoint = job->start.resume && stk__run_has_checkpoint(job->start.path);
    STK__TRY(stk__session_open(&job->session, error));
    if (!job->plan) {
        STK__TRY(stk__run_open_folder(&job->folder, &job->session, &job->start, &job->settings, error));
        STK__TRY(open_ledgers(job, error));
        STK__TRY(stk__run_artifacts_open(&job->artifacts, &job->session, job->trace_steps, error));
    }
    STK__TRY(stk__train_monitor_open(&job->screen.monitor, job->arguments.config,
                                     job->session.run.monitor_interval, job->folder, error));
    job->screen.folder = job->folder;
    stk__train_print_beginning(&job->screen);
    if (job->plan) return print_plan(job, error);
    stk__interrupt_wait(true);
    job->run = (stk__run){.trainer = job->session.trainer,
                          .folder = job->folder,
                          .train = &job->session.train,
                          .resume = job->start.resume,
                          .settings = &job->settings,
                          .stop_after = job->stop_after,
                          .watch = stk__train_watch(&job->screen),
                          .stop = stk__interrupt_flag(),
                          .trace = stk__run_artifacts_trace(&job->artifacts),
                          .trace_steps = job->trace_steps};
    return stk__run_train(&job->run, error);
}

/* --- grid ------------------------------------------------------------------------------------------------
 */

static stk__grid_request grid;

static int add_axis(const char *word)
{
    if (grid.word_count == STK_GRID_AXES)
        return stk__cli_usage("train", "--grid takes at most %d settings", STK_GRID_AXES);
    grid.words[grid.word_count++] = word;
    return -1;
}

static int train_grid(train_job *job, bool jobs_given)
{
    stk_error error;
    if (jobs_given && grid.jobs < 1) return stk__cli_usage("train", "--jobs must be 1 or more");
    if (job->stop_after) return stk__cli_usage("train", "--grid trains to the end; set train.epochs");
    if (job->trace_steps) return stk__cli_usage("train", "--trace records one run, not a --grid");
    if (stk__run_take_resume(job->arguments.config, &job->start.resume, &error) != STK_OK)
        return stk__cli_fail(&error);
    if (!jobs_given) grid.jobs = 0;
    grid.folder = job->start.path;
    grid.plan = job->plan;
    grid.resume = job->start.resume;
    return stk__grid_train(&job->arguments, &grid);
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    static train_job job; /* too large for a stack */
    const stk__flag flags[] = {
        {.name = "run",
         .value = "DIR",
         .help = "folder of the run; default: a new one in runs/",
         .text = &job.start.path},
        {.name = "resume",
         .help = "resume the run in --run DIR from its newest checkpoint, with its settings",
         .given = &job.start.resume},
        {.name = "plan", .help = "print layers, shapes and memory without training", .given = &job.plan},
        {.name = "stop-after",
         .value = "N",
         .help = "stop after N steps, with a checkpoint",
         .number = &job.stop_after},
        {.name = "grid",
         .value = "KEY=A,B …",
         .help = "train every combination of these values; the same command resumes",
         .each = add_axis},
        {.name = "jobs",
         .value = "N",
         .help = "with --grid: number of parallel runs; default: as many as pay off",
         .number = &grid.jobs},
        {.name = "trace",
         .value = "N",
         .help = "record N steps, after 2 warm-up steps, in trace.json; synchronizes after each layer",
         .number = &job.trace_steps},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    job.arguments = (stk__arguments){
        .verb = verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0], .most_words = 1};
    stk_error error;
    grid.jobs = -1;
    int code = stk__arguments_read(&job.arguments, argc, argv);
    const bool jobs_given = grid.jobs >= 0;
    if (code < 0 && jobs_given && !grid.word_count) code = stk__cli_usage("train", "--jobs needs --grid");
    if (code < 0 && grid.word_count) code = train_grid(&job, jobs_given);
    if (code < 0 && job.trace_steps > STK_TRACE_MOST_STEPS)
        code = stk__cli_usage("train", "--trace must be 1 to %d steps", STK_TRACE_MOST_STEPS);
    if (code < 0) code = finish(&job, run_job(&job, &error), &error);
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_train = {
    .name = "train",
    .usage = "train [CONFIG|DIR] [key=value …]",
    .about = "Train a network: unet, locator, resnet, lstm or your own.",
    .settings = stk__session_tables,
    .settings_count = STK_SESSION_TABLES,
    .common = "data.root data.val_split data.batch_size data.image_size data.num_workers data.cache "
              "augment.preset model.name model.file model.weights loss.name train.epochs train.amp "
              "train.max_grad_norm optimizer.name optimizer.lr optimizer.weight_decay "
              "optimizer.schedule run.preset run.device",
    .examples = {{"stoker train faces --run runs/faces image_size=64 val_split=0.25 epochs=2",
                  "train a U-Net"},
                 {"stoker train --run runs/faces --resume train.epochs=4",
                  "resume the run, for two more epochs"},
                 {"stoker train faces --grid lr=0.01,0.001 width=4,8 image_size=64 epochs=1",
                  "every combination: four runs"}},
    .run = run_verb};
