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

static const struct {
    const char *name;
    PyObject *(*make)(PyObject *module);
} types[] = {{"Tensor", stk__make_tensor_type},   {"Loader", stk__make_loader_type},
             {"Monitor", stk__make_monitor_type}, {"Augmenter", stk__make_augmenter_type},
             {"Trainer", stk__make_trainer_type}, {"Predictor", stk__make_predictor_type}};

static int fill(PyObject *module)
{
    stk__module_state *state = PyModule_GetState(module);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        PyObject *type = types[i].make(module);
        const int failed = type ? PyModule_AddObjectRef(module, types[i].name, type) : -1;
        if (types[i].make == stk__make_tensor_type)
            state->tensor_type = type;
        else
            Py_XDECREF(type);
        if (failed) return -1;
    }
    return PyModule_AddStringConstant(module, "version", stk_version());
}

static int visit_types(PyObject *module, visitproc visit, void *arg)
{
    const stk__module_state *state = PyModule_GetState(module);
    Py_VISIT(state->tensor_type);
    return 0;
}

static int clear_types(PyObject *module)
{
    stk__module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->tensor_type);
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
