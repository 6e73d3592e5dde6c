/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker._stoker`, the part of the Python package that talks to libstoker: its types and functions, in one
 * binary for CPython 3.11 and all later versions. Initialized in two phases, so that each interpreter has its
 * own types. */
#include "py_module.h"

#include "loader_object.h"
#include "keyword_settings.h"

PyObject *stk__tensor_type_of(PyObject *object)
{
    const stk__module_state *state = PyType_GetModuleState(Py_TYPE(object));
    return state ? Py_NewRef(state->tensor_type) : NULL;
}

static int fill(PyObject *module)
{
    stk__module_state *state = PyModule_GetState(module);
    state->tensor_type = stk__make_tensor_type(module);
    state->loader_type = stk__make_loader_type(module);
    state->monitor_type = stk__make_monitor_type(module);
    state->trainer_type = stk__make_trainer_type(module);
    state->predictor_type = stk__make_predictor_type(module);
    if (!state->tensor_type || PyModule_AddObjectRef(module, "Tensor", state->tensor_type) != 0 ||
        !state->loader_type || PyModule_AddObjectRef(module, "Loader", state->loader_type) != 0 ||
        !state->monitor_type || PyModule_AddObjectRef(module, "Monitor", state->monitor_type) != 0 ||
        !state->trainer_type || PyModule_AddObjectRef(module, "Trainer", state->trainer_type) != 0 ||
        !state->predictor_type || PyModule_AddObjectRef(module, "Predictor", state->predictor_type) != 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", stk_version());
}

static int visit_types(PyObject *module, visitproc visit, void *arg)
{
    const stk__module_state *state = PyModule_GetState(module);
    Py_VISIT(state->tensor_type);
    Py_VISIT(state->loader_type);
    Py_VISIT(state->monitor_type);
    Py_VISIT(state->trainer_type);
    Py_VISIT(state->predictor_type);
    return 0;
}

static int clear_types(PyObject *module)
{
    stk__module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->loader_type);
    Py_CLEAR(state->monitor_type);
    Py_CLEAR(state->trainer_type);
    Py_CLEAR(state->predictor_type);
    return 0;
}

static PyMethodDef functions[] = {
    {"settings", stk__list_settings, METH_VARARGS, "The settings of a section, as dicts."},
    {"sections", stk__list_sections, METH_NOARGS, "The names of all sections."},
    {0}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill}, {0, NULL}};

static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = "stoker._stoker",
                                 .m_doc = "libstoker for the package stoker.",
                                 .m_size = sizeof(stk__module_state),
                                 .m_methods = functions,
                                 .m_slots = slots,
                                 .m_traverse = visit_types,
                                 .m_clear = clear_types};

PyMODINIT_FUNC PyInit__stoker(void);
PyMODINIT_FUNC PyInit__stoker(void)
{
    return PyModuleDef_Init(&definition);
}
