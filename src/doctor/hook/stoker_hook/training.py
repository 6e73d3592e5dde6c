# SPDX-License-Identifier: Apache-2.0
"""Optimizers, backward, autocast, GradScaler, torch.compile, parallel modules, checkpoints, print and logging. patch() wraps everything
once `import torch` has returned."""
import atexit
import builtins
import logging
import sys
import threading
import weakref

from stoker_hook import layout, loader, record, settings, steps, tensor, work, wrap

now = record.now
_get_ident = threading.get_ident
_torch = None
_is_compiling = None
_places = {}  # id of an optimizer: [its place, weak reference, row or None, key of the row]
_open_steps = []
_autocasts = 0  # entered since the last backward
_print_rows = {}
_autocast_callers = {}


def optimizer_made(optimizer, frame):
    key = id(optimizer)
    _places[key] = [wrap.place_of(wrap.user_frame(frame)), weakref.ref(optimizer, lambda _: optimizer_gone(key)), None, None]


def optimizer_gone(key):
    known = _places.pop(key, None)
    if known:
        steps.optimizer_gone(known[2])


def row_of(optimizer):
    known = _places.get(id(optimizer))
    if known is None:  # its class does not call Optimizer.__init__, or it was unpickled
        optimizer_made(optimizer, None)
        known = _places[id(optimizer)]
    if known[2] is None:
        known[3] = free_key(type(optimizer).__name__, known[0])
        known[2] = record.optimizers.row(known[3], lambda: about(optimizer, known[0]))
        settings.see_optimizer(_torch, optimizer, known[2])
    return known[2]


def free_key(name, place):
    """One for each optimizer that lives; those made at one place after each other share it. An id may come again at another place."""
    taken, number = {known[3] for known in _places.values()}, 0
    while (name, place, number) in taken:
        number += 1
    return name, place, number


def about(optimizer, place):
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    rate = optimizer.param_groups[0].get("lr")
    return {"lr": float(rate) if isinstance(rate, (int, float)) else None, "name": type(optimizer).__name__, "site": place, "fused": optimizer.defaults.get("fused"), "foreach": optimizer.defaults.get("foreach"),
            "on_cuda": bool(parameters) and parameters[0].is_cuda, "parameters": len(parameters)}


def before_step(optimizer, args, kwargs):
    if _is_compiling():
        return
    try:
        steps.thread = _get_ident()
        _open_steps.append(steps.begin_optimizer())
    except Exception as error:
        record.stop(error)


def after_step(optimizer, args, kwargs):
    if _is_compiling():
        return
    try:
        row = row_of(optimizer)
        row.values[layout.OPTIMIZER_STEPS] += 1
        row.put()
        if _open_steps and steps.stepped(row, _open_steps.pop()):
            del _open_steps[:]  # of steps that raised
            settings.after_step(_torch, steps.step_number)
    except Exception as error:
        record.stop(error)


def zero_grad_counted(original):
    def zero_grad(self, set_to_none=True):
        if not _is_compiling():
            note_zero_grad(self, set_to_none)
        return original(self, set_to_none)
    return zero_grad


def note_zero_grad(optimizer, set_to_none):
    try:
        row = row_of(optimizer)
        row.values[layout.OPTIMIZER_ZERO_GRADS] += 1
        row.values[layout.OPTIMIZER_ZERO_GRADS_KEPT] += not set_to_none
        row.put()
    except Exception as error:
        record.stop(error)


def begin_backward():
    global _autocasts
    words = record.words
    words[layout.FORWARDS] += 1
    if _autocasts:
        words[layout.FORWARDS_AUTOCAST] += 1
        _autocasts = 0
    return steps.begin_backward()


def autocast_counted(original):
    def __enter__(self):
        if not _is_compiling() and is_users(sys._getframe(1).f_code):
            note_autocast(self)
        return original(self)
    return __enter__


def is_users(code):
    """PyTorch enters autocast by itself, too (checkpoint, export); its decorator and old names are the user's."""
    known = _autocast_callers.get(id(code))
    if known is None:
        known = _autocast_callers[id(code)] = not wrap.is_inside(code) or code.co_filename.endswith("autocast_mode.py"), code
    return known[0]


def note_autocast(autocast):
    global _autocasts
    try:
        words, enabled = record.words, autocast._enabled
        words[layout.AUTOCASTS] += 1
        if enabled is True:
            _autocasts += 1
            settings._state["autocast_dtype"] = str(autocast.fast_dtype).replace("torch.", "")
        else:
            words[layout.AUTOCASTS_OFF] += 1
        if not isinstance(enabled, bool):
            settings._state["autocast_value"] = repr(enabled)[:90]
    except Exception as error:
        record.stop(error)


def scaler_measured(original):
    def step(self, optimizer, *args, **kwargs):
        begun = None
        try:
            if self._enabled and _get_ident() == steps.thread:
                settings.see_scaler(self)
                taken, begun = row_of(optimizer).values[layout.OPTIMIZER_STEPS], steps.begin_span()
        except Exception as error:
            record.stop(error)
        result = original(self, optimizer, *args, **kwargs)
        try:
            if begun and row_of(optimizer).values[layout.OPTIMIZER_STEPS] == taken:
                steps.end_span(layout.CAUSE_OPTIMIZER, begun)
                record.words[layout.SCALER_SKIPS] += 1
        except Exception as error:
            record.stop(error)
        return result
    return step


def timed(kind, word, note):
    """Makes wrappers of functions whose whole time in the training thread is one cause."""
    def make(original):
        def run(*args, **kwargs):
            if _is_compiling() or steps.busy or _get_ident() != steps.thread:
                return original(*args, **kwargs)
            begun = steps.begin_span() if steps.step_number else (now(), steps.accounted)
            result = original(*args, **kwargs)
            try:
                ns = steps.end_span(kind, begun) - begun[0]
                if word:
                    record.words[word] += 1
                if note:
                    note_line(note, ns, sys._getframe(1))
            except Exception as error:
                record.stop(error)
            return result
        return run
    return make


def note_line(call, ns, frame):
    key = (id(frame.f_code), frame.f_lasti)
    known = _print_rows.get(key)
    if known is None:
        if len(_print_rows) >= tensor.LINES:
            return
        known = _print_rows[key] = tensor.row_of(call, wrap.place_of(wrap.user_frame(frame))), frame.f_code
    tensor.count(known[0], ns, None)


def compile_counted(original):
    def compile(*args, **kwargs):
        record.words[layout.COMPILES] += 1
        return original(*args, **kwargs)
    return compile


def died(error):
    if isinstance(error, getattr(_torch, "OutOfMemoryError", ())):
        record.words[layout.OUT_OF_MEMORY] += 1


def ended():
    try:
        if record.words[layout.BATCHES] or steps.step_number:
            settings.read(_torch)
        tensor.unpatch()  # what it keeps of the script must not outlive the script's modules
        _print_rows.clear()
        _autocast_callers.clear()
        record.words[layout.END_NS] = now()
    except Exception as error:
        record.stop(error)


def forget():
    del _open_steps[:]


record.after_fork.append(forget)


def patch(torch):
    global _torch, _is_compiling
    _torch, _is_compiling = torch, torch.compiler.is_compiling
    wrap.prepare(torch)
    record.words[layout.TORCH] = 1
    loader.patch(torch)
    work.patch(torch)
    tensor.patch(torch)
    module = sys.modules["torch.optim.optimizer"]  # torch.optim deletes the name
    module.register_optimizer_step_pre_hook(before_step)
    module.register_optimizer_step_post_hook(after_step)
    wrap.Noticed(module.Optimizer, "__init__", optimizer_made)
    wrap.around(module.Optimizer, "zero_grad", zero_grad_counted)
    wrap.around(torch.autocast, "__enter__", autocast_counted)
    scaler = sys.modules.get("torch.amp.grad_scaler") or sys.modules.get("torch.cuda.amp.grad_scaler")
    if scaler:
        wrap.around(scaler.GradScaler, "step", scaler_measured)
    for name in ("DataParallel", "DistributedDataParallel"):
        wrap.Noticed(getattr(torch.nn.parallel, name), "__init__", lambda module, frame, name=name: settings._state.update(parallel=name))
    wrap.around(torch, "compile", compile_counted)
    wrap.around(torch, "save", timed(layout.CAUSE_CHECKPOINT, layout.SAVES, "save"))
    wrap.around(builtins, "print", timed(layout.CAUSE_LOGGING, layout.PRINTS, "print"))
    wrap.around(logging.Logger, "callHandlers", timed(layout.CAUSE_LOGGING, 0, None))
    wrap.clean_printed_traces(torch, died)
    atexit.register(ended)
