/* SPDX-License-Identifier: Apache-2.0 */
/* stoker train: one command from data to a trained network. Here: its flags and its exit status. What it does
 * is src/session/train_session.h, what it prints output/train_output.h. All in the main thread. */
#include "grid/grid.h"
#include "output/train_output.h"

#include <string.h>

enum { NOT_GIVEN = -1 }; /* an option with a number */

typedef struct train_job {
    stk__arguments arguments;
    stk__train_session train;
    bool plan;
    stk__train_output output;
} train_job;

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
    const stk__train_session *t = &job->train;
    const int code = stk__cli_fail(error);
    if (t->run.report.checkpoint[0])
        fprintf(stderr, "newest checkpoint: %s; resume with: stoker train --run %s --resume\n",
                t->run.report.checkpoint, stk__run_folder_path(t->folder));
    return code;
}

static stk_status write_run_json(train_job *job, const stk_error *failure, stk_error *error)
{
    stk__train_outcome result;
    const stk_status status = stk__train_session_finish(&job->train, failure, &result, error);
    if (result.monitor_note[0] && !stk__cli_quiet)
        fprintf(stderr, "stoker: GPU monitoring stopped early: %s\n", result.monitor_note);
    if (stk__cli_json && result.report)
        stk__cli_print_json(result.report);
    else
        json_decref(result.report);
    return status;
}

static stk_status write_artifacts(train_job *job, stk_error *error)
{
    const stk__run_artifacts *a = &job->train.artifacts;
    const stk_status status = stk__train_session_write_artifacts(&job->train, error);
    if (a->too_short)
        fprintf(stderr, "stoker: no trace.json: the run ended before step %d\n", STK_RUN_UNTRACED + 1);
    else if (a->trace.lost)
        fprintf(stderr, "stoker: trace.json is short of %llu spans, for which there was no room\n",
                (unsigned long long)a->trace.lost);
    return status;
}

/* A failure does not keep the rest from being written; the first one is the exit status. */
static int finish(train_job *job, stk_status status, const stk_error *error)
{
    stk__train_session *t = &job->train;
    const bool failed = status != STK_OK;
    int code = STK_EXIT_GOOD;
    stk_error next;
    stk__progress_end(&job->output.progress);
    if (failed) code = tell_failure(job, error);
    if (t->folder) {
        keep_failure(&code, write_run_json(job, failed ? error : NULL, &next), &next);
        keep_failure(&code, write_artifacts(job, &next), &next);
        if (!failed && !stk__cli_json) stk__train_output_end(&job->output);
    }
    if (!stk__train_session_close_ledgers(t)) {
        fprintf(stderr, "stoker: cannot write the ledger '%s' completely\n", t->ledger_path);
        keep_first(&code, STK_EXIT_FAILED);
    }
    if (t->run.report.interrupted) keep_first(&code, STK_EXIT_INTERRUPTED);
    stk__interrupt_target(NULL, NULL);
    if (stk__train_session_close(t) != 0) stk__cli_leave(code);
    return code;
}

/* --- the run ---------------------------------------------------------------------------------------------
 */

static stk_status run_job(train_job *job, stk_error *error)
{
    stk__train_session *t = &job->train;
    job->output.train = t;
    t->session.config = job->arguments.config;
    t->session.plan_only = job->plan;
    t->start.on_top = stk__arguments_config(&job->arguments);
    t->stop = stk__interrupt_flag();
    t->tell_sample = stk__cli_tell_sample;
    t->tell_context = &job->output.progress;
    t->watch = stk__train_output_watch(&job->output);
    STK__TRY(stk__train_session_open(t, error));
    stk__train_output_beginning(&job->output);
    if (job->plan) return stk__train_output_plan(&job->output, error);
    stk__interrupt_wait(true);
    return stk__train_session_train(t, error);
}

/* --- grid ------------------------------------------------------------------------------------------------
 */

static stk__grid_request grid;

static int add_axis(const char *word)
{
    return stk__grid_add_axis(&grid, word);
}

static int train_grid(train_job *job)
{
    grid.folder = job->train.start.path;
    grid.plan = job->plan;
    grid.resume = job->train.start.resume;
    grid.stop_after = job->train.stop_after;
    grid.trace_steps = job->train.trace_steps;
    return stk__grid_train(&job->arguments, &grid);
}

/* --stop-after and --trace: 0 is refused, not taken for "not given". -1: they are good. */
static int check_steps(stk__train_session *t)
{
    if (t->stop_after == 0) return stk__cli_usage("train", "--stop-after must be at least 1");
    if (t->trace_steps == 0 || t->trace_steps > STK_TRACE_MOST_STEPS)
        return stk__cli_usage("train", "--trace must be 1 to %d steps", STK_TRACE_MOST_STEPS);
    if (t->stop_after == NOT_GIVEN) t->stop_after = 0;
    if (t->trace_steps == NOT_GIVEN) t->trace_steps = 0;
    return -1;
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    static train_job job; /* too large for a stack */
    const stk__flag flags[] = {
        {.name = "run",
         .value = "DIR",
         .help = "folder of the run; default: a new one in runs/",
         .text = &job.train.start.path},
        {.name = "resume",
         .help = "resume the run in --run DIR from its newest checkpoint, with its settings",
         .given = &job.train.start.resume},
        {.name = "plan", .help = "print layers, shapes and memory without training", .given = &job.plan},
        {.name = "stop-after",
         .value = "N",
         .help = "stop after N steps, at least 1, with a checkpoint",
         .number = &job.train.stop_after},
        {.name = "grid",
         .value = "KEY=A,B …",
         .help = "train every combination of these values; key=value with one value, behind them, is a "
                 "setting of all runs; the same command resumes",
         .each = add_axis,
         .takes = stk__grid_is_axis},
        {.name = "jobs",
         .value = "N",
         .help = "with --grid: number of parallel runs; default: as many as pay off",
         .number = &grid.jobs},
        {.name = "trace",
         .value = "N",
         .help = "record N steps, after 2 warm-up steps, in trace.json; synchronizes after each layer",
         .number = &job.train.trace_steps},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    job.arguments = (stk__arguments){
        .verb = verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0], .most_words = 1};
    stk_error error;
    grid.jobs = job.train.stop_after = job.train.trace_steps = NOT_GIVEN;
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0) code = check_steps(&job.train);
    if (code < 0 && grid.jobs != NOT_GIVEN && !grid.word_count)
        code = stk__cli_usage("train", "--jobs needs --grid");
    if (code < 0 && grid.word_count) code = train_grid(&job);
    if (code < 0) code = finish(&job, run_job(&job, &error), &error);
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_train = {
    .name = "train",
    .usage = "train [CONFIG|DIR] [key=value …]",
    .about = "Train a network: a built-in one or your own.",
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
