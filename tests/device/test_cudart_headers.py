#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cudart_headers.py SOURCE: the dry runtime's prototypes and structs (tests/fake/cudart) against the toolkit's own cuda_runtime_api.h.

SOURCE is the root of the tree. Copies with a mistake in them must not agree. Headers are looked for below CUDA_HOME, /usr/local/cuda and beside PyTorch
(STOKER_TORCH). Exit status 77 and a reason when there is no toolkit or no C++ compiler."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MISTAKES = [("cudart_api.h", "X(cudaMalloc, (void **, size_t))", "X(cudaMalloc, (void **, unsigned))"),
            ("cudart_api.h", "X(cudaSetDevice, (int))", "X(cudaSetDevice, (int *))"),
            ("cudart_api.h", "X(cudaStreamWaitEvent, (void *, void *, unsigned))", "X(cudaStreamWaitEvent, (void *, void *))"),
            ("cudart_device.h", "X(16, multiProcessorCount, 384, 388,", "X(16, multiProcessorCount, 380, 380,")]


def find_header():
    torch = os.environ.get("STOKER_TORCH")
    places = [pathlib.Path(home) / "include" for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]
    if torch:
        places += sorted(pathlib.Path(torch).parents[1].glob("nvidia/*/include"))
    whole = ("cuda_runtime_api.h", "crt/host_defines.h")  # PyTorch's wheels come without the second
    return next((place for place in places if all((place / name).is_file() for name in whole)), None)


def compiles(compiler, source, header, changes):
    """(does it, what the compiler says) with these changes to our headers."""
    with tempfile.TemporaryDirectory() as work:
        for name in ("dry.h", "cudart_api.h", "cudart_device.h"):
            text = (source / "tests/fake/cudart" / name).read_text()
            for file, right, wrong in changes:
                assert file != name or right in text, f"the mistake in {right} is none: mend this test"
                text = text.replace(right, wrong) if file == name else text
            pathlib.Path(work, name).write_text(text)
        theirs = (header / "cuda_runtime_api.h").read_text(errors="replace")
        calls = re.findall(r"(?:X|int )\(?(cuda[A-Z]\w+)[,(]", pathlib.Path(work, "cudart_api.h").read_text())
        renamed = r"define %s\s+__CUDART_API_PTSZ\((?!%s\))"  # another one is behind this name
        there = [call for call in calls if re.search(rf"CUDARTAPI {call}\(", theirs) and not re.search(renamed % (call, call), theirs)]
        pathlib.Path(work, "calls.h").write_text("".join(f"SAME({call})\n" for call in there))
        command = [compiler, "-std=c++17", "-fsyntax-only", "-I", work, "-isystem", header, source / "tests/device/cudart_headers.cc"]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout, len(there)


def main():
    source, header = pathlib.Path(sys.argv[1]), find_header()
    compiler = next((name for name in ("g++", "clang++", "c++") if shutil.which(name)), None)
    if not header or not compiler:
        print("skipped: " + ("there is no C++ compiler" if header else "cuda_runtime_api.h is not here (CUDA_HOME, STOKER_TORCH)"))
        return 77
    good, said, count = compiles(compiler, source, header, [])
    print(f"{count} prototypes, {'as the toolkit has them' if good else said}")
    unseen = [mistake for mistake in MISTAKES if compiles(compiler, source, header, [mistake])[0]]
    print("".join(f"the check does not see: {wrong}\n" for _, _, wrong in unseen), end="")
    return 0 if good and not unseen else 1


sys.exit(main())
