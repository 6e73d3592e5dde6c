"""bench/peers/load_check.py: who loads other pixels than we do, or not every sample once, takes no part.

Needs NumPy in this interpreter or in one that bench/peers/setup made; else exit status 77 and why."""
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
COUNT, H, W = 70, 96, 130  # more samples than are compared whole, sizes that the grid does not divide


def find_numpy():
    """An interpreter that has it; None without."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for python in (sys.executable, *sorted(glob.glob(f"{cache}/stoker/peers-*/bin/python"))):
        if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
            return python
    return None


class LoadCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import numpy
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        shutil.copy(ROOT / "bench" / "peers" / "load_check.py", folder.name)
        sys.path.insert(0, folder.name)
        import load_check
        random = numpy.random.default_rng(1)
        cls.numpy, cls.check_class = numpy, load_check.Check
        cls.images = random.integers(0, 256, (COUNT, H, W, 3), numpy.uint8)
        cls.masks = random.integers(0, 19, (COUNT, H, W), numpy.uint8)
        step, full = load_check.STEP, load_check.FULL
        with open(pathlib.Path(folder.name, "reference.u8"), "wb") as file:
            for part in (cls.images[:, ::step, ::step], cls.masks[:, ::step, ::step], cls.images[:full], cls.masks[:full]):
                file.write(part.tobytes())

    def run_check(self, images, masks=None, order=None):
        check = self.check_class(types.SimpleNamespace(count=COUNT, h=H, w=W), "jpeg" if masks is None else "pairs")
        order = self.numpy.arange(len(images)) if order is None else order
        for start in range(0, len(order), 32):
            part = order[start:start + 32]
            check.add(images[part], None if masks is None else masks[part])
        return check.finish()

    def refuse(self, words, images, masks=None, order=None):
        with self.assertRaises(RuntimeError) as caught:
            self.run_check(images, masks, order)
        self.assertRegex(str(caught.exception), words)

    def test_equal(self):
        self.assertEqual(self.run_check(self.images), "0.0000 0")
        self.assertEqual(self.run_check(self.images, self.masks), "0.0000 0")

    def test_any_order_and_planes(self):
        order = self.numpy.random.default_rng(2).permutation(COUNT)
        self.assertEqual(self.run_check(self.images.transpose(0, 3, 1, 2), self.masks, order), "0.0000 0")

    def test_other_rounding(self):
        near = (self.images.astype(int) + self.numpy.random.default_rng(3).integers(-2, 3, self.images.shape)).clip(0, 255)
        mean, largest = self.run_check(near.astype(self.numpy.uint8)).split()
        self.assertTrue(1 < float(mean) < 1.5 and largest == "2", (mean, largest))

    def test_other_pixels(self):
        wrong = self.images.copy()
        wrong[5] = self.numpy.roll(wrong[5], 1, 1)
        self.refuse("pixels differ from Stoker's by", wrong)
        self.refuse("pixels differ from Stoker's by", self.images[..., ::-1])
        self.refuse("pixels differ from Stoker's by", 255 - self.images)

    def test_other_ids(self):
        for sample in (3, COUNT - 1):  # compared whole, and on its grid
            wrong = self.masks.copy()
            wrong[sample, 64, 64] += 1
            self.refuse(f"the mask of sample {sample} has other ids", self.images, wrong)
        wrong = self.masks.copy()
        wrong[3, 1, 1] += 1
        self.refuse("the mask of sample 3 has other ids", self.images, wrong)

    def test_missing_and_twice(self):
        order = self.numpy.arange(COUNT)
        self.refuse("1 samples did not come, 0 came twice", self.images, None, order[1:])
        order[1] = 0
        self.refuse("1 samples did not come, 1 came twice", self.images, None, order)

    def test_other_kinds(self):
        self.refuse("not uint8", self.images.astype(self.numpy.float32))
        self.refuse("images are", self.images[:, :64])
        with self.assertRaisesRegex(RuntimeError, "without masks"):
            self.check_class(types.SimpleNamespace(count=COUNT, h=H, w=W), "pairs").add(self.images[:32], None)


if __name__ == "__main__":
    try:
        import numpy  # noqa: F401
    except ImportError:
        found = find_numpy()
        if not found:
            print("skipped: no Python with NumPy; bench/peers/setup makes one")
            sys.exit(SKIPPED)
        os.execv(found, [found, *sys.argv])
    unittest.main()
