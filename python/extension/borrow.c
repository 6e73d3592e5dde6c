/* SPDX-License-Identifier: Apache-2.0 */
/* Reading arrays that others made. Buffers come first, because NumPy gives read-only arrays by them and not
 * by DLPack; PyTorch's tensors have no buffers. Nothing is copied, nothing imported. Threads: with the GIL.
 */
#include "borrow.h"

#include "dlpack.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

static bool refuse(stk_status code, const char *name, const char *what, const char *hint)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s %s", name, what);
    stk__raise_text(code, text, hint);
    return false;
}

/* The exception of another library, with the name of the argument in front. */
static bool blame(const char *name)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (type) PyErr_Format(type, "%s: %S", name, value ? value : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
}

static bool refuse_dtype(const char *name, const char *dtype)
{
    char what[TEXT_BYTES / 2];
    snprintf(what, sizeof what, "has a dtype that Stoker does not read (%s)", dtype);
    return refuse(
        STK_ERROR_ARGUMENT, name, what,
        "images are uint8 or float32; masks uint8 or int64; labels int64 or float32; points float32");
}

/* Of struct's format characters; NONE: another one. */
static stk_dtype dtype_of_format(const char *format, Py_ssize_t size)
{
    if (!format) return STK_DTYPE_U8;
    if (*format == '@' || *format == '=' || *format == '<') format++;
    if (format[0] && format[1]) return STK_DTYPE_NONE;
    switch (*format) {
    case 'B':
        return STK_DTYPE_U8;
    case 'l':
    case 'q':
        return size == 8 ? STK_DTYPE_I64 : STK_DTYPE_NONE;
    case 'e':
        return STK_DTYPE_F16;
    case 'f':
        return STK_DTYPE_F32;
    case 'd':
        return STK_DTYPE_F64;
    default:
        return STK_DTYPE_NONE;
    }
}

static bool read_view(stk__borrowed *borrowed, const char *name)
{
    const Py_buffer *view = &borrowed->view;
    stk_tensor *tensor = &borrowed->tensor;
    const stk_dtype dtype = dtype_of_format(view->format, view->itemsize);
    if (dtype == STK_DTYPE_NONE) return refuse_dtype(name, view->format);
    if (view->ndim > STK_TENSOR_DIMS)
        return refuse(STK_ERROR_ARGUMENT, name, "has more than 6 axes", "see help(stoker.Augment)");
    for (int i = 0; i < view->ndim; i++) {
        if (view->strides[i] % view->itemsize)
            return refuse(STK_ERROR_ARGUMENT, name, "has strides that are no multiples of its values' size",
                          "copy it first");
        tensor->shape[i] = view->shape[i];
        tensor->strides[i] = view->strides[i] / view->itemsize;
    }
    tensor->data = view->buf;
    tensor->ndim = view->ndim;
    tensor->dtype = dtype;
    return true;
}

static bool borrow_buffer(stk__borrowed *borrowed, PyObject *array, const char *name, bool writable)
{
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(array, &borrowed->view, flags) == 0) return read_view(borrowed, name);
    borrowed->view.obj = NULL;
    return blame(name);
}

static stk_dtype dtype_of_code(int code, int bits)
{
    if (code == STK_DLPACK_UINT && bits == 8) return STK_DTYPE_U8;
    if (code == STK_DLPACK_INT && bits == 64) return STK_DTYPE_I64;
    if (code == STK_DLPACK_BFLOAT && bits == 16) return STK_DTYPE_BF16;
    if (code != STK_DLPACK_FLOAT) return STK_DTYPE_NONE;
    return bits == 16   ? STK_DTYPE_F16
           : bits == 32 ? STK_DTYPE_F32
           : bits == 64 ? STK_DTYPE_F64
                        : STK_DTYPE_NONE;
}

static bool refuse_code(const char *name, int code, int bits)
{
    static const char *const kinds[] = {"int", "uint", "float", "a pointer", "bfloat", "complex", "bool"};
    char text[64];
    const bool known = code >= 0 && code <= STK_DLPACK_BOOL;
    snprintf(text, sizeof text, "%s of %d bits", known ? kinds[code] : "unknown", bits);
    return refuse_dtype(name, text);
}

static bool read_capsule(stk__borrowed *borrowed, const char *name)
{
    const stk__dlpack_managed *managed = PyCapsule_GetPointer(borrowed->capsule, "dltensor");
    if (!managed) return blame(name);
    const stk__dlpack_tensor *from = &managed->tensor;
    stk_tensor *tensor = &borrowed->tensor;
    const stk_dtype dtype =
        from->dtype.lanes == 1 ? dtype_of_code(from->dtype.code, from->dtype.bits) : STK_DTYPE_NONE;
    if (dtype == STK_DTYPE_NONE) return refuse_code(name, from->dtype.code, from->dtype.bits);
    if (from->ndim > STK_TENSOR_DIMS)
        return refuse(STK_ERROR_ARGUMENT, name, "has more than 6 axes", "see help(stoker.Augment)");
    int64_t step = 1;
    for (int i = from->ndim - 1; i >= 0; i--) {
        tensor->shape[i] = from->shape[i];
        tensor->strides[i] = from->strides ? from->strides[i] : step; /* NULL: dense */
        step *= from->shape[i];
    }
    tensor->data = from->data ? (char *)from->data + from->byte_offset : NULL;
    tensor->ndim = from->ndim;
    tensor->dtype = dtype;
    return true;
}

/* Sets where the tensor is. gpu: it may be there; -1: on none. */
static bool find_place(stk__borrowed *borrowed, PyObject *array, const char *name, int gpu)
{
    int type, index;
    char where[64];
    PyObject *device = PyObject_CallMethod(array, "__dlpack_device__", NULL);
    const bool known = device && PyArg_ParseTuple(device, "ii", &type, &index);
    Py_XDECREF(device);
    if (!known) return blame(name);
    if (type == STK_DLPACK_CPU || type == STK_DLPACK_PINNED) return true;
    if (type == STK_DLPACK_CUDA && index == gpu) {
        borrowed->tensor.device = STK_DEVICE_CUDA;
        borrowed->tensor.device_index = index;
        return true;
    }
    if (type == STK_DLPACK_CUDA)
        snprintf(where, sizeof where, "lies in the memory of cuda:%d, and is refused", index);
    else
        snprintf(where, sizeof where, "lies in the memory of a device, and is refused");
    return refuse(
        STK_ERROR_UNSUPPORTED, name, where,
        "all of a batch lies in host memory, or its images on a GPU: tensors of PyTorch, their masks "
        "beside them");
}

/* stream=-1: the caller has waited for what made the tensor. */
static PyObject *ask_capsule(PyObject *array, bool gpu)
{
    PyObject *method = PyObject_GetAttrString(array, "__dlpack__"), *none = PyTuple_New(0),
             *words = gpu ? Py_BuildValue("{s:i}", "stream", -1) : NULL, *capsule = NULL;
    if (method && none && (words || !gpu)) capsule = PyObject_Call(method, none, words);
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(words);
    return capsule;
}

static bool borrow_capsule(stk__borrowed *borrowed, PyObject *array, const char *name, int gpu)
{
    if (!find_place(borrowed, array, name, gpu)) return false;
    borrowed->capsule = ask_capsule(array, borrowed->tensor.device == STK_DEVICE_CUDA);
    return borrowed->capsule ? read_capsule(borrowed, name) : blame(name);
}

bool stk__borrow_on(stk__borrowed *borrowed, PyObject *array, const char *name, bool writable, int gpu)
{
    memset(borrowed, 0, sizeof *borrowed);
    if (array == Py_None) return true;
    if (PyObject_CheckBuffer(array)) return borrow_buffer(borrowed, array, name, writable);
    if (PyObject_HasAttrString(array, "__dlpack__")) return borrow_capsule(borrowed, array, name, gpu);
    PyErr_Format(PyExc_TypeError, "%s is %R, not an array of NumPy or PyTorch", name,
                 (PyObject *)Py_TYPE(array));
    return false;
}

bool stk__borrow(stk__borrowed *borrowed, PyObject *array, const char *name, bool writable)
{
    return stk__borrow_on(borrowed, array, name, writable, -1);
}

void stk__borrow_end(stk__borrowed *borrowed)
{
    if (borrowed->view.obj) PyBuffer_Release(&borrowed->view);
    Py_CLEAR(borrowed->capsule);
}
