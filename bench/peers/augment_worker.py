"""A contestant of `stoker bench augment`: a batch of images and masks through a chain of operations.

HOW says how it uses the CPUs:
    threads     sample by sample in this process, the library with CPUS threads
    processes   CPUS processes that were forked once, each with its share of every batch and one thread
    whole       the whole batch in one call, the library with CPUS threads
    loader      an epoch of a folder by CPUS worker processes (DATA is the folder, N its samples)

DATA is a file: images u8 [N H W 3], then masks u8 [N H W]. What comes out is float32 [N 3 H W] and u8 [N H W].
The request `round CHAIN` runs that chain over the batch and is answered by `ms TIME`.
"""
import mmap
import multiprocessing
import time

import numpy

TURN_MS = 200


class Setup:
    def __init__(self, how, cpus, data, sizes, begin_worker):
        self.how, self.cpus, self.data, self.sizes, self.begin_worker = how, cpus, data, sizes, begin_worker


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

    def __init__(self, peer, batch, setup):
        peer.use_threads(setup.cpus)
        make = peer.make_whole if setup.how == "whole" else peer.make_sample
        self.calls = {chain: make(batch, chain) for chain in ("standard", "strong")}
        self.items = [()] if setup.how == "whole" else [(i,) for i in range(batch.n)]

    def run(self, chain):
        call = self.calls[chain]
        for item in self.items:
            call(*item)


class Processes:
    """Forked once; they share the batch and what comes out, so nothing is copied between them."""

    def __init__(self, peer, batch, setup):
        fork = multiprocessing.get_context("fork")
        self.pipes = []
        for number in range(setup.cpus):
            here, there = fork.Pipe()
            fork.Process(target=self.work, args=(peer, batch, there, number, setup), daemon=True).start()
            self.pipes.append(here)

    @staticmethod
    def work(peer, batch, pipe, number, setup):
        setup.begin_worker()
        peer.use_threads(1)
        calls = {}
        while True:
            chain = pipe.recv()
            try:
                if chain not in calls:
                    calls[chain] = peer.make_sample(batch, chain)
                for i in range(number, batch.n, setup.cpus):
                    calls[chain](i)
                pipe.send(None)
            except Exception as error:  # its words are what the table shows
                pipe.send(f"{type(error).__name__}: {error}")

    def run(self, chain):
        for pipe in self.pipes:
            pipe.send(chain)
        for failed in [pipe.recv() for pipe in self.pipes]:
            if failed:
                raise RuntimeError(failed)


def take_turn(contestant, chain):
    """Milliseconds a batch. The same rule as in bench/bench_batch.c: a turn lasts TURN_MS at least, and if it has several
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


class Contestant:
    def __init__(self, peer, setup):
        self.versions = peer.versions()
        self.checked = set()
        if setup.how == "loader":
            self.contestant = peer.Epoch(setup.data, setup.cpus, setup.begin_worker)
            self.check = lambda: self.contestant.check(setup.sizes[0])
            return
        batch = Batch(setup.data, *setup.sizes)
        self.contestant = (Processes if setup.how == "processes" else Alone)(peer, batch, setup)
        self.check = lambda: batch.check(peer.MASK_FILLS)

    def run(self, _, chain):
        took_ms = take_turn(self.contestant, chain)
        if chain not in self.checked:
            self.check()
            self.checked.add(chain)
        return f"ms {took_ms:.4f}"
