#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cuda_headers.py SOURCE [--search FOLDER]: what we wrote of CUDA's interface against the toolkit's own headers.

SOURCE is the root of the tree. Prototypes, handles, enumerators and the codes that each call documents must agree with
cuda.h and nvrtc.h; copies with a mistake in them must not. Exit status 77 and a reason when there is no toolkit or no C++ compiler: headers
are looked for below CUDA_HOME, CUDA_PATH, nvcc's folder, /usr/local/cuda, /usr/include and in NVIDIA's Python packages.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

def find_header(name, search):
    """Folders that have it, best first."""
    nvcc = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"),
             str(pathlib.Path(nvcc).resolve().parents[1]) if nvcc else None, "/usr/local/cuda", "/usr"]
    found = [pathlib.Path(home) / "include" for home in homes if home]
    places = [pathlib.Path(search)] if search else []
    places += [pathlib.Path(path) for path in sys.path if path.endswith("-packages")]
    for place in places:
        found += [path.parent for path in sorted(place.glob(f"**/nvidia/*/include/{name}"))]
    return next((folder for folder in found if (folder / name).is_file()), None)


def enumerators(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    names = []
    for body in re.findall(r"\benum\s*\w*\s*{(.*?)}", text, re.S):
        names += re.findall(r"\b((?:CUDA|CU|NVRTC)_\w+)\s*=", body)
    return names


class Bench:
    def __init__(self, source, compiler, folders, work):
        self.source, self.compiler, self.folders, self.work = source, compiler, folders, pathlib.Path(work)
        self.header = (source / "src/device/cuda/cuda_api.h").read_text()

    def compiles(self, header):
        """(does it, what the compiler says) with this text as our header."""
        (self.work / "cuda_api_checked.h").write_text(header)
        checks = [f'static_assert(int(ours::{name}) == int(::{name}), "{name} differs");' for name in enumerators(header)]
        (self.work / "enumerators.h").write_text("\n".join(checks) + "\n")
        command = [*self.compiler, "-std=c++17", "-fsyntax-only", "-DSTK_BUILD", '-DCUDA_API_H="cuda_api_checked.h"', "-I", self.work,
                   *(part for folder in self.folders for part in ("-isystem", folder)), "-I", self.source / "include", "-I", self.source / "src",
                   "-I", self.source / "tests", self.source / "tests/device/cuda_headers.cc"]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode == 0, done.stdout


def documented(folders, name):
    """Names of codes in the \\return part of the comment before a prototype."""
    header = (folders[1] / "nvrtc.h" if name.startswith("nvrtc") else folders[0] / "cuda.h").read_text(errors="replace")
    for spelling in (name, re.sub(r"_v2$", "", name)):
        found = re.search(r"/\*\*?((?:(?!\*/).)*)\*/\s*(?:CUresult CUDAAPI|nvrtcResult) " + spelling + r"\(", header, re.S)
        if found:
            comment = found[1]
            told = comment[max(comment.find("\\return"), 0):].split("\\notefnerr")[0]
            return set(re.findall(r"(?:CUDA|NVRTC)_ERROR_\w+", told))
    return None


def values_of(folders):
    text = (folders[0] / "cuda.h").read_text(errors="replace") + (folders[1] / "nvrtc.h").read_text(errors="replace")
    return {name: int(value) for name, value in re.findall(r"\b((?:CUDA|NVRTC)_ERROR_\w+)\s*=\s*(\d+)", text)}


def check_codes(source, folders, header):
    """What is wrong with the list of documented codes."""
    text = (source / "tests/device/cuda_codes.h").read_text()
    listed = {name: {int(code) for code in codes.split(",")} for name, codes in re.findall(r"X\((\w+), ([\d, ]+)\)", text)}
    values, wrong = values_of(folders), []
    for name in re.findall(r"X\(\s*(\w+),", header):
        told = documented(folders, name)
        if told is None:
            wrong.append(f"{name}: the toolkit says nothing of it")
            continue
        missing = {values[code] for code in told} - listed.get(name, set()) - {600}
        if name not in listed or missing:
            wrong.append(f"{name}: its documented codes {sorted(missing)} are not in cuda_codes.h")
    wrong += [f"{name} in cuda_codes.h is no call of ours" for name in listed if f"X({name}," not in re.sub(r"\(\s*\\?\s*", "(", header)]
    return wrong


def mistakes(header):
    """(what, header with that mistake)"""
    yield "a parameter too many", header.replace("X(cuInit, (unsigned))", "X(cuInit, (unsigned, int))")
    yield "a size of 32 bits", header.replace("X(cuMemAlloc_v2, (stk__cu_pointer *, size_t))", "X(cuMemAlloc_v2, (stk__cu_pointer *, unsigned))")
    yield "a pointer to the wrong thing", header.replace("X(cuDeviceGetCount, (int *))", "X(cuDeviceGetCount, (int64_t *))")
    yield "a handle by its address", header.replace("X(cuEventQuery, (stk__cu_handle))", "X(cuEventQuery, (stk__cu_handle *))")
    yield "another code", header.replace("CUDA_ERROR_NOT_READY = 600", "CUDA_ERROR_NOT_READY = 601")
    yield "another attribute", header.replace("CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16", "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 17")
    yield "a program by its address", header.replace("X(nvrtcGetCUBIN, (stk__nvrtc_program, char *))", "X(nvrtcGetCUBIN, (stk__nvrtc_program *, char *))")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--search")
    options = parser.parse_args()
    folders = [find_header(name, options.search) for name in ("cuda.h", "nvrtc.h")]
    compiler = [name for name in (shutil.which("g++"), shutil.which("clang++"), shutil.which("c++")) if name][:1]
    if not all(folders) or not compiler:
        print("skipped: " + ("there is no C++ compiler" if all(folders) else "CUDA's headers are not here (CUDA_HOME, /usr/local/cuda, nvidia-cuda-runtime)"))
        return 77
    source, passed = options.source.resolve(), 0
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(source, compiler, folders, work)
        good, log = bench.compiles(bench.header)
        wrong = [] if good else [line for line in log.splitlines() if "error" in line] or [log]
        wrong += check_codes(source, folders, bench.header)
        for what, header in mistakes(bench.header):
            if header == bench.header:
                wrong.append(f"the mistake '{what}' is none: mend this test")
            elif good and bench.compiles(header)[0]:
                wrong.append(f"the check does not see {what}")
            else:
                passed += 1
        calls = len(re.findall(r"X\(\s*(?:cu|nvrtc)\w+,", bench.header))
        print(f"{calls} prototypes, {len(enumerators(bench.header))} enumerators")
    print("\n".join(wrong), end="\n" if wrong else "")
    failed = len(wrong)
    print(f"{passed + (not failed)} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
