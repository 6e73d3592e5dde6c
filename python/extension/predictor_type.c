/* SPDX-License-Identifier: Apache-2.0 */
/* `_stoker.Predictor`: stk_predictor for Python; each sample as a dict with the names of stoker/predict.h,
 * its arrays as bytearrays. A call releases the GIL; its sink takes it for each sample. An exception in it,
 * or of a signal's handler, interrupts the call, which ends after its batch. Threads: with the GIL; the
 * library refuses all but the one that opened the predictor. */
#include "py_module.h"

#include "py_values.h"

#include <string.h>
#include <unistd.h>

typedef struct predictor_object {
    PyObject_HEAD stk_predictor *predictor; /* NULL: closed */
    PyThreadState *saved;                   /* of the thread in a call */
    PyObject *answers;                      /* list of a call */
    pid_t pid;                              /* a fork's child leaves it alone */
    bool busy, failed;                      /* a call is under way; an exception is set */
} predictor_object;

static void close_predictor(predictor_object *self)
{
    stk_predictor *predictor = self->predictor;
    self->predictor = NULL;
    if (!predictor || getpid() != self->pid) return;
    Py_BEGIN_ALLOW_THREADS;
    stk_predictor_close(&predictor);
    Py_END_ALLOW_THREADS;
}

static void predictor_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    close_predictor((predictor_object *)object);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(object);
    Py_DECREF(type);
}

/* Predictor(run, checkpoint, newest, settings, all_windows): texts are bytes or None. */
static int predictor_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    predictor_object *self = (predictor_object *)object;
    stk_predictor_options options = STK_PREDICTOR_OPTIONS_INIT;
    stk_error error = {0};
    stk_predictor *predictor = NULL;
    PyObject *settings;
    const char *run, **texts;
    int newest, all_windows;
    if (keywords || self->predictor) {
        PyErr_SetString(PyExc_TypeError, "_stoker.Predictor takes five arguments, once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "yO&pOp", &run, stk__read_text, &options.checkpoint, &newest, &settings,
                          &all_windows))
        return -1;
    if (!stk__list_read_texts(settings, &texts, &options.setting_count)) return -1;
    options.settings = texts;
    options.newest = newest;
    options.all_windows = all_windows;
    stk_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = stk_predictor_open(&predictor, run, &options, &error);
    Py_END_ALLOW_THREADS;
    PyMem_Free(texts);
    self->predictor = predictor;
    self->pid = getpid();
    if (status != STK_OK) stk__raise(&error);
    return status == STK_OK ? 0 : -1;
}

static bool is_usable(const predictor_object *self)
{
    if (self->predictor && getpid() != self->pid)
        stk__raise_text(
            STK_ERROR_THREAD, "the predictor was opened before this process was forked",
            "open it in the process that predicts; for multiprocessing use the start method 'spawn'");
    else if (!self->predictor || self->busy)
        stk__raise_text(
            STK_ERROR_ARGUMENT,
            self->busy ? "another thread predicts with this predictor" : "the predictor is closed", "");
    else
        return true;
    return false;
}

/* --- answers ---------------------------------------------------------------------------------------------
 */

static PyObject *copy_bytes(const void *bytes, size_t size)
{
    if (!bytes) return Py_NewRef(Py_None);
    return PyByteArray_FromStringAndSize(bytes, (Py_ssize_t)size);
}

static PyObject *answer_dict(const stk_prediction *p, const stk_predictor_info *info)
{
    const size_t float_bytes = sizeof(float);
    return Py_BuildValue(
        "{s:L, s:N, s:N, s:s, s:i, s:i, s:N, s:N, s:N, s:N, s:K}", "index", (long long)p->index, "path",
        stk__path_or_none(p->path), "detail", stk__path_or_none(p->detail), "damage",
        p->damage == STK_DAMAGE_NONE ? "" : stk_damage_name(p->damage), "width", (int)p->w, "height",
        (int)p->h, "probabilities", copy_bytes(p->probabilities, (size_t)info->class_count * float_bytes),
        "mask", copy_bytes(p->mask, (size_t)p->w * (size_t)p->h), "points",
        copy_bytes(p->points, (size_t)info->point_count * 2 * float_bytes), "value",
        stk__number_or_none(p->value), "row", (unsigned long long)p->row);
}

/* Called from within the library, without the GIL. */
static void take_answer(void *context, const stk_prediction *prediction)
{
    predictor_object *self = context;
    if (self->failed) return;
    PyEval_RestoreThread(self->saved);
    self->failed =
        !stk__list_put(self->answers, answer_dict(prediction, stk_predictor_describe(self->predictor))) ||
        PyErr_CheckSignals() != 0;
    if (self->failed) stk_predictor_interrupt(self->predictor);
    self->saved = PyEval_SaveThread();
}

/* What is predicted: a path, or pixels. */
typedef struct request {
    const char *path; /* NULL: images */
    const stk_tensor *images;
} request;

static PyObject *predict(predictor_object *self, request wanted)
{
    stk_error error = {0};
    stk_status status;
    self->answers = PyList_New(0);
    if (!self->answers) return NULL;
    self->failed = false;
    self->busy = true;
    self->saved = PyEval_SaveThread();
    if (wanted.path)
        status = stk_predictor_predict(self->predictor, wanted.path, take_answer, self, &error);
    else
        status = stk_predictor_predict_images(self->predictor, wanted.images, take_answer, self, &error);
    PyEval_RestoreThread(self->saved);
    self->busy = false;
    PyObject *answers = self->answers;
    self->answers = NULL;
    if (!self->failed && status == STK_OK) return answers;
    if (!self->failed) stk__raise(&error);
    Py_DECREF(answers);
    return NULL;
}

static PyObject *predict_path(PyObject *object, PyObject *args)
{
    predictor_object *self = (predictor_object *)object;
    request wanted = {0};
    if (!PyArg_ParseTuple(args, "y", &wanted.path) || !is_usable(self)) return NULL;
    return predict(self, wanted);
}

/* Any buffer of 4 dimensions of bytes; false with an exception. */
static bool read_images(const Py_buffer *view, stk_tensor *images)
{
    if (view->ndim != 4 || view->itemsize != 1 || (view->format && strcmp(view->format, "B") != 0)) {
        stk__raise_text(STK_ERROR_ARGUMENT, "images must be uint8 with dimensions [n, h, w, c]", "");
        return false;
    }
    *images = (stk_tensor){.data = view->buf, .dtype = STK_DTYPE_U8, .ndim = 4, .device = STK_DEVICE_CPU};
    for (int d = 0; d < 4; d++) {
        images->shape[d] = view->shape[d];
        images->strides[d] = view->strides[d];
    }
    return true;
}

static PyObject *predict_images(PyObject *object, PyObject *given)
{
    predictor_object *self = (predictor_object *)object;
    Py_buffer view;
    stk_tensor images;
    if (!is_usable(self) || PyObject_GetBuffer(given, &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) return NULL;
    PyObject *answers = read_images(&view, &images) ? predict(self, (request){.images = &images}) : NULL;
    PyBuffer_Release(&view);
    return answers;
}

/* --- facts -----------------------------------------------------------------------------------------------
 */

static PyObject *predictor_describe(PyObject *object, PyObject *ignored)
{
    const predictor_object *self = (const predictor_object *)object;
    (void)ignored;
    if (!is_usable(self)) return NULL;
    const stk_predictor_info *info = stk_predictor_describe(self->predictor);
    return Py_BuildValue(
        "{s:s, s:s, s:s, s:N, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:N, s:N, s:L}", "task", info->task,
        "network", info->network, "engine", info->engine, "checkpoint", stk__path_or_none(info->checkpoint),
        "skipped_checkpoints", (int)info->skipped_checkpoints, "image_h", (int)info->image_h, "image_w",
        (int)info->image_w, "image_c", (int)info->image_c, "window_rows", (int)info->window_rows,
        "feature_count", (int)info->feature_count, "class_count", (int)info->class_count, "point_count",
        (int)info->point_count, "class_names", stk__list_names(info->class_names, info->class_count),
        "point_names", stk__list_names(info->point_names, info->point_count), "batch_size",
        (long long)info->batch_size);
}

static PyObject *predictor_interrupt(PyObject *object, PyObject *ignored)
{
    predictor_object *self = (predictor_object *)object;
    (void)ignored;
    if (!self->busy && !is_usable(self)) return NULL;
    stk_predictor_interrupt(self->predictor);
    Py_RETURN_NONE;
}

static PyObject *predictor_close(PyObject *object, PyObject *ignored)
{
    predictor_object *self = (predictor_object *)object;
    (void)ignored;
    if (self->busy && getpid() == self->pid && !is_usable(self)) return NULL;
    close_predictor(self);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"predict", predict_path, METH_VARARGS, "A list of dicts, one for each sample of a path."},
    {"predict_images", predict_images, METH_O, "The same of a buffer [n h w c] of bytes."},
    {"interrupt", predictor_interrupt, METH_NOARGS, "Ends the call under way after its batch."},
    {"describe", predictor_describe, METH_NOARGS, "What was opened."},
    {"close", predictor_close, METH_NOARGS, "Ends its threads."},
    {0}};

PyObject *stk__make_predictor_type(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_dealloc, (void *)predictor_dealloc},
                           {Py_tp_init, (void *)predictor_init},
                           {Py_tp_new, (void *)PyType_GenericNew},
                           {Py_tp_methods, methods},
                           {Py_tp_doc, "stk_predictor, see stoker.Run.predict."},
                           {0, NULL}};
    PyType_Spec spec = {.name = "stoker._stoker.Predictor",
                        .basicsize = sizeof(predictor_object),
                        .flags = Py_TPFLAGS_DEFAULT,
                        .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
