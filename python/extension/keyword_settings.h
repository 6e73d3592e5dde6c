/* SPDX-License-Identifier: Apache-2.0 */
/* The option tables for Python: docstrings, stubs and the nearest name come from them. */
#ifndef STK_PYTHON_KEYWORD_SETTINGS_H
#define STK_PYTHON_KEYWORD_SETTINGS_H

#include "py_module.h"

/* settings(section): a list of dicts, one for each setting, in the order of the help. */
PyObject *stk__list_settings(PyObject *module, PyObject *args);
/* sections(): their names. */
PyObject *stk__list_sections(PyObject *module, PyObject *ignored);

#endif
