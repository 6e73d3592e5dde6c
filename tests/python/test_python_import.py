#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What importing stoker and taking a batch cost, and that what is generated is current. Bounds are far above what is measured
(`stoker bench python`), so that a busy machine does not decide; counts are exact."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

import python_case

ROOT = pathlib.Path(__file__).resolve().parents[2]

MEMORY = """
import sys
def rss():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096
before, modules = rss(), set(sys.modules)
import stoker
print("[%d, %s]" % (rss() - before, str(sorted(set(sys.modules) - modules)).replace("'", '"')))
"""


class Import(python_case.Case):
    def test_memory_and_modules(self):
        grown, modules = json.loads(self.run_python(MEMORY))
        self.assertLess(grown, 15 << 20)
        heavy = {"numpy", "torch", "json", "inspect", "typing", "threading", "subprocess", "difflib", "ctypes", "collections"}
        self.assertFalse(heavy & set(modules), "imported before they are needed")
        self.assertLess(len(modules), 16)

    def test_generated_files_are_current(self):
        build = os.environ["STOKER_PYTHON_BUILD"]
        done = subprocess.run([sys.executable, "-B", ROOT / "tools" / "make_python_docs", "--check", build], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "current"), done.stderr)

    def test_help_reads_like_documentation(self):
        text = self.run_python("import stoker; help(stoker.Loader)")
        for part in ("class Loader", "batch_size: samples in a batch, per rank [default 32; 1 to 65,536]", "for images, masks in loader",
                     "state_dict(self, after=None)", "counts batches that were delivered", "on_bad_sample:", "image_size: ", "(height, width)"):
            self.assertIn(part, text)
        for word in (r"\bdata\.[a-z]", r"e\+\d\d", r"\b(\w+): \1: "):  # names as in settings files, numbers nobody reads, a name said twice
            self.assertNotRegex(text, word)

    def test_version(self):
        import stoker
        self.assertRegex(stoker.__version__, r"^\d+\.\d+\.\d+$")
        self.assertEqual(sorted(stoker.__all__), stoker.__all__)


if __name__ == "__main__":
    unittest.main()
