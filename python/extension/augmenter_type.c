/* SPDX-License-Identifier: Apache-2.0 */
/* `_stoker.Augmenter`: stk_augmenter for Python, which says what goes in and out (python/stoker/_augment.py);
 * here arrays are borrowed for a call that runs without the GIL. Threads: with the GIL; a call while another
 * is under way is refused by the library. */
#include "py_module.h"

#include "borrow.h"
#include "loader_object.h"
#include "loan_pool.h"

#include <string.h>

typedef struct augmenter_object {
    PyObject_HEAD stk_augmenter *augmenter;
    stk__loan_pool *pool; /* memory of results */
    PyObject *tensor_type;
    int32_t image_size[2]; /* h, w; 0: as the images */
    int gpu;               /* in whose memory images and masks lie; -1: in the host's */
} augmenter_object;

enum { SOURCES = 4, RESULTS = 7 };

/* A list of bytes, or None, as texts that live as long as the list. False with an exception. */
static bool read_names(PyObject *list, const char ***texts, int32_t *count)
{
    *texts = NULL;
    if (list == Py_None) return true;
    const Py_ssize_t length = PyList_Size(list);
    if (length < 0) return false;
    *texts = PyMem_Calloc((size_t)length + 1, sizeof **texts);
    if (!*texts) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t i = 0; i < length; i++)
        if (!((*texts)[i] = PyBytes_AsString(PyList_GetItem(list, i)))) return false;
    *count = (int32_t)length;
    return true;
}

/* Those that an augmenter shares with a loader, read by the table of section data. */
static stk_augment_options options_of(const stk_loader_options *read)
{
    stk_augment_options options = STK_AUGMENT_OPTIONS_INIT;
    options.augment = read->augment;
    options.seed = read->seed;
    options.dtype = read->dtype;
    options.axes = read->axes;
    options.flip_pairs = read->flip_pairs;
    memcpy(options.image_size, read->image_size, sizeof options.image_size);
    memcpy(options.mean, read->mean, sizeof options.mean);
    memcpy(options.std, read->std, sizeof options.std);
    return options;
}

static bool open_it(augmenter_object *self, const stk_augment_options *options)
{
    stk_error error = {0};
    stk_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = stk_augmenter_open(&self->augmenter, options, &error);
    Py_END_ALLOW_THREADS;
    if (status != STK_OK) stk__raise(&error);
    memcpy(self->image_size, options->image_size, sizeof self->image_size);
    return status == STK_OK;
}

/* Augmenter(settings, augment, class_names, point_names, point_count, threads, gpu): settings are pairs of
 * bytes of section data, names lists of bytes; gpu is -1 for the CPU. */
static int augmenter_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    augmenter_object *self = (augmenter_object *)object;
    stk_loader_options read = STK_LOADER_OPTIONS_INIT;
    PyObject *settings, *class_names, *point_names;
    char device[24];
    long long threads;
    int point_count, gpu;
    if (keywords || self->pool) {
        PyErr_SetString(PyExc_TypeError, "_stoker.Augmenter takes seven arguments, once");
        return -1;
    }
    self->tensor_type = stk__tensor_type_of(object);
    self->pool = stk__loan_pool_create();
    if (!self->tensor_type) return -1;
    if (!self->pool) return PyErr_NoMemory() ? 0 : -1;
    if (!PyArg_ParseTuple(args, "OzOOiLi", &settings, &read.augment, &class_names, &point_names, &point_count,
                          &threads, &gpu) ||
        !stk__loader_read_settings(settings, &read))
        return -1;
    stk_augment_options options = options_of(&read);
    options.threads = threads;
    self->gpu = gpu;
    PyOS_snprintf(device, sizeof device, "cuda:%d", gpu);
    if (gpu >= 0) options.device = device;
    options.point_count = point_count;
    const char **classes = NULL, **points = NULL;
    const bool opened = read_names(class_names, &classes, &options.class_count) &&
                        read_names(point_names, &points, &options.point_count);
    options.class_names = options.class_count ? classes : NULL;
    options.point_names = points && options.point_count ? points : NULL;
    const int result = opened && open_it(self, &options) ? 0 : -1;
    PyMem_Free(classes);
    PyMem_Free(points);
    return result;
}

/* ---- one call ---- */

typedef struct augment_call {
    stk_augment_io io;
    stk__borrowed sources[SOURCES], results[RESULTS], ids;
    stk__borrowed *lists[2]; /* images, masks; [count], NULL: they are in one array */
    stk_tensor *tensors[2];  /* of the lists */
    int gpu;
} augment_call;

static const char *const source_names[SOURCES] = {"images", "masks", "labels", "points"};

static bool borrow_list(augment_call *call, int which, PyObject *list)
{
    const size_t count = (size_t)call->io.count;
    char name[32];
    if (PyList_Size(list) != (Py_ssize_t)count) {
        PyErr_Format(PyExc_ValueError, "%s is a list of %zd, and the batch has %zd images",
                     source_names[which], PyList_Size(list), (Py_ssize_t)count);
        return false;
    }
    call->lists[which] = PyMem_Calloc(count + 1, sizeof **call->lists);
    call->tensors[which] = PyMem_Calloc(count + 1, sizeof **call->tensors);
    if (!call->lists[which] || !call->tensors[which]) return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < count; i++) {
        stk__borrowed *item = &call->lists[which][i];
        PyOS_snprintf(name, sizeof name, "%s[%zu]", source_names[which], i);
        if (!stk__borrow_on(item, PyList_GetItem(list, (Py_ssize_t)i), name, false, call->gpu)) return false;
        call->tensors[which][i] = item->tensor;
    }
    return true;
}

static bool borrow_sources(augment_call *call, PyObject *sources)
{
    stk_augment_io *io = &call->io;
    stk_tensor *const tensors[SOURCES] = {&io->images, &io->masks, &io->labels, &io->points};
    for (int i = 0; i < SOURCES; i++) {
        PyObject *source = PyTuple_GetItem(sources, i);
        if (!source) return false;
        const bool pixels = i < 2, list = pixels && PyList_Check(source);
        if (list
                ? !borrow_list(call, i, source)
                : !stk__borrow_on(&call->sources[i], source, source_names[i], false, pixels ? call->gpu : -1))
            return false;
        *tensors[i] = call->sources[i].tensor;
    }
    io->image_list = call->tensors[0];
    io->mask_list = call->tensors[1];
    return true;
}

static bool borrow_results(augment_call *call, PyObject *results)
{
    stk_augment_io *io = &call->io;
    stk_tensor *const tensors[RESULTS] = {&io->out_images,  &io->out_masks,  &io->out_masks2, &io->out_labels,
                                          &io->out_labels2, &io->out_lambda, &io->out_points};
    for (int i = 0; i < RESULTS; i++) {
        PyObject *result = PyTuple_GetItem(results, i);
        if (!result || !stk__borrow_on(&call->results[i], result, "a result", true, call->gpu)) return false;
        *tensors[i] = call->results[i].tensor;
    }
    return true;
}

static bool borrow_ids(augment_call *call, PyObject *ids)
{
    if (!stk__borrow(&call->ids, ids, "ids", false)) return false;
    const stk_tensor *tensor = &call->ids.tensor;
    if (tensor->dtype == STK_DTYPE_NONE) return true; /* None: 0, 1, … */
    if (tensor->dtype == STK_DTYPE_I64 && tensor->ndim == 1 && tensor->shape[0] == call->io.count &&
        (tensor->strides[0] == 1 || call->io.count == 1)) {
        call->io.ids = tensor->data;
        return true;
    }
    stk__raise_text(STK_ERROR_ARGUMENT, "ids is not a dense array of one int64 for each image", "");
    return false;
}

static void end_call(augment_call *call)
{
    for (int i = 0; i < SOURCES; i++)
        stk__borrow_end(&call->sources[i]);
    for (int i = 0; i < RESULTS; i++)
        stk__borrow_end(&call->results[i]);
    stk__borrow_end(&call->ids);
    for (int which = 0; which < 2; which++) {
        for (int64_t i = 0; call->lists[which] && i < call->io.count; i++)
            stk__borrow_end(&call->lists[which][i]);
        PyMem_Free(call->lists[which]);
        PyMem_Free(call->tensors[which]);
    }
}

static bool apply(stk_augmenter *augmenter, const stk_augment_io *io)
{
    stk_error error = {0};
    stk_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = stk_augmenter_apply(augmenter, io, &error);
    Py_END_ALLOW_THREADS;
    if (status != STK_OK) stk__raise(&error);
    return status == STK_OK;
}

static bool is_open(const augmenter_object *self)
{
    if (!self->augmenter) PyErr_SetString(PyExc_TypeError, "this _stoker.Augmenter was never opened");
    return self->augmenter;
}

static PyObject *augmenter_apply(PyObject *object, PyObject *args)
{
    augmenter_object *self = (augmenter_object *)object;
    augment_call call = {.io = STK_AUGMENT_IO_INIT};
    PyObject *sources, *results, *ids;
    unsigned long long epoch;
    long long count;
    int planar;
    if (!PyArg_ParseTuple(args, "LKOpO!O!", &count, &epoch, &ids, &planar, &PyTuple_Type, &sources,
                          &PyTuple_Type, &results) ||
        !is_open(self))
        return NULL;
    call.gpu = self->gpu;
    call.io.count = count;
    call.io.epoch = epoch;
    call.io.axes = planar ? STK_AXES_NCHW : STK_AXES_NHWC;
    const bool done = borrow_ids(&call, ids) && borrow_sources(&call, sources) &&
                      borrow_results(&call, results) && apply(self->augmenter, &call.io);
    end_call(&call);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

/* Of results that Python asks for. */
static stk_dtype dtype_named(const char *name)
{
    static const struct {
        const char *name;
        stk_dtype dtype;
    } rows[] = {{"u8", STK_DTYPE_U8},
                {"i64", STK_DTYPE_I64},
                {"f16", STK_DTYPE_F16},
                {"bf16", STK_DTYPE_BF16},
                {"f32", STK_DTYPE_F32}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].dtype;
    return STK_DTYPE_NONE;
}

/* shape from a tuple; false with an exception. */
static bool read_shape(PyObject *shape, stk_tensor *tensor)
{
    const Py_ssize_t ndim = PyTuple_Size(shape);
    int64_t step = 1;
    if (ndim < 1 || ndim > STK_TENSOR_DIMS || tensor->dtype == STK_DTYPE_NONE) {
        PyErr_SetString(PyExc_ValueError, "a result has a type and one to six axes");
        return false;
    }
    tensor->ndim = (int32_t)ndim;
    for (Py_ssize_t i = ndim - 1; i >= 0; i--) {
        tensor->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        tensor->strides[i] = step;
        if (PyErr_Occurred()) return false;
        step *= tensor->shape[i];
    }
    return true;
}

static PyObject *augmenter_result(PyObject *object, PyObject *args)
{
    const augmenter_object *self = (const augmenter_object *)object;
    const char *dtype;
    PyObject *shape;
    stk_tensor tensor = {.device = STK_DEVICE_CPU};
    if (!PyArg_ParseTuple(args, "sO!", &dtype, &PyTuple_Type, &shape) || !is_open(self)) return NULL;
    tensor.dtype = dtype_named(dtype);
    if (!read_shape(shape, &tensor)) return NULL;
    stk__loan *loan = stk__loan_pool_take(self->pool, &tensor);
    if (!loan) return PyErr_NoMemory();
    PyObject *result = stk__wrap_tensor(self->tensor_type, loan, &loan->batch->images);
    stk__loan_release(loan);
    return result;
}

static PyObject *augmenter_effects(PyObject *object, PyObject *ignored)
{
    int count;
    (void)ignored;
    const stk_loader_effect *effects = stk_augmenter_effects(((augmenter_object *)object)->augmenter, &count);
    return stk__list_effects(effects, count);
}

static PyObject *augmenter_mixes(PyObject *object, PyObject *ignored)
{
    (void)ignored;
    return PyBool_FromLong(stk_augmenter_mixes(((augmenter_object *)object)->augmenter));
}

static PyObject *augmenter_size(PyObject *object, PyObject *ignored)
{
    const augmenter_object *self = (const augmenter_object *)object;
    (void)ignored;
    return Py_BuildValue("(ii)", (int)self->image_size[0], (int)self->image_size[1]);
}

static void augmenter_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    augmenter_object *self = (augmenter_object *)object;
    stk_augmenter_close(&self->augmenter);
    stk__loan_pool_release(self->pool);
    Py_XDECREF(self->tensor_type);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"apply", augmenter_apply, METH_VARARGS, "apply(count, epoch, ids, planar, sources, results) of arrays."},
    {"result", augmenter_result, METH_VARARGS, "Memory for a result, as a Tensor: result(dtype, shape)."},
    {"effects", augmenter_effects, METH_NOARGS, "(name, requested, in effect, why) of each option."},
    {"mixes", augmenter_mixes, METH_NOARGS, "Does it mix pairs?"},
    {"size", augmenter_size, METH_NOARGS, "(h, w) of results; 0, 0: as the images."},
    {0}};

PyObject *stk__make_augmenter_type(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_dealloc, (void *)augmenter_dealloc},
                           {Py_tp_init, (void *)augmenter_init},
                           {Py_tp_new, (void *)PyType_GenericNew},
                           {Py_tp_methods, methods},
                           {Py_tp_doc, "stk_augmenter, see stoker.Augment."},
                           {0, NULL}};
    PyType_Spec spec = {.name = "stoker._stoker.Augmenter",
                        .basicsize = sizeof(augmenter_object),
                        .flags = Py_TPFLAGS_DEFAULT,
                        .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
