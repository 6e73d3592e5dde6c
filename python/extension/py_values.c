/* SPDX-License-Identifier: Apache-2.0 */
/* What trainers and predictors share on the way into Python and back. Threads: with the GIL. */
#include "py_values.h"

#include <math.h>
#include <string.h>

PyObject *stk__number_or_none(double number)
{
    return isfinite(number) ? PyFloat_FromDouble(number) : Py_NewRef(Py_None);
}

PyObject *stk__path_or_none(const char *text)
{
    if (!text) return Py_NewRef(Py_None);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

bool stk__list_put(PyObject *list, PyObject *item)
{
    const bool put = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return put;
}

PyObject *stk__list_names(const char *const *names, int count)
{
    if (!names) return Py_NewRef(Py_None);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++)
        if (!stk__list_put(list, stk__path_or_none(names[i]))) Py_CLEAR(list);
    return list;
}

int stk__read_text(PyObject *given, void *text)
{
    const char **to = text;
    *to = NULL;
    if (given == Py_None) return 1;
    char *bytes;
    if (PyBytes_AsStringAndSize(given, &bytes, NULL) != 0) return 0; /* a zero byte is refused, too */
    *to = bytes;
    return 1;
}

bool stk__list_read_texts(PyObject *list, const char ***texts, size_t *count)
{
    const Py_ssize_t size = PyList_Size(list);
    *texts = NULL;
    *count = 0;
    if (size < 0) return false;
    const char **made = PyMem_Malloc(((size_t)size + 1) * sizeof *made);
    if (!made) PyErr_NoMemory();
    for (Py_ssize_t i = 0; made && i < size; i++) {
        made[i] = PyBytes_AsString(PyList_GetItem(list, i));
        if (made[i]) continue;
        PyMem_Free(made);
        return false;
    }
    *texts = made;
    *count = (size_t)size;
    return made;
}
