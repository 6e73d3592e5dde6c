/* SPDX-License-Identifier: Apache-2.0 */
/* The object of `_stoker.Loader`, shared by what moves (loader_type.c), its settings (keyword_settings.c) and
 * what it tells of itself (loader_facts.c). All with the GIL. */
#ifndef STK_PYTHON_LOADER_OBJECT_H
#define STK_PYTHON_LOADER_OBJECT_H

#include "py_module.h"

typedef struct stk__loader_object {
    PyObject_HEAD stk__shared_loader *shared; /* NULL: closed */
    PyObject *tensor_type;
    PyObject *bad; /* list of the ledger's rows */
    bool busy;     /* a thread is in next or seek */
    bool warned;   /* that images are resized */
} stk__loader_object;

/* False with an exception: closed, or of another process. */
bool stk__loader_is_usable(const stk__loader_object *self);

/* Pairs (name, text) of bytes into options, which point at the texts. False with an exception. */
bool stk__loader_read_settings(PyObject *settings, stk_loader_options *options);

/* A new reference to `_stoker.Tensor` of the module that the object's type belongs to. */
PyObject *stk__tensor_type_of(PyObject *object);

/* Methods. */
PyObject *stk__loader_tell_text(PyObject *self, PyObject *ignored);
PyObject *stk__loader_describe_dict(PyObject *self, PyObject *ignored);
PyObject *stk__loader_effects_list(PyObject *self, PyObject *ignored);
PyObject *stk__loader_stats_dict(PyObject *self, PyObject *ignored);
PyObject *stk__loader_sample(PyObject *self, PyObject *args);
PyObject *stk__loader_bad_samples(PyObject *self, PyObject *ignored);

#endif
