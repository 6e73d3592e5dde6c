/* SPDX-License-Identifier: Apache-2.0 */
/* What `stoker train` prints: device, network and memory before step 1, a line per evaluation (or per log
 * interval), at the end where the time went and what to change. Called by the thread that trains. */
#include "output/train_output.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "loader/loader_open.h"
#include "loader/mask_decision.h"
#include "report/report.h"
#include "session/run_advice.h"
#include "session/run_json.h"

#include <math.h>
#include <string.h>

enum { BAR = 30, BEFORE_BAR = 36, CELL = 32, LABEL = 11 /* columns of "  device   " */ };

/* --- before step 1 ---------------------------------------------------------------------------------------
 */

static const char *bound_word(const stk__memory_plan *plan)
{
    return plan->estimate_why ? "about" : "at most";
}

static void print_memory(const stk__session *s, const stk__trainer_info *info, FILE *to)
{
    fprintf(to, "  memory   %s %s: %s for weights and optimizer state, %s for activations",
            bound_word(&s->plan), stk__cli_bytes((double)s->plan.planned_bytes),
            stk__cli_bytes((double)info->model_bytes), stk__cli_bytes((double)info->pass_bytes));
    if (info->report->recomputed_layers)
        fprintf(to, " (%s recomputed)", stk__cli_count((uint64_t)info->report->recomputed_layers, "layer"));
    fprintf(to, ", %s for batches", stk__cli_bytes((double)s->plan.batch_bytes));
    if (s->plan.cache_bytes) fprintf(to, ", %s for the cache", stk__cli_bytes((double)s->plan.cache_bytes));
    fprintf(to, ", %s for the program\n", stk__cli_bytes((double)s->plan.program_bytes));
    if (s->plan.estimate_why) fprintf(to, "           an estimate: %s\n", s->plan.estimate_why);
}

static void print_network(const stk__trainer_info *info, FILE *to)
{
    const stk__network *network = info->network;
    fprintf(to, "  network  %s (%s): %s parameters, %sFLOP a sample\n", network->name,
            stk__task_word(network->task), stk__cli_scaled((double)info->report->param_count),
            stk__cli_scaled(info->report->step_flops / (double)info->pass_samples));
}

/* A data set that is smaller than a batch is one batch; memory is planned for that. */
static void print_batches(const stk__session *s, FILE *to)
{
    const int64_t asked = stk_loader_describe(s->loader)->batch_size,
                  planned = stk__trainer_describe(s->trainer)->pass_samples;
    fprintf(to, "batches of %lld", (long long)planned);
    if (planned < asked) fprintf(to, " (batch_size=%lld, but there are no more samples)", (long long)asked);
    fputc('\n', to);
}

static void print_data(const stk__session *s, FILE *to)
{
    const stk_loader_info *info = stk_loader_describe(s->loader);
    fprintf(to, "  data     %s: %s, %s", s->data.root, info->layout,
            stk__cli_count(info->sample_count, "sample"));
    if (s->val_loader)
        fprintf(to, " for training, %s for validation",
                stk__cli_grouped(stk_loader_describe(s->val_loader)->sample_count));
    if (info->w) fprintf(to, ", %dx%d %s", info->w, info->h, info->channels == 1 ? "gray" : "RGB");
    if (info->window_rows) fprintf(to, ", windows of %d x %d", info->window_rows, info->feature_count);
    if (info->class_count) fprintf(to, ", %s", stk__cli_count((uint64_t)info->class_count, "class"));
    fprintf(to, ", ");
    print_batches(s, to);
    stk__cli_print_found(to, info, NULL);
    const stk_loader_info *val = s->val_loader ? stk_loader_describe(s->val_loader) : NULL;
    if (val && strcmp(val->fingerprint, info->fingerprint) != 0) stk__cli_print_found(to, val, "val");
}

/* Which color is which class, and how much of it there is. */
static void print_mask_colors(const stk__session *s, FILE *to)
{
    const stk_loader_info *info = stk_loader_describe(s->loader);
    uint64_t pixels = 0;
    for (int32_t i = 0; i < s->masks->color_count; i++)
        pixels += s->masks->colors[i].pixels;
    for (int32_t i = 0; i < s->masks->color_count; i++) {
        const stk__survey_color *c = &s->masks->colors[i];
        const int id = stk__loader_color_class(s->loader, c->color);
        const char *name =
            id >= 0 && id < info->class_count && info->class_names ? info->class_names[id] : "";
        fprintf(to, "           #%06x ", (unsigned)c->color);
        if (id < 0 || id == 255)
            fprintf(to, "%s", id < 0 ? "has no class" : "is ignored");
        else
            fprintf(to, "class %d%s%s", id, *name && *name != '#' ? " " : "", *name == '#' ? "" : name);
        fprintf(to, ": %s, %.2g %% of the pixels\n", stk__cli_count(c->masks, "mask"),
                100.0 * (double)c->pixels / (double)pixels);
    }
}

static void print_masks(const stk__session *s, FILE *to)
{
    const stk__mask_decision *d = stk__loader_masks(s->loader);
    if (!d) return;
    fprintf(to, "  masks    looked at %s", stk__cli_count(d->masks, "mask"));
    if (d->part_count > d->masks) fprintf(to, " of %s", stk__cli_grouped(d->part_count));
    if (d->kept)
        fprintf(to, " earlier; their files have not changed");
    else
        fprintf(to, " in %.1f s", d->seconds);
    if (d->resized)
        fprintf(to, "; %s of another size than the image: resized to it (nearest neighbor)",
                stk__cli_grouped(d->resized));
    fputc('\n', to);
    if (s->masks && s->masks->colored.count) print_mask_colors(s, to);
}

/* Linear scaling is advice; nothing is changed. */
static void print_rate_advice(const stk__session *s, FILE *to)
{
    static const int64_t batches[] = {0, 32, 16, 8};
    const int64_t base = batches[s->run.preset];
    const int64_t batch = stk_loader_describe(s->loader)->batch_size * s->train.accumulation;
    if (base && batch != base)
        fprintf(to,
                "  advice   an optimizer step sees %s, preset %s assumes %lld: linear scaling gives "
                "optimizer.lr=%g (it stays %g)\n",
                stk__cli_count((uint64_t)batch, "sample"),
                s->run.preset == STK_PRESET_BEST    ? "best"
                : s->run.preset == STK_PRESET_DEBUG ? "debug"
                                                    : "memory_limited",
                (long long)base, s->optimizer.lr * (double)batch / (double)base, s->optimizer.lr);
}

static void print_effects(const stk__train_output *out)
{
    char own[1024];
    snprintf(own, sizeof own, "%s/config.yaml", out->train->start.path ? out->train->start.path : "");
    stk__cli_print_effects_now(out->train->session.config, out->train->start.resume ? own : NULL);
}

void stk__train_output_beginning(const stk__train_output *out)
{
    const stk__session *s = &out->train->session;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__cpu_budget budget = stk__cpu_budget_read(NULL);
    const char *expects = stk__run_preset_expects((stk__run_preset)s->run.preset);
    if (stk__cli_quiet) return;
    FILE *to = stk__cli_wrap_begin(stderr);
    fprintf(to, "  device   %s, %s; engine %s%s%s%s, %s\n", s->device[0] ? s->device : "cpu", budget.why,
            info->engine->name, info->engine->version[0] ? " (" : "", info->engine->version,
            info->engine->version[0] ? ")" : "", stk__cli_count((uint64_t)info->engine->threads, "thread"));
    print_network(info, to);
    print_memory(s, info, to);
    print_data(s, to);
    print_masks(s, to);
    if (out->train->folder) fprintf(to, "  run      %s\n", stk__run_folder_path(out->train->folder));
    if (expects) fprintf(to, "  preset   on a GPU it is expected to be busy %s of the time\n", expects);
    print_rate_advice(s, to);
    stk__cli_wrap_end(to, stderr, LABEL);
    print_effects(out);
}

stk_status stk__train_output_plan(const stk__train_output *out, stk_error *error)
{
    const stk__session *s = &out->train->session;
    const stk__memory_plan *p = &s->plan;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    if (stk__cli_json) {
        stk__cli_print_json(stk__plan_json(s));
        return STK_OK;
    }
    stk__buffer text = {0};
    const stk_status status =
        stk__pass_print(info->pass, info->network, stk__cli_width(stdout), &text, error);
    FILE *to = stk__cli_wrap_begin(stdout);
    if (status == STK_OK) fwrite(text.data, 1, text.size_bytes, to);
    stk__buffer_fini(&text);
    const struct {
        const char *name;
        uint64_t bytes;
    } rows[] = {{"batches", p->batch_bytes},       {"cache", p->cache_bytes},
                {"temporary", p->temporary_bytes}, {"CUDA itself", p->cuda_bytes},
                {s->device, p->device_bytes},      {"program", p->program_bytes},
                {bound_word(p), p->planned_bytes}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].bytes) fprintf(to, "  %-14s %9s\n", rows[i].name, stk__cli_bytes((double)rows[i].bytes));
    fprintf(to, "for ");
    print_batches(s, to);
    if (p->estimate_why) fprintf(to, "an estimate: %s\n", p->estimate_why);
    char verdict[256];
    stk__memory_verdict_text(&s->verdict, verdict, sizeof verdict);
    fprintf(to, "%s\n", verdict);
    stk__cli_wrap_end(to, stdout, 4);
    return status;
}

/* --- during the run --------------------------------------------------------------------------------------
 */

static uint64_t samples_of(const stk__train_output *out)
{
    return stk_loader_describe(out->train->session.loader)->sample_count;
}

/* Of the epoch that is under way. */
static uint64_t epoch_done(const stk__train_output *out, const stk__run_report *r)
{
    const uint64_t batch_size = (uint64_t)stk_loader_describe(out->train->session.loader)->batch_size,
                   done = r->at.batch * batch_size;
    return done < samples_of(out) ? done : samples_of(out);
}

static uint64_t samples_done(const stk__train_output *out, const stk__run_report *r)
{
    return r->at.epoch * samples_of(out) + epoch_done(out, r);
}

static void show_started(void *context, const stk__run_report *r)
{
    stk__train_output *out = context;
    if (stk__cli_quiet) return;
    stk__cli_print_skipped(r->skipped_checkpoints, r->skipped_reason);
    if (r->resumed)
        fprintf(stderr, "resumed from step %lld (%s)\n", (long long)r->resumed_step, r->checkpoint);
    else if (out->train->start.resume)
        fprintf(stderr, "no checkpoint in %s yet: the run starts from the beginning\n",
                stk__run_folder_path(out->train->folder));
    if (stk__trainer_describe(out->train->session.trainer)->epoch_again)
        fprintf(stderr, "epoch %llu restarts: the batch size has changed\n",
                (unsigned long long)r->at.epoch + 1);
    stk__progress_start(&out->progress);
    if (r->epochs > 1) out->progress.run_total = r->epochs * samples_of(out);
    out->progress.run_from = samples_done(out, r);
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
    FILE *to = stk__cli_wrap_begin(stderr);
    fprintf(to, "GPU %s: util %s, %s of %s, memory %s of %s, %s, SM %s", gpu->label.text,
            reading_text(cells[0], gpu->util_percent, 1, " %"), reading_text(cells[1], gpu->power_w, 1, ""),
            reading_text(cells[2], gpu->power_limit_w, 1, " W"),
            reading_text(cells[3], gpu->memory_used_bytes, 1e9, ""),
            reading_text(cells[4], gpu->memory_total_bytes, 1e9, " GB"),
            reading_text(cells[5], gpu->temperature_c, 1, " °C"),
            reading_text(cells[6], gpu->sm_clock_mhz, 1, " MHz"));
    if (gpu->state != STK_GPU_GOOD) fprintf(to, "; %s", stk_gpu_state_name(gpu->state));
    fputc('\n', to);
    stk__cli_wrap_end(to, stderr, LABEL);
}

static void show_gpus(stk__train_output *out, uint64_t epochs)
{
    static stk__run_gpu gpus[STK_GPUS];
    if (!stk__run_monitor_due(out->train->monitor, epochs)) return;
    stk__progress_end(&out->progress);
    const int count = stk__run_monitor_read(out->train->monitor, epochs, gpus);
    for (int i = 0; i < count && !stk__cli_quiet; i++)
        print_gpu(&gpus[i]);
}

static void show_step(void *context, const stk__run_report *r)
{
    stk__train_output *out = context;
    char what[48];
    show_gpus(out, r->at.epoch);
    if (out->shown_epoch != r->at.epoch + 1) {
        stk__progress_end(&out->progress);
        out->shown_epoch = r->at.epoch + 1;
    }
    if (r->logged)
        snprintf(out->progress.note, sizeof out->progress.note, "  loss %.4g  wait %.0f %%",
                 r->log.score.loss, 100 * r->wait_share);
    snprintf(what, sizeof what, "epoch %llu/%llu", (unsigned long long)r->at.epoch + 1,
             (unsigned long long)r->epochs);
    out->progress.run_done = samples_done(out, r);
    stk__progress_show(&out->progress, what, epoch_done(out, r), samples_of(out));
}

static void show_log(void *context, const stk__run_report *r)
{
    stk__train_output *out = context;
    if (stk__cli_verbose < 1 && stk__trainer_has_val(out->train->session.trainer)) return;
    stk__progress_end(&out->progress);
    if (stk__cli_quiet) return;
    FILE *to = stk__cli_wrap_begin(stderr);
    fprintf(to, "step %-6lld loss %-8.5g", (long long)r->log_at.step, r->log.score.loss);
    stk__cli_print_score(to, stk__trainer_describe(out->train->session.trainer)->network->task,
                         &r->log.score);
    fprintf(to, "  %s samples/s, wait %.0f %%\n", stk__cli_rate(r->samples_per_s), 100 * r->wait_share);
    stk__cli_wrap_end(to, stderr, LABEL);
}

static void show_evaluation(void *context, const stk__run_report *r)
{
    stk__train_output *out = context;
    stk__progress_end(&out->progress);
    if (stk__cli_quiet) return;
    FILE *to = stk__cli_wrap_begin(stderr);
    fprintf(to, "epoch %-4llu loss %-8.4g val_loss %-8.4g", (unsigned long long)r->at.epoch, r->epoch_loss,
            r->score.loss);
    stk__cli_print_score(to, stk__trainer_describe(out->train->session.trainer)->network->task, &r->score);
    const bool colors = r->best && stk__cli_colors(stderr);
    fprintf(to, "%s%s%s\n", colors ? STK_PAINT_GOOD : "", r->best ? "  best so far" : "",
            colors ? STK_PAINT_OFF : "");
    stk__cli_wrap_end(to, stderr, LABEL);
}

stk__run_watch stk__train_output_watch(stk__train_output *out)
{
    return (stk__run_watch){.context = out,
                            .started = show_started,
                            .stepped = show_step,
                            .logged = show_log,
                            .evaluated = show_evaluation};
}

/* --- at the end ------------------------------------------------------------------------------------------
 */

/* Of the longest bar there can be. */
static int bar_columns(void)
{
    const int width = stk__cli_width(stdout), room = width - BEFORE_BAR;
    if (!width || room > BAR) return BAR;
    return room > 0 ? room : 0;
}

static void print_stall(stk__run *run, const stk__stall *stall)
{
    const double wall_s = run->report.wall_s;
    const int columns = bar_columns();
    FILE *to = stk__cli_wrap_begin(stdout);
    fprintf(to, "where the time went: %.1f s, %s, median %.4g ms a step\n", wall_s,
            stk__cli_count(run->step_count, "step"), stk__run_step_ms(run));
    stk__cli_wrap_end(to, stdout, 2);
    for (int row = 0; row < STK_STALL_ROWS; row++) {
        const double share = stk__stall_share(stall, (stk__stall_row)row, wall_s);
        const int bar = (int)lrint(share * columns);
        if (share < 0.0005) continue;
        printf("  %-24s %5.1f %%%s", stk__report_stall_words(stk__stall_name((stk__stall_row)row)),
               100 * share, bar ? "  " : "");
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

/* Of both parts, over all epochs of this call. */
static void print_bad_samples(const stk__train_output *out)
{
    const stk__session *s = &out->train->session;
    stk_loader *const loaders[] = {s->loader, s->val_loader};
    uint64_t bad = 0;
    for (int i = 0; i < 2; i++) {
        stk_loader_stats stats = {0};
        if (loaders[i]) stk_loader_get_stats(loaders[i], &stats);
        bad += stats.bad_samples;
    }
    if (bad)
        printf("%s %s: %s/ledger.jsonl names each\n", stk__cli_count(bad, "corrupt sample"),
               s->data.on_bad_sample == STK_BAD_REPLACE ? "replaced" : "skipped",
               stk__run_folder_path(out->train->folder));
}

/* Up to three lines, the most important first. */
static void print_advice(stk__train_output *out)
{
    stk__train_session *t = out->train;
    const stk__run_result result = {.session = &t->session, .run = &t->run, .artifacts = &t->artifacts};
    stk__advice list[STK_ADVICE_MOST];
    const int count = stk__run_advise(&result, list);
    FILE *to = stk__cli_wrap_begin(stdout);
    for (int i = 0; i < count; i++)
        fprintf(to, "advice: %s\n", list[i].text);
    if (!count && !stk__run_is_judged(&t->run))
        fprintf(to, "advice: none: %.1f s and %llu steps are too few to judge\n", t->run.report.wall_s,
                (unsigned long long)t->run.step_count);
    else if (!count)
        fprintf(to, "advice: nothing stands out in where the time went\n");
    stk__cli_wrap_end(to, stdout, 8);
}

static void print_run(const char *path)
{
    FILE *to = stk__cli_wrap_begin(stdout);
    fprintf(to, "run: %s (report.html, config.yaml, run.json, metrics.jsonl, checkpoints)\n", path);
    stk__cli_wrap_end(to, stdout, 5);
}

/* A finished run was resumed: no step was left. */
static void print_nothing(const stk__train_output *out)
{
    const stk__run_report *r = &out->train->run.report;
    const char *path = stk__run_folder_path(out->train->folder);
    if (r->stopped_early)
        printf("nothing to do: the run stopped early after %s without improvement\n",
               stk__cli_count(r->at.epoch, "epoch"));
    else
        printf("nothing to do: %s of %llu done; for more: stoker train --run %s --resume train.epochs=%llu\n",
               stk__cli_count(r->at.epoch, "epoch"), (unsigned long long)r->epochs, path,
               2 * (unsigned long long)r->epochs);
    print_run(path);
}

void stk__train_output_end(stk__train_output *out)
{
    const stk__run_report *r = &out->train->run.report;
    const stk__session *s = &out->train->session;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__stall *stall = stk__trainer_stall(s->trainer);
    show_gpus(out, r->at.epoch);
    stk__progress_end(&out->progress);
    if (stk__cli_quiet) return;
    if (!out->train->run.step_count && !r->interrupted) {
        print_nothing(out);
        return;
    }
    if (out->train->run.step_count) print_stall(&out->train->run, stall);
    print_device_batches(s);
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
    print_bad_samples(out);
    stk__cli_print_file_notes("", "", s->loader);
    stk__cli_print_file_notes("", "validation: ", s->val_loader);
    if (r->checkpoint[0]) printf("last checkpoint: %s\n", r->checkpoint);
    print_run(stk__run_folder_path(out->train->folder));
    print_advice(out);
    if (r->interrupted)
        printf("resume with: stoker train --run %s --resume\n", stk__run_folder_path(out->train->folder));
}
