/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, numbers and lists of the library as objects of Python. All with the GIL; NULL with an exception. */
#ifndef STK_PYTHON_PY_VALUES_H
#define STK_PYTHON_PY_VALUES_H

#include "py_module.h"

PyObject *stk__number_or_none(double number);  /* None: NaN or infinite */
PyObject *stk__path_or_none(const char *text); /* None: NULL; texts that name files hold any bytes */
PyObject *stk__list_names(const char *const *names, int count); /* None: names is NULL */
/* Appends a new reference and drops it. False: item is NULL or could not be appended. */
bool stk__list_put(PyObject *list, PyObject *item);

/* A converter ("O&") of bytes, or None for NULL, into a const char *, which belongs to them. */
int stk__read_text(PyObject *given, void *text);

/* A list of bytes, each a setting "key=value", as the library takes them. The array is PyMem_Free's and its
 * texts belong to the list. */
bool stk__list_read_texts(PyObject *list, const char ***texts, size_t *count);

#endif
