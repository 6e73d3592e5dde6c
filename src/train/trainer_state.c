/* SPDX-License-Identifier: Apache-2.0 */
/* Everything but tensors that a run needs to resume as if nothing had happened. Numbers are written with 17
 * digits, which read back as the same doubles. */
#include "train/trainer_internal.h"

#include "core/json_text.h"
#include "core/loader_state.h"

#include <math.h>
#include <string.h>

/* The loader's state without its schema number: the checkpoint has its own. */
static json_t *feed_json(const stk__feed *feed)
{
    stk_loader_state s;
    feed->tell(feed->context, &s);
    json_t *object = stk__loader_state_json(&s);
    json_object_del(object, STK_LOADER_STATE_SCHEMA);
    return object;
}

static bool read_feed(const json_t *json, stk_loader_state *s)
{
    char why[160];
    json_t *object = json_copy((json_t *)(uintptr_t)json);
    json_object_set_new(object, STK_LOADER_STATE_SCHEMA, json_integer(1));
    const bool read = object && !stk__loader_state_read(s, object, why);
    json_decref(object);
    return read;
}

/* Sums that have not been read yet, as a list of numbers; null: no finite one. */
static json_t *sums_json(stk__tensor *tensor)
{
    stk_tensor view;
    if (stk__tensor_map(tensor, &view, NULL) != STK_OK) return NULL;
    json_t *list = json_array();
    for (int64_t i = 0; i < view.shape[0]; i++)
        json_array_append_new(list, view.dtype == STK_DTYPE_I64
                                        ? json_integer(((const int64_t *)view.data)[i])
                                        : stk__json_number(((const double *)view.data)[i]));
    stk__tensor_unmap(tensor, &view, false, NULL);
    return list;
}

static bool read_sums(const json_t *list, stk__tensor *tensor, stk_error *error)
{
    stk_tensor view;
    if (!json_is_array(list) || stk__tensor_map(tensor, &view, error) != STK_OK) return false;
    const bool fits = (int64_t)json_array_size(list) == view.shape[0];
    for (int64_t i = 0; i < view.shape[0] && fits; i++) {
        const json_t *value = json_array_get(list, (size_t)i);
        if (view.dtype == STK_DTYPE_I64)
            ((int64_t *)view.data)[i] = json_integer_value(value);
        else
            ((double *)view.data)[i] = json_is_null(value) ? NAN : json_number_value(value);
    }
    return stk__tensor_unmap(tensor, &view, true, error) == STK_OK && fits;
}

bool stk__trainer_is_finite(stk__trainer *t)
{
    json_t *sums = sums_json(t->loss_sums);
    bool finite = true;
    for (size_t i = 0; i < json_array_size(sums); i++)
        finite &= !json_is_null(json_array_get(sums, i));
    json_decref(sums);
    return finite;
}

static json_t *scale_json(const stk__loss_scale *s)
{
    return json_pack("{s:f, s:I, s:I, s:I}", "scale", s->scale, "good_count", (json_int_t)s->good_count,
                     "skip_count", (json_int_t)s->skip_count, "skipped_steps", (json_int_t)s->skipped);
}

/* A run that had none before (it was float32 then) begins with a new one. */
static bool read_scale(const json_t *json, stk__loss_scale *s)
{
    json_int_t good, skips, skipped;
    double scale;
    if (!json || s->scale == 0) return true;
    if (json_unpack((json_t *)(uintptr_t)json, "{s:F, s:I, s:I, s:I}", "scale", &scale, "good_count", &good,
                    "skip_count", &skips, "skipped_steps", &skipped) != 0 ||
        !(scale > 0 && scale <= STK_LOSS_SCALE_MOST) || good < 0 || skips < 0 || skipped < 0)
        return false;
    s->scale = scale;
    s->good_count = good;
    s->skip_count = skips;
    s->skipped = skipped;
    return true;
}

/* --- which method each layer was found to be fastest with, where that was measured ------------------------
 * Methods round differently, and another machine, or this one on another day, may measure otherwise. */

static const char *const pass_names[STK_PASS_COUNT] = {"train", "train_last", "eval", "eval_last"};

static json_t *methods_json(const stk__pass *pass)
{
    const stk__pass_report *report = stk__pass_describe(pass);
    json_t *layers = json_object();
    for (int i = 0; i < report->row_count; i++)
        if (report->rows[i].method[0])
            json_object_set_new(layers, report->rows[i].layer, json_string(report->rows[i].method));
    return layers;
}

static json_t *all_methods_json(const stk__trainer *t)
{
    json_t *all = json_object();
    for (int i = 0; i < STK_PASS_COUNT; i++)
        if (t->passes[i]) json_object_set_new(all, pass_names[i], methods_json(t->passes[i]));
    return all;
}

/* What the checkpoint does not know stays as it is here. */
static void read_methods(const json_t *all, const stk__trainer *t)
{
    for (int p = 0; t->tunes && p < STK_PASS_COUNT; p++) {
        const json_t *layers = json_object_get(all, pass_names[p]);
        const stk__pass_report *report = t->passes[p] ? stk__pass_describe(t->passes[p]) : NULL;
        for (int i = 0; report && i < report->row_count; i++) {
            const char *method = json_string_value(json_object_get(layers, report->rows[i].layer));
            if (method) stk__pass_choose_method(t->passes[p], i, method);
        }
    }
}

/* --- all of it -------------------------------------------------------------------------------------------
 */

static bool add_part(json_t *state, const char *name, json_t *part)
{
    return json_object_set_new(state, name, part) == 0;
}

json_t *stk__trainer_tell(stk__trainer *t)
{
    json_t *state =
        json_pack("{s:I, s:I, s:I, s:s, s:i, s:s, s:o, s:o, s:o, s:o}", "step", (json_int_t)t->at.step,
                  "epoch", (json_int_t)t->at.epoch, "batch", (json_int_t)t->at.batch, "engine",
                  t->info.engine->name, "threads", t->info.engine->threads, "network", t->network->name,
                  "feed", feed_json(&t->feed), "loss_sums", sums_json(t->loss_sums), "metric_sums",
                  sums_json(t->metric_sums), "norm_sums", sums_json(t->norm_sums));
    const bool whole = state && add_part(state, "batch_size", json_integer(t->feed.batch_size)) &&
                       add_part(state, "batches", json_integer((json_int_t)t->feed.batches_per_epoch)) &&
                       (t->scale.scale <= 0 || add_part(state, "loss_scale", scale_json(&t->scale))) &&
                       (!t->tunes || add_part(state, "methods", all_methods_json(t)));
    if (whole) return state;
    json_decref(state);
    return NULL;
}

static stk_status refuse_state(stk_error *error)
{
    stk__fail(error, STK_ERROR_STATE, "the saved state is not that of this network and data");
    stk__error_hint(error, "resume with the settings of the run: its folder has them in config.yaml");
    return STK_ERROR_STATE;
}

/* Batches of another size do not divide what is left of an epoch as it was planned: a part of one begins
 * again. *batch and the place in the feed are those of the state, before; a state of old has no sizes. */
static bool change_batches(const stk__trainer *t, const json_t *state, json_int_t *batch,
                           stk_loader_state *at)
{
    const json_int_t size = json_integer_value(json_object_get(state, "batch_size")),
                     batches = json_integer_value(json_object_get(state, "batches"));
    if (size <= 0 || size == t->feed.batch_size || *batch <= 0) return false;
    const bool ended = *batch >= batches;
    at->epoch += ended && at->position > 0;
    at->position = 0;
    *batch = ended ? (json_int_t)t->feed.batches_per_epoch : 0;
    return !ended;
}

stk_status stk__trainer_seek(stk__trainer *t, const json_t *state, stk_error *error)
{
    json_int_t step, epoch, batch;
    json_t *feed, *loss, *metric, *norm;
    const char *network;
    stk_loader_state at;
    if (json_unpack((json_t *)(uintptr_t)state, "{s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:o}", "step", &step,
                    "epoch", &epoch, "batch", &batch, "network", &network, "feed", &feed, "loss_sums", &loss,
                    "metric_sums", &metric, "norm_sums", &norm) != 0 ||
        strcmp(network, t->network->name) != 0 || step < 0 || !read_feed(feed, &at) ||
        !read_scale(json_object_get(state, "loss_scale"), &t->scale))
        return refuse_state(error);
    if (!read_sums(loss, t->loss_sums, error) || !read_sums(metric, t->metric_sums, error) ||
        !read_sums(norm, t->norm_sums, error))
        return refuse_state(error);
    const bool again = change_batches(t, state, &batch, &at);
    STK__TRY(t->feed.seek(t->feed.context, &at, error));
    t->info.epoch_again = again;
    read_methods(json_object_get(state, "methods"), t);
    t->at.step = step;
    t->at.lr = step > 0 ? stk__lr_at(&t->schedule, step - 1) : 0;
    t->at.epoch = (uint64_t)epoch;
    t->at.batch = (uint64_t)batch;
    t->end_is_due = t->at.batch >= t->feed.batches_per_epoch;
    return STK_OK;
}
