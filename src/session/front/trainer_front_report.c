/* SPDX-License-Identifier: Apache-2.0 */
/* What a program sees of its trainer: what was opened, settings in effect, progress, where the time went.
 * Numbers come from the run's report; what is not known is NaN. */
#include "session/front/trainer_front.h"

#include "core/sized.h"

#include <math.h>
#include <string.h>

enum { FIRST_PROGRESS_BYTES = offsetof(stk_trainer_progress, checkpoint) + sizeof(void *) };
_Static_assert((int)STK_TASK_VALUES <= (int)STK_TRAINER_VALUES, "a task has more values than are public");

/* --- progress --------------------------------------------------------------------------------------------
 */

/* score NULL: unknown. */
static void copy_values(const stk_trainer *t, const stk__score *score, double values[STK_TRAINER_VALUES])
{
    for (int i = 0; i < STK_TRAINER_VALUES; i++)
        values[i] = score && i < t->info.value_count ? score->values[i] : NAN;
}

void stk__trainer_front_progress(const stk_trainer *t, stk_trainer_progress *p)
{
    const stk__run_report *r = &t->train.run.report;
    const stk__trainer_place at = stk__trainer_where(t->train.session.trainer);
    *p = (stk_trainer_progress){.struct_size = sizeof *p,
                                .step = at.step,
                                .epoch = at.epoch,
                                .epochs = r->epochs,
                                .batch = at.batch,
                                .batches = t->info.batches_per_epoch,
                                .samples = at.samples,
                                .lr = at.samples ? at.lr : NAN,
                                .logged_step = r->logged ? r->log_at.step : 0,
                                .loss = r->logged ? r->log.score.loss : NAN,
                                .grad_norm = r->logged ? r->log.grad_norm : NAN,
                                .samples_per_s = r->logged ? r->samples_per_s : NAN,
                                .wait_share = r->logged ? r->wait_share : NAN,
                                .val_loss = r->evaluated ? r->score.loss : NAN,
                                .best_value = r->best_value,
                                .best_step = r->best_step,
                                .best = r->best,
                                .interrupted = r->interrupted,
                                .stopped_early = r->stopped_early,
                                .checkpoint = r->checkpoint};
    copy_values(t, r->logged ? &r->log.score : NULL, p->values);
    copy_values(t, r->evaluated ? &r->score : NULL, p->val_values);
}

stk_status stk_trainer_get_progress(stk_trainer *t, stk_trainer_progress *progress, stk_error *error)
{
    const stk__sized sized = {"stk_trainer_progress", FIRST_PROGRESS_BYTES, sizeof(stk_trainer_progress)};
    stk_trainer_progress made;
    if (!progress) return stk__fail(error, STK_ERROR_ARGUMENT, "stk_trainer_get_progress needs a progress");
    STK__TRY(stk__trainer_front_check(t, "stk_trainer_get_progress", error));
    stk__trainer_front_progress(t, &made);
    return stk__sized_give(progress, &made, &sized, error);
}

/* --- callbacks -------------------------------------------------------------------------------------------
 */

static void tell(const stk_trainer *t, void (*who)(void *, const stk_trainer_progress *))
{
    stk_trainer_progress progress;
    if (!who) return;
    stk__trainer_front_progress(t, &progress);
    who(t->callbacks.context, &progress);
}

static void tell_started(void *context, const stk__run_report *report)
{
    const stk_trainer *t = context;
    (void)report;
    tell(t, t->callbacks.started);
}

static void tell_step(void *context, const stk__run_report *report)
{
    const stk_trainer *t = context;
    (void)report;
    tell(t, t->callbacks.stepped);
}

static void tell_log(void *context, const stk__run_report *report)
{
    const stk_trainer *t = context;
    (void)report;
    tell(t, t->callbacks.logged);
}

static void tell_evaluation(void *context, const stk__run_report *report)
{
    const stk_trainer *t = context;
    (void)report;
    tell(t, t->callbacks.evaluated);
}

static void tell_save(void *context, const stk__run_report *report)
{
    const stk_trainer *t = context;
    (void)report;
    tell(t, t->callbacks.saved);
}

stk__run_watch stk__trainer_front_watch(stk_trainer *t)
{
    return (stk__run_watch){.context = t,
                            .started = tell_started,
                            .stepped = tell_step,
                            .logged = tell_log,
                            .evaluated = tell_evaluation,
                            .saved = tell_save};
}

void stk__trainer_front_bad_sample(void *trainer, const stk_ledger_entry *entry)
{
    const stk_trainer *t = trainer;
    if (t->callbacks.bad_sample) t->callbacks.bad_sample(t->callbacks.context, entry);
}

/* --- what was opened -------------------------------------------------------------------------------------
 */

static void describe_data(stk_trainer_info *info, const stk__session *s, const stk__trainer_info *trainer)
{
    const stk_loader_info *data = stk_loader_describe(s->loader),
                          *val = s->val_loader ? stk_loader_describe(s->val_loader) : NULL;
    const stk__shape *output = &stk__pass_forms(trainer->pass)[trainer->network->output].output;
    info->sample_count = data->sample_count;
    info->val_sample_count = val ? val->sample_count : 0;
    info->batches_per_epoch = data->batches_per_epoch;
    info->batch_size = data->batch_size;
    info->image_h = data->h;
    info->image_w = data->w;
    info->image_c = data->channels;
    info->window_rows = data->window_rows;
    info->feature_count = data->feature_count;
    if (stk__task_has_classes(trainer->network->task))
        info->class_count = (int32_t)output->dim[output->ndim - 1];
    if (data->class_count == info->class_count) info->class_names = data->class_names;
    if (trainer->network->task == STK_TASK_POINTS) {
        info->point_count = data->point_count;
        info->point_names = data->point_names;
    }
}

static void describe(stk_trainer *t)
{
    const stk__session *s = &t->train.session;
    const stk__trainer_info *trainer = stk__trainer_describe(s->trainer);
    const stk__task_info *task = stk__task_describe(trainer->network->task);
    t->info = (stk_trainer_info){.run = t->train.folder ? stk__run_folder_path(t->train.folder) : NULL,
                                 .task = stk__task_word(trainer->network->task),
                                 .network = trainer->network->name,
                                 .engine = trainer->engine->name,
                                 .engine_version = trainer->engine->version,
                                 .device = s->device[0] ? s->device : "cpu",
                                 .amp = trainer->half == STK_DTYPE_BF16  ? "bf16"
                                        : trainer->half == STK_DTYPE_F16 ? "f16"
                                                                         : "f32",
                                 .threads = trainer->engine->threads,
                                 .parameter_count = (uint64_t)trainer->report->param_count,
                                 .planned_bytes = s->plan.planned_bytes,
                                 .planned_device_bytes = s->plan.device_bytes,
                                 .epochs = t->train.run.report.epochs,
                                 .value_count = task->value_count,
                                 .metric = trainer->value,
                                 .resumed = t->train.run.report.resumed,
                                 .resumed_step = t->train.run.report.resumed_step};
    for (int i = 0; i < task->value_count; i++)
        t->info.value_names[i] = task->values[i];
    describe_data(&t->info, s, trainer);
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

stk_status stk__trainer_front_describe(stk_trainer *t, stk_error *error)
{
    const size_t count = stk__config_effect_count(t->config);
    describe(t);
    if (!count) return STK_OK;
    t->effects = stk__alloc(count * sizeof *t->effects);
    if (!t->effects) return stk__fail_memory(error, count * sizeof *t->effects, "the effects");
    t->effect_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const stk__effect row = stk__config_effect_at(t->config, i);
        t->effects[i] = (stk_trainer_effect){.name = row.name,
                                             .requested = text_of(row.requested),
                                             .in_effect = text_of(row.in_effect),
                                             .why = text_of(row.why),
                                             .place = text_of(row.place),
                                             .differs = row.differs};
    }
    return STK_OK;
}

const stk_trainer_info *stk_trainer_describe(const stk_trainer *t)
{
    return t ? &t->info : NULL;
}

const stk_trainer_effect *stk_trainer_effects(const stk_trainer *t, int *count)
{
    if (count) *count = t ? t->effect_count : 0;
    return t && count ? t->effects : NULL;
}

/* --- where the time went ---------------------------------------------------------------------------------
 */

const stk_trainer_stall_row *stk_trainer_stall(stk_trainer *t, int *count)
{
    if (count) *count = 0;
    if (!count || stk__trainer_front_check(t, "stk_trainer_stall", NULL) != STK_OK || t->inside) return NULL;
    stk__stall *stall = stk__trainer_stall(t->train.session.trainer);
    const bool began = t->train.run.start_s > 0;
    if (began) stk__stall_mark(stall, STK_STALL_OTHER);
    const double total = began ? stk__stall_total_ns(stall) : 0;
    for (int row = 0; row < STK_STALL_ROWS; row++) {
        const double ns = began ? stall->row_ns[row] : 0;
        t->rows[row] = (stk_trainer_stall_row){
            .name = stk__stall_name((stk__stall_row)row), .ns = ns, .share = total > 0 ? ns / total : NAN};
    }
    *count = STK_STALL_ROWS;
    return t->rows;
}
