/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the extension share: the module's state, and how failures become exceptions. Python.h of
 * the limited API of 3.11: one binary for that version and all later ones. */
#ifndef STK_PYTHON_PY_MODULE_H
#define STK_PYTHON_PY_MODULE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "loan.h"

typedef struct stk__module_state {
    PyObject *tensor_type; /* a reference; other types belong to the module alone */
} stk__module_state;

/* Raises the exception of python/stoker/_errors.py that belongs to the failure. Returns NULL. */
PyObject *stk__raise(const stk_error *error);
/* The same for a failure of the extension itself. */
PyObject *stk__raise_text(stk_status code, const char *message, const char *hint);

/* New types of the module; NULL with an exception. */
PyObject *stk__make_tensor_type(PyObject *module);
PyObject *stk__make_loader_type(PyObject *module);
PyObject *stk__make_monitor_type(PyObject *module);
PyObject *stk__make_augmenter_type(PyObject *module);
PyObject *stk__make_trainer_type(PyObject *module);
PyObject *stk__make_predictor_type(PyObject *module);

/* Arrays on the tensors of a loan, None for those that are absent: a new tuple of STK_LOAN_TENSORS. */
PyObject *stk__wrap_loan(PyObject *tensor_type, stk__loan *loan);
/* One array; it holds the loan. */
PyObject *stk__wrap_tensor(PyObject *tensor_type, stk__loan *loan, const stk_tensor *tensor);

/* [(name, requested, in effect, why)], a new list. */
PyObject *stk__list_effects(const stk_loader_effect *effects, int count);

/* Puts a new reference into the dict and drops it. False:
 * value is NULL or could not be put. */
bool stk__dict_put(PyObject *dict, const char *key, PyObject *value);

#endif
