# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each status of the library, all of them Error."""


class Error(Exception):
    """Something failed in Stoker.

    message  what failed, on what, why
    place    the file it is about, or file:line:column, or ""
    hint     what to do next, or ""
    damage   class of damage of a corrupt sample ("truncated"), or ""
    """

    def __init__(self, message, place="", hint="", damage=""):
        super().__init__(message, place, hint, damage)
        self.message = message
        self.place = place
        self.hint = hint
        self.damage = damage

    def __str__(self):
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")


class ArgumentError(Error, ValueError):
    """A call that makes no sense: a closed loader, an id that is not there."""


class ConfigError(Error, ValueError):
    """A setting is malformed, out of range, or contradicts another."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class ThreadError(Error, RuntimeError):
    """A thread could not be started, or does not exist in this process (after a fork)."""


class FileError(Error):
    """The operating system refused a file operation."""


class DataError(Error, ValueError):
    """A data set as a whole cannot be used."""


class SampleError(Error, ValueError):
    """A sample is corrupt: `place` is its file, `damage` the class of damage."""


class LoadTimeoutError(Error):
    """A worker, a file or a device hangs for longer than the setting `timeout`."""


class InterruptedLoadError(Error):
    """Waiting or training was stopped on request (Trainer.interrupt)."""


class StateError(Error, ValueError):
    """A saved state belongs to another data set, seed or order."""


class UnsupportedError(Error, NotImplementedError):
    """Known, but not possible here."""


class StaleIteratorError(Error, RuntimeError):
    """An iterator was used after a newer one of its loader was made."""


_BY_STATUS = {
    "argument": ArgumentError,
    "config": ConfigError,
    "memory": OutOfMemoryError,
    "thread": ThreadError,
    "io": FileError,
    "data": DataError,
    "sample": SampleError,
    "timeout": LoadTimeoutError,
    "interrupted": InterruptedLoadError,
    "state": StateError,
    "unsupported": UnsupportedError,
}


def make(status, damage, message, place, hint):
    """The exception of a failure, by the name of its status (stk_status_name)."""
    if hint:
        from ._hints import in_python

        hint = in_python(hint)
    return _BY_STATUS.get(status, Error)(message, place, hint, damage)
