/* SPDX-License-Identifier: Apache-2.0 */
/* stoker train: one command from data to a trained network. Here: its flags, and what it prints: device,
 * network and memory before step 1, a line per evaluation, at the end where the time went and what to change.
 * What it does is src/session/train_session.h. All in the main thread. */
#include "cli.h"
#include "grid/grid.h"
#include "train_end.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "session/run_json.h"
#include "session/train_session.h"

#include <math.h>
#include <string.h>

enum { CELL = 32, NOT_GIVEN = -1 }; /* NOT_GIVEN: an option with a number */

typedef struct train_job {
    stk__arguments arguments;
    stk__train_session train;
    bool plan;
    stk__progress progress;
    uint64_t shown_epoch; /* the bar is of this one, counted from 1; 0: none */
} train_job;

/* --- before step 1 ---------------------------------------------------------------------------------------
 */

static void print_memory(const stk__session *s, const stk__trainer_info *info)
{
    fprintf(stderr, "  memory   at most %s: %s for weights and optimizer state, %s for activations",
            stk__cli_bytes((double)s->planned_bytes), stk__cli_bytes((double)info->model_bytes),
            stk__cli_bytes((double)info->pass_bytes));
    if (info->report->recomputed_layers)
        fprintf(stderr, " (%s recomputed)",
                stk__cli_count((uint64_t)info->report->recomputed_layers, "layer"));
    fprintf(stderr, ", %s for batches", stk__cli_bytes((double)s->batch_bytes));
    if (s->cache_bytes) fprintf(stderr, ", %s for the cache", stk__cli_bytes((double)s->cache_bytes));
    fprintf(stderr, ", %s for the program\n", stk__cli_bytes((double)s->program_bytes));
}

static void print_network(const stk__trainer_info *info, int64_t batch_size)
{
    const stk__network *network = info->network;
    fprintf(stderr, "  network  %s (%s): %s parameters, %sFLOP a sample\n", network->name,
            stk__task_word(network->task), stk__cli_scaled((double)info->report->param_count),
            stk__cli_scaled(info->report->step_flops / (double)batch_size));
}

static void print_data(const stk__session *s)
{
    const stk_loader_info *info = stk_loader_describe(s->loader);
    fprintf(stderr, "  data     %s: %s, %s", s->data.root, info->layout,
            stk__cli_count(info->sample_count, "sample"));
    if (s->val_loader)
        fprintf(stderr, " for training, %s for validation",
                stk__cli_grouped(stk_loader_describe(s->val_loader)->sample_count));
    if (info->w) fprintf(stderr, ", %dx%d %s", info->w, info->h, info->channels == 1 ? "grey" : "RGB");
    if (info->window_rows) fprintf(stderr, ", windows of %d x %d", info->window_rows, info->feature_count);
    if (info->class_count) fprintf(stderr, ", %s", stk__cli_count((uint64_t)info->class_count, "class"));
    fprintf(stderr, ", batches of %lld\n", (long long)info->batch_size);
}

/* Linear scaling is advice; nothing is changed. */
static void print_rate_advice(const stk__session *s)
{
    static const int64_t batches[] = {0, 32, 16, 8};
    const int64_t base = batches[s->run.preset];
    const int64_t batch = stk_loader_describe(s->loader)->batch_size * s->train.accumulation;
    if (base && batch != base)
        fprintf(stderr,
                "  advice   an optimizer step sees %s, preset %s assumes %lld: linear scaling gives "
                "optimizer.lr=%g (it stays %g)\n",
                stk__cli_count((uint64_t)batch, "sample"),
                s->run.preset == STK_PRESET_BEST    ? "best"
                : s->run.preset == STK_PRESET_DEBUG ? "debug"
                                                    : "memory_limited",
                (long long)base, s->optimizer.lr * (double)batch / (double)base, s->optimizer.lr);
}

static void print_effects(const train_job *job)
{
    char own[1024];
    snprintf(own, sizeof own, "%s/config.yaml", job->train.start.path ? job->train.start.path : "");
    stk__cli_print_effects_now(job->train.session.config, job->train.start.resume ? own : NULL);
}

static void print_beginning(const train_job *job)
{
    const stk__session *s = &job->train.session;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__cpu_budget budget = stk__cpu_budget_read(NULL);
    const char *expects = stk__run_preset_expects((stk__run_preset)s->run.preset);
    if (stk__cli_quiet) return;
    fprintf(stderr, "  device   %s, %s; engine %s%s%s%s, %s\n", s->device[0] ? s->device : "cpu", budget.why,
            info->engine->name, info->engine->version[0] ? " (" : "", info->engine->version,
            info->engine->version[0] ? ")" : "", stk__cli_count((uint64_t)info->engine->threads, "thread"));
    print_network(info, stk_loader_describe(s->loader)->batch_size);
    print_memory(s, info);
    print_data(s);
    if (job->train.folder) fprintf(stderr, "  run      %s\n", stk__run_folder_path(job->train.folder));
    if (expects) fprintf(stderr, "  preset   on a GPU it is expected to be busy %s of the time\n", expects);
    print_rate_advice(s);
    print_effects(job);
}

/* --- during the run --------------------------------------------------------------------------------------
 */

static void show_started(void *context, const stk__run_report *r)
{
    train_job *job = context;
    if (stk__cli_quiet) return;
    stk__cli_print_skipped(r->skipped_checkpoints, r->skipped_reason);
    if (r->resumed)
        fprintf(stderr, "resumed from step %lld (%s)\n", (long long)r->resumed_step, r->checkpoint);
    if (stk__trainer_describe(job->train.session.trainer)->epoch_again)
        fprintf(stderr, "epoch %llu restarts: the batch size has changed\n",
                (unsigned long long)r->at.epoch + 1);
    stk__progress_start(&job->progress);
}

/* "58 %"; what is unknown is a dash. */
static const char *reading_text(char cell[CELL], stk_reading reading, double scale, const char *unit)
{
    if (reading.known == STK_KNOWN)
        snprintf(cell, CELL, "%.0f%s", reading.value / scale, unit);
    else
        snprintf(cell, CELL, "-%s", unit);
    return cell;
}

static void print_gpu(const stk__run_gpu *gpu)
{
    char cells[7][CELL];
    fprintf(stderr, "GPU %s: util %s, %s of %s, memory %s of %s, %s, SM %s", gpu->label.text,
            reading_text(cells[0], gpu->util_percent, 1, " %"), reading_text(cells[1], gpu->power_w, 1, ""),
            reading_text(cells[2], gpu->power_limit_w, 1, " W"),
            reading_text(cells[3], gpu->memory_used_bytes, 1e9, ""),
            reading_text(cells[4], gpu->memory_total_bytes, 1e9, " GB"),
            reading_text(cells[5], gpu->temperature_c, 1, " °C"),
            reading_text(cells[6], gpu->sm_clock_mhz, 1, " MHz"));
    if (gpu->state != STK_GPU_GOOD) fprintf(stderr, "; %s", stk_gpu_state_name(gpu->state));
    fputc('\n', stderr);
}

static void show_gpus(train_job *job, uint64_t epochs)
{
    static stk__run_gpu gpus[STK_GPUS];
    if (!stk__run_monitor_due(job->train.monitor, epochs)) return;
    stk__progress_end(&job->progress);
    const int count = stk__run_monitor_read(job->train.monitor, epochs, gpus);
    for (int i = 0; i < count && !stk__cli_quiet; i++)
        print_gpu(&gpus[i]);
}

static void show_step(void *context, const stk__run_report *r)
{
    train_job *job = context;
    const stk_loader_info *info = stk_loader_describe(job->train.session.loader);
    char what[48];
    show_gpus(job, r->at.epoch);
    if (job->shown_epoch != r->at.epoch + 1) {
        stk__progress_end(&job->progress);
        job->progress.start_ns = stk__clock_ns();
        job->shown_epoch = r->at.epoch + 1;
    }
    if (r->logged)
        snprintf(job->progress.note, sizeof job->progress.note, "  wait %.0f %%  loss %.4g",
                 100 * r->wait_share, r->log.score.loss);
    snprintf(what, sizeof what, "epoch %llu of %llu", (unsigned long long)r->at.epoch + 1,
             (unsigned long long)r->epochs);
    const uint64_t done = r->at.batch * (uint64_t)info->batch_size;
    stk__progress_show(&job->progress, what, done < info->sample_count ? done : info->sample_count,
                       info->sample_count);
}

static void show_log(void *context, const stk__run_report *r)
{
    train_job *job = context;
    if (stk__cli_verbose < 1 && stk__trainer_has_val(job->train.session.trainer)) return;
    stk__progress_end(&job->progress);
    if (stk__cli_quiet) return;
    fprintf(stderr, "step %-6lld loss %-8.5g", (long long)r->log_at.step, r->log.score.loss);
    stk__cli_print_score(stderr, stk__trainer_describe(job->train.session.trainer)->network->task,
                         &r->log.score);
    fprintf(stderr, "  %s samples/s, wait %.0f %%\n", stk__cli_rate(r->samples_per_s), 100 * r->wait_share);
}

static void show_evaluation(void *context, const stk__run_report *r)
{
    train_job *job = context;
    stk__progress_end(&job->progress);
    if (stk__cli_quiet) return;
    fprintf(stderr, "epoch %-4llu loss %-8.4g val_loss %-8.4g", (unsigned long long)r->at.epoch,
            r->logged ? r->log.score.loss : NAN, r->score.loss);
    stk__cli_print_score(stderr, stk__trainer_describe(job->train.session.trainer)->network->task, &r->score);
    fprintf(stderr, "%s\n", r->best ? "  best so far" : "");
}

/* --- at the end ------------------------------------------------------------------------------------------
 */

static void print_end(train_job *job)
{
    const stk__run_report *r = &job->train.run.report;
    const stk__session *s = &job->train.session;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__stall *stall = stk__trainer_stall(s->trainer);
    char advice[256];
    show_gpus(job, r->at.epoch);
    stk__progress_end(&job->progress);
    if (stk__cli_quiet) return;
    if (!job->train.run.step_count && !r->interrupted) {
        stk__train_print_nothing(&job->train);
        return;
    }
    if (job->train.run.step_count) stk__train_print_stall(&job->train.run, stall);
    stk__train_print_device_batches(s);
    if (r->wall_s > 0) printf("%s samples/s", stk__cli_rate((double)r->at.samples / r->wall_s));
    if (!isnan(r->best_value))
        printf("; best %s %.4g after step %lld", stk__task_describe(info->network->task)->values[info->value],
               r->best_value, (long long)r->best_step);
    printf("%s\n", r->interrupted     ? "; interrupted"
                   : r->stopped_early ? "; stopped early: no improvement"
                                      : "");
    if (r->at.skipped)
        printf("%lld of %s %s skipped: gradients overflow in fp16 (loss scale now %g)\n",
               (long long)r->at.skipped, stk__cli_count((uint64_t)(r->at.step + r->at.skipped), "step"),
               r->at.skipped == 1 ? "was" : "were", r->at.loss_scale);
    if (r->checkpoint[0]) printf("last checkpoint: %s\n", r->checkpoint);
    printf("run: %s (report.html, config.yaml, run.json, metrics.jsonl, checkpoints)\n",
           stk__run_folder_path(job->train.folder));
    stk__run_advice(s, stall, r->wall_s, advice, sizeof advice);
    printf("advice: %s\n",
           advice[0] ? advice : "nothing stands out: the engine computes nearly all of the time");
    if (r->interrupted)
        printf("resume with: stoker train --run %s --resume\n", stk__run_folder_path(job->train.folder));
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
    const stk__train_session *t = &job->train;
    const int code = stk__cli_fail(error);
    if (t->run.report.checkpoint[0])
        fprintf(stderr, "newest checkpoint: %s; resume with: stoker train --run %s --resume\n",
                t->run.report.checkpoint, stk__run_folder_path(t->folder));
    return code;
}

static stk_status write_run_json(train_job *job, bool failed, stk_error *error)
{
    stk__train_outcome result;
    const stk_status status = stk__train_session_finish(&job->train, failed, &result, error);
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
    stk__progress_end(&job->progress);
    if (failed) code = tell_failure(job, error);
    if (t->folder) {
        keep_failure(&code, write_run_json(job, failed, &next), &next);
        keep_failure(&code, write_artifacts(job, &next), &next);
        if (!failed && !stk__cli_json) print_end(job);
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

static stk_status print_plan(const train_job *job, stk_error *error)
{
    const stk__trainer_info *info = stk__trainer_describe(job->train.session.trainer);
    if (stk__cli_json) {
        stk__cli_print_json(stk__plan_json(&job->train.session));
        return STK_OK;
    }
    stk__buffer text = {0};
    const stk_status status = stk__pass_print(info->pass, info->network, &text, error);
    if (status == STK_OK) fwrite(text.data, 1, text.size_bytes, stdout);
    stk__buffer_fini(&text);
    printf("  %-14s %9s\n", "batches", stk__cli_bytes((double)job->train.session.batch_bytes));
    if (job->train.session.cache_bytes)
        printf("  %-14s %9s\n", "cache", stk__cli_bytes((double)job->train.session.cache_bytes));
    if (job->train.session.device_bytes)
        printf("  %-14s %9s\n  %-14s %9s\n", "CUDA itself",
               stk__cli_bytes((double)job->train.session.cuda_bytes), job->train.session.device,
               stk__cli_bytes((double)job->train.session.device_bytes));
    printf("  %-14s %9s\n  %-14s %9s\n", "program", stk__cli_bytes((double)job->train.session.program_bytes),
           "at most", stk__cli_bytes((double)job->train.session.planned_bytes));
    return status;
}

static stk_status run_job(train_job *job, stk_error *error)
{
    stk__train_session *t = &job->train;
    t->session.config = job->arguments.config;
    t->start.on_top = stk__arguments_config(&job->arguments);
    t->stop = stk__interrupt_flag();
    t->tell_sample = stk__cli_tell_sample;
    t->tell_context = &job->progress;
    t->watch = (stk__run_watch){.context = job,
                                .started = show_started,
                                .stepped = show_step,
                                .logged = show_log,
                                .evaluated = show_evaluation};
    STK__TRY(stk__train_session_open(t, job->plan, error));
    print_beginning(job);
    if (job->plan) return print_plan(job, error);
    stk__interrupt_wait(true);
    return stk__train_session_train(t, error);
}

/* --- flags -----------------------------------------------------------------------------------------------
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
