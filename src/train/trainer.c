/* SPDX-License-Identifier: Apache-2.0 */
/* Training steps and evaluations. Nothing here allocates after each slot has been seen once. One thread.
 *
 * A step changes the parameters w by A = train.gradient_accumulation_steps batches (the last step of an epoch
 * may have fewer). Of each batch: inputs x [n h w c] or [n t c], weights of samples v [n] (0: left out),
 * targets y; network f; the loss is a mean by v and, if there are any, class weights (engine/op.h).
 *
 *     forward    L_a = sum_i v_i loss(f(x_i; w), y_i) / sum_i v_i      for batch a = 1 … A
 *     backward   g = sum_a s / A dL_a / dw                             s: loss scale of fp16, else 1
 *     unscale    g = g / s                                             not finite: no update, smaller s
 *     clip       g = g min(1, max_grad_norm / (|g| + 1e-6))            |g|: of all parameters together
 *     update     w = AdamW or SGD with momentum, at lr(step)           engine/reference/
 *     average    e = d e + (1 - d) w                                   of a moving average; d: its decay
 *
 * g, the moments and e have the shapes of w. The first batch writes g, the others add to it, so that nothing
 * has to be zeroed between steps; unscaling, clipping and the update are one call of the engine. */
#include "train/trainer_internal.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

/* The next batch of a feed; the time it took goes to the rows of data wait, or all to `row`. */
static stk_status take_batch(stk__trainer *t, stk__feed *from, bool waits, stk_batch **batch,
                             stk_error *error)
{
    stk_loader_stats before, after;
    if (!waits) return from->next(from->context, batch, error);
    stk__stall_mark(&t->stall, STK_STALL_OTHER);
    from->measure(from->context, &before);
    const stk_status status = from->next(from->context, batch, error);
    from->measure(from->context, &after);
    if (stk__engine_is_busy(t->engine)) /* it has not missed the batch: all slots were its own */
        stk__stall_mark(&t->stall, STK_STALL_SYNC);
    else
        stk__stall_mark_wait(&t->stall, &before, &after);
    return status;
}

static stk__pass *pass_for(const stk__trainer *t, stk__trainer_pass first, int64_t n)
{
    for (int p = (int)first; p < (int)first + 2; p++)
        if (t->passes[p] && t->pass_n[p] == n) return t->passes[p];
    return NULL;
}

static stk_status no_pass(const stk_batch *batch, stk_error *error)
{
    return stk__fail(error, STK_ERROR_DATA, "a batch has %lld samples, an unexpected batch size",
                     (long long)batch->count);
}

static stk_status train_batch(stk__trainer *t, stk_batch *batch, int part, int parts, stk_error *error)
{
    stk__pass_feed feed;
    stk__pass *pass = pass_for(t, STK_PASS_TRAIN, batch->count);
    if (!pass) return no_pass(batch, error);
    STK__TRY(stk__trainer_feed(t, batch, &feed, error));
    STK__TRY(stk__trainer_feed_ids(t, batch, &feed, error));
    feed.loss_sums = t->loss_sums;
    feed.metric_sums = t->metric_sums;
    feed.grad_scale = (t->scale.scale > 0 ? t->scale.scale : 1.0) / parts;
    feed.add_gradients = part > 0;
    feed.fault = t->searches || stk__loss_scale_is_last(&t->scale) ? &t->fault : NULL;
    stk__stall_mark(&t->stall, STK_STALL_COPY);
    return stk__trainer_run_passes(t, pass, &feed, error);
}

/* Batches of this step: fewer at the end of an epoch. */
static int parts_of_step(const stk__trainer *t)
{
    const uint64_t left = t->feed.batches_per_epoch - t->at.batch;
    return left < 1 ? 1 : left < (uint64_t)t->accumulation ? (int)left : (int)t->accumulation;
}

static stk_status change_weights(stk__trainer *t, stk_error *error)
{
    bool skipped;
    t->update.lr = stk__lr_at(&t->schedule, t->at.step);
    t->update.step = t->at.step + 1;
    if (t->scale.scale > 0) t->update.grad_scale = 1 / t->scale.scale;
    STK__TRY(stk__engine_update(t->engine, &t->update, error));
    STK__TRY(stk__trainer_judge_step(t, &skipped, error));
    if (!skipped) {
        t->at.lr = t->update.lr;
        t->at.step++;
    }
    if (t->ema > 0 && !skipped)
        STK__TRY(stk__engine_average(t->engine, &t->model->averages, &t->model->values, t->ema, error));
    stk__stall_mark(&t->stall, STK_STALL_OPTIMISER);
    return STK_OK;
}

/* What its batches change before the weights: running statistics, and what is counted for the next log. */
static stk_status keep_start(stk__trainer *t, stk_error *error)
{
    STK__TRY(stk__model_keep_buffers(t->model, error));
    STK__TRY(stk__tensor_copy(t->kept_loss_sums, t->loss_sums, error));
    return stk__tensor_copy(t->kept_metric_sums, t->metric_sums, error);
}

static stk_status restore_start(stk__trainer *t, const stk_loader_state *start)
{
    STK__TRY(stk__model_restore_buffers(t->model, NULL));
    STK__TRY(stk__tensor_copy(t->loss_sums, t->kept_loss_sums, NULL));
    STK__TRY(stk__tensor_copy(t->metric_sums, t->kept_metric_sums, NULL));
    return t->feed.seek(t->feed.context, start, NULL);
}

/* Back to before the step, so that a checkpoint made now resumes with it. Nothing more can be done if even
 * that fails. */
static void undo_step(stk__trainer *t, const stk_loader_state *start, const stk__trainer_place *at)
{
    t->at = *at;
    t->torn = !t->feed.seek || restore_start(t, start) != STK_OK;
}

static stk_status run_step(stk__trainer *t, const stk__trainer_mark *start, stk_error *error)
{
    const int parts = parts_of_step(t);
    t->fault = (stk__pass_fault){0};
    for (int part = 0; part < parts; part++) {
        stk_batch *batch;
        const stk_status status = t->end_is_due ? STK_END : take_batch(t, &t->feed, true, &batch, error);
        if (status == STK_END) {
            t->end_is_due = false;
            t->at.epoch++;
            t->at.batch = 0;
        }
        if (status != STK_OK) return status;
        if (part == 0) t->last = *start;
        const uint64_t count = (uint64_t)batch->count;
        const stk_status trained = train_batch(t, batch, part, parts, error);
        stk__trainer_release(t, &t->feed, batch);
        STK__TRY(trained);
        t->at.batch++;
        t->at.samples += count;
        t->batches++;
    }
    if (t->detects) STK__TRY(stk__trainer_check_step(t, error));
    t->torn = true; /* until all weights are changed */
    STK__TRY(change_weights(t, error));
    if (t->detects) STK__TRY(stk__trainer_check_update(t, error));
    t->torn = false;
    stk__engine_mark(t->engine);
    return STK_OK;
}

static void mark_interval(stk__trainer *t, const stk__trainer_mark *start)
{
    if (t->batches && !t->interval_ended) return;
    t->intervals[0] = t->batches ? t->intervals[1] : *start;
    t->intervals[1] = *start;
    t->interval_ended = false;
}

stk_status stk__trainer_step(stk__trainer *t, stk_error *error)
{
    stk__trainer_mark start;
    start.at = t->at;
    start.batches = t->batches;
    if (t->feed.tell) t->feed.tell(t->feed.context, &start.feed);
    mark_interval(t, &start);
    STK__TRY(stk__trainer_explain_shortage(t, keep_start(t, error), error));
    const stk_status status = stk__trainer_explain_shortage(t, run_step(t, &start, error), error);
    if (status == STK_ERROR_MEMORY && !t->torn) undo_step(t, &start.feed, &start.at);
    return status;
}

static stk_status repeat_batches(stk__trainer *t, stk_error *error)
{
    const int parts = parts_of_step(t);
    STK__TRY(t->feed.seek(t->feed.context, &t->last.feed, error));
    for (int part = 0; part < parts && !t->fault.layer; part++) {
        stk_batch *batch;
        STK__TRY(t->feed.next(t->feed.context, &batch, error));
        const stk_status trained = train_batch(t, batch, part, parts, error);
        stk__trainer_release(t, &t->feed, batch);
        STK__TRY(trained);
    }
    return STK_OK;
}

stk_status stk__trainer_repeat_step(stk__trainer *t, stk_error *error)
{
    const stk__trainer_place at = t->at;
    t->fault = (stk__pass_fault){0};
    t->at = t->last.at;
    t->searches = true;
    const stk_status status = repeat_batches(t, error);
    t->searches = false;
    t->at = at;
    return status;
}

bool stk__trainer_is_torn(const stk__trainer *t)
{
    return t->torn;
}

static stk_status finish_fetches(stk__trainer *t, stk_error *error)
{
    stk_status status = STK_OK;
    for (int i = 0; i < STK_TRAINER_FETCHES; i++) {
        const stk_status finished = stk__fetch_finish(&t->fetches[i], status == STK_OK ? error : NULL);
        if (status == STK_OK) status = finished;
    }
    return status;
}

static stk_status begin_fetches(stk__trainer *t, stk__tensor *loss, stk__tensor *metric, stk__tensor *norm,
                                stk_error *error)
{
    stk__fetch *f = t->fetches;
    STK__TRY(stk__fetch_begin(&f[0], loss, t->loss_host, sizeof t->loss_host, error));
    STK__TRY(stk__fetch_begin(&f[1], metric, t->metric_host, t->metric_bytes, error));
    return norm ? stk__fetch_begin(&f[2], norm, t->norm_host, sizeof t->norm_host, error) : STK_OK;
}

/* Lets sums be copied and starts them again. norm: NULL without. */
static stk_status fetch_sums(stk__trainer *t, stk__tensor *loss, stk__tensor *metric, stk__tensor *norm,
                             stk_error *error)
{
    const stk_status status = begin_fetches(t, loss, metric, norm, error);
    if (status != STK_OK) finish_fetches(t, NULL);
    STK__TRY(status);
    STK__TRY(stk__tensor_zero(loss, error));
    STK__TRY(stk__tensor_zero(metric, error));
    return norm ? stk__tensor_zero(norm, error) : STK_OK;
}

/* Counts always are. */
static bool sums_are_finite(const stk__trainer *t)
{
    const double *values = t->metric_host;
    bool finite = isfinite(t->loss_host[STK_LOSS_NUMERATOR]) && isfinite(t->loss_host[STK_LOSS_DENOMINATOR]);
    for (size_t i = 0; t->metric_sums->desc.dtype == STK_DTYPE_F64 && i < t->metric_bytes / sizeof *values;
         i++)
        finite = finite && isfinite(values[i]);
    return finite;
}

static stk_status take_score(stk__trainer *t, stk__score *score, stk_error *error)
{
    STK__TRY(finish_fetches(t, error));
    const double *sums = t->loss_host;
    score->finite = sums_are_finite(t);
    score->counted = sums[STK_LOSS_DENOMINATOR];
    score->loss =
        sums[STK_LOSS_DENOMINATOR] > 0 ? sums[STK_LOSS_NUMERATOR] / sums[STK_LOSS_DENOMINATOR] : NAN;
    stk__task_score(t->network->task, t->metric_host, t->classes, score->values, score->per_class);
    return STK_OK;
}

stk_status stk__trainer_read_begin(stk__trainer *t, stk_error *error)
{
    const stk_status status = fetch_sums(t, t->loss_sums, t->metric_sums, t->norm_sums, error);
    t->interval_ended = true;
    stk__stall_mark(&t->stall, STK_STALL_SYNC);
    return status;
}

stk_status stk__trainer_read_ask(const stk__trainer *t, bool *there, stk_error *error)
{
    *there = true;
    for (int i = 0; i < STK_TRAINER_FETCHES && *there; i++)
        STK__TRY(stk__fetch_ask(&t->fetches[i], there, error));
    return STK_OK;
}

stk_status stk__trainer_read_end(stk__trainer *t, stk__trainer_log *log, stk_error *error)
{
    STK__TRY(take_score(t, &log->score, error));
    log->step_count = t->norm_host[1];
    log->grad_norm = t->norm_host[1] > 0 ? t->norm_host[0] / t->norm_host[1] : NAN;
    stk__stall_mark(&t->stall, STK_STALL_SYNC);
    return STK_OK;
}

stk_status stk__trainer_read(stk__trainer *t, stk__trainer_log *log, stk_error *error)
{
    STK__TRY(stk__trainer_read_begin(t, error));
    return stk__trainer_read_end(t, log, error);
}

static stk_status show_prediction(stk__trainer *t, const stk__pass *pass, const stk_batch *batch,
                                  stk_error *error)
{
    stk_tensor view;
    stk__tensor *output = stk__pass_output(pass);
    STK__TRY(stk__tensor_map(output, &view, error));
    t->look(t->look_context, batch, &view);
    return stk__tensor_unmap(output, &view, false, error);
}

/* What cannot be summed in the engine: average precision needs all predictions. */
static stk_status keep_scores(stk__trainer *t, const stk__pass *pass, const stk__pass_feed *feed,
                              stk_error *error)
{
    stk__tensor *const tensors[] = {stk__pass_output(pass), feed->target[STK_LOSS_TARGET],
                                    feed->target[STK_LOSS_WEIGHTS]};
    stk_tensor views[3] = {{0}};
    int mapped = 0;
    stk_status status = STK_OK;
    for (; mapped < 3 && status == STK_OK; mapped++)
        if (tensors[mapped]) status = stk__tensor_map(tensors[mapped], &views[mapped], error);
    if (status == STK_OK)
        status = stk__label_scores_add(&t->label_scores, &views[0], &views[1], &views[2], error);
    for (int i = 0; i < mapped; i++)
        if (tensors[i] && views[i].data) {
            const stk_status unmapped =
                stk__tensor_unmap(tensors[i], &views[i], false, status == STK_OK ? error : NULL);
            if (status == STK_OK) status = unmapped;
        }
    return status;
}

static stk_status evaluate_batch(stk__trainer *t, const stk_batch *batch, stk_error *error)
{
    stk__pass_feed feed;
    stk__pass *pass = pass_for(t, STK_PASS_EVAL, batch->count);
    if (!pass) return no_pass(batch, error);
    STK__TRY(stk__trainer_feed(t, batch, &feed, error));
    feed.loss_sums = t->eval_loss_sums;
    feed.metric_sums = t->eval_metric_sums;
    feed.fault = t->searches ? &t->fault : NULL;
    STK__TRY(stk__pass_forward(pass, &feed, error));
    if (t->network->task == STK_TASK_MULTILABEL) STK__TRY(keep_scores(t, pass, &feed, error));
    return t->look ? show_prediction(t, pass, batch, error) : STK_OK;
}

stk_status stk__trainer_evaluate_all(stk__trainer *t, stk__score *score, stk_error *error)
{
    stk_loader_stats before, after;
    stk__label_scores_begin(&t->label_scores);
    t->val.measure(t->val.context, &before);
    for (;;) {
        stk_batch *batch;
        const stk_status status = take_batch(t, &t->val, false, &batch, error);
        if (status == STK_END) break;
        STK__TRY(status);
        score->samples += (uint64_t)batch->count;
        const stk_status evaluated = evaluate_batch(t, batch, error);
        stk__trainer_release(t, &t->val, batch);
        STK__TRY(evaluated);
    }
    t->val.measure(t->val.context, &after);
    score->bad_samples = after.bad_samples - before.bad_samples;
    score->samples -= score->bad_samples;
    STK__TRY(fetch_sums(t, t->eval_loss_sums, t->eval_metric_sums, NULL, error));
    STK__TRY(take_score(t, score, error));
    if (t->network->task == STK_TASK_MULTILABEL)
        STK__TRY(stk__label_scores_end(&t->label_scores, score->per_class, &score->values[0], error));
    memcpy(t->eval_metric_host, t->metric_host, t->metric_bytes);
    t->evaluated = true;
    return STK_OK;
}

stk_status stk__trainer_evaluate(stk__trainer *t, stk__score *score, stk_error *error)
{
    *score = (stk__score){.loss = NAN};
    stk__stall_mark(&t->stall, STK_STALL_OTHER);
    if (t->ema > 0) stk__model_swap_average(t->model);
    const stk_status status = stk__trainer_evaluate_all(t, score, error);
    if (t->ema > 0) stk__model_swap_average(t->model);
    stk__stall_mark(&t->stall, STK_STALL_EVAL);
    return status;
}

const int64_t *stk__trainer_confusion(const stk__trainer *t, int64_t *classes)
{
    *classes = t->classes;
    return t->evaluated && t->network->task == STK_TASK_SEGMENTATION ? t->eval_metric_host : NULL;
}

void stk__trainer_watch(stk__trainer *t, stk__trainer_look look, void *context)
{
    t->look = look;
    t->look_context = context;
}

void stk__trainer_trace(stk__trainer *t, stk__trace *trace)
{
    t->stall.trace = trace;
    for (int p = 0; p < STK_PASS_COUNT; p++)
        if (t->passes[p]) stk__pass_trace(t->passes[p], trace);
}

bool stk__trainer_has_val(const stk__trainer *t)
{
    return t->val.next != NULL;
}

const stk__trainer_effect *stk__trainer_effects(const stk__trainer *t, int *count)
{
    *count = t->effect_count;
    return t->effects;
}

const stk__trainer_info *stk__trainer_describe(const stk__trainer *t)
{
    return &t->info;
}

stk__trainer_place stk__trainer_where(const stk__trainer *t)
{
    stk__trainer_place at = t->at;
    at.skipped = t->scale.skipped;
    at.loss_scale = t->scale.scale;
    return at;
}

stk__stall *stk__trainer_stall(stk__trainer *t)
{
    return &t->stall;
}
