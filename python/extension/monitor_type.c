/* SPDX-License-Identifier: Apache-2.0 */
/* `_stoker.Monitor`: stk_monitor for Python; frames and summaries as dicts with the names of
 * stoker/monitor.h, None for what is unknown. A wait releases the GIL and lasts one interval at most.
 * Threads: with the GIL; next in one thread, interrupt from any. */
#include "py_module.h"

#include <math.h>
#include <string.h>

typedef struct monitor_object {
    PyObject_HEAD stk_monitor *monitor;
    bool busy; /* a thread is in next */
} monitor_object;

static PyObject *number(double value)
{
    return isfinite(value) ? PyFloat_FromDouble(value) : Py_NewRef(Py_None);
}

static PyObject *reading(stk_reading given)
{
    return given.known == STK_KNOWN ? number(given.value) : Py_NewRef(Py_None);
}

static PyObject *text(const char *given)
{
    return PyUnicode_DecodeUTF8(given, (Py_ssize_t)strlen(given), "replace");
}

static bool append(PyObject *list, PyObject *item)
{
    const bool appended = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return appended;
}

static PyObject *name_gpu(const stk_gpu *gpu)
{
    PyObject *dict = PyDict_New();
    if (dict && stk__dict_put(dict, "index", PyLong_FromLong(gpu->index)) &&
        stk__dict_put(dict, "vendor", text(gpu->vendor)) && stk__dict_put(dict, "name", text(gpu->name)) &&
        stk__dict_put(dict, "id", text(gpu->id)) && stk__dict_put(dict, "part", text(gpu->part)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *gpu_frame(const stk_gpu *gpu, const stk_gpu_frame *frame)
{
    PyObject *dict = name_gpu(gpu);
    bool put = dict && stk__dict_put(dict, "state", text(stk_gpu_state_name(frame->state))) &&
               stk__dict_put(dict, "note", text(frame->note));
    for (int i = 0; put && i < frame->reading_count; i++)
        put = stk__dict_put(dict, stk_metric_key((stk_metric)i), reading(frame->readings[i]));
    if (!put) Py_CLEAR(dict);
    return dict;
}

static PyObject *frame_dict(const stk_monitor_frame *frame)
{
    const stk_host_frame *host = &frame->host;
    PyObject *gpus = PyList_New(0);
    for (int i = 0; gpus && i < frame->gpu_count; i++)
        if (!append(gpus, gpu_frame(&frame->gpus[i], &frame->gpu_frames[i]))) Py_CLEAR(gpus);
    if (!gpus) return NULL;
    return Py_BuildValue("{s:K, s:d, s:d, s:N, s:N, s:N, s:N, s:N, s:N}", "number",
                         (unsigned long long)frame->number, "clock_s", frame->clock_s, "seconds",
                         (double)(frame->to_ns - frame->from_ns) * 1e-9, "gpus", gpus, "cpu_percent",
                         reading(host->cpu_percent), "cpu_max_percent", reading(host->cpu_max_percent),
                         "memory_used_bytes", reading(host->memory_used_bytes), "job_cpu_percent",
                         reading(host->job_cpu_percent), "job_memory_bytes", reading(host->job_memory_bytes));
}

static int monitor_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"interval", "gpus", "pid", "demo", "replay", "record", "count", NULL};
    monitor_object *self = (monitor_object *)object;
    stk_monitor_options options = STK_MONITOR_OPTIONS_INIT;
    stk_error error = {0};
    int demo = 0;
    unsigned long long count = 0;
    stk_monitor *monitor = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|dzipzzK", names, &options.interval_s, &options.gpus,
                                     &options.pid, &demo, &options.replay, &options.record, &count))
        return -1;
    if (self->monitor) {
        PyErr_SetString(PyExc_TypeError, "a monitor is opened once");
        return -1;
    }
    options.demo = demo;
    options.count = count;
    stk_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = stk_monitor_open(&monitor, &options, &error);
    Py_END_ALLOW_THREADS;
    if (status != STK_OK) stk__raise(&error);
    self->monitor = monitor;
    return status == STK_OK ? 0 : -1;
}

static bool is_usable(const monitor_object *self)
{
    if (!self->monitor || self->busy)
        stk__raise_text(STK_ERROR_ARGUMENT,
                        self->busy ? "another thread waits for this monitor" : "the monitor is closed", "");
    return self->monitor && !self->busy;
}

static PyObject *monitor_next(PyObject *object, PyObject *ignored)
{
    monitor_object *self = (monitor_object *)object;
    stk_monitor_frame *frame;
    stk_error error = {0};
    stk_status status;
    (void)ignored;
    if (!is_usable(self)) return NULL;
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS;
    status = stk_monitor_next(self->monitor, &frame, &error);
    Py_END_ALLOW_THREADS;
    self->busy = false;
    if (status == STK_END) Py_RETURN_NONE;
    return status == STK_OK ? frame_dict(frame) : stk__raise(&error);
}

static PyObject *monitor_interrupt(PyObject *object, PyObject *ignored)
{
    (void)ignored;
    stk_monitor_interrupt(((monitor_object *)object)->monitor);
    Py_RETURN_NONE;
}

static PyObject *monitor_close(PyObject *object, PyObject *ignored)
{
    monitor_object *self = (monitor_object *)object;
    (void)ignored;
    if (!self->monitor) Py_RETURN_NONE;
    if (!is_usable(self)) return NULL;
    stk_monitor *monitor = self->monitor;
    self->monitor = NULL;
    Py_BEGIN_ALLOW_THREADS;
    stk_monitor_close(&monitor);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *missing_reason(PyObject *object, PyObject *ignored)
{
    monitor_object *self = (monitor_object *)object;
    (void)ignored;
    return is_usable(self) ? text(stk_monitor_missing_reason(self->monitor)) : NULL;
}

static PyObject *judged_row(const stk_judged *row)
{
    static const char *const grades[] = {"", "good", "low", "high"};
    return Py_BuildValue("{s:s, s:s, s:N, s:N, s:N, s:s, s:s}", "name", row->name, "unit", row->unit, "value",
                         reading(row->value), "least", number(row->least), "most", number(row->most), "grade",
                         grades[row->grade], "note", row->note);
}

static PyObject *gpu_summary(const stk_gpu_summary *gpu)
{
    PyObject *dict = name_gpu(gpu->gpu), *rows = PyList_New(0);
    bool put = dict && rows && stk__dict_put(dict, "util_mean_percent", reading(gpu->util_mean_percent)) &&
               stk__dict_put(dict, "util_std_percent", reading(gpu->util_std_percent)) &&
               stk__dict_put(dict, "util_median_percent", reading(gpu->util_median_percent)) &&
               stk__dict_put(dict, "power_mean_w", reading(gpu->power_mean_w)) &&
               stk__dict_put(dict, "energy_j", reading(gpu->energy_j)) &&
               stk__dict_put(dict, "memory_peak_share", reading(gpu->memory_peak_share)) &&
               stk__dict_put(dict, "hottest_c", reading(gpu->hottest_c)) &&
               stk__dict_put(dict, "dip_period_s", reading(gpu->dip_period_s)) &&
               stk__dict_put(dict, "state", text(stk_gpu_state_name(gpu->last_state))) &&
               stk__dict_put(dict, "finding", text(gpu->finding)) &&
               stk__dict_put(dict, "verdict", text(gpu->verdict));
    for (int i = 0; put && i < gpu->row_count; i++)
        put = append(rows, judged_row(&gpu->rows[i]));
    if (put) put = stk__dict_put(dict, "rows", Py_NewRef(rows));
    Py_XDECREF(rows);
    if (!put) Py_CLEAR(dict);
    return dict;
}

static PyObject *monitor_summary(PyObject *object, PyObject *ignored)
{
    monitor_object *self = (monitor_object *)object;
    stk_monitor_summary summary;
    (void)ignored;
    if (!is_usable(self)) return NULL;
    stk_monitor_summarize(self->monitor, &summary);
    PyObject *gpus = PyList_New(0);
    for (int i = 0; gpus && i < summary.gpu_count; i++)
        if (!append(gpus, gpu_summary(&summary.gpus[i]))) Py_CLEAR(gpus);
    if (!gpus) return NULL;
    return Py_BuildValue("{s:d, s:K, s:N, s:N, s:N, s:N, s:s, s:N}", "seconds", summary.seconds,
                         "frame_count", (unsigned long long)summary.frame_count, "gpus", gpus,
                         "util_mean_percent", reading(summary.util_mean_percent), "util_std_percent",
                         reading(summary.util_std_percent), "cpu_mean_percent",
                         reading(summary.cpu_mean_percent), "finding", summary.finding ? summary.finding : "",
                         "verdict", text(summary.verdict));
}

static void monitor_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    stk_monitor *monitor = ((monitor_object *)object)->monitor;
    if (monitor) {
        Py_BEGIN_ALLOW_THREADS;
        stk_monitor_close(&monitor);
        Py_END_ALLOW_THREADS;
    }
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"next", monitor_next, METH_NOARGS, "The next interval as a dict, or None at the end."},
    {"interrupt", monitor_interrupt, METH_NOARGS, "Ends the watch: a waiting next returns."},
    {"summary", monitor_summary, METH_NOARGS, "Of everything seen so far, as a dict."},
    {"missing_reason", missing_reason, METH_NOARGS, "Why there is no GPU, or an empty text."},
    {"close", monitor_close, METH_NOARGS, "Ends its threads."},
    {0}};

PyObject *stk__make_monitor_type(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)monitor_dealloc},        {Py_tp_init, (void *)monitor_init},
        {Py_tp_new, (void *)PyType_GenericNew},          {Py_tp_methods, methods},
        {Py_tp_doc, "stk_monitor, see stoker.Monitor."}, {0, NULL}};
    PyType_Spec spec = {.name = "stoker._stoker.Monitor",
                        .basicsize = sizeof(monitor_object),
                        .flags = Py_TPFLAGS_DEFAULT,
                        .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
