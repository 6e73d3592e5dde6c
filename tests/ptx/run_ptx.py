#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_ptx.py [--search FOLDER] [--also FILE]... PROGRAM FILE...: PTX that NVRTC makes of the kernel source, executed.

The FILEs are joined as tools/embed_kernels does and compiled with the options of src/device/cuda/cuda_program.c. PROGRAM (test_ptx) gets
the PTX of every architecture, where it is another text, and those that --also names. Exit status 77 and a reason when there is
neither NVRTC nor a file of --also.
"""
import argparse
import ctypes
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURES = (75, 80, 90)


def load_finder():
    """tests/device/test_nvrtc.py finds NVRTC and joins the text."""
    spec = importlib.util.spec_from_file_location("test_nvrtc", ROOT / "tests/device/test_nvrtc.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_options():
    """Those of the library: a macro in cuda_program.c."""
    text = (ROOT / "src/device/cuda/cuda_program.c").read_text()
    return [option.encode() for option in re.findall(r'"([^"]+)"', re.search(r"^#define OPTIONS (.*)$", text, re.M)[1])]


def compile_ptx(finder, nvrtc, text, architecture):
    program = ctypes.c_void_p()
    options = [b"--gpu-architecture=compute_%d" % architecture, *read_options()]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"augment.cu", 0, None, None)
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = finder.take_bytes(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    ptx = finder.take_bytes(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if status != 0:
        sys.exit(f"compute_{architecture}: {log.decode(errors='replace')}")
    return ptx.rstrip(b"\0").decode()


def write_files(finder, nvrtc, text, folder):
    """Paths of the PTX; architectures whose text differs in the line .target only share one."""
    seen, paths = {}, []
    for architecture in ARCHITECTURES:
        ptx = compile_ptx(finder, nvrtc, text, architecture)
        body = re.sub(r"^\.target.*$", "", ptx, flags=re.M)
        if body in seen:
            print(f"compute_{architecture}: the same text as compute_{seen[body]}", flush=True)
            continue
        seen[body] = architecture
        paths.append(f"{folder}/nvrtc_{finder.version_of(nvrtc)}_compute_{architecture}.ptx")
        pathlib.Path(paths[-1]).write_text(ptx)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search")
    parser.add_argument("--also", action="append", default=[], metavar="FILE")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the PTX there")
    parser.add_argument("--count", action="store_true", help="print instructions a pixel instead")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    finder = load_finder()
    nvrtc = finder.open_nvrtc(options.search)
    if not nvrtc and not options.also:
        print("skipped: NVRTC is not here; tools/setup_nvrtc brings it (90 MB), or name it in STOKER_NVRTC_LIBRARY")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        paths = write_files(finder, nvrtc, finder.read_text(options.files), folder) if nvrtc else []
        if options.count:
            return max(subprocess.run([options.program, "--count", path]).returncode for path in paths + options.also)
        return subprocess.run([options.program, *paths, *options.also]).returncode


if __name__ == "__main__":
    sys.exit(main())
