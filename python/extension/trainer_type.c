/* SPDX-License-Identifier: Apache-2.0 */
/* `_stoker.Trainer`: stk_trainer for Python (python/stoker/_train.py has its manners). Every call that
 * computes releases the GIL; callbacks take it (trainer_hear.c). Threads: with the GIL; the library refuses
 * all but the one that opened the trainer, except for interrupt. */
#include "py_module.h"

#include "py_values.h"
#include "trainer_object.h"

#include <unistd.h>

static void close_trainer(stk__trainer_object *self)
{
    stk_trainer *trainer = self->trainer;
    self->trainer = NULL;
    if (!trainer || getpid() != self->pid) return; /* a fork's child leaves it alone */
    Py_BEGIN_ALLOW_THREADS;
    stk_trainer_close(&trainer);
    Py_END_ALLOW_THREADS;
}

static int trainer_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((stk__trainer_object *)object)->hear);
    return 0;
}

static int trainer_clear(PyObject *object)
{
    Py_CLEAR(((stk__trainer_object *)object)->hear);
    return 0;
}

static void trainer_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    close_trainer((stk__trainer_object *)object);
    trainer_clear(object);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(object);
    Py_DECREF(type);
}

bool stk__trainer_is_usable(const stk__trainer_object *self, bool idle)
{
    if (!self->trainer) {
        stk__raise_text(STK_ERROR_ARGUMENT, "the trainer is closed", "open another one");
        return false;
    }
    if (getpid() != self->pid) {
        stk__raise_text(
            STK_ERROR_THREAD,
            "the trainer was opened before this process was forked, and its threads are not here",
            "open it in the process that trains; for multiprocessing use the start method 'spawn'");
        return false;
    }
    if (!idle || !self->busy) return true;
    stk__raise_text(STK_ERROR_ARGUMENT, "the trainer is in another call",
                    "callbacks and other threads may only interrupt it and look at its progress");
    return false;
}

static stk_status open_trainer(stk__trainer_object *self, const stk_trainer_options *options,
                               stk_error *error)
{
    stk_trainer *trainer = NULL;
    stk__trainer_unlock(self);
    const stk_status status = stk_trainer_open(&trainer, options, error);
    const bool went_well = stk__trainer_lock(self);
    self->trainer = trainer;
    self->pid = getpid();
    if (went_well && status != STK_OK) stk__raise(error);
    if (!went_well) close_trainer(self);
    return went_well ? status : STK_AGAIN;
}

/* Trainer(config, settings, run, resume, files, stop_after, hear, hears_steps): texts are bytes or None. */
static int trainer_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    stk__trainer_object *self = (stk__trainer_object *)object;
    stk_trainer_options options = STK_TRAINER_OPTIONS_INIT;
    stk_error error = {0};
    PyObject *settings, *hear;
    long long stop_after;
    int resume, files, hears_steps;
    const char **texts;
    if (keywords || self->hear) {
        PyErr_SetString(PyExc_TypeError, "_stoker.Trainer takes eight arguments, once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O&OO&ppLOp", stk__read_text, &options.config, &settings, stk__read_text,
                          &options.run, &resume, &files, &stop_after, &hear, &hears_steps))
        return -1;
    if (!stk__list_read_texts(settings, &texts, &options.setting_count)) return -1;
    const stk_trainer_callbacks callbacks = stk__trainer_callbacks_of(self);
    self->hear = Py_NewRef(hear);
    self->hears_steps = hears_steps;
    options.settings = texts;
    options.resume = resume;
    options.no_files = !files;
    options.stop_after = stop_after;
    options.callbacks = &callbacks;
    const stk_status status = open_trainer(self, &options, &error);
    PyMem_Free(texts);
    return status == STK_OK ? 0 : -1;
}

typedef stk_status (*trainer_call)(stk_trainer *trainer, stk_error *error);

/* STK_AGAIN: an exception is set. */
static stk_status compute(PyObject *object, trainer_call call)
{
    stk__trainer_object *self = (stk__trainer_object *)object;
    stk_error error = {0};
    if (!stk__trainer_is_usable(self, true)) return STK_AGAIN;
    stk__trainer_unlock(self);
    const stk_status status = call(self->trainer, &error);
    if (!stk__trainer_lock(self)) return STK_AGAIN;
    if (status < 0) stk__raise(&error);
    return status < 0 ? STK_AGAIN : status;
}

static PyObject *none_if(stk_status status)
{
    return status == STK_AGAIN ? NULL : Py_NewRef(Py_None);
}

static PyObject *trainer_train(PyObject *object, PyObject *ignored)
{
    stk__trainer_object *self = (stk__trainer_object *)object;
    (void)ignored;
    if (!stk__trainer_is_usable(self, true)) return NULL;
    self->training = true;
    const stk_status status = compute(object, stk_trainer_train);
    self->training = false;
    return none_if(status);
}

static PyObject *trainer_step(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    const stk_status status = compute(self, stk_trainer_step);
    return status == STK_AGAIN ? NULL : PyBool_FromLong(status == STK_OK);
}

static PyObject *trainer_save(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return none_if(compute(self, stk_trainer_save));
}

static PyObject *trainer_finish(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return none_if(compute(self, stk_trainer_finish));
}

static PyObject *trainer_evaluate(PyObject *object, PyObject *ignored)
{
    stk__trainer_object *self = (stk__trainer_object *)object;
    stk_trainer_score score = STK_TRAINER_SCORE_INIT;
    stk_error error = {0};
    (void)ignored;
    if (!stk__trainer_is_usable(self, true)) return NULL;
    stk__trainer_unlock(self);
    const stk_status status = stk_trainer_evaluate(self->trainer, &score, &error);
    if (!stk__trainer_lock(self)) return NULL;
    if (status != STK_OK) return stk__raise(&error);
    return stk__trainer_score_dict(&score, stk_trainer_describe(self->trainer));
}

static PyObject *trainer_interrupt(PyObject *object, PyObject *ignored)
{
    (void)ignored;
    const stk__trainer_object *self = (const stk__trainer_object *)object;
    if (!stk__trainer_is_usable(self, false)) return NULL;
    stk_trainer_interrupt(self->trainer);
    Py_RETURN_NONE;
}

static PyObject *trainer_close(PyObject *object, PyObject *ignored)
{
    stk__trainer_object *self = (stk__trainer_object *)object;
    (void)ignored;
    if (self->trainer && self->busy && getpid() == self->pid && !stk__trainer_is_usable(self, true))
        return NULL;
    close_trainer(self);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"train", trainer_train, METH_NOARGS, "The rest of the run."},
    {"step", trainer_step, METH_NOARGS, "One step; False: the epoch was over before it."},
    {"evaluate", trainer_evaluate, METH_NOARGS, "The score of the validation part, as a dict."},
    {"save", trainer_save, METH_NOARGS, "Writes a checkpoint."},
    {"finish", trainer_finish, METH_NOARGS, "Writes run.json and the report."},
    {"interrupt", trainer_interrupt, METH_NOARGS, "Ends a call of train after the step under way."},
    {"close", trainer_close, METH_NOARGS, "Ends its threads."},
    {"progress", stk__trainer_progress_now, METH_NOARGS, "Where the run stands."},
    {"describe", stk__trainer_describe_dict, METH_NOARGS, "What was opened."},
    {"effects", stk__trainer_effects_list, METH_NOARGS, "Each setting: requested, in effect, why."},
    {"stall", stk__trainer_stall_list, METH_NOARGS, "Where the time went."},
    {0}};

PyObject *stk__make_trainer_type(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)trainer_dealloc},        {Py_tp_init, (void *)trainer_init},
        {Py_tp_traverse, (void *)trainer_traverse},      {Py_tp_clear, (void *)trainer_clear},
        {Py_tp_new, (void *)PyType_GenericNew},          {Py_tp_methods, methods},
        {Py_tp_doc, "stk_trainer, see stoker.Trainer."}, {0, NULL}};
    PyType_Spec spec = {.name = "stoker._stoker.Trainer",
                        .basicsize = sizeof(stk__trainer_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                        .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
