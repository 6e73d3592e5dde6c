/* SPDX-License-Identifier: Apache-2.0 */
/* What a trainer tells of itself: progress, score, description, effects, stall table, as dicts and lists with
 * the names of stoker/train.h, None for what is unknown. Threads: with the GIL. */
#include "trainer_object.h"

#include "py_values.h"

/* {"top1": 0.9} */
static PyObject *values_dict(const double *values, const stk_trainer_info *info)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && info && i < info->value_count; i++)
        if (!stk__dict_put(dict, info->value_names[i], stk__number_or_none(values[i]))) Py_CLEAR(dict);
    return dict;
}

/* Adds the training part: None before the first log. */
static bool put_logged(PyObject *dict, const stk_trainer_progress *p, const stk_trainer_info *info)
{
    return stk__dict_put(dict, "logged_step",
                         p->logged_step ? PyLong_FromLongLong(p->logged_step) : Py_NewRef(Py_None)) &&
           stk__dict_put(dict, "loss", stk__number_or_none(p->loss)) &&
           stk__dict_put(dict, "grad_norm", stk__number_or_none(p->grad_norm)) &&
           stk__dict_put(dict, "values", values_dict(p->values, info)) &&
           stk__dict_put(dict, "samples_per_s", stk__number_or_none(p->samples_per_s)) &&
           stk__dict_put(dict, "wait_share", stk__number_or_none(p->wait_share));
}

static bool put_evaluated(PyObject *dict, const stk_trainer_progress *p, const stk_trainer_info *info)
{
    PyObject *best = stk__number_or_none(p->best_value);
    const bool measured = best && best != Py_None;
    return stk__dict_put(dict, "best_value", best) &&
           stk__dict_put(dict, "best_step",
                         measured ? PyLong_FromLongLong(p->best_step) : Py_NewRef(Py_None)) &&
           stk__dict_put(dict, "val_loss", stk__number_or_none(p->val_loss)) &&
           stk__dict_put(dict, "val_values", values_dict(p->val_values, info)) &&
           stk__dict_put(dict, "best", PyBool_FromLong(p->best));
}

PyObject *stk__trainer_progress_dict(const stk_trainer_progress *p, const stk_trainer_info *info)
{
    PyObject *dict =
        Py_BuildValue("{s:L, s:K, s:K, s:K, s:K, s:K, s:N}", "step", (long long)p->step, "epoch",
                      (unsigned long long)p->epoch, "epochs", (unsigned long long)p->epochs, "batch",
                      (unsigned long long)p->batch, "batches", (unsigned long long)p->batches, "samples",
                      (unsigned long long)p->samples, "lr", stk__number_or_none(p->lr));
    const char *checkpoint = p->checkpoint && p->checkpoint[0] ? p->checkpoint : NULL;
    if (dict && put_logged(dict, p, info) && put_evaluated(dict, p, info) &&
        stk__dict_put(dict, "interrupted", PyBool_FromLong(p->interrupted)) &&
        stk__dict_put(dict, "stopped_early", PyBool_FromLong(p->stopped_early)) &&
        stk__dict_put(dict, "checkpoint", stk__path_or_none(checkpoint)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *list_numbers(const double *numbers, int count)
{
    if (!numbers) return Py_NewRef(Py_None);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++)
        if (!stk__list_put(list, stk__number_or_none(numbers[i]))) Py_CLEAR(list);
    return list;
}

PyObject *stk__trainer_score_dict(const stk_trainer_score *score, const stk_trainer_info *info)
{
    return Py_BuildValue("{s:N, s:N, s:N, s:K, s:K, s:N}", "loss", stk__number_or_none(score->loss), "values",
                         values_dict(score->values, info), "per_class",
                         list_numbers(score->per_class, info->class_count), "samples",
                         (unsigned long long)score->samples, "bad_samples",
                         (unsigned long long)score->bad_samples, "best", PyBool_FromLong(score->best));
}

/* Of an open trainer that this process has; NULL with an exception. */
static stk_trainer *trainer_of(PyObject *object)
{
    const stk__trainer_object *self = (const stk__trainer_object *)object;
    return stk__trainer_is_usable(self, false) ? self->trainer : NULL;
}

PyObject *stk__trainer_progress_now(PyObject *object, PyObject *ignored)
{
    stk_trainer_progress progress = STK_TRAINER_PROGRESS_INIT;
    stk_error error = {0};
    stk_trainer *trainer = trainer_of(object);
    (void)ignored;
    if (!trainer) return NULL;
    if (stk_trainer_get_progress(trainer, &progress, &error) != STK_OK) return stk__raise(&error);
    return stk__trainer_progress_dict(&progress, stk_trainer_describe(trainer));
}

static PyObject *describe_computing(const stk_trainer_info *info)
{
    return Py_BuildValue("{s:N, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:K, s:K, s:K}", "run",
                         stk__path_or_none(info->run), "task", info->task, "network", info->network, "engine",
                         info->engine, "engine_version", info->engine_version, "device", info->device, "amp",
                         info->amp, "threads", (int)info->threads, "parameter_count",
                         (unsigned long long)info->parameter_count, "planned_bytes",
                         (unsigned long long)info->planned_bytes, "planned_device_bytes",
                         (unsigned long long)info->planned_device_bytes);
}

static bool put_count(PyObject *dict, const char *key, uint64_t count)
{
    return stk__dict_put(dict, key, PyLong_FromUnsignedLongLong(count));
}

static bool put_data(PyObject *dict, const stk_trainer_info *info)
{
    return put_count(dict, "sample_count", info->sample_count) &&
           put_count(dict, "val_sample_count", info->val_sample_count) &&
           put_count(dict, "batches_per_epoch", info->batches_per_epoch) &&
           put_count(dict, "batch_size", (uint64_t)info->batch_size) &&
           put_count(dict, "epochs", info->epochs) && put_count(dict, "image_h", (uint64_t)info->image_h) &&
           put_count(dict, "image_w", (uint64_t)info->image_w) &&
           put_count(dict, "image_c", (uint64_t)info->image_c) &&
           put_count(dict, "window_rows", (uint64_t)info->window_rows) &&
           put_count(dict, "feature_count", (uint64_t)info->feature_count) &&
           put_count(dict, "class_count", (uint64_t)info->class_count) &&
           put_count(dict, "point_count", (uint64_t)info->point_count) &&
           stk__dict_put(dict, "class_names", stk__list_names(info->class_names, info->class_count)) &&
           stk__dict_put(dict, "point_names", stk__list_names(info->point_names, info->point_count));
}

PyObject *stk__trainer_describe_dict(PyObject *object, PyObject *ignored)
{
    const stk_trainer *trainer = trainer_of(object);
    (void)ignored;
    if (!trainer) return NULL;
    const stk_trainer_info *info = stk_trainer_describe(trainer);
    const char *metric =
        info->metric >= 0 && info->metric < info->value_count ? info->value_names[info->metric] : NULL;
    PyObject *dict = describe_computing(info);
    if (dict && put_data(dict, info) &&
        stk__dict_put(dict, "value_names", stk__list_names(info->value_names, info->value_count)) &&
        stk__dict_put(dict, "metric", stk__path_or_none(metric)) &&
        stk__dict_put(dict, "resumed", PyBool_FromLong(info->resumed)) &&
        stk__dict_put(dict, "resumed_step", PyLong_FromLongLong(info->resumed_step)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

PyObject *stk__trainer_effects_list(PyObject *object, PyObject *ignored)
{
    int count = 0;
    const stk_trainer *trainer = trainer_of(object);
    (void)ignored;
    if (!trainer) return NULL;
    const stk_trainer_effect *rows = stk_trainer_effects(trainer, &count);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++)
        if (!stk__list_put(list, Py_BuildValue("{s:s, s:N, s:N, s:N, s:N}", "name", rows[i].name, "requested",
                                               stk__path_or_none(rows[i].requested), "in_effect",
                                               stk__path_or_none(rows[i].in_effect), "why",
                                               stk__path_or_none(rows[i].why), "differs",
                                               PyBool_FromLong(rows[i].differs))))
            Py_CLEAR(list);
    return list;
}

PyObject *stk__trainer_stall_list(PyObject *object, PyObject *ignored)
{
    int count = 0;
    (void)ignored;
    if (!stk__trainer_is_usable((const stk__trainer_object *)object, true)) return NULL;
    const stk_trainer_stall_row *rows = stk_trainer_stall(((stk__trainer_object *)object)->trainer, &count);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++)
        if (!stk__list_put(list,
                           Py_BuildValue("{s:s, s:d, s:N}", "name", rows[i].name, "seconds",
                                         rows[i].ns * 1e-9, "share", stk__number_or_none(rows[i].share))))
            Py_CLEAR(list);
    return list;
}
