/* SPDX-License-Identifier: Apache-2.0 */
/* What `stoker train` prints: device, network and memory before step 1, a line per epoch (or per log
 * interval), at the end where the time went and what to change. Called by the run's own thread. */
#include "train_print.h"

#include "session/run_json.h"

#include "core/clock.h"
#include "core/cpu.h"

#include <math.h>
#include <string.h>

enum { BAR = 30 };

static const char *count_text(double value, char text[24])
{
    if (value >= 1e9)
        snprintf(text, 24, "%.2f G", value * 1e-9);
    else if (value >= 1e6)
        snprintf(text, 24, "%.2f M", value * 1e-6);
    else if (value >= 1e4)
        snprintf(text, 24, "%.0f k", value * 1e-3);
    else
        snprintf(text, 24, "%.0f", value);
    return text;
}

/* --- before step 1 ---------------------------------------------------------------------------------------
 */

static void print_memory(const stk__session *s, const stk__trainer_info *info)
{
    fprintf(stderr, "  memory   at most %s: %s for weights and optimizer state, %s for activations",
            stk__cli_bytes((double)s->plan.planned_bytes), stk__cli_bytes((double)info->model_bytes),
            stk__cli_bytes((double)info->pass_bytes));
    if (info->report->recomputed_layers)
        fprintf(stderr, " (%d layers recomputed)", info->report->recomputed_layers);
    fprintf(stderr, ", %s for batches", stk__cli_bytes((double)s->plan.batch_bytes));
    if (s->plan.cache_bytes)
        fprintf(stderr, ", %s for the cache", stk__cli_bytes((double)s->plan.cache_bytes));
    fprintf(stderr, ", %s for the program\n", stk__cli_bytes((double)s->plan.program_bytes));
}

static void print_network(const stk__trainer_info *info)
{
    char params[24], flops[24];
    const stk__network *network = info->network;
    fprintf(stderr, "  network  %s (%s): %s parameters, %sFLOP a sample\n", network->name,
            stk__task_word(network->task), count_text((double)info->report->param_count, params),
            count_text(info->report->step_flops / (double)info->pass_samples, flops));
}

static void print_data(const stk__session *s)
{
    const stk_loader_info *info = stk_loader_describe(s->loader);
    fprintf(stderr, "  data     %s: %s, %s samples", s->data.root, info->layout,
            stk__cli_grouped(info->sample_count));
    if (s->val_loader)
        fprintf(stderr, " for training, %s for validation",
                stk__cli_grouped(stk_loader_describe(s->val_loader)->sample_count));
    if (info->w) fprintf(stderr, ", %dx%d %s", info->w, info->h, info->channels == 1 ? "grey" : "RGB");
    if (info->window_rows) fprintf(stderr, ", windows of %d x %d", info->window_rows, info->feature_count);
    if (info->class_count) fprintf(stderr, ", %d classes", info->class_count);
    fprintf(stderr, ", batches of %lld\n", (long long)info->batch_size);
}

/* Linear scaling is advice; nothing is changed. */
static void print_rate_advice(const stk__session *s)
{
    static const int64_t batches[] = {0, 32, 16, 8};
    const int64_t base = batches[s->run.preset];
    const int64_t batch = stk_loader_describe(s->loader)->batch_size * s->train.accumulation;
    if (base && batch != base)
        fprintf(
            stderr,
            "  advice   an optimizer step sees %lld samples, preset %s assumes %lld: linear scaling gives "
            "optimizer.lr=%g (it stays %g)\n",
            (long long)batch,
            s->run.preset == STK_PRESET_BEST    ? "best"
            : s->run.preset == STK_PRESET_DEBUG ? "debug"
                                                : "memory_limited",
            (long long)base, s->optimizer.lr * (double)batch / (double)base, s->optimizer.lr);
}

void stk__train_print_beginning(const stk__train_screen *screen)
{
    const stk__session *s = screen->session;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__cpu_budget budget = stk__cpu_budget_read(NULL);
    const char *expects = stk__run_preset_expects((stk__run_preset)s->run.preset);
    if (stk__cli_quiet) return;
    fprintf(stderr, "  device   %s, %s; engine %s%s%s%s, %d thread%s\n", s->device[0] ? s->device : "cpu",
            budget.why, info->engine->name, info->engine->version[0] ? " (" : "", info->engine->version,
            info->engine->version[0] ? ")" : "", info->engine->threads,
            info->engine->threads == 1 ? "" : "s");
    print_network(info);
    print_memory(s, info);
    print_data(s);
    if (screen->folder) fprintf(stderr, "  run      %s\n", stk__run_folder_path(screen->folder));
    if (expects) fprintf(stderr, "  preset   on a GPU it is expected to be busy %s of the time\n", expects);
    print_rate_advice(s);
    stk__cli_print_effects(s->config);
}

/* --- during the run --------------------------------------------------------------------------------------
 */

void stk__train_print_score(FILE *file, stk__task task, const stk__score *score)
{
    const stk__task_info *info = stk__task_describe(task);
    for (int i = 0; i < info->value_count; i++) {
        const int width = i + 1 < info->value_count ? 7 : 0; /* columns, but no blanks at the end */
        if (isnan(score->values[i]))
            fprintf(file, "  %s %-*s", info->values[i], width, "-");
        else
            fprintf(file, "  %s %-*.4g", info->values[i], width, score->values[i]);
    }
}

void stk__train_print_skipped(int count, const char *reason)
{
    if (count && !stk__cli_quiet)
        fprintf(stderr, "stoker: %d checkpoint%s not valid and passed over: %s\n", count,
                count == 1 ? " is" : "s are", reason);
}

static void show_started(void *context, const stk__run_report *r)
{
    stk__train_screen *screen = context;
    if (stk__cli_quiet) return;
    stk__train_print_skipped(r->skipped_checkpoints, r->skipped_reason);
    if (r->resumed)
        fprintf(stderr, "resumed from step %lld (%s)\n", (long long)r->resumed_step, r->checkpoint);
    if (stk__trainer_describe(screen->run->trainer)->epoch_again)
        fprintf(stderr, "epoch %llu restarts: the batch size has changed\n",
                (unsigned long long)r->at.epoch + 1);
    stk__progress_start(&screen->progress);
}

static void show_gpus(stk__train_screen *screen, uint64_t epochs)
{
    if (!stk__train_monitor_due(screen->monitor, epochs)) return;
    stk__progress_end(&screen->progress);
    stk__train_monitor_show(screen->monitor, epochs);
}

static void show_step(void *context, const stk__run_report *r)
{
    stk__train_screen *screen = context;
    const stk_loader_info *info = stk_loader_describe(screen->session->loader);
    char what[48];
    show_gpus(screen, r->at.epoch);
    if (screen->shown_epoch != r->at.epoch + 1) {
        stk__progress_end(&screen->progress);
        screen->progress.start_ns = stk__clock_ns();
        screen->shown_epoch = r->at.epoch + 1;
    }
    if (r->logged)
        snprintf(screen->progress.note, sizeof screen->progress.note, "  wait %.0f %%  loss %.4g",
                 100 * r->wait_share, r->log.score.loss);
    snprintf(what, sizeof what, "epoch %llu of %llu", (unsigned long long)r->at.epoch + 1,
             (unsigned long long)r->epochs);
    const uint64_t done = r->at.batch * (uint64_t)info->batch_size;
    stk__progress_show(&screen->progress, what, done < info->sample_count ? done : info->sample_count,
                       info->sample_count);
}

static void show_log(void *context, const stk__run_report *r)
{
    stk__train_screen *screen = context;
    if (stk__cli_verbose < 1 && stk__trainer_has_val(screen->session->trainer)) return;
    stk__progress_end(&screen->progress);
    if (stk__cli_quiet) return;
    fprintf(stderr, "step %-6lld loss %-8.5g", (long long)r->log_at.step, r->log.score.loss);
    stk__train_print_score(stderr, stk__trainer_describe(screen->session->trainer)->network->task,
                           &r->log.score);
    fprintf(stderr, "  %.4g samples/s, wait %.0f %%\n", r->samples_per_s, 100 * r->wait_share);
}

static void show_evaluation(void *context, const stk__run_report *r)
{
    stk__train_screen *screen = context;
    stk__progress_end(&screen->progress);
    if (stk__cli_quiet) return;
    fprintf(stderr, "epoch %-4llu loss %-8.4g val_loss %-8.4g", (unsigned long long)r->at.epoch,
            r->logged ? r->log.score.loss : NAN, r->score.loss);
    stk__train_print_score(stderr, stk__trainer_describe(screen->session->trainer)->network->task, &r->score);
    fprintf(stderr, "%s\n", r->best ? "  best so far" : "");
    screen->lines++;
}

stk__run_watch stk__train_watch(stk__train_screen *screen)
{
    return (stk__run_watch){.context = screen,
                            .started = show_started,
                            .stepped = show_step,
                            .logged = show_log,
                            .evaluated = show_evaluation};
}

/* --- at the end ------------------------------------------------------------------------------------------
 */

static void print_stall(stk__run *run, const stk__stall *stall)
{
    const double wall_s = run->report.wall_s;
    char name[48];
    printf("where the time went: %.1f s, %llu steps, %.4g ms a step\n", wall_s,
           (unsigned long long)run->step_count, stk__run_step_ms(run));
    for (int row = 0; row < STK_STALL_ROWS; row++) {
        const double share = stk__stall_share(stall, (stk__stall_row)row, wall_s);
        const int bar = (int)lrint(share * BAR);
        if (share < 0.0005) continue;
        snprintf(name, sizeof name, "%s%s", row <= STK_STALL_AUGMENT ? "wait for data: " : "",
                 stk__stall_name((stk__stall_row)row));
        printf("  %-24s %5.1f %%%s", name, 100 * share, bar ? "  " : "");
        for (int i = 0; i < bar; i++)
            fputs("█", stdout);
        printf("\n");
    }
}

/* Beside the network, so that it is no row of the table. */
static void print_device_batches(const stk__session *s)
{
    stk_loader_stats stats;
    stk_loader_get_stats(s->loader, &stats);
    if (!stats.device_batches) return;
    const double each_ms = 1e-6 / (double)stats.device_batches;
    printf("  meanwhile, per batch: %.4g ms of copies to a device, %.4g ms of its kernels\n",
           each_ms * (double)stats.device_copy_ns, each_ms * (double)stats.device_kernel_ns);
}

void stk__train_print_end(stk__train_screen *screen)
{
    const stk__run_report *r = &screen->run->report;
    const stk__session *s = screen->session;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__stall *stall = stk__trainer_stall(s->trainer);
    char advice[256];
    show_gpus(screen, r->at.epoch);
    stk__progress_end(&screen->progress);
    if (stk__cli_quiet) return;
    if (screen->run->step_count) print_stall(screen->run, stall);
    print_device_batches(s);
    if (r->wall_s > 0) printf("%.4g samples/s", (double)r->at.samples / r->wall_s);
    if (!isnan(r->best_value))
        printf("; best %s %.4g after step %lld", stk__task_describe(info->network->task)->values[info->value],
               r->best_value, (long long)r->best_step);
    printf("%s\n", r->interrupted     ? "; interrupted"
                   : r->stopped_early ? "; stopped early: no improvement"
                                      : "");
    if (r->at.skipped)
        printf("%lld of %lld steps were skipped: gradients overflow in fp16 (loss scale now %g)\n",
               (long long)r->at.skipped, (long long)(r->at.step + r->at.skipped), r->at.loss_scale);
    if (r->checkpoint[0]) printf("last checkpoint: %s\n", r->checkpoint);
    printf("run: %s (report.html, config.yaml, run.json, metrics.jsonl, checkpoints)\n",
           stk__run_folder_path(screen->folder));
    stk__run_advice(s, stall, r->wall_s, advice, sizeof advice);
    printf("advice: %s\n",
           advice[0] ? advice : "nothing stands out: the engine computes nearly all of the time");
    if (r->interrupted)
        printf("resume with: stoker train --run %s --resume\n", stk__run_folder_path(screen->folder));
}
