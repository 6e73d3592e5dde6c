"""python serve.py PEER HOW CPUS DATA N H W: one contestant of `stoker bench augment`, in a process of its own.

PEER is a module beside this file. HOW says how it uses the CPUs:
    threads     sample by sample in this process, the library with CPUS threads
    processes   CPUS processes that were forked once, each with its share of every batch and one thread
    whole       the whole batch in one call, the library with CPUS threads
    loader      an epoch of a folder by CPUS worker processes (DATA is the folder, N its samples)

DATA is a file: images u8 [N H W 3], then masks u8 [N H W]. What comes out is float32 [N 3 H W] and u8 [N H W].
The first line on standard output is `ready VERSIONS` or `absent REASON`. Then each line on standard input,
`round CHAIN`, runs that chain once over the batch and is answered by `ms TIME` or `absent REASON`. It ends with
its input, and dies with the process that started it.
"""
import ctypes
import importlib
import mmap
import multiprocessing
import os
import signal
import sys
import time

sys.dont_write_bytecode = True  # the folder is removed when the parent ends
import_error = None
try:
    import numpy
except ImportError as error:
    import_error = error


TURN_MS = 200


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business


class Batch:
    """The pixels that go in, and memory, shared with forked processes, for what comes out."""

    def __init__(self, path, n, h, w):
        data = numpy.fromfile(path, numpy.uint8)
        self.n, self.h, self.w = n, h, w
        self.images = data[:n * h * w * 3].reshape(n, h, w, 3)
        self.masks = data[n * h * w * 3:].reshape(n, h, w)
        self.out = numpy.frombuffer(mmap.mmap(-1, n * h * w * 12), numpy.float32).reshape(n, 3, h, w)
        self.out_masks = numpy.frombuffer(mmap.mmap(-1, n * h * w), numpy.uint8).reshape(n, h, w)
        self.ids = set(numpy.unique(self.masks).tolist())

    def check(self, fills):
        """A peer that did not do the work has no time."""
        if not numpy.isfinite(self.out).all() or self.out.std() < 0.1 or abs(self.out).max() > 10:
            raise RuntimeError("what came out is not a normalised picture")
        strange = set(numpy.unique(self.out_masks).tolist()) - self.ids - set(fills)
        if strange:
            raise RuntimeError(f"ids that did not go in came out: {sorted(strange)[:5]}")
        self.out.fill(0)
        self.out_masks.fill(0)


class Alone:
    """All samples in this process."""

    def __init__(self, peer, batch, how, cpus):
        peer.use_threads(cpus)
        make = peer.make_whole if how == "whole" else peer.make_sample
        self.calls = {chain: make(batch, chain) for chain in ("standard", "strong")}
        self.items = [()] if how == "whole" else [(i,) for i in range(batch.n)]

    def run(self, chain):
        call = self.calls[chain]
        for item in self.items:
            call(*item)


class Processes:
    """Forked once; they share the batch and what comes out, so nothing is copied between them."""

    def __init__(self, peer, batch, _, cpus):
        fork = multiprocessing.get_context("fork")
        self.pipes = []
        for number in range(cpus):
            here, there = fork.Pipe()
            fork.Process(target=self.work, args=(peer, batch, there, number, cpus), daemon=True).start()
            self.pipes.append(here)

    @staticmethod
    def work(peer, batch, pipe, number, cpus):
        die_with_parent()
        peer.use_threads(1)
        calls = {}
        while True:
            chain = pipe.recv()
            try:
                if chain not in calls:
                    calls[chain] = peer.make_sample(batch, chain)
                for i in range(number, batch.n, cpus):
                    calls[chain](i)
                pipe.send(None)
            except Exception as error:  # its words are what the table shows
                pipe.send(describe(error))

    def run(self, chain):
        for pipe in self.pipes:
            pipe.send(chain)
        for failed in [pipe.recv() for pipe in self.pipes]:
            if failed:
                raise RuntimeError(failed)


def describe(error):
    return f"{type(error).__name__}: {error}".split("\n")[0][:150]


def open_contestant(peer_name, how, cpus, data, sizes):
    if import_error:
        raise import_error
    peer = importlib.import_module(peer_name)
    if how == "loader":
        epoch = peer.Epoch(data, cpus, die_with_parent)
        return peer, epoch, lambda: epoch.check(sizes[0])
    batch = Batch(data, *sizes)
    contestant = (Processes if how == "processes" else Alone)(peer, batch, how, cpus)
    return peer, contestant, lambda: batch.check(peer.MASK_FILLS)


def take_turn(contestant, chain):
    """Milliseconds a batch. The same rule as in cli/bench_batch.c: a turn lasts TURN_MS at least, and if it has several
    batches, the first is not counted."""
    start = time.perf_counter()
    contestant.run(chain)
    took_ms = 1000 * (time.perf_counter() - start)
    if took_ms >= TURN_MS:
        return took_ms
    start, count = time.perf_counter(), 0
    while not count or 1000 * (time.perf_counter() - start) < TURN_MS:
        contestant.run(chain)
        count += 1
    return 1000 * (time.perf_counter() - start) / count


def serve(answer):
    peer_name, how, cpus, data = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    try:
        peer, contestant, check = open_contestant(peer_name, how, cpus, data, [int(s) for s in sys.argv[5:8]])
        answer(f"ready {peer.versions()}")
    except Exception as error:
        answer(f"absent {describe(error)}")
        return
    checked = set()
    for line in sys.stdin:
        chain = line.split()[1]
        try:
            took_ms = take_turn(contestant, chain)
            if chain not in checked:
                check()
                checked.add(chain)
            answer(f"ms {took_ms:.4f}")
        except Exception as error:
            answer(f"absent {describe(error)}")


def main():
    die_with_parent()
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # libraries print what they like
    os.dup2(nowhere, 2)
    serve(lambda text: print(text, file=replies))


main()
