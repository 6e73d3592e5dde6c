/* SPDX-License-Identifier: Apache-2.0 */
/* What a trainer calls back with, while its thread is in the library without the GIL: each callback takes the
 * GIL, calls Python, and gives it back. After a step that nobody listens to, the GIL is taken only to look
 * for signals, and not more often than Ctrl-C needs. An exception asks the trainer to stop and stays set in
 * the thread until the library has returned; what comes meanwhile (the checkpoint at the end) is not told.
 * Threads: the one that trains. */
#include "trainer_object.h"

#include "py_values.h"

#include <time.h>

enum { LOOK_NS = 50 * 1000 * 1000 }; /* between two looks for signals */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void stk__trainer_unlock(stk__trainer_object *self)
{
    self->failed = false;
    self->busy = true;
    self->saved = PyEval_SaveThread();
}

bool stk__trainer_lock(stk__trainer_object *self)
{
    PyEval_RestoreThread(self->saved);
    self->saved = NULL;
    self->busy = false;
    return !self->failed;
}

/* Takes the facts. False with an exception. */
static bool call(const stk__trainer_object *self, const char *event, PyObject *facts)
{
    PyObject *answer = facts ? PyObject_CallFunction(self->hear, "sO", event, facts) : NULL;
    Py_XDECREF(facts);
    Py_XDECREF(answer);
    return answer;
}

/* With the GIL. */
static void end_with(stk__trainer_object *self, bool went_well)
{
    self->looked_ns = now_ns();
    if (went_well && PyErr_CheckSignals() == 0) return;
    self->failed = true;
    if (self->training) stk_trainer_interrupt(self->trainer);
}

static void tell(stk__trainer_object *self, const char *event, const stk_trainer_progress *progress)
{
    if (self->failed) return;
    PyEval_RestoreThread(self->saved);
    bool went_well = true;
    if (self->hear != Py_None)
        went_well =
            call(self, event, stk__trainer_progress_dict(progress, stk_trainer_describe(self->trainer)));
    end_with(self, went_well);
    self->saved = PyEval_SaveThread();
}

static void hear_start(void *context, const stk_trainer_progress *progress)
{
    tell(context, "started", progress);
}

static void hear_step(void *context, const stk_trainer_progress *progress)
{
    stk__trainer_object *self = context;
    if (self->hears_steps) {
        tell(self, "stepped", progress);
    } else if (!self->failed && now_ns() - self->looked_ns >= LOOK_NS) {
        PyEval_RestoreThread(self->saved);
        end_with(self, true);
        self->saved = PyEval_SaveThread();
    }
}

static void hear_log(void *context, const stk_trainer_progress *progress)
{
    tell(context, "logged", progress);
}

static void hear_evaluation(void *context, const stk_trainer_progress *progress)
{
    tell(context, "evaluated", progress);
}

static void hear_save(void *context, const stk_trainer_progress *progress)
{
    tell(context, "saved", progress);
}

static PyObject *bad_sample_dict(const stk_ledger_entry *entry)
{
    return Py_BuildValue("{s:K, s:K, s:L, s:s, s:N, s:s, s:s}", "epoch", (unsigned long long)entry->epoch,
                         "position", (unsigned long long)entry->position, "id", (long long)entry->sample_id,
                         "damage", stk_damage_name(entry->damage), "path", stk__path_or_none(entry->path),
                         "detail", entry->detail, "action", entry->action);
}

static void hear_bad_sample(void *context, const stk_ledger_entry *entry)
{
    stk__trainer_object *self = context;
    if (self->failed || self->hear == Py_None) return;
    PyEval_RestoreThread(self->saved);
    end_with(self, call(self, "bad_sample", bad_sample_dict(entry)));
    self->saved = PyEval_SaveThread();
}

stk_trainer_callbacks stk__trainer_callbacks_of(stk__trainer_object *self)
{
    stk_trainer_callbacks all = STK_TRAINER_CALLBACKS_INIT;
    all.context = self;
    all.started = hear_start;
    all.stepped = hear_step;
    all.logged = hear_log;
    all.evaluated = hear_evaluation;
    all.saved = hear_save;
    all.bad_sample = hear_bad_sample;
    return all;
}
