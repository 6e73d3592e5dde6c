# SPDX-License-Identifier: Apache-2.0
"""Methods of tensors that make the host wait for the device, or that copy, by the line that calls them.

A descriptor takes the method's place. On the class it gives the original, so that torch.Tensor.item stays what it was for everybody who
asks, dynamo among them. On a tensor it gives the original to callers inside of PyTorch and for subclasses of tensors, and to others
a function of their line: its code carries their file and line, so that warnings of C name them."""
import threading
from sys import _getframe
from types import FunctionType, MethodType

from stoker_hook import layout, record, steps, wrap

now = record.now
METHODS = {"item": "item", "cpu": "cpu", "numpy": "numpy", "__array__": "numpy", "tolist": "tolist", "nonzero": "nonzero", "__bool__": "bool",
           "__float__": "float", "__int__": "int", "__index__": "int", "__format__": "format", "__repr__": "format", "to": "to", "cuda": "to",
           "backward": "backward"}
LINES = 4096  # more are made by a program that makes code; they are not looked at
_get_ident = threading.get_ident
_plain = ()
_modes = None
_methods = []


class Method:
    __slots__ = ("name", "call", "original", "lines", "kept", "inherited")

    def __init__(self, tensor_type, name, call):
        self.name, self.call, self.lines, self.kept = name, call, {}, []
        self.inherited = name not in tensor_type.__dict__
        self.original = getattr(tensor_type, name)

    def __get__(self, tensor, owner=None):
        if tensor is None:
            return self.original
        if type(tensor) in _plain:
            frame = _getframe(1)
            line = self.lines.get((id(frame.f_code), frame.f_lasti), self)
            if line is self:
                line = self.make_line(frame)
            if line is not None:
                return MethodType(line, tensor)
        return MethodType(self.original, tensor)

    def make_line(self, frame):
        line = None
        try:
            if len(self.lines) < LINES:
                if not wrap.is_inside(frame.f_code):
                    line = measured(self, frame)
                self.kept.append(frame.f_code)  # its id stays its own
                self.lines[(id(frame.f_code), frame.f_lasti)] = line
        except Exception as error:
            record.stop(error)
        return line


def measured(method, frame):
    """The method as one line of the user's calls it."""
    original = method.original
    if method.call == "backward":
        begin, end = steps_backward()
    else:
        begin, end = now, (copy_end if method.call == "to" else sync_end)(method.call, wrap.place_of(frame))
    line = lambda *args, **kwargs: end(begin(), original(*args, **kwargs), args[0])  # noqa: E731  one line: its number is replaced
    code = line.__code__.replace(co_filename=frame.f_code.co_filename, co_firstlineno=frame.f_lineno, co_name=wrap.MARK)
    wrap.hide(code)
    return FunctionType(code, frame.f_globals, wrap.MARK, None, line.__closure__)


def row_of(call, place):
    return record.sites.row((call, place), lambda: {"call": call, "at": place})


def count(row, ns, tensor):
    values = row.values
    values[layout.SITE_COUNT] += 1
    values[layout.SITE_TOTAL_NS] += ns
    if values[layout.SITE_LAST_STEP] != steps.step_number + 1:
        values[layout.SITE_LAST_STEP] = steps.step_number + 1
        values[layout.SITE_STEPS] += 1
    if tensor is not None:
        values[layout.SITE_BYTES] += tensor.nbytes
        values[layout.SITE_ON_DEVICE] += not tensor.is_cpu
    row.put()


def sync_end(call, place):
    row = row_of(call, place)

    def end(begun, result, tensor):
        ns = now() - begun
        try:
            if not steps.busy and _get_ident() == steps.thread:
                steps.add(layout.CAUSE_SYNC, ns)
                count(row, ns, None if _modes() else tensor)
        except Exception as error:
            record.stop(error)
        return result
    return end


def copy_end(call, place):
    """A row only when something was copied from or to a device."""
    rows = []

    def end(begun, result, tensor):
        ns = now() - begun
        try:
            if result is not tensor and not _modes() and not steps.busy and result.device != tensor.device and _get_ident() == steps.thread:
                steps.copied(ns)
                if not rows:
                    rows.append(row_of(call, place))
                count(rows[0], ns, tensor)
        except Exception as error:
            record.stop(error)
        return result
    return end


def steps_backward():
    """One outermost backward of the training thread at a time; what is nested in it, or of other threads, is not looked at."""
    from stoker_hook import training

    def begin():
        try:
            if _get_ident() == steps.thread:
                return training.begin_backward()
        except Exception as error:
            record.stop(error)
        return None

    def end(begun, result, tensor):
        try:
            if begun:
                steps.end_backward(begun)
        except Exception as error:
            record.stop(error)
        return result
    return begin, end


def patch(torch):
    global _plain, _modes
    _plain = (torch.Tensor, torch.nn.Parameter)
    _modes = getattr(torch._C, "_is_torch_function_mode_enabled", lambda: False)
    for name, call in METHODS.items():
        if hasattr(torch.Tensor, name):
            method = Method(torch.Tensor, name, call)
            setattr(torch.Tensor, name, method)
            _methods.append((torch.Tensor, method))


def unpatch():
    """In workers, where no call waits for a device, and at the end."""
    while _methods:
        owner, method = _methods.pop()
        method.lines.clear()
        method.kept.clear()
        if method.inherited:
            delattr(owner, method.name)
        else:
            setattr(owner, method.name, method.original)
