/* SPDX-License-Identifier: Apache-2.0 */
/* The public predictor. The network is opened for batches of two sizes (places_feed.h) before anything is to
 * be predicted; each call opens a loader on its inputs, files or pixels of the caller's, and evaluates it.
 * All calls but close come from the opening thread. */
#include "stoker/predict.h"

#include "core/sized.h"
#include "session/front/front_settings.h"
#include "session/front/npy_source.h"
#include "session/front/places_feed.h"
#include "session/loader_feed.h"
#include "session/predict/predict_original.h"
#include "session/predict/predict_session.h"
#include "session/sample_score.h"

#include "image/resize.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { FIRST_OPTIONS_BYTES = offsetof(stk_predictor_options, environment) + 8 /* and all_windows */ };

struct stk_predictor {
    stk__config *config;
    stk__predict_session predict; /* loader and source are those of a call */
    stk__places_feed places;
    char *run, *checkpoint; /* copies of the options' texts */
    pthread_t thread;       /* that opened it */
    atomic_bool stop;       /* stk_predictor_interrupt was called */
    bool inside;            /* a call is under way: what comes now comes from its sink */
    bool all_windows;
    int hung; /* threads of a call that were given up; they may use everything */

    /* Constant from the end of open. */
    stk_predictor_info info;
    stk__buffer class_names, point_names; /* of const char *; the texts belong to the run's data */

    /* Of a call. */
    stk_prediction_sink sink;
    void *context;
    bool from_memory;
    stk__original original;
    stk_status status; /* the first failure that is not one sample's */
    stk_error failure;
    stk__buffer numbers, ids, mask; /* of one answer; they only grow */
};

static _Atomic(stk_predictor *) left_behind; /* threads that hang may still use it */

/* --- opening and closing ---------------------------------------------------------------------------------
 */

int stk_predictor_close(stk_predictor **pointer)
{
    if (!pointer || !*pointer) return 0;
    stk_predictor *p = *pointer;
    stk__buffer *const buffers[] = {&p->class_names, &p->point_names, &p->numbers, &p->ids, &p->mask};
    *pointer = NULL;
    const int hung = p->hung + stk__predict_session_close(&p->predict);
    if (hung) {
        atomic_store(&left_behind, p);
        return hung;
    }
    stk__places_feed_fini(&p->places);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        stk__buffer_fini(buffers[i]);
    stk__config_destroy(&p->config);
    stk__free(p->run);
    stk__free(p->checkpoint);
    stk__free(p);
    return 0;
}

static stk_status copy_text(char **copy, const char *text, stk_error *error)
{
    *copy = stk__text_copy(text);
    return *copy || !text ? STK_OK : stk__fail_memory(error, strlen(text), "a path");
}

/* [count] names by number; NULL where the first has none. */
static stk_status list_names(const stk__run_data *data, const char *(*name)(const stk__run_data *, int64_t),
                             int32_t count, stk__buffer *memory, const char *const **list, stk_error *error)
{
    if (!count || !name(data, 0)) return STK_OK;
    for (int32_t i = 0; i < count; i++) {
        const char *text = name(data, i);
        if (!text) text = "";
        STK__TRY(stk__buffer_append(memory, &text, sizeof text, error));
    }
    *list = (const char *const *)(const void *)memory->data;
    return STK_OK;
}

static stk_status describe(stk_predictor *p, stk_error *error)
{
    const stk__trainer_info *trainer = stk__trainer_describe(p->predict.session.trainer);
    const stk__shape *output = &stk__pass_forms(trainer->pass)[trainer->network->output].output;
    const stk__feed_facts *f = &p->predict.data.facts;
    const stk__task task = p->predict.task;
    p->info = (stk_predictor_info){
        .task = stk__task_word(task),
        .network = trainer->network->name,
        .engine = trainer->engine->name,
        .checkpoint = p->predict.found.path,
        .skipped_checkpoints = p->predict.found.skipped,
        .image_h = f->image_h,
        .image_w = f->image_w,
        .image_c = f->image_c,
        .window_rows = f->window,
        .feature_count = f->features,
        .class_count = stk__task_has_classes(task) ? (int32_t)output->dim[output->ndim - 1] : 0,
        .point_count = task == STK_TASK_POINTS ? f->points : 0,
        .batch_size = p->places.places};
    STK__TRY(list_names(&p->predict.data, stk__run_class_name, p->info.class_count, &p->class_names,
                        &p->info.class_names, error));
    return list_names(&p->predict.data, stk__run_point_name, p->info.point_count, &p->point_names,
                      &p->info.point_names, error);
}

static stk_status open_parts(stk_predictor *p, const char *run, const stk_predictor_options *o,
                             stk_error *error)
{
    stk__predict_session *s = &p->predict;
    const stk__front_settings settings = {
        .list = o->settings, .count = o->setting_count, .environment = o->environment};
    p->thread = pthread_self();
    p->all_windows = o->all_windows;
    STK__TRY(copy_text(&p->run, run, error));
    STK__TRY(copy_text(&p->checkpoint, o->checkpoint, error));
    STK__TRY(stk__front_settings_read(&p->config, &settings, error));
    s->session.config = p->config;
    s->choice = (stk__run_choice){.run = p->run, .checkpoint = p->checkpoint, .newest = o->newest};
    STK__TRY(stk__predict_session_read(s, error));
    STK__TRY(stk__predict_session_set_options(s, error));
    STK__TRY(stk__places_feed_init(&p->places, &s->data.facts, s->filled.batch_size, error));
    p->places.stop = &p->stop;
    const stk__feed places = stk__places_feed_of(&p->places);
    STK__TRY(stk__predict_feed_init(&s->feed, &places, &s->data.facts, error));
    STK__TRY(stk__predict_session_open_network(s, error));
    STK__TRY(stk__run_checkpoint_load(&s->choice, s->session.trainer, &s->found, error));
    return describe(p, error);
}

stk_status stk_predictor_open(stk_predictor **predictor, const char *run,
                              const stk_predictor_options *options, stk_error *error)
{
    if (!predictor) return stk__fail(error, STK_ERROR_ARGUMENT, "no place for the predictor");
    *predictor = NULL;
    if (!run) return stk__fail(error, STK_ERROR_ARGUMENT, "stk_predictor_open needs the folder of a run");
    const stk__sized sized = {"stk_predictor_options", FIRST_OPTIONS_BYTES, sizeof(stk_predictor_options)};
    stk_predictor_options given = {0};
    if (options) STK__TRY(stk__sized_take(&given, options, &sized, error));
    if (given.checkpoint && given.newest)
        return stk__fail(error, STK_ERROR_ARGUMENT, "checkpoint and newest contradict each other");
    stk_predictor *p = stk__alloc(sizeof *p);
    if (!p) return stk__fail_memory(error, sizeof *p, "a predictor");
    const stk_status status = open_parts(p, run, &given, error);
    if (status == STK_OK)
        *predictor = p;
    else
        stk_predictor_close(&p);
    return status;
}

const stk_predictor_info *stk_predictor_describe(const stk_predictor *p)
{
    return p ? &p->info : NULL;
}

/* --- answers ---------------------------------------------------------------------------------------------
 */

/* In numbers: [class_count], [point_count 2]. */
static stk_status reserve_numbers(stk_predictor *p, int64_t count, float **numbers, stk_error *error)
{
    STK__TRY(stk__buffer_reserve(&p->numbers, (size_t)count * sizeof **numbers, error));
    *numbers = (float *)(void *)p->numbers.data;
    return STK_OK;
}

/* Softmax, with the largest logit taken off before exp, which could overflow; or sigmoids. */
static stk_status answer_classes(stk_predictor *p, const stk_tensor *t, int64_t i, stk_prediction *to,
                                 stk_error *error)
{
    const int64_t classes = t->shape[1];
    const float *logits = (const float *)t->data + i * t->strides[0];
    float *shares;
    double sum = 0;
    float most = logits[0];
    STK__TRY(reserve_numbers(p, classes, &shares, error));
    for (int64_t c = 1; c < classes; c++)
        most = logits[c] > most ? logits[c] : most;
    for (int64_t c = 0; c < classes; c++)
        sum += exp((double)logits[c] - most);
    for (int64_t c = 0; c < classes; c++)
        shares[c] = p->predict.task == STK_TASK_MULTILABEL ? (float)(1 / (1 + exp(-(double)logits[c])))
                                                           : (float)(exp((double)logits[c] - most) / sum);
    to->probabilities = shares;
    return STK_OK;
}

static stk_status answer_mask(stk_predictor *p, const stk_tensor *t, int64_t i, stk_prediction *to,
                              stk_error *error)
{
    stk__pixels original;
    STK__TRY(stk__original_open(&p->original, (uint64_t)to->index, false, &original, error));
    STK__TRY(stk__buffer_reserve(&p->ids, (size_t)(t->shape[1] * t->shape[2]), error));
    STK__TRY(stk__buffer_reserve(&p->mask, (size_t)original.w * (size_t)original.h, error));
    stk__resize_mask(stk__answer_ids(t, i, p->ids.data),
                     stk__pixels_dense(p->mask.data, original.w, original.h, 1));
    to->w = original.w;
    to->h = original.h;
    to->mask = p->mask.data;
    return STK_OK;
}

static stk_status answer_points(stk_predictor *p, const stk_tensor *t, int64_t i, stk_prediction *to,
                                stk_error *error)
{
    stk__pixels original;
    float *points;
    STK__TRY(stk__original_open(&p->original, (uint64_t)to->index, false, &original, error));
    STK__TRY(reserve_numbers(p, t->shape[3] / 3 * 2, &points, error));
    for (int64_t k = 0; k < t->shape[3] / 3; k++) {
        double at[2];
        stk__answer_point(t, i, k, original, at);
        points[2 * k] = (float)at[0];
        points[2 * k + 1] = (float)at[1];
    }
    to->w = original.w;
    to->h = original.h;
    to->points = points;
    return STK_OK;
}

static stk_status answer(stk_predictor *p, const stk_tensor *t, int64_t i, int64_t id, stk_error *error)
{
    char path[PATH_MAX] = "";
    const stk__source *source = p->predict.source;
    const stk__task task = p->predict.task;
    stk_prediction to = {.index = id, .path = path, .value = NAN};
    stk_status status = STK_OK;
    if (!p->from_memory) source->ops->where(source, (uint64_t)id, STK_FIELD_IMAGE, path, sizeof path);
    if (task == STK_TASK_SEGMENTATION)
        status = answer_mask(p, t, i, &to, error);
    else if (task == STK_TASK_POINTS)
        status = answer_points(p, t, i, &to, error);
    else if (stk__task_has_classes(task))
        status = answer_classes(p, t, i, &to, error);
    else
        to.value = ((const float *)t->data)[i * t->strides[0]];
    if (stk__task_reads_windows(task)) to.row = stk__predict_row(source, (uint64_t)id);
    if (status == STK_OK) p->sink(p->context, &to);
    return status;
}

/* A stk__trainer_look. */
static void look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    stk_predictor *p = context;
    const int64_t *ids = batch->sample_ids.data;
    const float *weights = batch->weights.data;
    for (int64_t i = 0; i < batch->count && p->status == STK_OK; i++)
        if (weights[i] > 0) p->status = answer(p, prediction, i, ids[i], &p->failure);
}

static void tell_damage(void *context, const stk_ledger_entry *entry)
{
    stk_predictor *p = context;
    const stk_prediction to = {.index = entry->sample_id,
                               .path = p->from_memory ? "" : entry->path,
                               .detail = entry->detail,
                               .damage = entry->damage,
                               .value = NAN};
    p->sink(p->context, &to);
}

/* --- a call ----------------------------------------------------------------------------------------------
 */

static stk_status check(const stk_predictor *p, stk_prediction_sink sink, const void *input, const char *what,
                        stk_error *error)
{
    if (!p || !sink || !input)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s needs a predictor, an input and a sink", what);
    if (!pthread_equal(p->thread, pthread_self())) {
        stk__fail(error, STK_ERROR_ARGUMENT, "%s is called by another thread than stk_predictor_open was",
                  what);
        stk__error_hint(error, "open the predictor in the thread that predicts with it");
        return STK_ERROR_ARGUMENT;
    }
    if (p->inside)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s is called from a sink of the same predictor", what);
    if (p->hung)
        return stk__fail(error, STK_ERROR_TIMEOUT, "threads of an earlier call hang in this predictor");
    return STK_OK;
}

/* The source is open. */
static stk_status run(stk_predictor *p, stk_error *error)
{
    stk__predict_session *s = &p->predict;
    stk__score score;
    const stk__limits limits = stk__predict_session_limits(s);
    STK__TRY(stk__predict_session_open_loader(s, error));
    stk_loader_set_ledger(s->session.val_loader, tell_damage, p);
    p->places.inner = stk__feed_of_loader(s->session.val_loader);
    STK__TRY(stk__original_init(&p->original, s->source, &limits, error));
    p->original.upright = s->filled.exif == STK_SWITCH_ON;
    stk__trainer_watch(s->session.trainer, look, p);
    const stk_status status = stk__trainer_evaluate(s->session.trainer, &score, error);
    if (p->status != STK_OK && error) *error = p->failure;
    return p->status != STK_OK ? p->status : status;
}

/* What run has opened is closed. */
static stk_status run_once(stk_predictor *p, stk_prediction_sink sink, void *context, stk_error *error)
{
    p->sink = sink;
    p->context = context;
    p->status = STK_OK;
    p->inside = true;
    const stk_status status = run(p, error);
    p->inside = false;
    atomic_store(&p->stop, false);
    stk__original_fini(&p->original);
    p->original = (stk__original){.source = NULL};
    p->hung = stk_loader_close(&p->predict.session.val_loader);
    if (!p->hung) stk__source_close(&p->predict.source);
    return status;
}

void stk_predictor_interrupt(stk_predictor *p)
{
    if (p) atomic_store(&p->stop, true);
}

/* There is one input: why it cannot be used is why the call fails. */
static void keep_refusal(void *context, const char *name, const stk_error *error)
{
    (void)name;
    *(stk_error *)context = *error;
}

stk_status stk_predictor_predict(stk_predictor *p, const char *path, stk_prediction_sink sink, void *context,
                                 stk_error *error)
{
    STK__TRY(check(p, sink, path, "stk_predictor_predict", error));
    stk_error refusal = {0};
    stk__predict_inputs inputs = {
        .names = &path, .count = 1, .all = p->all_windows, .refuse = keep_refusal, .context = &refusal};
    p->from_memory = false;
    const stk_status status = stk__predict_session_open_source(&p->predict, &inputs, error);
    if (status == STK_OK) return run_once(p, sink, context, error);
    if (!refusal.code) return status;
    if (error) *error = refusal;
    return refusal.code;
}

stk_status stk_predictor_predict_images(stk_predictor *p, const stk_tensor *images, stk_prediction_sink sink,
                                        void *context, stk_error *error)
{
    STK__TRY(check(p, sink, images, "stk_predictor_predict_images", error));
    if (stk__task_reads_windows(p->predict.task))
        return stk__fail(error, STK_ERROR_CONFIG, "the network of this run reads series, not images");
    p->from_memory = true;
    STK__TRY(stk__npy_source_open(&p->predict.source, images, error));
    return run_once(p, sink, context, error);
}
