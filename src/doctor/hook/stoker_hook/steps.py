# SPDX-License-Identifier: Apache-2.0
"""Divides the time of the training thread into steps, and a step by cause.

A step ends with the step of an optimizer: of several the one that leads, which is another one when that steps twice in between. As long
as no optimizer has stepped it ends with the next batch; those steps are forgotten when one does. `accounted` is all time that has a cause; a cause that spans others (forward, backward,
optimizer) is its time less what was accounted meanwhile.

Forward runs from the batch (from a copy to the device or the backward before, where no loader is used) to backward. A batch without a
backward before its loader is asked again was evaluation: all of its time, with the wait for it."""
import struct
import threading

from stoker_hook import layout, record

now = record.now
thread = threading.get_ident()  # the one that trains
cause = [0] * layout.CAUSES
accounted = 0
busy = False  # waiting for a loader: what happens in it is its wait
step_number = 0
optimizer_seen = False
_pack = struct.Struct("=%dQ" % (layout.STEP_SIZE // 8)).pack_into
_begin = _batches = _samples = 0
_batch = None  # (row of loader, when it was asked, cause and accounted then, gradients were on, samples)
_forward_from = _forward_accounted = 0
_loaders_used = False
_leader, _stepped = None, set()
_device_timer = None
_allocated = False  # memory for records


def forget():
    global cause, accounted, busy, step_number, optimizer_seen, thread, _begin, _batches, _samples, _batch, _forward_from, _leader, _allocated
    cause, accounted, busy, step_number, optimizer_seen, thread = [0] * layout.CAUSES, 0, False, 0, False, threading.get_ident()
    _begin = _batches = _samples = _forward_from = 0
    _batch, _leader, _allocated = None, None, False
    _stepped.clear()


record.after_fork.append(forget)


def add(kind, ns):
    global accounted
    cause[kind] += ns
    accounted += ns


def copied(ns):
    """A copy to the device: forward begins no earlier where no loader gave the batch."""
    global _forward_from, _forward_accounted
    add(layout.CAUSE_COPY, ns)
    if not _loaders_used:
        _forward_from, _forward_accounted = now(), accounted


def ask_batch(row):
    """next() of a loader begins: what was the batch before?"""
    global busy, _begin
    at = now()
    if not _begin:
        _begin = at
    if _batch and (_batch[0] is row or not _batch[4]):
        end_batch(at)
    busy = True
    return at, cause[:], accounted


def end_batch(at):
    """The batch had no backward."""
    global cause, accounted, _batch, _batches, _samples
    row, asked, causes_then, accounted_then, _, samples = _batch
    _batch = None
    if optimizer_seen:
        cause = causes_then
        accounted = accounted_then
        _batches -= 1
        _samples -= samples
        add(layout.CAUSE_EVALUATION, at - asked)
    else:
        add(layout.CAUSE_FORWARD, max(0, at - _forward_from - (accounted - _forward_accounted)))
        close(at)
    row.values[layout.LOADER_EVALUATED] += 1
    row.put()


def got_batch(row, asked, samples, gradients):
    """Nanoseconds that were waited. row: None for the end of the loader."""
    global busy, _batch, _batches, _samples, _forward_from, _forward_accounted, _loaders_used
    at, causes_then, accounted_then = asked
    busy = False
    end = now()
    add(layout.CAUSE_WAIT, end - at)
    if row is not None:
        _batch = (row, at, causes_then, accounted_then, gradients, samples)
        _batches += 1
        _samples += samples
        _forward_from, _forward_accounted, _loaders_used = end, accounted, True
        if _device_timer:
            _device_timer.begin(step_number)
    return end - at


def end_forward(at):
    """The batch was for training; its forward ended."""
    global _batch, _begin
    if not _begin:
        _begin = _forward_from or at
    if _batch:
        _batch[0].values[layout.LOADER_TRAINED] += 1
        _batch[0].put()
        _batch = None
    if _forward_from:
        add(layout.CAUSE_FORWARD, max(0, at - _forward_from - (accounted - _forward_accounted)))


def begin_backward():
    """(time, accounted) for end_backward."""
    at = now()
    end_forward(at)
    return at, accounted


def end_backward(begun):
    global _forward_from, _forward_accounted
    end = end_span(layout.CAUSE_BACKWARD, begun)
    _forward_from, _forward_accounted = end, accounted


def begin_span():
    global _begin
    at = now()
    if not _begin:
        _begin = at
    return at, accounted


def begin_optimizer():
    """Where no backward was seen (torch.autograd.grad, a closure) its time is forward's."""
    global _forward_from, _forward_accounted
    at = now()
    if _batch or not _begin:
        end_forward(at)
        if _forward_from:
            _forward_from, _forward_accounted = at, accounted
    return at, accounted


def end_span(kind, begun):
    end = now()
    add(kind, max(0, end - begun[0] - (accounted - begun[1])))
    return end


def stepped(optimizer_row, begun):
    """An optimizer's step ended; True: with it a training step."""
    global _leader, _forward_from, _batch, optimizer_seen, step_number
    if not optimizer_seen:
        optimizer_seen = True
        step_number = record.words[layout.STEPS] = 0
    end = end_span(layout.CAUSE_OPTIMIZER, begun)
    key = optimizer_row.at
    if _leader is None or key in _stepped:
        _leader = key
    _stepped.add(key)
    if key != _leader:
        return False
    _batch = None
    if not _loaders_used:
        _forward_from = 0
    close(end)
    return True


def optimizer_gone(row):
    """It no longer leads: training goes on with another one."""
    global _leader
    if row is not None and row.at == _leader:
        _leader = None


def allocate_steps():
    global _allocated
    if not _allocated:
        _allocated = True
        record.allocate(layout.STEP_AT, layout.STEP_SIZE * layout.STEP_RECORDS)


def close(end):
    """Writes the record of a step: number 0, the numbers, its number, how many there are."""
    global cause, step_number, _begin, _batches, _samples, _forward_from, _forward_accounted
    if not step_number:
        allocate_steps()
    memory, words = record.memory, record.words
    at = layout.STEP_AT + step_number % layout.STEP_RECORDS * layout.STEP_SIZE
    words[at >> 3] = 0
    _pack(memory, at, 0, _begin, end, *cause, _batches, _samples, 0)
    step_number += 1
    words[at >> 3] = step_number
    words[layout.STEPS] = step_number
    if _device_timer:
        _device_timer.end(step_number - 1)
    cause = [0] * layout.CAUSES
    _begin, _batches, _samples = end, 0, 0
    if _forward_from:
        _forward_from, _forward_accounted = end, accounted
    _stepped.clear()


class DeviceTimer:
    """Time on the device from the first batch to the end of every 16th step, by two events; they are looked at later, never waited for."""
    EVERY = 16

    def __init__(self, torch):
        self.torch, self.first, self.pending = torch, None, None

    def mark(self):
        if self.torch.cuda.is_current_stream_capturing():
            return None
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def begin(self, number):
        if self.first is None and number % self.EVERY == 0 and not self.pending:
            self.first = self.mark()

    def end(self, number):
        if self.first is not None:
            last = self.mark()
            self.pending, self.first = last and (number, self.first, last), None
        elif self.pending and self.pending[2].query():
            number, first, last = self.pending
            self.pending = None
            at = layout.STEP_AT + number % layout.STEP_RECORDS * layout.STEP_SIZE
            if record.words[at >> 3] == number + 1:
                record.words[(at + layout.STEP_GPU_AT) >> 3] = int(first.elapsed_time(last) * 1e6)


def time_device(torch):
    global _device_timer
    if _device_timer is None:
        _device_timer = DeviceTimer(torch)
