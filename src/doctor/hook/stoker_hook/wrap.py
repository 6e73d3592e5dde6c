# SPDX-License-Identifier: Apache-2.0
"""How functions are wrapped so that a script does not notice: dynamo never traces or compiles a wrapper, and tracebacks do not show it."""
import functools
import os
import sys
import threading
import types

from stoker_hook import record

MARK = "<stoker doctor>"  # name of code of ours that carries the user's file
_own = os.path.dirname(os.path.abspath(__file__)) + os.sep
_torch = None  # "/…/torch/"
_skip = None


def prepare(torch):
    """Finds how this PyTorch is told that dynamo shall leave a code object alone; neither way imports dynamo. Below our own functions it
    shall leave everything alone, below wrappers, which call the script's, nothing."""
    global _torch, _skip
    _torch = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "set_code_exec_strategy"):
        skip, default = frames._FrameAction.SKIP, frames._FrameAction.DEFAULT

        def _skip(code, below):
            frames.set_code_exec_strategy(code, frames._FrameExecStrategy(skip, skip if below else default))
    elif hasattr(frames, "skip_code"):
        def _skip(code, below):
            frames.skip_code(code)
    for name, module in list(sys.modules.items()):
        if name.startswith("stoker_hook"):
            hide_all(module)


def hide(code, below=False):
    """This code and the functions in it."""
    if _skip:
        _skip(code, below)
        for constant in code.co_consts:
            if isinstance(constant, type(code)):
                hide(constant, below)


def hide_all(module):
    from stoker_hook import work
    for value in list(vars(module).values()):
        members = vars(value).values() if isinstance(value, type) and value.__module__ == module.__name__ else [value]
        for member in members:
            if isinstance(member, types.FunctionType) and member.__code__.co_filename.startswith(_own):
                hide(member.__code__, member is not work.measure)


def is_inside(code):
    """Whether it belongs to PyTorch, to code that torch.compile has made, or to the hook."""
    name = code.co_filename
    return name.startswith((_torch, _own, "<eval_with_key>", "<frozen")) or code.co_name == MARK or "torchinductor_" in name


def user_frame(frame):
    """The first frame outside of PyTorch."""
    while frame is not None and is_inside(frame.f_code):
        frame = frame.f_back
    return frame


def place_of(frame):
    """"train.py:12", below the working folder without it."""
    if frame is None:
        return ""
    name, here = frame.f_code.co_filename, os.getcwd() + os.sep
    return "%s:%d" % (name[len(here):] if name.startswith(here) else name, frame.f_lineno)


def like(wrapper, original):
    functools.update_wrapper(wrapper, original)
    hide(wrapper.__code__)
    return wrapper


def like_hidden(wrapper):
    hide(wrapper.__code__)
    return wrapper


def around(owner, name, make):
    """Replaces owner.name by make(original), also where it was defined, so that it can be pickled; what is not there stays away."""
    original = getattr(owner, name, None)
    if original is not None:
        wrapper = like(make(original), original)
        setattr(owner, name, wrapper)
        home = sys.modules.get(getattr(original, "__module__", None))
        if getattr(home, name, None) is original:
            setattr(home, name, wrapper)


class Noticed:
    """In place of a method that is only noticed: notice(object) when it is looked up on one, then the original runs by itself."""

    def __init__(self, owner, name, notice):
        self.original, self.notice = owner.__dict__[name], notice
        setattr(owner, name, self)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self.original
        try:
            self.notice(instance, sys._getframe(1))
        except Exception as error:
            record.stop(error)
        return self.original.__get__(instance, owner)


def clean(error, seen=None):
    """Takes our frames out of an exception's traceback, and of those that it came from."""
    seen = seen or set()
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = clean_trace(error.__traceback__)
    clean(error.__cause__, seen)
    clean(error.__context__, seen)


def clean_trace(trace):
    def ours(one):
        code = one.tb_frame.f_code
        return code.co_filename.startswith(_own) or code.co_name == MARK
    while trace is not None and ours(trace):
        trace = trace.tb_next
    one = trace
    while one is not None and one.tb_next is not None:
        if ours(one.tb_next):
            one.tb_next = one.tb_next.tb_next
        else:
            one = one.tb_next
    return trace


def clean_printed_traces(torch, notice):
    """Tracebacks as Python prints them, and as workers of loaders send them; notice(error) of those that end the program."""
    before, before_thread = sys.excepthook, threading.excepthook

    def excepthook(kind, error, trace):
        try:
            notice(error)
            clean(error)
            trace = clean_trace(trace)
        except Exception:
            pass
        before(kind, error, trace)

    def thread_excepthook(args):
        try:
            clean(args.exc_value)
            args = threading.ExceptHookArgs((args.exc_type, args.exc_value, clean_trace(args.exc_traceback), args.thread))
        except Exception:
            pass
        before_thread(args)

    sys.excepthook, threading.excepthook = excepthook, thread_excepthook

    def make(original):
        def __init__(self, exc_info=None, where="in background"):
            info = exc_info or sys.exc_info()
            clean(info[1])
            original(self, (info[0], info[1], clean_trace(info[2])), where)
        return __init__

    around(torch._utils.ExceptionWrapper, "__init__", make)
