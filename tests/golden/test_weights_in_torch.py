#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_weights_in_torch.py GOLDEN_WEIGHTS FOLDER ENGINE: weights go into PyTorch and back.

For every network: Stoker writes a checkpoint, PyTorch loads its model.safetensors with safetensors.torch.load_file and
load_state_dict(strict=True) and makes the same of the same input; then PyTorch saves other weights, Stoker loads them
and makes the same of the input. Bound: 1e-5 relative L2.

Needs torch and safetensors in this interpreter or in one that bench/peers/setup made; else exit status 77 and why.
"""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CASES = ("unet", "unet_odd", "locator", "resnet", "lstm", "hrnet_odd")
BOUND = 1e-5
SKIPPED = 77


def find_torch():
    """An interpreter that has what is needed; None without."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for python in (sys.executable, *sorted(glob.glob(f"{cache}/stoker/peers-*/bin/python"))):
        if subprocess.run([python, "-c", "import torch, safetensors"], capture_output=True).returncode == 0:
            return python
    return None


class WeightsInTorch(unittest.TestCase):
    program = folder = engine = None

    def setUp(self):
        import torch
        torch.set_num_threads(1)

    def golden(self, case):
        """The settings of a case and its input."""
        import safetensors
        with safetensors.safe_open(f"{self.folder}/{case}.safetensors", "pt") as file:
            return json.loads(file.metadata()["about"]), file.get_tensor("input")

    def stoker(self, verb, case, out):
        """Runs the program; its output as a flat tensor."""
        import numpy
        import torch
        done = subprocess.run([self.program, verb, self.folder, case, self.engine, out], capture_output=True, text=True)
        if done.returncode == SKIPPED:
            self.skipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return torch.from_numpy(numpy.fromfile(f"{out}/output.f32", numpy.float32))

    def compare(self, case, ours, theirs):
        self.assertEqual(ours.numel(), theirs.numel())
        off = ((ours - theirs.flatten()).norm() / theirs.norm()).item()
        print(f"{case}: {off:.1e}")
        self.assertLess(off, BOUND)

    def test_from_stoker_into_torch(self):
        import safetensors.torch
        import torch
        import twins
        for case in CASES:
            with self.subTest(case), tempfile.TemporaryDirectory() as out:
                about, x = self.golden(case)
                ours = self.stoker("write", case, out)
                (path,) = pathlib.Path(out).glob("checkpoints/*/model.safetensors")
                twin = twins.make(about)
                twin.load_state_dict(safetensors.torch.load_file(path), strict=True)
                with torch.no_grad():
                    self.compare(case, ours, twin.eval()(x))

    def test_from_torch_into_stoker(self):
        import safetensors.torch
        import torch
        import twins
        for case in CASES:
            with self.subTest(case), tempfile.TemporaryDirectory() as out:
                about, x = self.golden(case)
                twin = twins.make(about)
                twins.start(twin, 11)
                safetensors.torch.save_file(twin.state_dict(), f"{out}/torch.safetensors")
                ours = self.stoker("read", case, out)
                with torch.no_grad():
                    self.compare(case, ours, twin.eval()(x))


def main():
    if os.environ.get("WITH_TORCH") != "1":
        python = find_torch()
        if not python:
            print("skipped: no Python with torch and safetensors; bench/peers/setup makes one")
            return SKIPPED
        os.execve(python, [python, *sys.argv], {**os.environ, "WITH_TORCH": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    WeightsInTorch.program, WeightsInTorch.folder, WeightsInTorch.engine = sys.argv[1:4]
    return not unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
