/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader tells of itself: description, effects, statistics, state, names of samples, as dicts and
 * lists with the names of stoker/loader.h. Threads: with the GIL, beside next. */
#include "loader_object.h"

#include <string.h>

static stk_loader *loader_of(PyObject *self)
{
    stk__loader_object *object = (stk__loader_object *)self;
    return stk__loader_is_usable(object) ? object->shared->loader : NULL;
}

PyObject *stk__loader_tell_text(PyObject *self, PyObject *ignored)
{
    stk_loader_state state;
    stk_error error = {0};
    char text[STK_LOADER_STATE_TEXT_BYTES];
    stk_loader *loader = loader_of(self);
    (void)ignored;
    if (!loader) return NULL;
    stk_loader_tell(loader, &state);
    if (stk_loader_state_print(&state, text, sizeof text, &error) != STK_OK) return stk__raise(&error);
    return PyUnicode_FromString(text);
}

static PyObject *list_texts(const char *const *texts, int count)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && texts && i < count; i++) {
        PyObject *text = PyUnicode_DecodeUTF8(texts[i], (Py_ssize_t)strlen(texts[i]), "surrogateescape");
        if (!text || PyList_Append(list, text) != 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *list_counts(const stk_data_count *counts, int count)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        PyObject *row = Py_BuildValue("(sK)", counts[i].what, (unsigned long long)counts[i].count);
        if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static bool put_numbers(PyObject *dict, const stk_loader_info *info)
{
    const struct {
        const char *key;
        long long value;
    } rows[] = {{"sample_count", (long long)info->sample_count},
                {"dataset_count", (long long)info->dataset_count},
                {"batches_per_epoch", (long long)info->batches_per_epoch},
                {"batch_size", info->batch_size},
                {"num_workers", info->num_workers},
                {"slot_count", info->slot_count},
                {"slot_bytes", (long long)info->slot_bytes},
                {"cache_bytes", (long long)info->cache_bytes},
                {"height", info->h},
                {"width", info->w},
                {"channels", info->channels},
                {"class_count", info->class_count},
                {"point_count", info->point_count},
                {"window_rows", info->window_rows},
                {"feature_count", info->feature_count},
                {"unmasked_count", (long long)info->unmasked_count}};
    bool put = true;
    for (size_t i = 0; put && i < sizeof rows / sizeof rows[0]; i++)
        put = stk__dict_put(dict, rows[i].key, PyLong_FromLongLong(rows[i].value));
    return put;
}

static bool put_flags(PyObject *dict, const stk_loader_info *info)
{
    return stk__dict_put(dict, "masks", PyBool_FromLong(info->masks)) &&
           stk__dict_put(dict, "classes", PyBool_FromLong(info->classes)) &&
           stk__dict_put(dict, "values", PyBool_FromLong(info->values)) &&
           stk__dict_put(dict, "label_sets", PyBool_FromLong(info->label_sets)) &&
           stk__dict_put(dict, "resident", PyBool_FromLong(info->resident)) &&
           stk__dict_put(dict, "pinned", PyBool_FromLong(info->pinned));
}

PyObject *stk__loader_describe_dict(PyObject *self, PyObject *ignored)
{
    stk_loader *loader = loader_of(self);
    (void)ignored;
    if (!loader) return NULL;
    const stk_loader_info *info = stk_loader_describe(loader);
    PyObject *dict = PyDict_New();
    if (dict && stk__dict_put(dict, "layout", PyUnicode_FromString(info->layout)) &&
        stk__dict_put(dict, "fingerprint", PyUnicode_FromString(info->fingerprint)) &&
        stk__dict_put(dict, "found", PyUnicode_FromString(info->found)) &&
        stk__dict_put(dict, "class_names", list_texts(info->class_names, info->class_count)) &&
        stk__dict_put(dict, "point_names", list_texts(info->point_names, info->point_count)) &&
        stk__dict_put(dict, "left_out", list_counts(info->left_out, info->left_out_count)) &&
        stk__dict_put(dict, "formats", list_counts(info->formats, info->format_count)) &&
        put_numbers(dict, info) && put_flags(dict, info))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

PyObject *stk__list_effects(const stk_loader_effect *effects, int count)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        const stk_loader_effect *effect = &effects[i];
        PyObject *row =
            Py_BuildValue("(ssss)", effect->name, effect->requested, effect->in_effect, effect->why);
        if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyObject *stk__loader_effects_list(PyObject *self, PyObject *ignored)
{
    int count;
    stk_loader *loader = loader_of(self);
    (void)ignored;
    if (!loader) return NULL;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    return stk__list_effects(effects, count);
}

static bool put_stages(PyObject *dict, const stk_loader_stats *stats)
{
    PyObject *stages = PyDict_New();
    for (int i = 0; stages && i < stats->stage_count; i++)
        if (!stk__dict_put(stages, stk_stage_name((stk_stage)i),
                           PyFloat_FromDouble((double)stats->stage_ns[i] * 1e-9)))
            Py_CLEAR(stages);
    return stk__dict_put(dict, "stage_s", stages);
}

PyObject *stk__loader_stats_dict(PyObject *self, PyObject *ignored)
{
    stk_loader *loader = loader_of(self);
    stk_loader_stats stats;
    (void)ignored;
    if (!loader) return NULL;
    stk_loader_get_stats(loader, &stats);
    PyObject *dict = Py_BuildValue(
        "{s:K, s:K, s:K, s:K, s:K, s:K, s:d}", "samples", (unsigned long long)stats.samples, "batches",
        (unsigned long long)stats.batches, "bad_samples", (unsigned long long)stats.bad_samples, "bytes_read",
        (unsigned long long)stats.bytes_read, "cache_hits", (unsigned long long)stats.cache_hits,
        "resized_images", (unsigned long long)stats.resized_images, "wait_s", (double)stats.wait_ns * 1e-9);
    if (dict && put_stages(dict, &stats)) return dict;
    Py_XDECREF(dict);
    return NULL;
}

PyObject *stk__loader_sample(PyObject *self, PyObject *args)
{
    long long id;
    char key[4096], path[4352];
    stk_error error = {0};
    if (!PyArg_ParseTuple(args, "L", &id)) return NULL;
    stk_loader *loader = loader_of(self);
    if (!loader) return NULL;
    if (stk_loader_sample_key(loader, id, key, sizeof key, &error) != STK_OK ||
        stk_loader_sample_path(loader, id, path, sizeof path, &error) != STK_OK)
        return stk__raise(&error);
    return Py_BuildValue("(NN)", PyUnicode_DecodeFSDefault(key), PyUnicode_DecodeFSDefault(path));
}

PyObject *stk__loader_bad_samples(PyObject *self, PyObject *ignored)
{
    PyObject *bad = ((stk__loader_object *)self)->bad;
    (void)ignored;
    return PyList_GetSlice(bad, 0, PyList_Size(bad));
}
