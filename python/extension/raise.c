/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of the library become exceptions. Which class, and how it prints, is decided in Python
 * (python/stoker/_errors.py), so this only hands over the parts. Threads: with the GIL. */
#include "py_module.h"

#include <string.h>

/* Texts that name files may hold any bytes. */
static PyObject *decode(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

static void raise_made(PyObject *made)
{
    if (made) PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
}

PyObject *stk__raise(const stk_error *error)
{
    PyObject *errors = PyImport_ImportModule("stoker._errors");
    PyObject *message = decode(error->message), *place = decode(error->place), *hint = decode(error->hint);
    if (errors && message && place && hint)
        raise_made(PyObject_CallMethod(errors, "make", "ssOOO", stk_status_name(error->code),
                                       error->damage ? stk_damage_name(error->damage) : "", message, place,
                                       hint));
    Py_XDECREF(errors);
    Py_XDECREF(message);
    Py_XDECREF(place);
    Py_XDECREF(hint);
    return NULL;
}

PyObject *stk__raise_text(stk_status code, const char *message, const char *hint)
{
    stk_error error = {.code = code};
    strncpy(error.message, message, sizeof error.message - 1);
    strncpy(error.hint, hint, sizeof error.hint - 1);
    return stk__raise(&error);
}

bool stk__dict_put(PyObject *dict, const char *key, PyObject *value)
{
    const bool put = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return put;
}
