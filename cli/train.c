/* stoker train: one command from data to a network that has learnt. */
#include "grid/grid.h"
#include "ledger_file.h"
#include "run_open.h"
#include "train_after.h"
#include "train_print.h"

#include "core/clock.h"
#include "core/json_text.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PATH_BYTES = 300 }; /* of a run's folder: checkpoints lie below it */

typedef struct train_job {
    stk__arguments arguments;
    stk__cli_session session;
    const char *run_path;
    int64_t stop_after, trace_steps;
    bool resume, plan;
    stk__run_folder *folder;
    stk__buffer settings; /* config.yaml */
    stk__run run;
    stk__train_screen screen;
    stk__train_after after;
    stk__ledger_file ledger, val_ledger; /* one file: both add to it */
    char ledger_path[1024];
} train_job;

/* --- settings --------------------------------------------------------------------------------------------
 */

/* run.resume says how this start goes, as --resume does: it is no setting of the run, whose config.yaml would
 * ask for it again. */
static stk_status forget_resume(stk__config *config, stk_error *error)
{
    for (int origin = STK_ORIGIN_PRESET; origin < STK_ORIGIN_COUNT; origin++)
        STK__TRY(stk__config_set(config, "run.resume", NULL, (stk__origin)origin, NULL, error));
    return STK_OK;
}

static stk_status read_resume(train_job *job, stk_error *error)
{
    stk__run_settings asked = {0};
    STK__TRY(stk__config_apply(job->arguments.config, "run", &asked, error));
    job->resume |= asked.resume == STK_SWITCH_ON;
    return forget_resume(job->arguments.config, error);
}

/* A run that goes on has its settings in its folder; a file on the command line comes on top. */
static stk_status read_run_settings(train_job *job, stk_error *error)
{
    char path[1024];
    stk__config *config = job->arguments.config;
    STK__TRY(read_resume(job, error));
    if (!job->resume) return STK_OK;
    if (!job->run_path) {
        stk__fail(error, STK_ERROR_CONFIG, "--resume needs --run DIR: which run is to go on?");
        return STK_ERROR_CONFIG;
    }
    snprintf(path, sizeof path, "%s/config.yaml", job->run_path);
    STK__TRY(stk__config_read_file(config, path, error));
    const char *on_top = stk__arguments_config(&job->arguments);
    if (on_top) STK__TRY(stk__config_read_file(config, on_top, error));
    return forget_resume(config, error);
}

static void name_run(const train_job *job, char *name, size_t size)
{
    const stk__cli_session *s = &job->session;
    const char *root = s->data.root, *slash = strrchr(root, '/');
    if (s->run.name) {
        snprintf(name, size, "%s", s->run.name);
        return;
    }
    if (slash && slash[1]) root = slash + 1;
    if (strncmp(root, "make:", 5) == 0) root += 5;
    snprintf(name, size, "%s-%.*s", stk__trainer_describe(s->trainer)->network->name,
             (int)strcspn(root, "?./"), root);
}

static stk_status open_folder(train_job *job, stk_error *error)
{
    char name[128];
    const char *long_path = job->run_path ? job->run_path : job->session.run.dir;
    if (strlen(long_path) > MOST_PATH_BYTES)
        return stk__fail(error, STK_ERROR_CONFIG, "the path of a run has at most %d bytes", MOST_PATH_BYTES);
    name_run(job, name, sizeof name);
    const stk__run_folder_options options = {
        .path = job->run_path, .parent = job->session.run.dir, .name = name, .resume = job->resume};
    STK__TRY(stk__run_folder_open(&job->folder, &options, error));
    STK__TRY(stk__config_write_yaml(job->arguments.config, &job->settings, error));
    if (!job->resume) /* else when it is known that they fit the checkpoint */
        STK__TRY(stk__run_folder_write(job->folder, "config.yaml", job->settings, error));
    return stk__run_data_write(job->folder, stk_loader_describe(job->session.loader), error);
}

static stk_status open_ledgers(train_job *job, stk_error *error)
{
    stk__run_folder_file(job->folder, "ledger.jsonl", job->ledger_path, sizeof job->ledger_path);
    const stk__ledger_file form = {.path = job->ledger_path, .late = true, .progress = &job->screen.progress};
    job->ledger = job->val_ledger = form;
    STK__TRY(stk__ledger_file_open(&job->ledger, job->session.loader, true, error));
    if (!job->session.val_loader) return STK_OK;
    return stk__ledger_file_open(&job->val_ledger, job->session.val_loader, true, error);
}

/* --- report ----------------------------------------------------------------------------------------------
 */

static json_t *stall_json(const stk__stall *stall, double wall_s)
{
    json_t *rows = json_array();
    for (int row = 0; row < STK_STALL_ROWS; row++)
        json_array_append_new(rows, json_pack("{s:s, s:f}", "name", stk__stall_name((stk__stall_row)row),
                                              "share", stk__stall_share(stall, (stk__stall_row)row, wall_s)));
    return rows;
}

/* Milliseconds a batch, by the device's clock; null: no device makes them. */
static void tell_device_batches(const train_job *job, json_t *report)
{
    stk_loader_stats stats;
    stk_loader_measure(job->session.loader, &stats);
    const double each_ms = stats.device_batches ? 1e-6 / (double)stats.device_batches : NAN;
    json_object_set_new(report, "device_copy_ms", stk__json_number(each_ms * (double)stats.device_copy_ns));
    json_object_set_new(report, "device_augment_ms",
                        stk__json_number(each_ms * (double)stats.device_kernel_ns));
}

static json_t *report_json(train_job *job, bool failed)
{
    const stk__cli_session *s = &job->session;
    const stk__run_report *r = &job->run.report;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__stall *stall = stk__trainer_stall(s->trainer);
    const double seconds = r->wall_s;
    char advice[256];
    stk__train_advice(s, stall, r->wall_s, advice, sizeof advice);
    json_t *report = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:i, s:I, s:I}", "schema", 1, "run", stk__run_folder_path(job->folder),
        "network", info->network->name, "engine", info->engine->name, "engine_version", info->engine->version,
        "threads", info->engine->threads, "steps", (json_int_t)r->at.step, "epochs", (json_int_t)r->at.epoch);
    json_object_set_new(report, "samples_per_s",
                        stk__json_number(seconds > 0 ? (double)r->at.samples / seconds : NAN));
    json_object_set_new(report, "step_ms", stk__json_number(stk__run_step_ms(&job->run)));
    json_object_set_new(report, "first_step_s", stk__json_number(stk__process_age_s(r->first_step_ns)));
    json_object_set_new(report, "wall_s", stk__json_number(seconds));
    json_object_set_new(report, "metric",
                        json_string(stk__task_describe(info->network->task)->values[info->value]));
    json_object_set_new(report, "best_metric", stk__json_number(r->best_value));
    json_object_set_new(report, "best_step", json_integer(r->best_step));
    json_object_set_new(report, "loss", stk__json_number(r->logged ? r->log.score.loss : NAN));
    json_object_set_new(report, "peak_memory_bytes", json_integer((json_int_t)stk__process_peak_bytes()));
    json_object_set_new(report, "planned_memory_bytes", json_integer((json_int_t)s->planned_bytes));
    json_object_set_new(report, "model_bytes", json_integer((json_int_t)info->model_bytes));
    json_object_set_new(report, "activation_bytes", json_integer((json_int_t)info->pass_bytes));
    if (r->at.loss_scale > 0) {
        json_object_set_new(report, "loss_scale", json_real(r->at.loss_scale));
        json_object_set_new(report, "skipped_steps", json_integer(r->at.skipped));
    }
    if (s->device_bytes) {
        const stk__engine_memory memory = stk__trainer_memory(s->trainer);
        json_object_set_new(report, "device", json_string(s->device));
        json_object_set_new(report, "planned_device_bytes", json_integer((json_int_t)s->device_bytes));
        json_object_set_new(report, "cuda_bytes", json_integer((json_int_t)s->cuda_bytes));
        json_object_set_new(report, "peak_device_bytes",
                            memory.peak_bytes < 0 ? json_null() : json_integer(memory.peak_bytes));
    }
    json_object_set_new(report, "interrupted", json_boolean(r->interrupted));
    json_object_set_new(report, "failed", json_boolean(failed));
    json_object_set_new(report, "stopped_early", json_boolean(r->stopped_early));
    json_object_set_new(report, "checkpoint", stk__json_string(r->checkpoint));
    json_object_set_new(report, "advice", json_string(advice));
    json_object_set_new(report, "stall", stall_json(stall, r->wall_s));
    tell_device_batches(job, report);
    json_object_set_new(report, "effects", stk__config_effects_json(job->arguments.config));
    stk__train_after_tell(&job->after, &job->run, report);
    json_t *monitor = stk__train_monitor_judge(job->screen.monitor);
    if (monitor) json_object_set_new(report, "monitor", monitor);
    return report;
}

/* What the folder tells already: a run that had ended before is not told again. */
static bool is_told(const train_job *job)
{
    char path[1024];
    stk__run_folder_file(job->folder, "run.json", path, sizeof path);
    json_t *report = json_load_file(path, 0, NULL);
    const bool told = json_integer_value(json_object_get(report, "steps")) == job->run.report.at.step &&
                      json_is_false(json_object_get(report, "interrupted")) &&
                      !json_is_true(json_object_get(report, "failed"));
    json_decref(report);
    return told;
}

static int finish(train_job *job, stk_status status, const stk_error *error)
{
    int code = STK_EXIT_GOOD;
    stk_error failed;
    stk__progress_end(&job->screen.progress);
    if (status != STK_OK) code = stk__cli_fail(error);
    if (status != STK_OK && job->run.report.checkpoint[0])
        fprintf(stderr, "newest checkpoint: %s; go on with: stoker train --run %s --resume\n",
                job->run.report.checkpoint, stk__run_folder_path(job->folder));
    if (job->folder && (job->run.step_count || (status == STK_OK && !is_told(job)))) {
        json_t *report = report_json(job, status != STK_OK);
        if (stk__run_folder_write_json(job->folder, "run.json", json_incref(report), &failed) != STK_OK &&
            code == STK_EXIT_GOOD)
            code = stk__cli_fail(&failed);
        if (stk__cli_json)
            stk__cli_print_json(report);
        else
            json_decref(report);
    }
    if (job->folder && job->run.trainer &&
        stk__train_after_write(&job->after, &job->run, &failed) != STK_OK && code == STK_EXIT_GOOD)
        code = stk__cli_fail(&failed);
    stk__train_after_close(&job->after);
    if (status == STK_OK && job->folder && !stk__cli_json) stk__train_print_end(&job->screen);
    const bool written = stk__ledger_file_close(&job->ledger),
               val_written = stk__ledger_file_close(&job->val_ledger);
    if (!(written && val_written) && code == STK_EXIT_GOOD) code = STK_EXIT_FAILED;
    if (code == STK_EXIT_GOOD && job->run.report.interrupted) code = STK_EXIT_INTERRUPTED;
    stk__run_folder_close(&job->folder);
    stk__buffer_fini(&job->settings);
    const int hung = stk__train_monitor_close(&job->screen.monitor);
    stk__cli_session_close(&job->session, code);
    if (hung) stk__cli_leave(code);
    return code;
}

static stk_status print_plan_json(const train_job *job)
{
    const stk__cli_session *s = &job->session;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    json_t *plan = json_pack("{s:i, s:s, s:s, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:o}", "schema", 1,
                             "network", info->network->name, "engine", info->engine->name, "parameters",
                             (json_int_t)info->report->param_count, "forward_flops", info->report->flops,
                             "step_flops", info->report->step_flops, "model_bytes",
                             (json_int_t)info->model_bytes, "activation_bytes", (json_int_t)info->pass_bytes,
                             "batch_bytes", (json_int_t)s->batch_bytes, "planned_memory_bytes",
                             (json_int_t)s->planned_bytes, "effects", stk__config_effects_json(s->config));
    if (plan && s->device_bytes) {
        json_object_set_new(plan, "planned_device_bytes", json_integer((json_int_t)s->device_bytes));
        json_object_set_new(plan, "cuda_bytes", json_integer((json_int_t)s->cuda_bytes));
    }
    if (plan) json_object_set_new(plan, "cache_bytes", json_integer((json_int_t)s->cache_bytes));
    stk__cli_print_json(plan);
    return STK_OK;
}

static stk_status print_plan(const train_job *job, stk_error *error)
{
    const stk__trainer_info *info = stk__trainer_describe(job->session.trainer);
    if (stk__cli_json) return print_plan_json(job);
    stk__buffer text = {0};
    const stk_status status = stk__pass_print(info->pass, info->network, &text, error);
    if (status == STK_OK) fwrite(text.data, 1, text.size_bytes, stdout);
    stk__buffer_fini(&text);
    printf("  %-14s %9s\n", "batches", stk__cli_bytes((double)job->session.batch_bytes));
    if (job->session.cache_bytes)
        printf("  %-14s %9s\n", "cache", stk__cli_bytes((double)job->session.cache_bytes));
    if (job->session.device_bytes)
        printf("  %-14s %9s\n  %-14s %9s\n", "CUDA itself", stk__cli_bytes((double)job->session.cuda_bytes),
               job->session.device, stk__cli_bytes((double)job->session.device_bytes));
    printf("  %-14s %9s\n  %-14s %9s\n", "program", stk__cli_bytes((double)job->session.program_bytes),
           "at most", stk__cli_bytes((double)job->session.planned_bytes));
    return status;
}

static stk_status run_job(train_job *job, stk_error *error)
{
    job->session.config = job->arguments.config;
    job->screen = (stk__train_screen){.session = &job->session, .run = &job->run};
    STK__TRY(read_run_settings(job, error));
    STK__TRY(stk__cli_apply_preset(job->arguments.config, error));
    job->session.has_checkpoint = job->resume && stk__run_has_checkpoint(job->run_path);
    STK__TRY(stk__cli_session_open(&job->session, error));
    if (!job->plan) {
        STK__TRY(open_folder(job, error));
        STK__TRY(open_ledgers(job, error));
        STK__TRY(stk__train_after_open(&job->after, &job->session, job->trace_steps, error));
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
                          .resume = job->resume,
                          .settings = &job->settings,
                          .stop_after = job->stop_after,
                          .watch = stk__train_watch(&job->screen),
                          .stop = stk__interrupt_flag(),
                          .trace = stk__train_after_trace(&job->after),
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
    if (jobs_given && grid.jobs < 1) return stk__cli_usage("train", "--jobs is 1 or more");
    if (job->stop_after) return stk__cli_usage("train", "--grid trains to the end; set train.epochs");
    if (job->trace_steps) return stk__cli_usage("train", "--trace records one run, not a --grid");
    if (read_resume(job, &error) != STK_OK) return stk__cli_fail(&error);
    if (!jobs_given) grid.jobs = 0;
    grid.folder = job->run_path;
    grid.plan = job->plan;
    grid.resume = job->resume;
    return stk__grid_train(&job->arguments, &grid);
}

int stk__cli_train(int argc, char **argv)
{
    static const stk__verb verb = {.name = "train",
                                   .usage = "train [CONFIG|DIR] [key=value …]",
                                   .about = "Trains a network: unet, locator, resnet, lstm or your own."};
    static train_job job; /* too large for a stack */
    const stk__flag flags[] = {
        {.name = "run",
         .value = "DIR",
         .help = "folder of the run; default: a new one in runs",
         .text = &job.run_path},
        {.name = "resume",
         .help = "go on with the run in --run DIR, with its settings",
         .given = &job.resume},
        {.name = "plan", .help = "print layers, shapes and memory, and train nothing", .given = &job.plan},
        {.name = "stop-after",
         .value = "N",
         .help = "stop after N steps, with a checkpoint",
         .number = &job.stop_after},
        {.name = "grid",
         .value = "KEY=A,B …",
         .help = "train every combination of these values; again: goes on",
         .each = add_axis},
        {.name = "jobs",
         .value = "N",
         .help = "of a grid: N runs side by side; default: as many as pays",
         .number = &grid.jobs},
        {.name = "trace",
         .value = "N",
         .help = "record N steps (after 2) in trace.json, waiting for each layer",
         .number = &job.trace_steps},
        {.name = "json", .help = "report as JSON on standard output", .given = &stk__cli_json},
    };
    job.arguments = (stk__arguments){.verb = &verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .tables = stk__cli_train_tables(),
                                     .table_count = STK_CLI_TRAIN_TABLES,
                                     .most_words = 1};
    stk_error error;
    grid.jobs = -1;
    int code = stk__arguments_read(&job.arguments, argc, argv);
    const bool jobs_given = grid.jobs >= 0;
    if (code < 0 && jobs_given && !grid.word_count) code = stk__cli_usage("train", "--jobs is of a --grid");
    if (code < 0 && grid.word_count) code = train_grid(&job, jobs_given);
    if (code < 0 && job.trace_steps > STK_TRACE_MOST_STEPS)
        code = stk__cli_usage("train", "--trace is 1 to %d steps", STK_TRACE_MOST_STEPS);
    if (code < 0) code = finish(&job, run_job(&job, &error), &error);
    stk__arguments_fini(&job.arguments);
    return code;
}
