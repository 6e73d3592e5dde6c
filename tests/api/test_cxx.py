"""test_cxx.py LIBRARY: the public headers alone as C++17, without a warning, and a C++ program that is compiled, linked
with the shared library and run. Exit status 77: there is no C++ compiler here (tools/setup test)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import test_headers

LIBRARY = None
COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
PROGRAM = pathlib.Path(__file__).resolve().parent / "first_batch.cpp"


class Cxx(unittest.TestCase):
    def test_each_header_alone(self):
        complaints = list(test_headers.complaints_of_all([COMPILER], "c++", "c++17"))
        self.assertEqual(complaints, [], "\n".join(complaints))

    def test_a_warning_is_seen(self):
        status, _ = test_headers.compile_alone([COMPILER], "c++", "c++17", "int f(int unused) { return 0; }\n")
        self.assertNotEqual(status, 0)

    def test_program(self):
        warnings = [w for w in test_headers.WARNINGS if w != "-fsyntax-only"]
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "first_batch")
            done = subprocess.run([COMPILER, "-std=c++17", *warnings, str(PROGRAM), "-o", program, LIBRARY,
                                   f"-Wl,-rpath,{os.path.dirname(LIBRARY)}"], text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = subprocess.run([program], text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^stoker [0-9.]+: 20 samples in 3 batches; data.root: ")


if __name__ == "__main__":
    LIBRARY = os.path.abspath(sys.argv.pop(1))
    if not COMPILER:
        sys.exit(77)
    unittest.main()
