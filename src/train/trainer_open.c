/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to a trainer that is ready: engine, network, passes, model, sums. */
#include "train/trainer_internal.h"

#include "core/memory.h"
#include "core/number.h"
#include "train/checkpoint/checkpoint.h"

#include <stdio.h>
#include <string.h>

/* Of a layer in run.json and report.html when they are written; as measured with hrnet_w18, which has 1,100.
 */
enum { LAYER_BYTES = 3500 };

static size_t layers_bytes(const stk__trainer *t)
{
    return (size_t)t->network->layer_count * LAYER_BYTES;
}

/* --- passes ----------------------------------------------------------------------------------------------
 */

static stk_status read_ignored(const char *text, stk__op_spec *loss, stk_error *error)
{
    if (!text || strcmp(text, "none") == 0) return STK_OK;
    loss->ignores = stk__number_whole(text, strlen(text), &loss->ignore_index);
    if (loss->ignores) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG, "loss.ignore_index = '%s' is not a class", text);
    stk__error_hint(error, "an integer, or none");
    return STK_ERROR_CONFIG;
}

static stk_status choose_loss(const stk__trainer *t, const stk__loss_settings *s, stk__op_spec *loss,
                              stk_error *error)
{
    static const stk__op_kind kinds[] = {[STK_LOSS_CROSS_ENTROPY] = STK_OP_CROSS_ENTROPY,
                                         [STK_LOSS_L1] = STK_OP_L1,
                                         [STK_LOSS_MSE] = STK_OP_MSE,
                                         [STK_LOSS_SMOOTH_L1] = STK_OP_SMOOTH_L1,
                                         [STK_LOSS_POINTS] = STK_OP_POINTS,
                                         [STK_LOSS_BCE] = STK_OP_BCE};
    const stk__task task = t->network->task;
    const stk__op_kind usual = stk__task_describe(task)->loss;
    *loss = (stk__op_spec){.kind = s->name == STK_LOSS_AUTO ? usual : kinds[s->name]};
    const bool value_loss = loss->kind >= STK_OP_L1 && loss->kind <= STK_OP_SMOOTH_L1;
    if (loss->kind != usual && !(stk__task_has_values(task) && value_loss)) {
        stk__fail(error, STK_ERROR_CONFIG, "loss.name = '%s' does not fit %s", stk__op_word(loss->kind),
                  stk__task_word(task));
        stk__error_hint(error, "leave it out: %s", stk__op_word(usual));
        return STK_ERROR_CONFIG;
    }
    if (loss->kind == STK_OP_BCE && (s->label_smoothing > 0 || s->class_weights)) {
        stk__fail(error, STK_ERROR_CONFIG, "loss.%s is not supported with several labels per image (bce)",
                  s->class_weights ? "class_weights" : "label_smoothing");
        stk__error_hint(error, "leave it out");
        return STK_ERROR_CONFIG;
    }
    loss->label_smoothing = loss->kind == STK_OP_CROSS_ENTROPY ? s->label_smoothing : 0;
    loss->image_size[0] = t->facts.image_h;
    loss->image_size[1] = t->facts.image_w;
    return loss->kind == STK_OP_CROSS_ENTROPY ? read_ignored(s->ignore_index, loss, error) : STK_OK;
}

static stk__shape input_shape(const stk__trainer *t, int64_t n)
{
    const stk__feed_facts *f = &t->facts;
    if (stk__task_reads_windows(t->network->task)) return (stk__shape){3, {n, f->window, f->features}};
    return (stk__shape){4, {n, f->image_h, f->image_w, f->image_c}};
}

/* The pass that is described and printed. */
static stk__trainer_pass main_pass(const stk__trainer *t)
{
    return t->evaluates_only ? STK_PASS_EVAL : STK_PASS_TRAIN;
}

static stk_status plan_pass(stk__trainer *t, stk__trainer_pass which, int64_t n, stk__pass_request *request,
                            stk_error *error)
{
    const int64_t held_bytes = stk__alloc_held_bytes();
    t->pass_n[which] = n;
    request->input = input_shape(t, n);
    request->training = which < STK_PASS_EVAL;
    STK__TRY(stk__pass_create(&t->passes[which], request, error));
    const size_t size = stk__pass_size(t->passes[which]);
    if (size > t->info.pass_bytes) t->info.pass_bytes = size;
    const stk__pass_report *report = stk__pass_describe(t->passes[which]);
    t->info.library_bytes += report->library_bytes;
    if (report->inside_bytes > t->info.inside_bytes) t->info.inside_bytes = report->inside_bytes;
    if (report->adding_bytes > t->info.adding_bytes) t->info.adding_bytes = report->adding_bytes;
    if (report->generating_ops > t->info.generating_ops) t->info.generating_ops = report->generating_ops;
    if (!t->info.engine->dry || which == main_pass(t)) return STK_OK;
    t->info.library_bytes += (size_t)(stk__alloc_held_bytes() - held_bytes);
    stk__pass_destroy(&t->passes[which]); /* its sizes are noted */
    return STK_OK;
}

static stk_status plan_feed(stk__trainer *t, const stk__feed *feed, stk__trainer_pass first,
                            stk__pass_request *request, stk_error *error)
{
    if (!feed->next) return STK_OK;
    const int64_t full = feed->batches_per_epoch > 1 ? feed->batch_size : feed->last_batch_size;
    STK__TRY(plan_pass(t, first, full, request, error));
    if (feed->last_batch_size == full) return STK_OK;
    return plan_pass(t, first + 1, feed->last_batch_size, request, error);
}

static stk_status plan_passes(stk__trainer *t, const stk__trainer_setup *setup, stk_error *error)
{
    const bool recompute = setup->train->gradient_checkpointing == STK_SWITCH_ON;
    stk__pass_request request = {.engine = t->engine,
                                 .network = t->network,
                                 .recompute = recompute,
                                 .rough = setup->rough,
                                 .half = t->info.half,
                                 .freeze = setup->model->freeze,
                                 .fuse = setup->train->compile != STK_SWITCH_OFF};
    STK__TRY(choose_loss(t, setup->loss, &request.loss, error));
    request.metric = (stk__op_spec){.kind = stk__task_describe(t->network->task)->metric,
                                    .ignores = request.loss.ignores,
                                    .ignore_index = request.loss.ignore_index,
                                    .image_size = {t->facts.image_h, t->facts.image_w}};
    if (!t->evaluates_only) STK__TRY(plan_feed(t, &t->feed, STK_PASS_TRAIN, &request, error));
    return plan_feed(t, &t->val, STK_PASS_EVAL, &request, error);
}

/* --- model and sums --------------------------------------------------------------------------------------
 */

static stk__model_options model_options(const stk__trainer *t, const stk__trainer_setup *setup)
{
    const bool adamw = setup->optimizer->name == STK_OPTIMIZER_ADAMW;
    return (stk__model_options){.training = !t->evaluates_only,
                                .first = adamw || setup->optimizer->momentum >= 0,
                                .second = adamw,
                                .average = setup->train->ema > 0,
                                .spare = !t->evaluates_only,
                                .freeze = setup->model->freeze,
                                .seed = t->seed};
}

static stk_status make_model(stk__trainer *t, const stk__trainer_setup *setup, stk_error *error)
{
    const stk__model_options options = model_options(t, setup);
    const stk__op_form *forms = stk__pass_forms(t->info.pass);
    STK__TRY(stk__model_create(&t->model, t->engine, t->network, forms, &options, error));
    t->info.model_bytes = t->model->size_bytes;
    STK__TRY(stk__arena_create(t->engine, t->info.pass_bytes, &t->pass_arena, error));
    for (int p = 0; p < STK_PASS_COUNT; p++)
        if (t->passes[p]) STK__TRY(stk__pass_bind(t->passes[p], t->model, t->pass_arena, error));
    t->info.model = t->model;
    return STK_OK;
}

/* The size of the model that make_model will make: tensors are as large on every engine. */
static stk_status measure_model(stk__trainer *t, const stk__trainer_setup *setup, stk_error *error)
{
    const stk__model_options options = model_options(t, setup);
    const int64_t held_bytes = stk__alloc_held_bytes();
    stk__engine *dry;
    stk__model *model = NULL;
    STK__TRY(stk__engine_open(&dry, &(stk__engine_options){.name = "reference", .dry = true}, error));
    const stk_status status =
        stk__model_create(&model, dry, t->network, stk__pass_forms(t->info.pass), &options, error);
    if (model) t->info.model_bytes = model->size_bytes;
    t->info.library_bytes += (size_t)(stk__alloc_held_bytes() - held_bytes);
    stk__model_destroy(&model);
    stk__engine_close(&dry);
    return status;
}

/* All that a plan needs to know, before anything of it is allocated. */
static stk_status ask_admission(stk__trainer *t, const stk__trainer_setup *setup, stk_error *error)
{
    if (!setup->admit) return STK_OK;
    t->info.library_bytes += (size_t)(stk__alloc_held_bytes() - t->held_bytes) + layers_bytes(t);
    STK__TRY(measure_model(t, setup, error));
    return setup->admit(setup->admit_context, t, error);
}

static stk_status make_sums(stk__trainer *t, stk_error *error)
{
    const stk__op_form *forms = stk__pass_forms(t->info.pass);
    const stk__shape *output = &forms[t->network->output].output;
    t->classes = output->dim[output->ndim - 1];
    stk__op_spec metric = {.kind = stk__task_describe(t->network->task)->metric,
                           .input = {*output},
                           .image_size = {t->facts.image_h, t->facts.image_w}};
    stk__op_form form;
    STK__TRY(stk__op_describe(&metric, &form, error));
    const stk__tensor_desc loss = {.shape = {1, {STK_LOSS_SUMS}}, .dtype = STK_DTYPE_F64},
                           counts = {.shape = form.output, .dtype = form.output_dtype},
                           weights = {.shape = {1, {t->classes}}, .dtype = STK_DTYPE_F32},
                           flag = {.shape = {1, {1}}, .dtype = STK_DTYPE_F64};
    const struct {
        stk__tensor **tensor;
        const stk__tensor_desc *desc;
    } wanted[] = {
        {&t->loss_sums, &loss},     {&t->norm_sums, &loss},          {&t->eval_loss_sums, &loss},
        {&t->metric_sums, &counts}, {&t->eval_metric_sums, &counts}, {&t->class_weights, &weights},
        {&t->skipped, &flag},       {&t->kept_loss_sums, &loss},     {&t->kept_metric_sums, &counts}};
    enum { WANTED = sizeof wanted / sizeof wanted[0] };
    size_t offset[WANTED + 1] = {0};
    for (int i = 0; i < WANTED; i++)
        offset[i + 1] = offset[i] + stk__tensor_size(t->engine, wanted[i].desc);
    STK__TRY(stk__arena_create(t->engine, offset[WANTED], &t->sum_arena, error));
    for (int i = 0; i < WANTED; i++)
        STK__TRY(
            stk__tensor_create(t->engine, wanted[i].desc, t->sum_arena, offset[i], wanted[i].tensor, error));
    t->metric_bytes = (size_t)(stk__shape_count(&form.output) * stk_dtype_bytes(form.output_dtype));
    if (t->scale.scale == 0) stk__tensor_destroy(&t->skipped);
    t->metric_host = stk__alloc(t->metric_bytes);
    t->eval_metric_host = stk__alloc(t->metric_bytes);
    return t->metric_host && t->eval_metric_host
               ? STK_OK
               : stk__fail_memory(error, t->metric_bytes, "sums of a metric");
}

static stk_status refuse_weights(const stk__trainer *t, const char *text, int64_t found, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "loss.class_weights = '%.100s' has %lld number%s for %lld class%s",
              text, (long long)found, stk__plural((unsigned long long)found), (long long)t->classes,
              t->classes == 1 ? "" : "es");
    stk__error_hint(error,
                    "one number above or at 0 for each class, such as [1, 2, 0.5]; stoker stats prints some");
    return STK_ERROR_CONFIG;
}

/* "[1, 2, 0.5]" or "1,2,0.5" */
static stk_status read_class_weights(stk__trainer *t, const char *text, stk_error *error)
{
    float weights[STK_OP_CLASSES];
    int64_t count = 0;
    for (const char *at = text ? text : ""; *(at += strspn(at, "[], ")) != '\0';) {
        const size_t length = strcspn(at, "], ");
        double value;
        if (!stk__number_real(at, length, &value) || !(value >= 0 && value < 1e30) || count == STK_OP_CLASSES)
            return refuse_weights(t, text, count, error);
        weights[count++] = (float)value;
        at += length;
    }
    if (!text || !stk__task_has_classes(t->network->task)) {
        stk__tensor_destroy(&t->class_weights);
        if (text) stk__trainer_note(t, "loss.class_weights", "", "this task has no classes");
        return STK_OK;
    }
    if (count != t->classes) return refuse_weights(t, text, count, error);
    if (t->info.engine->dry) return STK_OK;
    return stk__tensor_write(t->class_weights, weights, (size_t)count * sizeof weights[0], error);
}

/* --- optimizer -------------------------------------------------------------------------------------------
 */

static void set_optimizer(stk__trainer *t, const stk__trainer_setup *setup)
{
    const stk__optimizer_settings *o = setup->optimizer;
    const stk__train_settings *s = setup->train;
    t->update = (stk__update){.kind = (stk__optimizer)o->name,
                              .param = t->model->params,
                              .grad = t->model->grads,
                              .first = t->model->firsts,
                              .second = t->model->seconds,
                              .leave_grad = true, /* the first batch of a step overwrites it */
                              .weight_decay = stk__optimizer_weight_decay(o),
                              .beta1 = o->betas[0],
                              .beta2 = o->betas[1],
                              .eps = o->eps,
                              .momentum = o->momentum < 0 ? 0 : o->momentum,
                              .grad_scale = 1,
                              .max_grad_norm = s->max_grad_norm,
                              .norm = t->norm_sums,
                              .skipped = t->skipped};
    t->accumulation = s->accumulation;
    t->ema = s->ema;
    t->detects = s->detect_nan == STK_SWITCH_ON;
    t->tunes = stk__train_tunes(s);
    const int64_t batches = (int64_t)t->feed.batches_per_epoch;
    t->info.steps_per_epoch = (batches + t->accumulation - 1) / t->accumulation;
    t->schedule = (stk__lr_schedule){.kind = (stk__lr_schedule_kind)o->schedule,
                                     .lr = o->lr,
                                     .warmup = o->warmup,
                                     .total_steps = s->epochs * t->info.steps_per_epoch,
                                     .steps_per_epoch = t->info.steps_per_epoch,
                                     .step_size = o->step_size,
                                     .gamma = o->gamma};
}

static stk_status choose_metric(stk__trainer *t, const char *name, stk_error *error)
{
    const stk__task_info *task = stk__task_describe(t->network->task);
    if (!name) return STK_OK; /* the first */
    t->info.value = stk__task_value(t->network->task, name);
    if (t->info.value >= 0) return STK_OK;
    char names[128] = "";
    for (int i = 0; i < task->value_count; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", task->values[i]);
    stk__fail(error, STK_ERROR_CONFIG, "train.metric = '%s' is not a metric of %s", name,
              stk__task_word(t->network->task));
    stk__error_hint(error, "one of %s", names);
    return STK_ERROR_CONFIG;
}

/* When the classes are known. */
static stk_status check_metric(const stk__trainer *t, stk_error *error)
{
    const stk__op_form *forms = stk__pass_forms(t->info.pass);
    const stk__shape *output = &forms[t->network->output].output;
    const int64_t classes = output->dim[output->ndim - 1];
    const char *name = stk__task_describe(t->network->task)->values[t->info.value];
    if (stk__task_has_value(t->network->task, t->info.value, classes)) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG, "train.metric = '%s' says nothing of %lld classes", name,
              (long long)classes);
    stk__error_hint(error, "train.metric=top1");
    return STK_ERROR_CONFIG;
}

static stk_status check_loaded(const stk__trainer *t, const char *path, stk_error *error)
{
    for (int i = 0; i < t->model->count; i++) {
        int64_t at;
        STK__TRY(stk__tensor_find_bad(t->model->tensors[i].value, &at, error));
        if (at < 0) continue;
        stk__fail(error, STK_ERROR_DATA, "the weights are NaN or infinite: first in %s '%.160s'",
                  t->model->tensors[i].buffer ? "buffer" : "parameter", t->model->tensors[i].name);
        stk__error_place(error, "%s", path);
        stk__error_hint(error, "other weights (model.weights), or none");
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

static stk_status load_weights(stk__trainer *t, const stk__trainer_setup *setup, stk_error *error)
{
    const char *path = setup->model->weights;
    stk__weights_report report;
    char why[160];
    if (!path) return STK_OK;
    if (setup->has_checkpoint) {
        stk__trainer_note(t, "model.weights", path,
                          "start of the run; now the weights of its checkpoint are loaded");
        return STK_OK;
    }
    if (t->info.engine->dry) {
        stk__trainer_note(t, "model.weights", path, "loaded when training starts");
        return STK_OK;
    }
    STK__TRY(stk__weights_load(path, t->model, &report, error));
    int at = snprintf(why, sizeof why, "%d of %d tensors loaded", report.loaded, t->model->count);
    if (report.misfits)
        snprintf(why + at, sizeof why - (size_t)at, "; %d do not match, such as %.90s", report.misfits,
                 report.first_misfit);
    else if (report.missing)
        snprintf(why + at, sizeof why - (size_t)at, "; %d are not in the file, such as '%.70s'",
                 report.missing, report.first_missing);
    else if (report.unknown)
        snprintf(why + at, sizeof why - (size_t)at,
                 "; %d of the file are not in the network, such as '%.60s'", report.unknown,
                 report.first_unknown);
    stk__trainer_note(t, "model.weights", path, why);
    return check_loaded(t, path, error);
}

static stk_status open_trainer(stk__trainer *t, const stk__trainer_setup *setup, stk_error *error)
{
    t->engine = setup->engine;
    t->forced = setup->run->force == STK_SWITCH_ON;
    if (!t->engine) STK__TRY(stk__trainer_open_engine(&t->engine, setup->run, setup->train, error));
    t->info.engine = stk__engine_describe(t->engine);
    STK__TRY(stk__trainer_read_network(t, setup, error));
    t->info.network = t->network;
    STK__TRY(choose_metric(t, setup->train->metric, error));
    STK__TRY(stk__trainer_choose_amp(t, setup->train, error));
    STK__TRY(plan_passes(t, setup, error));
    t->info.pass = t->passes[main_pass(t)];
    t->info.pass_samples = t->pass_n[main_pass(t)];
    t->info.report = stk__pass_describe(t->info.pass);
    if (t->network->task == STK_TASK_MULTILABEL) /* see stk__label_scores */
        t->info.library_bytes += (size_t)t->val.batches_per_epoch * (size_t)t->val.batch_size *
                                 ((size_t)t->facts.num_classes * (sizeof(float) + 1) + 2 * sizeof(float));
    STK__TRY(check_metric(t, error));
    STK__TRY(ask_admission(t, setup, error));
    STK__TRY(stk__trainer_explain_shortage(t, make_model(t, setup, error), error));
    STK__TRY(make_sums(t, error));
    STK__TRY(read_class_weights(t, setup->loss->class_weights, error));
    set_optimizer(t, setup);
    STK__TRY(load_weights(t, setup, error));
    stk__trainer_tell_effects(t, setup);
    stk__stall_start(&t->stall);
    return STK_OK;
}

stk_status stk__trainer_open(stk__trainer **trainer, const stk__trainer_setup *setup, stk_error *error)
{
    *trainer = NULL;
    const int64_t held_bytes = stk__alloc_held_bytes();
    stk__trainer *t = stk__alloc(sizeof *t);
    if (!t) {
        stk__engine *engine = setup->engine; /* ours already */
        stk__engine_close(&engine);
        return stk__fail_memory(error, sizeof *t, "a trainer");
    }
    t->held_bytes = held_bytes;
    t->feed = setup->feed;
    t->val = setup->val;
    t->facts = setup->facts;
    t->seed = setup->seed;
    t->evaluates_only = setup->evaluates_only;
    const stk_status status = open_trainer(t, setup, error);
    if (status == STK_OK && t->info.engine->dry)
        t->info.library_bytes += (size_t)(stk__alloc_held_bytes() - held_bytes) + layers_bytes(t);
    if (status == STK_OK)
        *trainer = t;
    else
        stk__trainer_close(&t);
    return status;
}

void stk__trainer_close(stk__trainer **trainer)
{
    stk__trainer *t = *trainer;
    if (!t) return;
    stk__tensor **const sums[] = {&t->loss_sums,      &t->metric_sums,      &t->norm_sums,
                                  &t->eval_loss_sums, &t->eval_metric_sums, &t->class_weights,
                                  &t->skipped,        &t->kept_loss_sums,   &t->kept_metric_sums};
    stk__trainer_drop_graphs(t);
    stk__trainer_forget(t);
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
        stk__tensor_destroy(sums[i]);
    for (int p = 0; p < STK_PASS_COUNT; p++)
        stk__pass_destroy(&t->passes[p]);
    stk__label_scores_fini(&t->label_scores);
    stk__model_destroy(&t->model);
    stk__arena_destroy(&t->pass_arena);
    stk__arena_destroy(&t->sum_arena);
    stk__free(t->metric_host);
    stk__free(t->eval_metric_host);
    stk__network_destroy(&t->network);
    stk__engine_close(&t->engine);
    stk__free(t);
    *trainer = NULL;
}
