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
    state->augmenter_type = stk__make_augmenter_type(module);
    if (!state->tensor_type || PyModule_AddObjectRef(module, "Tensor", state->tensor_type) != 0 ||
        !state->loader_type || PyModule_AddObjectRef(module, "Loader", state->loader_type) != 0 ||
        !state->monitor_type || PyModule_AddObjectRef(module, "Monitor", state->monitor_type) != 0 ||
        !state->augmenter_type || PyModule_AddObjectRef(module, "Augmenter", state->augmenter_type) != 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", stk_version());
}

static int visit_types(PyObject *module, visitproc visit, void *arg)
{
    const stk__module_state *state = PyModule_GetState(module);
    Py_VISIT(state->tensor_type);
    Py_VISIT(state->loader_type);
    Py_VISIT(state->monitor_type);
    Py_VISIT(state->augmenter_type);
    return 0;
}

static int clear_types(PyObject *module)
{
    stk__module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->loader_type);
    Py_CLEAR(state->monitor_type);
    Py_CLEAR(state->augmenter_type);
    return 0;
}

static PyMethodDef functions[] = {
    {"settings", stk__list_settings, METH_VARARGS, "The settings of a section, as dicts."}, {0}};

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
