# SPDX-License-Identifier: Apache-2.0
"""This process's record: a mapped file of numbers, tables and facts (layout.py, made from hook_file.h of Stoker).

After a fork the child begins a file of its own: everybody reaches the record through this module's names, never through a copy. Where
there is no file any more (a full disk, a failure of the hook), they are plain memory, so that writing needs no question."""
import mmap
import os
import struct
import time

from stoker_hook import layout

now = time.monotonic_ns
folder = None
memory = bytearray(layout.FILE_SIZE)
words = memoryview(memory).cast("Q")
stopped = False
tables = []
after_fork = []  # functions that forget what the parent did
GROW = 8192  # bytes of facts for which blocks are allocated at once
_facts = []
_path = None
_room = 0  # bytes of facts that have blocks


def begin(where):
    """Opens the file; False: there is none."""
    global folder, memory, words, _path, _room
    folder, _room = where, GROW
    name = _path = os.path.join(where, "%d-%d%s" % (os.getpid(), now(), layout.SUFFIX))
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(file, layout.FILE_SIZE)
        os.posix_fallocate(file, 0, layout.FACTS_AT + GROW)
        memory = mmap.mmap(file, layout.FILE_SIZE)
    except OSError:
        os.unlink(name)
        return False
    finally:
        os.close(file)
    words = memoryview(memory).cast("Q")
    words[layout.VERSION] = layout.VERSION_VALUE
    words[layout.PID], words[layout.PARENT] = os.getpid(), os.getppid()
    words[layout.BEGIN_NS] = now()
    words[layout.MAGIC] = layout.MAGIC_VALUE
    return True


def allocate(at, size):
    """Blocks for a part of the file, before it is written: a store into a mapped hole of a full disk would kill the process. They are not
    allocated at once because workers, of which an epoch may have many new ones, need few."""
    file = os.open(_path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.posix_fallocate(file, at, size)
    finally:
        os.close(file)


def begin_again():
    """In a child, after a fork."""
    if stopped or folder is None:
        return
    torch = words[layout.TORCH]
    try:
        for forget in after_fork:
            forget()
        for table in tables:
            table.clear()
        if not begin(folder):
            leave_file()
        lines, _facts[:] = _facts[:], []
        for line in lines:
            add_line(line)
        words[layout.TORCH] = torch
    except Exception as error:
        stop(error)


def leave_file():
    global memory, words, _room
    _room = layout.FACTS_SIZE
    memory = bytearray(layout.FILE_SIZE)
    words = memoryview(memory).cast("Q")


def stop(error):
    """The hook failed: a note says so, and nothing is recorded from now on."""
    global stopped
    if stopped:
        return
    stopped = True
    try:
        trace, place = error.__traceback__, ""
        while trace:
            place = " (%s:%d)" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno)
            trace = trace.tb_next
        fact(note="%s: %s%s" % (type(error).__name__, str(error)[:150], place))
    except Exception:
        pass
    leave_file()


def fact(**about):
    """Appends a line of JSON; a later one with the same keys replaces an earlier one."""
    import json
    add_line(json.dumps(about, default=str).encode() + b"\n")


def add_line(line):
    global _room
    at = words[layout.FACT_BYTES]
    if at + len(line) > layout.FACTS_SIZE:
        return
    while at + len(line) > _room:
        allocate(layout.FACTS_AT + _room, GROW)
        _room += GROW
    _facts.append(line)
    memory[layout.FACTS_AT + at:layout.FACTS_AT + at + len(line)] = line
    words[layout.FACT_BYTES] = at + len(line)


class Row:
    """Numbers of a table's row; put() after a change."""
    __slots__ = ("at", "values", "pack")

    def put(self):
        self.pack(memory, self.at, *self.values)


class Table:
    def __init__(self, name):
        self.name = name.lower()
        self.at, self.width, self.room = (getattr(layout, name + end) for end in ("_AT", "_WIDTH", "_ROWS"))
        self.pack = struct.Struct("=%dQ" % self.width).pack_into
        self.rows = {}
        tables.append(self)

    def row(self, key, about):
        """The row of a key; about() is called once, for the fact that says what it is. The last row has no fact: it takes all others."""
        row = self.rows.get(key)
        if row is None:
            number = len(self.rows)
            if number >= self.room - 1:
                key, number = None, self.room - 1
                row = self.rows.get(key)
            if row is None:
                row = self.rows[key] = Row()
                row.at, row.values, row.pack = self.at + number * self.width * 8, [0] * self.width, self.pack
                if key is not None:
                    fact(**{self.name: number, **about()})
        return row

    def clear(self):
        for row in self.rows.values():
            row.values[:] = [0] * self.width


sites, works, loaders, optimizers = Table("SITE"), Table("WORK"), Table("LOADER"), Table("OPTIMIZER")
