/* SPDX-License-Identifier: Apache-2.0 */
/* Settings on their way into the library, as the texts that people write in files, and the tables of all
 * settings on their way out. Threads: with the GIL. */
#include "loader_object.h"

#include "keyword_settings.h"

#include <math.h>

bool stk__loader_read_settings(PyObject *settings, stk_loader_options *options)
{
    stk_error error = {0};
    const Py_ssize_t count = PyList_Size(settings);
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *name, *text;
        if (!PyArg_ParseTuple(PyList_GetItem(settings, i), "yy", &name, &text)) return false;
        if (stk_loader_options_set(options, name, text, &error) != STK_OK) {
            stk__raise(&error);
            return false;
        }
    }
    return count >= 0;
}

static PyObject *number_or_none(double number)
{
    if (!isfinite(number)) return Py_NewRef(Py_None);
    return PyFloat_FromDouble(number);
}

static PyObject *describe(const stk_option_info *info)
{
    return Py_BuildValue("{s:s, s:z, s:z, s:z, s:z, s:s, s:i, s:N, s:N, s:s}", "name", info->name, "aliases",
                         info->aliases, "default", info->fallback, "choices", info->choices, "unit",
                         info->unit, "help", info->help, "type", (int)info->type, "least",
                         number_or_none(info->least), "most", number_or_none(info->most), "expects",
                         info->expects);
}

PyObject *stk__list_settings(PyObject *module, PyObject *args)
{
    const char *section;
    (void)module;
    if (!PyArg_ParseTuple(args, "s", &section)) return NULL;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < stk_option_count(section); i++) {
        stk_option_info info = STK_OPTION_INFO_INIT;
        stk_error error = {0};
        const bool found = stk_option_describe(section, i, &info, &error) == STK_OK;
        PyObject *row = found ? describe(&info) : stk__raise(&error);
        if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyObject *stk__list_sections(PyObject *module, PyObject *ignored)
{
    PyObject *list = PyList_New(0);
    (void)module;
    (void)ignored;
    for (int i = 0; list && stk_option_section(i); i++) {
        PyObject *name = PyUnicode_FromString(stk_option_section(i));
        if (!name || PyList_Append(list, name) != 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}
