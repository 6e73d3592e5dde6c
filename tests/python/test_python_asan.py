#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""asan_python.py finds what it is there for: objects of the extension that are never freed, a batch that never comes back, a write
behind a result; and nothing where there is nothing. ASAN_LIBRARIES: what it preloads."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import asan_python

RUNNER = pathlib.Path(asan_python.__file__)

SCRIPT = """
import ctypes, gc
import stoker

def keep(item):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))

def run():
    raw = stoker.Augment("minimal")._raw("f32", "nchw", 0, 0)
    for _ in range(8):
        result = raw.result("u8", (64,))
        with stoker.Loader("make:gray?count=8", batch_size=4, num_workers=1) as loader:
            batch = loader._raw.next()
        {}

run()
gc.collect()
"""
BREACHES = {
    "pass": None,
    "keep(result)": "stk__wrap_tensor",
    "keep(batch[0][0])": "stk__loan_create",  # and with it slots and threads
    "ctypes.memset(ctypes.addressof(ctypes.c_uint8.from_buffer(result)), 1, 65)": "heap-buffer-overflow",
}


class Runner(unittest.TestCase):
    def run_under_asan(self, script):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "script.py"
            file.write_text(SCRIPT.replace("{}", script))
            return subprocess.run([sys.executable, "-B", RUNNER, os.environ["ASAN_LIBRARIES"], file], capture_output=True, text=True,
                                  timeout=120)

    def test_breaches(self):
        for script, said in BREACHES.items():
            done = self.run_under_asan(script)
            if said is None:
                self.assertEqual((done.returncode, done.stderr), (0, ""))
            else:
                self.assertEqual(done.returncode, 1, script)
                self.assertIn(said, done.stderr, script)
                self.assertIn("findings of the sanitizers", done.stderr)

    def test_reports(self):
        leak = "Direct leak of 8 byte(s) in 1 object(s) allocated from:\n    #0 0x1 in malloc\n    #1 0x2 {} (/x/{})\n\n"
        head = "=====\n==1==ERROR: LeakSanitizer: detected memory leaks\n\n"
        ours, theirs = leak.format("in f", "_stoker.abi3.so"), leak.format("in g", "python3.11")
        self.assertEqual(asan_python.breaches(head + ours + theirs + leak.format("in h", "libstoker.so.0"), ["in h"]), [ours])
        self.assertEqual(asan_python.breaches("==1==ERROR: AddressSanitizer: heap-use-after-free", []), ["==1==ERROR: AddressSanitizer: heap-use-after-free"])
        self.assertEqual(len(asan_python.breaches(head + "cut off", [])), 1)


if __name__ == "__main__":
    unittest.main()
