/* SPDX-License-Identifier: Apache-2.0 */
/* `_stoker.Loader`: stk_loader for Python, without the manners of an iterator (python/stoker/_loader.py has
 * them). Waits release the GIL and end every now and then, so that Ctrl-C is answered. Threads: with the GIL;
 * one call of next or seek at a time, a second one is refused. */
#include "py_module.h"

#include "loader_object.h"

#include <string.h>

/* How long Ctrl-C may take, and how often a wait looks for it. */
static const double poll_s = 0.05;

/* Lets go of the loader: closed now, or when the last batch comes back. */
static void let_go(stk__loader_object *self)
{
    stk__shared_loader *shared = self->shared;
    self->shared = NULL;
    if (!shared) return;
    Py_BEGIN_ALLOW_THREADS;
    stk__shared_loader_release(shared);
    Py_END_ALLOW_THREADS;
}

static void loader_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    stk__loader_object *self = (stk__loader_object *)object;
    let_go(self);
    Py_XDECREF(self->bad);
    Py_XDECREF(self->tensor_type);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(object);
    Py_DECREF(type);
}

bool stk__loader_is_usable(const stk__loader_object *self)
{
    if (!self->shared) {
        stk__raise_text(STK_ERROR_ARGUMENT, "the loader is closed", "open another one");
        return false;
    }
    if (!stk__shared_loader_is_forked(self->shared)) return true;
    stk__raise_text(STK_ERROR_THREAD,
                    "the loader was opened before this process was forked, and its threads are not here",
                    "open it in the process that uses it; for multiprocessing use the start method 'spawn'");
    return false;
}

/* For calls of which one may be under way. */
static bool begin(stk__loader_object *self)
{
    if (!stk__loader_is_usable(self)) return false;
    if (self->busy) {
        stk__raise_text(STK_ERROR_ARGUMENT, "another thread is waiting for a batch of this loader",
                        "take batches in one thread, or open a loader for each");
        return false;
    }
    self->busy = true;
    stk__shared_loader_retain(self->shared);
    return true;
}

/* shared: what begin has retained; self->shared is NULL if the loader was closed meanwhile. */
static void end(stk__loader_object *self, stk__shared_loader *shared)
{
    self->busy = false;
    Py_BEGIN_ALLOW_THREADS;
    stk__shared_loader_release(shared);
    Py_END_ALLOW_THREADS;
}

/* Called from within stk_loader_next, which runs without the GIL. */
static void note_bad_sample(void *context, const stk_ledger_entry *entry)
{
    stk__loader_object *self = context;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *path = PyUnicode_DecodeFSDefault(entry->path);
    PyObject *row = path ? Py_BuildValue("(KKLsOss)", (unsigned long long)entry->epoch,
                                         (unsigned long long)entry->position, (long long)entry->sample_id,
                                         stk_damage_name(entry->damage), path, entry->detail, entry->action)
                         : NULL;
    if (!row || PyList_Append(self->bad, row) != 0) PyErr_WriteUnraisable((PyObject *)self);
    Py_XDECREF(path);
    Py_XDECREF(row);
    PyGILState_Release(state);
}

static void start(stk__loader_object *self, stk_loader *loader)
{
    self->shared = stk__shared_loader_create(loader);
    if (self->shared) stk_loader_set_ledger(loader, note_bad_sample, self);
}

/* Loader(settings, augment, device, low_priority): settings are pairs of bytes. */
static int loader_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    stk__loader_object *self = (stk__loader_object *)object;
    PyObject *settings;
    stk_loader_options options = STK_LOADER_OPTIONS_INIT;
    stk_error error = {0};
    stk_loader *loader = NULL;
    int low_priority = 0;
    if (keywords || self->bad) {
        PyErr_SetString(PyExc_TypeError, "_stoker.Loader takes four arguments, once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "Ozzp", &settings, &options.augment, &options.device, &low_priority))
        return -1;
    options.low_priority = low_priority;
    self->tensor_type = stk__tensor_type_of(object);
    self->bad = PyList_New(0);
    if (!self->tensor_type || !self->bad || !stk__loader_read_settings(settings, &options)) return -1;
    stk_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = stk_loader_open(&loader, &options, &error);
    Py_END_ALLOW_THREADS;
    if (status != STK_OK) {
        stk__raise(&error);
        return -1;
    }
    start(self, loader);
    if (!self->shared) PyErr_NoMemory();
    return self->shared ? 0 : -1;
}

/* Looks for signals while it waits. STK_AGAIN: an exception is set, of a signal handler, or because the
 * loader was closed by another thread. */
static stk_status wait_for_next(stk__loader_object *self, stk_loader *loader, stk_batch **batch,
                                stk_error *error)
{
    stk_status status;
    do {
        Py_BEGIN_ALLOW_THREADS;
        status = stk_loader_next_within(loader, batch, poll_s, error);
        Py_END_ALLOW_THREADS;
        if (stk__loader_is_usable(self) && (status != STK_AGAIN || PyErr_CheckSignals() == 0)) continue;
        stk_batch_release(*batch);
        return STK_AGAIN;
    } while (status == STK_AGAIN);
    return status;
}

/* All slots but one are out: what comes now is copied, so that loading can go on. */
static stk__loan *lend(stk__shared_loader *shared, stk_batch *batch, bool *copied)
{
    const int64_t slots = stk_loader_describe(shared->loader)->slot_count;
    const bool last = atomic_load(&shared->lent) + 1 >= slots;
    *copied = last;
    return last && !batch->ready ? stk__loan_copy(batch) : stk__loan_create(shared, batch);
}

/* Once, with the first batch that has one. False with an exception: the program has made errors of warnings.
 */
static bool warn_of_resizing(stk__loader_object *self, stk_loader *loader)
{
    enum { LOOP = 3 }; /* _loader.py's __next__ calls _next, which calls this */
    stk_loader_stats stats;
    if (self->warned) return true;
    stk_loader_get_stats(loader, &stats);
    if (!stats.resized_images) return true;
    const stk_loader_info *info = stk_loader_describe(loader);
    self->warned = true;
    return PyErr_WarnFormat(
               PyExc_UserWarning, LOOP,
               "images have different sizes and are resized to %dx%d, the width and height of the "
               "first; image_size=(height, width) says which size they get",
               (int)info->w, (int)info->h) == 0;
}

static PyObject *hand_out(stk__loader_object *self, stk__shared_loader *shared, stk_batch *batch)
{
    bool copied;
    stk__loan *loan;
    stk_loader_state after;
    const unsigned long long epoch = batch->epoch, position = batch->position;
    stk_loader_tell(shared->loader, &after);
    Py_BEGIN_ALLOW_THREADS; /* a copy may take a while */
    loan = lend(shared, batch, &copied);
    Py_END_ALLOW_THREADS;
    if (!loan) return PyErr_NoMemory();
    PyObject *tensors =
        warn_of_resizing(self, shared->loader) ? stk__wrap_loan(self->tensor_type, loan) : NULL;
    stk__loan_release(loan);
    if (!tensors) return NULL;
    return Py_BuildValue("(NKKN(KK))", tensors, epoch, position, PyBool_FromLong(copied),
                         (unsigned long long)after.epoch, (unsigned long long)after.position);
}

/* None at the end of an epoch; NULL: an exception. */
static PyObject *take(stk__loader_object *self, stk__shared_loader *shared)
{
    stk_batch *batch = NULL;
    stk_error error = {0};
    const stk_status status = wait_for_next(self, shared->loader, &batch, &error);
    if (status == STK_AGAIN) return NULL;
    if (status == STK_END) return Py_NewRef(Py_None);
    return status == STK_OK ? hand_out(self, shared, batch) : stk__raise(&error);
}

static PyObject *loader_next(PyObject *object, PyObject *ignored)
{
    stk__loader_object *self = (stk__loader_object *)object;
    (void)ignored;
    if (!begin(self)) return NULL;
    stk__shared_loader *shared = self->shared;
    PyObject *taken = take(self, shared);
    end(self, shared);
    return taken;
}

static PyObject *loader_seek(PyObject *object, PyObject *args)
{
    stk__loader_object *self = (stk__loader_object *)object;
    const char *text;
    stk_loader_state state = {0};
    stk_error error = {0};
    if (!PyArg_ParseTuple(args, "s", &text)) return NULL;
    if (!stk__loader_is_usable(self)) return NULL;
    if (stk_loader_state_parse(&state, text, &error) != STK_OK) return stk__raise(&error);
    if (!begin(self)) return NULL;
    stk__shared_loader *shared = self->shared;
    stk_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = stk_loader_seek(shared->loader, &state, &error);
    Py_END_ALLOW_THREADS;
    end(self, shared);
    if (status != STK_OK) return stk__raise(&error);
    Py_RETURN_NONE;
}

static PyObject *loader_close(PyObject *object, PyObject *ignored)
{
    stk__loader_object *self = (stk__loader_object *)object;
    (void)ignored;
    if (self->shared && self->busy && !stk__shared_loader_is_forked(self->shared))
        stk_loader_interrupt(self->shared->loader); /* the thread that waits lets go of it, too */
    let_go(self);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"next", loader_next, METH_NOARGS,
     "(tensors, epoch, position, copied, (epoch, position) of the next), or None at the end of an epoch."},
    {"seek", loader_seek, METH_VARARGS, "Continues at a state, given as text."},
    {"close", loader_close, METH_NOARGS, "Ends the loader, now or when its last batch is gone."},
    {"tell", stk__loader_tell_text, METH_NOARGS, "The state as text."},
    {"describe", stk__loader_describe_dict, METH_NOARGS, "What was found and decided at open."},
    {"effects", stk__loader_effects_list, METH_NOARGS, "(name, requested, in effect, why) of each setting."},
    {"stats", stk__loader_stats_dict, METH_NOARGS, "Counts and times since open."},
    {"sample", stk__loader_sample, METH_VARARGS, "(key, path) of the sample with this id."},
    {"bad_samples", stk__loader_bad_samples, METH_NOARGS, "Rows of the ledger so far, a new list."},
    {0}};

PyObject *stk__make_loader_type(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_dealloc, (void *)loader_dealloc},       {Py_tp_init, (void *)loader_init},
                           {Py_tp_new, (void *)PyType_GenericNew},        {Py_tp_methods, methods},
                           {Py_tp_doc, "stk_loader, see stoker.Loader."}, {0, NULL}};
    PyType_Spec spec = {.name = "stoker._stoker.Loader",
                        .basicsize = sizeof(stk__loader_object),
                        .flags = Py_TPFLAGS_DEFAULT,
                        .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
