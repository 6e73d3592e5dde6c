/* SPDX-License-Identifier: Apache-2.0 */
/* The object of `_stoker.Trainer`, shared by what moves (trainer_type.c), what it is called back with
 * (trainer_hear.c) and what it tells of itself (trainer_facts.c). All with the GIL. */
#ifndef STK_PYTHON_TRAINER_OBJECT_H
#define STK_PYTHON_TRAINER_OBJECT_H

#include "py_module.h"

typedef struct stk__trainer_object {
    PyObject_HEAD stk_trainer *trainer; /* NULL: closed */
    PyObject *hear;                     /* called as hear(event, facts); None: nobody listens */
    PyThreadState *saved;               /* of the thread in the library, while it has not the GIL */
    pid_t pid;                          /* of the process that has its threads; a fork's child has none */
    int64_t looked_ns;                  /* when signals were looked for last */
    bool busy;                          /* a call is under way */
    bool hears_steps;                   /* hear wants each step, too */
    bool training;                      /* the call is one that an interrupt ends */
    bool failed;                        /* an exception is set that is to end the call under way */
} stk__trainer_object;

/* False with an exception: closed, of another process; with idle also while a call is under way. */
bool stk__trainer_is_usable(const stk__trainer_object *self, bool idle);

/* Callbacks into self, which run between stk__trainer_unlock and stk__trainer_lock. They look for signals,
 * too: an exception, of a signal's handler or of hear, interrupts the trainer and stays set. */
stk_trainer_callbacks stk__trainer_callbacks_of(stk__trainer_object *self);

/* Around every call of the library that computes. lock returns false if a callback has left an exception. */
void stk__trainer_unlock(stk__trainer_object *self);
bool stk__trainer_lock(stk__trainer_object *self);

/* As dicts with the names of stoker/train.h; NULL with an exception. info may be NULL: values have no names
 * then. */
PyObject *stk__trainer_progress_dict(const stk_trainer_progress *progress, const stk_trainer_info *info);
PyObject *stk__trainer_score_dict(const stk_trainer_score *score, const stk_trainer_info *info);

/* Methods. */
PyObject *stk__trainer_progress_now(PyObject *self, PyObject *ignored);
PyObject *stk__trainer_describe_dict(PyObject *self, PyObject *ignored);
PyObject *stk__trainer_effects_list(PyObject *self, PyObject *ignored);
PyObject *stk__trainer_stall_list(PyObject *self, PyObject *ignored);

#endif
