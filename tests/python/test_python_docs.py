#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README and docs/python.md show runs as it stands there, and the scripts of examples/python say which package is missing."""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import unittest

import python_case
from python_case import COUNT

import stoker

TREE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TREE / "examples" / "python"
PACKAGES = {"segmentation": "torch pillow", "lightning_classification": "torch pillow lightning", "replace_kornia": "torch kornia",
            "replace_albumentations": "torch opencv-python-headless albumentations", "monitor_cell": ""}
WHEEL = "build/wheels/stoker-*.whl"

# Runs the script argv[2] where modules of the list argv[1] are not installed.
WITHOUT = """
import importlib.util, os, runpy, sys
missing, script, find = sys.argv[1].split(), sys.argv[2], importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in missing else object()
sys.path.insert(0, os.path.dirname(script))
sys.argv = [script]
runpy.run_path(script, run_name="__main__")
"""


def code_of(document, heading):
    """Blocks of Python in a section; the heading of the document is that of what comes before them."""
    sections = re.split(r"^## |\A# ", (TREE / document).read_text(), flags=re.M)
    text = next(section for section in sections if section.startswith(heading))
    return re.findall(r"```python\n(.*?)```", text, re.S)


class Documents(python_case.Case):
    def run_loop(self, code):
        """A loop over ten epochs of a data set called faces; the `...` in it notes shapes."""
        link = self.root / "faces"
        if not link.exists():
            link.symlink_to(self.data())
        code = re.sub(r"^import torch\n", "", code, flags=re.M)
        self.assertEqual(code.count(" ...\n"), 1)
        seen, before = [], os.getcwd()
        os.chdir(self.root)
        try:
            with contextlib.redirect_stdout(None):
                exec(code.replace("...\n", "seen.append((images.shape, masks.shape))\n"), {"seen": seen})
        finally:
            os.chdir(before)
        self.assertEqual(seen, [((COUNT, 3, 8, 8), (COUNT, 8, 8))] * 10)

    def test_readme(self):
        before, after = code_of("README.md", "Use it from Python")
        self.assertEqual(before.count("\n"), 5)
        self.assertEqual(after.count("\n"), 6)
        self.run_loop(after)

    def test_first_of_the_document(self):
        self.run_loop(code_of("docs/python.md", "The Python module")[0])

    def test_augment(self):
        import numpy

        names = {"stoker": stoker, "images": numpy.zeros((2, 3, 8, 8), numpy.uint8), "masks": numpy.zeros((2, 8, 8), numpy.uint8)}
        exec(code_of("docs/python.md", "Augment")[0], names)
        self.assertEqual(names["masks"].shape, (2, 8, 8))

    def test_monitor(self):
        done = subprocess.run([sys.executable, "-c", "import stoker\ndef train(): pass\n" + code_of("docs/python.md", "Monitor")[0]],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[after loading]", done.stdout)


class Examples(unittest.TestCase):
    def test_missing_packages_are_named(self):
        self.assertEqual({path.stem for path in EXAMPLES.glob("*.py")}, {*PACKAGES, "shared"})
        for script, packages in PACKAGES.items():
            for missing in [*packages.split(), WHEEL]:
                module = {"pillow": "PIL", "opencv-python-headless": "cv2", WHEEL: "stoker"}.get(missing, missing)
                done = subprocess.run([sys.executable, "-c", WITHOUT, module, EXAMPLES / f"{script}.py"], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (1, f"{script}.py: packages are missing: pip install {missing}\n"))

    def test_monitor_cell(self):
        done = subprocess.run([sys.executable, "-B", EXAMPLES / "monitor_cell.py"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[before training]", done.stdout)
        self.assertIn("watched", done.stdout)


if __name__ == "__main__":
    unittest.main()
