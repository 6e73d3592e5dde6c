#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""asan_python.py LIBRARIES FILE [TEST...]: runs a file of tests of the Python module under AddressSanitizer and UBSan, which Python
itself is not built with: LIBRARIES (separated by colons) are preloaded, and Python's objects come from malloc.

An error ends the process (abort_on_error). Leaks are reported at the end of each process, of the tests' children too, into files
that are read here: a leak is one of ours if the extension or libstoker stands among the innermost frames of its stack, directly or
by an object that it made. All others are those of the interpreter and of the modules that it has loaded. Of ours, only the names in
tests/support/leaks_python.txt are excused. Stacks are walked by the unwinder's tables, because Python keeps no frame
pointers: eight frames, which reach the extension behind the interpreter's own allocation."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FRAMES = 8
ASAN = ("detect_leaks=1:halt_on_error=1:abort_on_error=1:exitcode=0:allocator_may_return_null=1:intercept_tls_get_addr=0:"
        f"quarantine_size_mb=1:fast_unwind_on_malloc=0:malloc_context_size={FRAMES}:"
        "stack_trace_format='    #%n %p %F %L (%m)'")
OURS = re.compile(r"\(.*/(_stoker\.abi3|libstoker)\.so[^)]*\)$", re.M)
LEAK = re.compile(r"^(?:Direct|Indirect) leak of .*?(?:\n\n|\Z)", re.M | re.S)


def read_excused():
    path = pathlib.Path(__file__).resolve().parents[1] / "support" / "leaks_python.txt"
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def breaches(report, excused):
    """What of a sanitizer's report is ours to fix: leaks, and every other error whole."""
    if "ERROR: LeakSanitizer: detected memory leaks" not in report:
        return [report]
    leaks = [found[0] for found in LEAK.finditer(report)]
    if not leaks:
        return [report]
    return [leak for leak in leaks if OURS.search(leak) and not any(name in leak for name in excused)]


def main():
    libraries, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        variables = dict(os.environ, LD_PRELOAD=libraries, PYTHONMALLOC="malloc", ASAN_OPTIONS=f"{ASAN}:log_path={folder}/report",
                         UBSAN_OPTIONS=f"halt_on_error=1:abort_on_error=1:print_stacktrace=1:log_path={folder}/report", STOKER_UNDER_ASAN="1")
        status = subprocess.call([sys.executable, "-B", *words], env=variables)
        excused = read_excused()
        found = [text for path in sorted(pathlib.Path(folder).glob("report*")) for text in breaches(path.read_text(errors="replace"), excused)]
    for text in found:
        print(text, file=sys.stderr)
    if found:
        print(f"{len(found)} findings of the sanitizers", file=sys.stderr)
    return 1 if found or status else 0


if __name__ == "__main__":
    sys.exit(main())
