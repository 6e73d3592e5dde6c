#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_nvrtc.py [--table | --find] [--search FOLDER] FILE...: the kernel source as CUDA, compiled by NVRTC.

The FILEs are joined as tools/embed_kernels does. For every architecture: it compiles, no kernel spills registers or
needs more than 64 of them. --table only prints what the compiler made (docs/gpu.md), --find only looks for NVRTC. Exit status 77 and a reason when
there is no NVRTC: STOKER_NVRTC_LIBRARY, the loader's path, CUDA_HOME, CUDA_PATH, wheels below FOLDER.
"""
import argparse
import ctypes
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import struct
import sys

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
KERNELS = ("stk_augment", "stk_dropout", "stk_gather", "stk_grey", "stk_mix", "stk_round")
MOST_REGISTERS = 64
NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_\w+'(.*?)(?=Compiling entry function|\Z)", re.S)
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def candidate_libraries(folder):
    """Where NVRTC may be, in the order of the design: the variable overrides everything."""
    named = os.environ.get("STOKER_NVRTC_LIBRARY")
    if named:
        return [named]
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    found = [*NAMES, *(f"{home}/lib64/{name}" for home in homes for name in NAMES)]
    places = [pathlib.Path(folder)] if folder else []
    places += [pathlib.Path(path) for path in sys.path if path.endswith("-packages")]
    for place in places:
        found += sorted(map(str, place.glob("**/nvidia/*/lib/libnvrtc.so.*[0-9]")), reverse=True)
    return found


def open_nvrtc(folder):
    for name in candidate_libraries(folder):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def version_of(nvrtc):
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def read_text(paths):
    """The text, joined by the tool that embeds it into the library."""
    tool = pathlib.Path(__file__).resolve().parents[2] / "tools" / "embed_kernels"
    loader = importlib.machinery.SourceFileLoader("embed_kernels", str(tool))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("embed_kernels", loader))
    loader.exec_module(module)
    return module.join_files(paths)


def take_bytes(program, ask_size, ask_bytes):
    size = ctypes.c_size_t()
    if ask_size(program, ctypes.byref(size)) != 0:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    return buffer.raw if ask_bytes(program, buffer) == 0 else b""


def compile_for(nvrtc, text, architecture):
    """(status, log, cubin)"""
    program = ctypes.c_void_p()
    options = [b"--gpu-architecture=sm_%d" % architecture, b"--fmad=false", b"--ptxas-options=-v", b"--std=c++17"]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"augment.cu", 0, None, None)
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = take_bytes(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    cubin = take_bytes(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN) if status == 0 else b""
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log.rstrip(b"\0").decode(errors="replace"), cubin


def section_sizes(elf):
    """{name: bytes} of a 64-bit little-endian ELF file's sections."""
    table, = struct.unpack_from("<Q", elf, 40)
    entry_size, count, names_index = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * entry_size) for i in range(count)]
    names = headers[names_index][4]
    return {elf[names + h[0]:elf.index(b"\0", names + h[0])].decode(): h[5] for h in headers}


def measure(log, cubin):
    """{kernel: (registers, shared bytes, spilled bytes, code bytes)}"""
    sections = section_sizes(cubin)
    kernels = {}
    for name, body in ENTRY.findall(log):
        spills = SPILLS.search(body)
        registers = re.search(r"Used (\d+) registers", body)
        shared = re.search(r"(\d+) bytes smem", body)
        if spills and registers:
            kernels[name] = (int(registers[1]), int(shared[1]) if shared else 0, sum(map(int, spills.groups())),
                             sections.get(".text." + name, 0))
    return kernels


def judge(architecture, status, log, cubin):
    """(what is wrong, kernels)"""
    if status != 0:
        return [f"sm_{architecture}: does not compile: {log.strip()}"], {}
    kernels = measure(log, cubin)
    wrong = [f"sm_{architecture}: the compiler says nothing of {name}" for name in KERNELS if name not in kernels]
    for name, (registers, _, spilled, code) in kernels.items():
        if registers > MOST_REGISTERS:
            wrong.append(f"sm_{architecture}: {name} needs {registers} registers, more than {MOST_REGISTERS}")
        if spilled:
            wrong.append(f"sm_{architecture}: {name} has {spilled} bytes of stack and spills")
        if not code:
            wrong.append(f"sm_{architecture}: the cubin has no code of {name}")
    return wrong, kernels


def self_check(nvrtc):
    """A test that cannot fail proves nothing: broken text, and a kernel that must spill."""
    array = "float a[300]; for (int i = 0; i < 300; i++) a[i] = p[i]; for (int i = 0; i < 300; i++) p[(int)a[i] % 300] = a[(int)p[i] % 300];"
    spilling = f'extern "C" __global__ void stk_augment(float *p) {{ {array} }}\nextern "C" __global__ void stk_grey() {{}}'
    wrong, _ = judge(80, *compile_for(nvrtc, spilling, 80))
    broken, _ = judge(80, *compile_for(nvrtc, "not CUDA", 80))
    return any("spills" in line for line in wrong) and any("does not compile" in line for line in broken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--find", action="store_true")
    parser.add_argument("--search")
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    nvrtc = open_nvrtc(options.search)
    if not nvrtc:
        print("skipped: NVRTC is not here; tools/setup_nvrtc brings it (90 MB), or name it in STOKER_NVRTC_LIBRARY")
        return 77
    if options.find:
        return 0
    print(f"NVRTC {version_of(nvrtc)}\n")
    text, failed, rows = read_text(options.files), 0, []
    for architecture in ARCHITECTURES:
        wrong, kernels = judge(architecture, *compile_for(nvrtc, text, architecture))
        failed += bool(wrong)
        print("\n".join(wrong), end="\n" if wrong else "")
        rows += [(f"sm_{architecture}", name, *kernels[name]) for name in KERNELS if name in kernels]
    print(f"| architecture | kernel | registers | shared bytes | stack and spills | code bytes |\n|{'---|' * 6}")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    if options.table:
        return 1 if failed else 0
    sharp = self_check(nvrtc)
    failed += not sharp
    print("" if sharp else "the check does not see spills or broken text")
    print(f"{len(ARCHITECTURES) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
