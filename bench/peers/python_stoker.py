"""Ourselves from Python, a contestant of `stoker bench python`: the package `stoker`, with PyTorch's tensors where PyTorch is there,
else with NumPy's arrays. Requests:

    round pairs        an epoch of the folder DATA to uint8 batches of 32, opening included, as `stoker bench load-worker` does it
    round strong       as many batches as an epoch has, float32, preset strong, normalized, masks uint8 as the peers' are. The loader
                       stays open, as their workers do; what it has read ahead since the last turn is taken before the clock starts
    round standard     a batch of images u8 [n 3 512 512] and masks u8 [n 512 512], as they lie in the file HOW, through stoker.Augment
    cost batch         CPU time of the thread that takes batches, for each batch that is ready: us
    cost import        `import stoker` in a process of its own: ms
    cost memory        what it adds to the memory of that process: MB
"""
import itertools
import statistics
import subprocess
import sys
import time

import stoker
from chains import MEAN, STD

try:
    import torch
except ImportError:
    torch = None

BATCH, SIDE, TURN_MS, TINY = 32, 512, 200, 2000
IMPORT = """
import sys, time
def rss():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096
before, start = rss(), time.perf_counter()
import stoker
print(1e3 * (time.perf_counter() - start), 1e-6 * (rss() - before))
"""


class Setup:
    def __init__(self, how, cpus, data, sizes, begin_worker):
        self.pixels, self.folder, (self.n, self.h, self.w) = how, data, sizes


def ms_since(start):
    return 1000 * (time.perf_counter() - start)


class Contestant:
    def __init__(self, module, setup):
        self.setup = setup
        self.versions = f"stoker {stoker.__version__}, " + (f"PyTorch {torch.__version__}" if torch else "without PyTorch")
        self.loader = self.batch = None

    def run(self, word, case):
        return getattr(self, f"{word}_{case}")()

    @staticmethod
    def epoch(loader):
        """Samples of an epoch, and whether its last images are numbers."""
        seen = 0
        for images, masks in loader:
            seen += len(images)
        return seen, float(images[-1].max()) < 256

    def check(self, seen, good):
        if seen != self.setup.n or not good:
            raise RuntimeError(f"{seen} of {self.setup.n} samples came, {'good' if good else 'bad'} ones")

    def round_pairs(self):
        start = time.perf_counter()
        with stoker.Loader(self.setup.folder, batch_size=BATCH, dtype="uint8", axes="nhwc") as loader:
            found = self.epoch(loader)
        took_ms = ms_since(start)
        self.check(*found)
        return f"ms {took_ms:.4f}"

    def round_strong(self):
        if self.loader is None:
            self.loader = stoker.Loader(self.setup.folder, batch_size=BATCH, augment="strong", mean=MEAN, std=STD, mask_dtype="uint8")
            self.stream = itertools.chain.from_iterable(itertools.repeat(self.loader))
        self.take(self.loader.info["slot_count"])
        start = time.perf_counter()
        found = self.take(len(self.loader))
        took_ms = ms_since(start)
        self.check(*found)
        return f"ms {took_ms:.4f}"

    def take(self, count):
        return self.epoch(itertools.islice(self.stream, count))

    def open_batch(self):
        import array

        with open(self.setup.pixels, "rb") as file:
            pixels = bytearray(file.read())
        if torch is None:
            import numpy

            pixels = numpy.frombuffer(pixels, numpy.uint8)
        else:
            pixels = torch.frombuffer(pixels, dtype=torch.uint8)
        n = len(pixels) // (4 * SIDE * SIDE)
        size = n * SIDE * SIDE
        self.batch = pixels[:3 * size].reshape(n, 3, SIDE, SIDE), pixels[3 * size:].reshape(n, SIDE, SIDE)
        self.ids = array.array("q", range(n))
        self.augment = stoker.Augment("standard", seed=1, dtype="float32", mean=MEAN, std=STD)
        self.calls = 0

    def augment_once(self):
        self.calls += 1
        images, masks = self.augment(*self.batch, epoch=self.calls, ids=self.ids)
        return images

    def round_standard(self):
        """A turn lasts TURN_MS at least, and the first batch of several is not counted (augment_worker.py)."""
        if self.batch is None:
            self.open_batch()
        self.augment_once()
        start, count = time.perf_counter(), 0
        while not count or ms_since(start) < TURN_MS:
            self.augment_once()
            count += 1
        return f"ms {ms_since(start) / count:.4f}"

    def cost_batch(self):
        with stoker.Loader("make:gray?count=4096", batch_size=1, image_size=8, num_workers=2, prefetch_factor=64) as loader:
            times = []
            while len(times) < TINY:
                for _ in loader:
                    times.append(time.thread_time_ns())
        return f"us {statistics.median(b - a for a, b in zip(times, times[1:])) * 1e-3:.3f}"

    @staticmethod
    def import_costs():
        done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def cost_import(self):
        return f"ms {self.import_costs()[0]}"

    def cost_memory(self):
        return f"MB {self.import_costs()[1]}"
