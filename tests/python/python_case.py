# SPDX-License-Identifier: Apache-2.0
"""Data sets for the tests of the Python module, and what their pixels are."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import small_data

try:
    import numpy
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import stoker

COUNT, SIDE = 22, 8  # samples of each set, side of its images


def expected_image(number):
    """[side side 3] of small_data.image."""
    ramp = [(x * (number + 3)) & 255 for x in range(3 * SIDE + 256)]
    rows = [ramp[(y * 5 + number * 31) % 256:][:3 * SIDE] for y in range(SIDE)]
    return numpy.array(rows, numpy.uint8).reshape(SIDE, SIDE, 3)


def expected_mask(number):
    """[side side] of small_data.mask."""
    stripes = [(x // 4 + number) % 19 for x in range(2 * SIDE)]
    return numpy.array([stripes[y // 4:][:SIDE] for y in range(SIDE)], numpy.uint8)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)

    def data(self, kind="pairs", count=COUNT):
        folder = self.root / f"{kind}-{count}"
        if not folder.exists():
            small_data.MAKERS[kind](folder, count, SIDE)
        return folder

    def open(self, kind="pairs", **settings):
        loader = stoker.Loader(self.data(kind), **{"batch_size": 4, "num_workers": 2, **settings})
        self.addCleanup(loader.close)
        return loader

    def run_python(self, script, *words, **options):
        """Another Python; its output if it ended well."""
        done = subprocess.run([sys.executable, "-c", script, *map(str, words)], capture_output=True, text=True, timeout=60, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


def ids_of(batches):
    return [batch.ids.tolist() for batch in batches]


def flat(batches):
    return [number for ids in ids_of(batches) for number in ids]


def environment():
    """Variables for another Python, without those that change what a loader does."""
    return {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
