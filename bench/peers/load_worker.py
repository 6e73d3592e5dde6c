"""A contestant of `stoker bench load`: files to uint8 batches of 32.

A module `load_NAME` has a class Peer(setup) with
    versions          for people
    open(case)        a loader; converts the data first if it has to (once)
    batches(loader)   an epoch: pairs of images u8 [n h w 3] or [n 3 h w] and masks u8 [n h w] or None
    close(loader)     what does not end by itself

Requests, each with a case, `jpeg` or `pairs` (JPEG + PNG mask):
    check   opens the loader that stays, runs an epoch and compares it with what Stoker decoded (load_check.py): mean and
            largest difference
    round   an epoch of that loader: time in ms
    first   opens another loader, takes one batch, closes it: time to that batch in ms
"""
import gc
import pathlib
import time

from load_check import Check

BATCH = 32


class Setup:
    """What a peer gets to know."""

    def __init__(self, how, cpus, folder, sizes, begin_worker):
        self.how, self.cpus, self.folder, self.begin_worker = how, cpus, pathlib.Path(folder), begin_worker
        self.count, self.h, self.w = sizes
        self.batch = BATCH
        self.scratch = pathlib.Path(__file__).parent  # a temporary folder: removed with the scripts

    def pairs(self, case):
        """Paths of image and mask (None if the case has none), by name."""
        images = sorted(str(path) for path in (self.folder / "images").iterdir())
        masks = self.folder / "masks"
        return [(image, str(masks / (pathlib.Path(image).stem + ".png")) if case == "pairs" else None) for image in images]


class Contestant:
    def __init__(self, module, setup):
        self.setup = setup
        self.peer = module.Peer(setup)
        self.versions = self.peer.versions
        self.loader = None

    def run(self, word, case):
        return getattr(self, word)(case)

    def check(self, case):
        self.loader = self.peer.open(case)
        check = Check(self.setup, case)
        for images, masks in self.peer.batches(self.loader):
            check.add(images, masks)
        return f"difference {check.finish()}"

    def round(self, _):
        seen, start = 0, time.perf_counter()
        for images, _ in self.peer.batches(self.loader):
            seen += len(images)
        took_ms = 1000 * (time.perf_counter() - start)
        if seen != self.setup.count:
            raise RuntimeError(f"{seen} of {self.setup.count} samples came")
        return f"ms {took_ms:.4f}"

    def first(self, case):
        start = time.perf_counter()
        loader = self.peer.open(case)
        batches = iter(self.peer.batches(loader))
        next(batches)
        took_ms = 1000 * (time.perf_counter() - start)
        batches.close()
        self.peer.close(loader)
        del loader
        gc.collect()
        return f"ms {took_ms:.4f}"
