"""A contestant of `stoker bench train`: steps of a training on the CPU.

A module `train_NAME` has a class Peer(setup) with
    versions    for people
    check()     its first work, and what came of it: the loss of the first step, or how many samples came
    run()       a step, or an epoch of files

Requests, each with a case (which there is only one of in a process):
    check   the first work: `loss VALUE`
    round   as many runs as fit into TURN_MS, one at least: the mean time of one and their number, `ms TIME COUNT`
"""
import pathlib
import time

TURN_MS = 200  # as in bench/train_worker.c


class Setup:
    """What a peer gets to know."""

    def __init__(self, how, cpus, folder, sizes, begin_worker):
        self.how, self.cpus, self.folder, self.begin_worker = how, cpus, pathlib.Path(folder), begin_worker
        self.count = sizes[0]
        self.scratch = pathlib.Path(__file__).parent  # a temporary folder: removed with the scripts


class Contestant:
    def __init__(self, module, setup):
        self.peer = module.Peer(setup)
        self.versions = self.peer.versions

    def run(self, word, _):
        return getattr(self, word)()

    def check(self):
        return f"loss {self.peer.check():.9g}"

    def round(self):
        start, count, took_ms = time.perf_counter(), 0, 0
        while took_ms < TURN_MS:
            self.peer.run()
            count += 1
            took_ms = 1000 * (time.perf_counter() - start)
        return f"ms {took_ms / count:.4f} {count}"
