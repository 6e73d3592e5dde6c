/* SPDX-License-Identifier: Apache-2.0 */
/* `_stoker.Tensor`: one tensor of a batch, for other libraries to build their arrays on without a copy, by
 * the buffer protocol (NumPy) or DLPack (PyTorch, CuPy, JAX). Each array holds the batch. Threads: with the
 * GIL, but the deleter of DLPack. */
#include "py_module.h"

#include "dlpack.h"

#include <stdint.h>
#include <string.h>

static const char capsule_name[] = "dltensor";

typedef struct tensor_object {
    PyObject_HEAD stk__loan *loan;
    stk_tensor tensor;
    Py_ssize_t shape[STK_TENSOR_DIMS], strides_bytes[STK_TENSOR_DIMS];
} tensor_object;

/* Type objects live in the heap, so an instance holds its type. */
static void tensor_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    stk__loan *loan = ((tensor_object *)self)->loan;
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(self);
    Py_DECREF(type);
    if (loan && stk__loan_ends_loader(loan)) {
        Py_BEGIN_ALLOW_THREADS;
        stk__loan_release(loan);
        Py_END_ALLOW_THREADS;
    } else {
        stk__loan_release(loan);
    }
}

static const char *format_of(stk_dtype dtype)
{
    switch (dtype) {
    case STK_DTYPE_U8:
        return "B";
    case STK_DTYPE_I64:
        return sizeof(long) == sizeof(int64_t) ? "l" : "q"; /* what NumPy calls int64 */
    case STK_DTYPE_F16:
        return "e";
    case STK_DTYPE_F32:
        return "f";
    case STK_DTYPE_F64:
        return "d";
    default:
        return NULL;
    }
}

static bool is_dense(const stk_tensor *tensor)
{
    int64_t step = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != step) return false;
        step *= tensor->shape[i];
    }
    return true;
}

static int refuse_buffer(Py_buffer *view, const char *why)
{
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
}

static int tensor_get_buffer(PyObject *object, Py_buffer *view, int flags)
{
    tensor_object *self = (tensor_object *)object;
    const stk_tensor *tensor = &self->tensor;
    const char *format = format_of(tensor->dtype);
    const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (tensor->device != STK_DEVICE_CPU)
        return refuse_buffer(view, "the tensor is in a GPU's memory: use DLPack (torch.from_dlpack)");
    if (!format) return refuse_buffer(view, "buffers have no bfloat16: use DLPack, or dtype='float16'");
    if (!strided && !is_dense(tensor)) return refuse_buffer(view, "the tensor is not contiguous");
    *view = (Py_buffer){.buf = tensor->data,
                        .len = (Py_ssize_t)stk_tensor_bytes(tensor),
                        .itemsize = (Py_ssize_t)stk_dtype_bytes(tensor->dtype),
                        .ndim = tensor->ndim,
                        .format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL,
                        .shape = flags & PyBUF_ND ? self->shape : NULL,
                        .strides = strided ? self->strides_bytes : NULL};
    view->obj = Py_NewRef(object);
    return 0;
}

static void delete_capsule(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, capsule_name)) return; /* somebody took it, and its deleter */
    stk__dlpack_managed *managed = PyCapsule_GetPointer(capsule, capsule_name);
    managed->deleter(managed);
}

/* The consumer's stream, as the array API standard numbers them; returns false with an exception. */
static bool wait_for_batch(const tensor_object *self, PyObject *stream)
{
    stk_error error = {0};
    if (self->tensor.device != STK_DEVICE_CUDA) return true;
    const long long number = !stream || stream == Py_None ? 1 : PyLong_AsLongLong(stream);
    if (number == -1 && PyErr_Occurred()) return false;
    if (number == -1) return true; /* the consumer wants no synchronization */
    void *handle = number == 1 ? NULL : (void *)(intptr_t)number;
    if (stk_batch_wait_on(self->loan->batch, handle, &error) == STK_OK) return true;
    stk__raise(&error);
    return false;
}

static PyObject *device_pair(const stk_tensor *tensor)
{
    const bool cuda = tensor->device == STK_DEVICE_CUDA;
    return Py_BuildValue("(ii)", cuda ? STK_DLPACK_CUDA : STK_DLPACK_CPU, cuda ? tensor->device_index : 0);
}

static int is_elsewhere(const stk_tensor *tensor, PyObject *wanted)
{
    if (!wanted || wanted == Py_None) return 0;
    PyObject *own = device_pair(tensor);
    const int other = own ? PyObject_RichCompareBool(own, wanted, Py_NE) : -1;
    Py_XDECREF(own);
    return other;
}

static PyObject *tensor_dlpack(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    tensor_object *self = (tensor_object *)object;
    PyObject *stream = NULL, *version = NULL, *device = NULL, *copy = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$OOO", names, &stream, &version, &device, &copy))
        return NULL;
    const int other = is_elsewhere(&self->tensor, device);
    if (other < 0) return NULL;
    if (other || copy == Py_True) {
        PyErr_SetString(PyExc_BufferError, "a batch is shared where it is; copy it afterwards");
        return NULL;
    }
    if (!wait_for_batch(self, stream)) return NULL;
    stk__dlpack_managed *managed = stk__dlpack_create(&self->tensor, self->loan);
    if (!managed) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(managed, capsule_name, delete_capsule);
    if (!capsule) managed->deleter(managed);
    return capsule;
}

static PyObject *tensor_dlpack_device(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return device_pair(&((tensor_object *)self)->tensor);
}

/* The batch belongs to whose work on this stream still reads it when the last array goes; it waits for it. */
static PyObject *tensor_use_on(PyObject *object, PyObject *stream)
{
    tensor_object *self = (tensor_object *)object;
    void *handle = PyLong_AsVoidPtr(stream);
    if (PyErr_Occurred()) return NULL;
    stk_error error = {0};
    if (stk_batch_wait_on(self->loan->batch, handle, &error) != STK_OK) return stk__raise(&error);
    self->loan->stream = handle;
    Py_RETURN_NONE;
}

static void set_tensor(tensor_object *self, const stk_tensor *tensor)
{
    const int64_t size = stk_dtype_bytes(tensor->dtype);
    self->tensor = *tensor;
    for (int i = 0; i < tensor->ndim; i++) {
        self->shape[i] = (Py_ssize_t)tensor->shape[i];
        self->strides_bytes[i] = (Py_ssize_t)(tensor->strides[i] * size);
    }
}

PyObject *stk__wrap_tensor(PyObject *tensor_type, stk__loan *loan, const stk_tensor *tensor)
{
    PyTypeObject *type = (PyTypeObject *)tensor_type;
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    tensor_object *self = (tensor_object *)allocate(type, 0);
    if (!self) return NULL;
    stk__loan_retain(loan);
    self->loan = loan;
    set_tensor(self, tensor);
    return (PyObject *)self;
}

/* [n h w c] in memory as [n c h w]: what PyTorch calls channels_last. */
static PyObject *tensor_channels_first(PyObject *object, PyObject *ignored)
{
    (void)ignored;
    const tensor_object *self = (const tensor_object *)object;
    static const int axes[] = {0, 3, 1, 2};
    stk_tensor turned = self->tensor;
    for (int i = 0; turned.ndim == 4 && i < 4; i++) {
        turned.shape[i] = self->tensor.shape[axes[i]];
        turned.strides[i] = self->tensor.strides[axes[i]];
    }
    return stk__wrap_tensor((PyObject *)Py_TYPE(object), self->loan, &turned);
}

PyObject *stk__wrap_loan(PyObject *tensor_type, stk__loan *loan)
{
    PyObject *all = PyTuple_New(STK_LOAN_TENSORS);
    for (int i = 0; all && i < STK_LOAN_TENSORS; i++) {
        const stk_tensor *tensor = stk__loan_tensor(loan->batch, i);
        PyObject *item = tensor->dtype == STK_DTYPE_NONE ? Py_NewRef(Py_None)
                                                         : stk__wrap_tensor(tensor_type, loan, tensor);
        if (!item || PyTuple_SetItem(all, i, item) != 0) {
            Py_DECREF(all);
            return NULL;
        }
    }
    return all;
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The tensor as a DLPack capsule, which holds its batch."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "(device type, index) of DLPack."},
    {"use_on", tensor_use_on, METH_O, "Makes a stream of the GPU wait for the batch, and the batch for it."},
    {"channels_first", tensor_channels_first, METH_NOARGS, "The same pixels as [n c h w]."},
    {0}};

PyObject *stk__make_tensor_type(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_dealloc, (void *)tensor_dealloc},
                           {Py_tp_methods, methods},
                           {Py_bf_getbuffer, (void *)tensor_get_buffer},
                           {Py_tp_doc, "One tensor of a batch; it holds the batch."},
                           {0, NULL}};
    PyType_Spec spec = {.name = "stoker._stoker.Tensor",
                        .basicsize = sizeof(tensor_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
