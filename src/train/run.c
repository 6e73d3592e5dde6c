/* SPDX-License-Identifier: Apache-2.0 */
/* A training run: the loop over epochs and steps with logs, evaluations, checkpoints, early stopping and
 * resuming. It drives one trainer and writes into one run folder, if it has one; it never prints: callbacks
 * report. The clocks of a run start with its first step or evaluation. One thread. */
#include "train/run.h"

#include "core/clock.h"
#include "core/json_text.h"
#include "train/run_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void tell(const stk__run *run, void (*who)(void *, const stk__run_report *))
{
    if (who) who(run->watch.context, &run->report);
}

static bool asked_to_stop(const stk__run *run)
{
    return run->stop && atomic_load(run->stop);
}

static const stk__task_info *task_of(const stk__run *run)
{
    return stk__task_describe(stk__trainer_describe(run->trainer)->network->task);
}

/* --- logs ------------------------------------------------------------------------------------------------
 */

/* at: where the interval before it ended. */
static void start_interval(stk__run *run, const stk__trainer_place *at)
{
    run->log_start_ns = stk__clock_ns();
    run->log_samples = at->samples;
    run->log_wait_ns = stk__stall_wait_ns(stk__trainer_stall(run->trainer));
}

static stk_status write_line(const stk__run *run, json_t *line, stk_error *error)
{
    if (run->folder) return stk__run_folder_metric(run->folder, line, error);
    json_decref(line);
    return STK_OK;
}

static void add_values(const stk__run *run, json_t *line, const char *prefix, const stk__score *score)
{
    const stk__task_info *task = task_of(run);
    char name[48];
    snprintf(name, sizeof name, "%sloss", prefix);
    json_object_set_new(line, name, stk__json_number(score->loss));
    for (int i = 0; i < task->value_count; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, task->values[i]);
        json_object_set_new(line, name, stk__json_number(score->values[i]));
    }
}

static void note_log(stk__run_report *r)
{
    stk__run_trend *trend = &r->trend;
    const stk__trainer_log *log = &r->log;
    if (trend->logs++ == 0) {
        trend->first_loss = log->score.loss;
        trend->first_norm = log->grad_norm;
    }
    if (log->grad_norm > trend->top_norm) {
        trend->top_norm = log->grad_norm;
        trend->top_norm_step = r->log_at.step;
    }
}

/* low: the task's first value is better when lower. */
static void note_evaluation(stk__run_report *r, bool low)
{
    stk__run_trend *trend = &r->trend;
    const double value = r->score.values[0];
    if (!trend->evaluations || (low ? value < trend->top_value : value > trend->top_value))
        trend->top_value = value;
    if (trend->evaluations++ && r->score.loss >= trend->low_val_loss) return;
    trend->low_val_loss = r->score.loss;
    trend->low_train_loss = r->log.score.loss;
    trend->low_step = r->at.step;
}

static stk_status check_log(stk__run *run, stk_error *error)
{
    const stk__trainer_log *log = &run->report.log;
    const bool norm = log->step_count == 0 || isfinite(log->grad_norm);
    run->epoch_counted += log->score.counted;
    if (log->score.counted > 0) run->epoch_loss += log->score.loss * log->score.counted;
    if (log->score.finite && norm) return STK_OK;
    return stk__trainer_refuse(run->trainer,
                               !log->score.finite && !isfinite(log->score.loss) ? "loss is"
                               : !norm                                          ? "gradient norm is"
                                                                                : "metric is",
                               run->report.log_at.step, error);
}

/* The line of an interval whose numbers are on their way: waits for them if it must. An interval lasts from
 * one such moment to the next: a GPU is as far as the numbers that it has handed out, not as its queue. */
static stk_status finish_log(stk__run *run, stk_error *error)
{
    stk__run_report *r = &run->report;
    const stk__trainer_place *at = &r->log_at;
    if (!run->log_is_due) return STK_OK;
    run->log_is_due = false;
    STK__TRY(stk__trainer_read_end(run->trainer, &r->log, error));
    const double passed_ns = (double)(stk__clock_ns() - run->log_start_ns);
    const double waited_ns = stk__stall_wait_ns(stk__trainer_stall(run->trainer)) - run->log_wait_ns;
    r->samples_per_s = passed_ns > 0 ? (double)(at->samples - run->log_samples) / passed_ns * 1e9 : NAN;
    r->wait_share = passed_ns > 0 ? waited_ns / passed_ns : NAN;
    r->logged = true;
    json_t *line =
        json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "step", (json_int_t)at->step, "epoch",
                  (json_int_t)(at->epoch + (at->batch > 0)) /* from 1, as in evaluations */, "lr",
                  stk__json_number(at->lr), "grad_norm", stk__json_number(r->log.grad_norm), "samples_per_s",
                  stk__json_number(r->samples_per_s), "wait_share", stk__json_number(r->wait_share));
    if (line && at->loss_scale > 0) {
        json_object_set_new(line, "loss_scale", json_real(at->loss_scale));
        json_object_set_new(line, "skipped_steps", json_integer(at->skipped));
    }
    add_values(run, line, "", &r->log.score);
    STK__TRY(write_line(run, line, error));
    STK__TRY(check_log(run, error));
    note_log(r);
    tell(run, run->watch.logged);
    start_interval(run, at);
    return STK_OK;
}

/* If its numbers have come. */
static stk_status look_for_log(stk__run *run, stk_error *error)
{
    bool there = false;
    if (run->log_is_due) STK__TRY(stk__trainer_read_ask(run->trainer, &there, error));
    return there ? finish_log(run, error) : STK_OK;
}

/* An interval ends here. */
static stk_status begin_log(stk__run *run, stk_error *error)
{
    STK__TRY(finish_log(run, error));
    STK__TRY(stk__trainer_read_begin(run->trainer, error));
    run->log_is_due = true;
    run->report.log_at = run->report.at;
    run->logged_step = run->report.at.step;
    return STK_OK;
}

/* --- checkpoints -----------------------------------------------------------------------------------------
 */

/* Once after a step: they may be bad where no number that is counted shows it. */
static stk_status check_weights(stk__run *run, stk_error *error)
{
    const int64_t step = run->report.at.step;
    if (run->checked_step == step) return STK_OK;
    STK__TRY(stk__trainer_check_weights(run->trainer, step, error));
    run->checked_step = step;
    return STK_OK;
}

static stk_status save(stk__run *run, double metric, stk_error *error)
{
    stk__run_report *r = &run->report;
    char folder[STK_RUN_CHECKPOINTS_BYTES];
    STK__TRY(finish_log(run, error));          /* the state counts its line as written */
    if (!stk__trainer_is_finite(run->trainer)) /* not logged yet */
        return stk__trainer_refuse(run->trainer, "loss is", r->at.step, error);
    STK__TRY(check_weights(run, error));
    if (!run->folder) return STK_OK;
    stk__stall_mark(stk__trainer_stall(run->trainer), STK_STALL_OTHER);
    const stk__trainer_info *info = stk__trainer_describe(run->trainer);
    const stk__checkpoint_options options = stk__run_checkpoints(run, folder);
    const stk__checkpoint_state state = {.json = stk__run_state_json(run),
                                         .epoch = r->at.epoch,
                                         .step = (uint64_t)r->at.step,
                                         .metric = metric};
    if (!state.json) return stk__fail_memory(error, 4096, "the state of a run");
    const stk_status status =
        stk__checkpoint_write(&options, info->model, &state, r->checkpoint, sizeof r->checkpoint, error);
    json_decref(state.json);
    stk__stall_mark(stk__trainer_stall(run->trainer), STK_STALL_CHECKPOINT);
    STK__TRY(status);
    tell(run, run->watch.saved);
    return STK_OK;
}

stk_status stk__run_begin(stk__run *run, stk_error *error)
{
    stk__run_report *r = &run->report;
    *r = (stk__run_report){.epochs = (uint64_t)run->train->epochs, .best_value = NAN};
    run->evaluated_step = 0;
    stk_status status = run->resume ? stk__run_resume(run, error) : STK_END;
    if (status == STK_END) {
        if (run->resume) STK__TRY(stk__run_folder_cut(run->folder, (stk__metrics_end){.epoch = 1}, error));
        status = stk__trainer_standardise(run->trainer, error);
    }
    STK__TRY(status);
    if (run->resume && run->settings)
        STK__TRY(stk__run_folder_write(run->folder, "config.yaml", *run->settings, error));
    r->at = stk__trainer_where(run->trainer);
    if (!r->resumed) stk__run_resume_epoch(run, NULL);
    run->checked_step = -1;
    if (r->resumed) STK__TRY(check_weights(run, error));
    run->begun = true;
    return STK_OK;
}

/* A clock of its own, so that the stall table can be held against it. */
static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void start_clocks(stk__run *run)
{
    if (run->start_s > 0) return;
    tell(run, run->watch.started);
    start_interval(run, &run->report.at);
    stk__stall_start(stk__trainer_stall(run->trainer));
    run->start_s = wall_s();
}

void stk__run_settle(stk__run *run)
{
    if (run->start_s > 0) run->report.wall_s = wall_s() - run->start_s;
    run->report.at = stk__trainer_where(run->trainer);
}

/* --- the loop --------------------------------------------------------------------------------------------
 */

static stk_status evaluate(stk__run *run, double *metric, stk_error *error)
{
    stk__run_report *r = &run->report;
    const stk__trainer_info *info = stk__trainer_describe(run->trainer);
    STK__TRY(check_weights(run, error));
    STK__TRY(stk__trainer_evaluate(run->trainer, &r->score, error));
    STK__TRY(stk__trainer_check_score(run->trainer, &r->score, error));
    *metric = r->score.values[info->value];
    const bool low = task_of(run)->low[info->value];
    r->best = !isnan(*metric) &&
              (isnan(r->best_value) || (low ? *metric < r->best_value : *metric > r->best_value));
    r->worse_count = r->best ? 0 : r->worse_count + 1;
    if (r->best) {
        r->best_value = *metric;
        r->best_step = r->at.step;
    }
    r->evaluated = true;
    run->evaluated_step = r->at.step;
    note_evaluation(r, task_of(run)->low[0]);
    json_t *line = json_pack("{s:I, s:I}", "step", (json_int_t)r->at.step, "epoch", (json_int_t)r->at.epoch);
    add_values(run, line, "val_", &r->score);
    STK__TRY(write_line(run, line, error));
    tell(run, run->watch.evaluated);
    return STK_OK;
}

stk_status stk__run_evaluate(stk__run *run, stk_error *error)
{
    double metric;
    start_clocks(run);
    run->report.at = stk__trainer_where(run->trainer);
    STK__TRY(finish_log(run, error)); /* an evaluation uses its memory */
    return evaluate(run, &metric, error);
}

stk_status stk__run_save(stk__run *run, stk_error *error)
{
    stk__run_report *r = &run->report;
    start_clocks(run);
    r->at = stk__trainer_where(run->trainer);
    const bool measured = r->evaluated && run->evaluated_step == r->at.step;
    return save(run, measured ? r->score.values[stk__trainer_describe(run->trainer)->value] : NAN, error);
}

static bool is_due(uint64_t epoch, int64_t interval, uint64_t last)
{
    return epoch % (uint64_t)interval == 0 || epoch >= last;
}

/* Something must have counted in an epoch. Steps that fp16 skips are not counted, and neither are those
 * before a run was resumed. */
static stk_status check_epoch(stk__run *run, stk_error *error)
{
    stk__run_report *r = &run->report;
    const bool whole = run->epoch_is_whole && r->at.skipped == run->epoch_skipped;
    if (whole && run->epoch_counted == 0) return stk__trainer_refuse_empty(run->trainer, r->at.epoch, error);
    r->epoch_loss = run->epoch_counted > 0 ? run->epoch_loss / run->epoch_counted : NAN;
    run->epoch_counted = run->epoch_loss = 0;
    run->epoch_skipped = r->at.skipped;
    run->epoch_is_whole = true;
    return STK_OK;
}

/* Its numbers; what follows is the loop's. */
static stk_status finish_epoch(stk__run *run, stk_error *error)
{
    stk__run_report *r = &run->report;
    r->at = stk__trainer_where(run->trainer);
    if (r->at.step != run->logged_step) STK__TRY(begin_log(run, error)); /* an epoch has its loss */
    STK__TRY(finish_log(run, error));
    return check_epoch(run, error);
}

static stk_status end_epoch(stk__run *run, bool *over, stk_error *error)
{
    stk__run_report *r = &run->report;
    const stk__train_settings *s = run->train;
    double metric = NAN;
    const bool measures =
        stk__trainer_has_val(run->trainer) && is_due(r->at.epoch, s->eval_interval, r->epochs);
    if (measures) STK__TRY(evaluate(run, &metric, error));
    r->stopped_early = measures && s->early_stop && r->worse_count >= s->early_stop;
    *over = r->at.epoch >= r->epochs || r->stopped_early;
    if (*over || is_due(r->at.epoch, s->checkpoint_interval, r->epochs)) STK__TRY(save(run, metric, error));
    start_interval(run, &r->at);
    return STK_OK;
}

/* So many steps of this call are over. */
static void follow(const stk__run *run)
{
    const uint64_t first = STK_RUN_UNTRACED;
    if (!run->trace) return;
    if (run->step_count == first) stk__trainer_trace(run->trainer, run->trace);
    if (run->step_count == first + (uint64_t)run->trace_steps) stk__trainer_trace(run->trainer, NULL);
}

static stk_status end_step(stk__run *run, uint64_t start_ns, stk_error *error)
{
    stk__run_report *r = &run->report;
    const uint64_t now = stk__clock_ns();
    r->at = stk__trainer_where(run->trainer);
    run->step_ns[run->step_count++ % STK_RUN_STEPS_KEPT] = now - start_ns;
    if (!r->first_step_ns) r->first_step_ns = now;
    follow(run);
    if (r->at.step % run->train->log_interval == 0 && r->at.step != run->logged_step)
        STK__TRY(begin_log(run, error)); /* a skipped step has no line of its own */
    STK__TRY(look_for_log(run, error));
    tell(run, run->watch.stepped);
    return STK_OK;
}

/* Between two steps: *over when the work of a call that began after so many steps is done. */
static stk_status look_up(stk__run *run, uint64_t before, bool *over, stk_error *error)
{
    run->report.interrupted = asked_to_stop(run);
    const bool enough = run->stop_after && run->step_count - before >= (uint64_t)run->stop_after;
    *over = run->report.interrupted || enough;
    return *over ? save(run, NAN, error) : STK_OK;
}

/* A step that ran out of memory has not changed the weights: what was learnt so far is saved, if possible.
 * The error returned is the shortage. */
static stk_status save_before_end(stk__run *run, stk_error *error)
{
    stk_error ignored = {0};
    if (run->step_count && !stk__trainer_is_torn(run->trainer)) save(run, NAN, error ? &ignored : NULL);
    return STK_ERROR_MEMORY;
}

stk_status stk__run_step(stk__run *run, stk_error *error)
{
    start_clocks(run);
    const uint64_t start_ns = stk__clock_ns();
    const stk_status status = stk__trainer_step(run->trainer, error);
    if (status == STK_END) STK__TRY(finish_epoch(run, error));
    if (status == STK_END) return STK_END;
    STK__TRY(status == STK_ERROR_MEMORY ? save_before_end(run, error) : status);
    return end_step(run, start_ns, error);
}

static stk_status train_on(stk__run *run, stk_error *error)
{
    stk__run_report *r = &run->report;
    const uint64_t before = run->step_count;
    bool over = r->at.epoch >= r->epochs || r->stopped_early; /* it was finished already */
    r->interrupted = false;
    while (!over) {
        const stk_status status = stk__run_step(run, error);
        if (status == STK_END) {
            STK__TRY(end_epoch(run, &over, error));
        } else {
            STK__TRY(status);
            STK__TRY(look_up(run, before, &over, error));
        }
    }
    return STK_OK;
}

stk_status stk__run_train(stk__run *run, stk_error *error)
{
    if (!run->begun) STK__TRY(stk__run_begin(run, error));
    start_clocks(run);
    const stk_status status = train_on(run, error);
    if (status != STK_OK) look_for_log(run, NULL);
    stk__run_settle(run);
    return status;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

double stk__run_step_ms(stk__run *run)
{
    const size_t count =
        run->step_count < STK_RUN_STEPS_KEPT ? (size_t)run->step_count : (size_t)STK_RUN_STEPS_KEPT;
    if (!count) return NAN;
    qsort(run->step_ns, count, sizeof run->step_ns[0], compare);
    return (double)run->step_ns[count / 2] * 1e-6;
}
